#include "server/lab/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::lab {
namespace {

constexpr size_t kMaxRows = size_t{1} << 26;

Status SetRows(std::string_view name, std::string_view value, size_t& rows) {
  if (SimpleAtoi(value, &rows) && rows >= 1 && rows <= kMaxRows) return OkStatus();
  return InvalidArgumentError(StrCat(name, " must be a number of rows from 1 to ", kMaxRows));
}

Status SetPart(std::string_view name, std::string_view value, SyntheticOptions& options) {
  if (name == "private") return SetRows(name, value, options.private_rows);
  if (name == "public") return SetRows(name, value, options.public_rows);
  if (name == "test") return SetRows(name, value, options.test_rows);
  if (name == "sine") {
    if (SimpleAtod(value, &options.sine) && std::isfinite(options.sine) && options.sine > 0) {
      return OkStatus();
    }
    return InvalidArgumentError("sine must be a positive number");
  }
  if (name != "gamma") {
    return InvalidArgumentError(
        StrCat("unknown part '", name, "'; there are gamma, sine, private, public and test"));
  }
  if (SimpleAtod(value, &options.gamma) && std::isfinite(options.gamma) && options.gamma > 0) {
    return OkStatus();
  }
  return InvalidArgumentError("gamma must be a positive number");
}

double SignOf(double value) { return value < 0 ? -1 : (value > 0 ? 1 : 0); }

}  // namespace

StatusOr<SyntheticOptions> SyntheticOptions::Parse(std::string_view text) {
  SyntheticOptions options;
  for (const std::string_view part : StrSplit(text, ',')) {
    const std::pair<std::string_view, std::string_view> named = StrSplit(part, MaxSplits('=', 1));
    COPPICE_RETURN_IF_ERROR(SetPart(named.first, named.second, options));
  }
  return options;
}

double SyntheticProbability(double x1, double x2, double gamma) {
  const double sign = SignOf(x1 - 0.33) * SignOf(x2 - 0.33);
  const double size =
      std::abs(1.5 * x1 - 0.5) * std::abs(1.5 * x2 - 0.5) * std::max(0.0, 1 - std::abs(2 * x2 - 1));
  return 0.5 + 0.4 * sign * std::pow(size, 0.1 * gamma);
}

std::shared_ptr<const Schema> SyntheticSchema() {
  const auto unit = [](std::string name) {
    return Feature{
        .name = std::move(name), .type = FeatureType::kNumeric, .min = 0, .max = 1, .values = {}};
  };
  return std::make_shared<const Schema>(*Schema::Create({unit("x1"), unit("x2")}, "y", {"0", "1"}));
}

std::shared_ptr<const Schema> SineSchema() {
  constexpr double kReach = 6;  // for a sine and five deviations of the noise
  Feature x{.name = "x", .type = FeatureType::kNumeric, .min = 0, .max = 1, .values = {}};
  return std::make_shared<const Schema>(
      *Schema::CreateRegression({std::move(x)}, "y", {.min = -kReach, .max = kReach}));
}

Table DrawSine(std::shared_ptr<const Schema> schema, size_t rows, double frequency,
               PublicRandom& random) {
  Table table(std::move(schema));
  const Target target = *table.schema().target();
  table.Reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    const std::array<double, 1> x = {random.Unit()};
    // Box and Muller's transform.
    const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
    const double noise = radius * std::cos(2 * std::numbers::pi * random.Unit());
    table.AppendTarget(x, std::clamp(std::sin(frequency * x[0]) + noise, target.min, target.max));
  }
  return table;
}

Table DrawSynthetic(std::shared_ptr<const Schema> schema, size_t rows, double gamma,
                    PublicRandom& random) {
  Table table(std::move(schema));
  table.Reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    const std::array<double, 2> x = {random.Unit(), random.Unit()};
    table.Append(x, random.Unit() < SyntheticProbability(x[0], x[1], gamma) ? 1 : 0);
  }
  return table;
}

}  // namespace coppice::lab
