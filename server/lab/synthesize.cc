#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/table.h"
#include "server/lab/commands.h"
#include "server/lab/synthetic.h"

namespace coppice::lab {
namespace {

std::string ToCsv(const Table& table) {
  const Schema& schema = table.schema();
  std::string text;
  for (const Feature& feature : schema.features()) StrAppend(&text, feature.name, ",");
  StrAppend(&text, schema.label(), "\n");
  for (size_t i = 0; i < table.num_rows(); ++i) {
    for (size_t j = 0; j < schema.num_features(); ++j) {
      StrAppend(&text, absl::StrFormat("%.17g,", table.value(i, j)));
    }
    StrAppend(&text, schema.classes()[table.label(i)], "\n");
  }
  return text;
}

std::string ToJson(const Schema& schema) {
  nlohmann::ordered_json features = nlohmann::ordered_json::array();
  for (const Feature& feature : schema.features()) {
    features.push_back(
        {{"name", feature.name}, {"type", "numeric"}, {"min", feature.min}, {"max", feature.max}});
  }
  const nlohmann::ordered_json json = {
      {"label", schema.label()}, {"classes", schema.classes()}, {"features", features}};
  return json.dump(1) + "\n";
}

Status WriteNew(const std::filesystem::path& path, const std::string& text) {
  if (std::filesystem::exists(path)) {
    return AlreadyExistsError(
        StrCat(path.string(), " exists; remove it or name another --output-dir"));
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) return UnavailableError(StrCat("cannot write ", path.string()));
  return OkStatus();
}

}  // namespace

void AddSynthesizeFlags(const Command& command, SynthesizeFlags& flags) {
  command.Add("--synthetic", flags.synthetic, "The pair of distributions and how many rows of each")
      .ShowDefault();
  command.Add("--output-dir", flags.output_dir, "Folder for the four files").Required();
  command.Add("--seed", flags.seed, "Fixes the rows").ShowDefault();
}

Status RunSynthesize(const SynthesizeFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SyntheticOptions options,
                           SyntheticOptions::Parse(flags.synthetic));
  const std::shared_ptr<const Schema> schema = SyntheticSchema();
  PublicRandom random(flags.seed);
  const std::filesystem::path folder = flags.output_dir;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return UnavailableError(StrCat("--output-dir ", flags.output_dir, ": ", error.message()));
  }
  struct File {
    const char* name;
    size_t rows;
    double gamma;
  };
  for (const auto& [name, rows, gamma] :
       {File{"public.csv", options.public_rows, options.gamma},
        File{"private.csv", options.private_rows, 1}, File{"test.csv", options.test_rows, 1}}) {
    COPPICE_RETURN_IF_ERROR(
        WriteNew(folder / name, ToCsv(DrawSynthetic(schema, rows, gamma, random))));
  }
  return WriteNew(folder / "schema.json", ToJson(*schema));
}

}  // namespace coppice::lab
