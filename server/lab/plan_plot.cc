// The plan as a picture, drawn by gnuplot.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/lab/report.h"

namespace coppice::lab {
namespace {

using Json = nlohmann::ordered_json;

// gnuplot's quoting: a double quote ends the text, a backslash escapes.
std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string Script(const Json& plan, const std::string& file) {
  std::map<uint64_t, std::string> data;  // by devices: epsilon, low, mean, high
  for (const Json& study : plan["studies"]) {
    const Json& accuracy = study["accuracy"];
    absl::StrAppend(&data[study["devices"].get<uint64_t>()], study["epsilon"].get<double>(), " ",
                    accuracy["low"].get<double>(), " ", accuracy["mean"].get<double>(), " ",
                    accuracy["high"].get<double>(), "\n");
  }
  std::string script = absl::StrCat(
      "set terminal svg size 720,480 background rgb 'white' font 'sans-serif,13'\n", "set output ",
      Quoted(file), "\nset logscale x 2\nset xlabel 'epsilon of one report'\n",
      "set ylabel 'expected accuracy'\nset key bottom right\nset grid ytics lc rgb '#dddddd'\n",
      "set style fill transparent solid 0.12 noborder\n");
  std::string plots;
  for (const auto& [devices, lines] : data) {
    absl::StrAppend(&script, "$d", devices, " << EOD\n", lines, "EOD\n");
    const auto index = std::distance(data.begin(), data.find(devices)) + 1;
    absl::StrAppend(&plots, plots.empty() ? "" : ", \\\n", "$d", devices,
                    " using 1:2:4 with filledcurves lc ", index, " notitle, \\\n$d", devices,
                    " using 1:3 with linespoints lw 2 pt 7 ps 0.5 lc ", index, " title '", devices,
                    " devices'");
  }
  absl::StrAppend(&script, "plot ", plots, ", \\\n", plan["public_only"]["mean"].get<double>(),
                  " with lines dt 2 lc rgb '#555555' title 'public labels alone'\n");
  return script;
}

absl::Status RunGnuplot(const std::string& script) {
  FILE* gnuplot = popen("gnuplot", "w");
  if (gnuplot == nullptr) return absl::UnavailableError("gnuplot cannot be started");
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int status = pclose(gnuplot);
  if (written && status == 0) return absl::OkStatus();
  return absl::UnavailableError("gnuplot failed to draw the plan; its message is above");
}

}  // namespace

absl::Status PlotPlan(const nlohmann::ordered_json& plan, const std::string& file) {
  if (std::system("command -v gnuplot > /dev/null") != 0) {
    return absl::FailedPreconditionError(
        "--plot draws with gnuplot, which is not installed: apt-get install gnuplot-nox");
  }
  const std::string unfinished = absl::StrCat(file, ".unfinished");
  absl::Status drawn = RunGnuplot(Script(plan, unfinished));
  std::error_code error;
  if (drawn.ok()) {
    std::filesystem::rename(unfinished, file, error);
    if (error) drawn = absl::UnavailableError(absl::StrCat("cannot write ", file));
  }
  if (!drawn.ok()) std::filesystem::remove(unfinished, error);
  return drawn;
}

}  // namespace coppice::lab
