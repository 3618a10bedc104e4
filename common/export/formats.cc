#include "common/export/formats.h"

#include <array>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::formats {
namespace {

struct Format {
  std::string_view name;
  StatusOr<std::string> (*write)(const Model&, std::string_view);
};

constexpr std::array<Format, 5> kFormats = {
    {{"json", ToJson}, {"onnx", ToOnnx}, {"xgboost", ToXgboost}, {"c", ToCHeader}, {"sql", ToSql}}};

}  // namespace

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

StatusOr<std::string> ExportModel(const Model& model, std::string_view id,
                                  std::string_view format) {
  for (const Format& known : kFormats) {
    if (known.name == format) return known.write(model, id);
  }
  return InvalidArgumentError(
      StrCat("there is no format \"", format, "\"; there are ", StrJoin(FormatNames(), ", ")));
}

}  // namespace coppice::formats
