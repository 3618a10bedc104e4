#include "common/export/formats.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace coppice::formats {
namespace {

struct Format {
  absl::string_view name;
  absl::StatusOr<std::string> (*write)(const Model&, absl::string_view);
};

constexpr std::array<Format, 4> kFormats = {
    {{"json", ToJson}, {"onnx", ToOnnx}, {"xgboost", ToXgboost}, {"c", ToCHeader}}};

}  // namespace

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

absl::StatusOr<std::string> ExportModel(const Model& model, absl::string_view id,
                                        absl::string_view format) {
  for (const Format& known : kFormats) {
    if (known.name == format) return known.write(model, id);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no format \"", format, "\"; there are ",
                                                 absl::StrJoin(FormatNames(), ", ")));
}

}  // namespace coppice::formats
