#include "client/python/core/columns.h"

#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/encode_number.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

void Count(FieldNote note, ReadNotes& notes) {
  if (note == FieldNote::kClamped) ++notes.clamped;
  if (note == FieldNote::kRounded) ++notes.rounded;
}

bool IsCode(double value, const Feature& feature) {
  return value >= 0 && value <= feature.other() && value == std::floor(value);
}

Status Refusal(const Feature& feature, size_t row, std::string_view why) {
  return InvalidArgumentError(
      StrCat("column '", feature.name, "', row ", row, " (counted from 0): ", why));
}

}  // namespace

Columns::Columns(std::shared_ptr<const Schema> schema, std::vector<py::array_t<double>> arrays)
    : schema_(std::move(schema)), arrays_(std::move(arrays)) {
  if (arrays_.size() != schema_->num_features()) {
    throw py::value_error(StrCat("the schema has ", schema_->num_features(),
                                 " features, and there are ", arrays_.size(), " columns"));
  }
  num_rows_ = arrays_.empty() ? 0 : static_cast<size_t>(arrays_[0].size());
  for (const py::array_t<double>& array : arrays_) {
    if (array.ndim() != 1 || static_cast<size_t>(array.size()) != num_rows_) {
      throw py::value_error("every column must be one-dimensional and as long as the others");
    }
    views_.push_back({.data = static_cast<const char*>(static_cast<const void*>(array.data())),
                      .stride = array.strides(0)});
  }
}

double Columns::At(size_t row, size_t feature) const {
  const View& view = views_[feature];
  double value = 0;
  std::memcpy(&value, view.data + static_cast<ptrdiff_t>(row) * view.stride, sizeof(value));
  return value;
}

Status Columns::EncodeRow(size_t row, Row& out, ReadNotes& notes) const {
  for (size_t i = 0; i < views_.size(); ++i) {
    const Feature& feature = schema_->features()[i];
    const double value = At(row, i);
    if (IsMissing(value)) {
      out[i] = kMissingValue;
      ++notes.missing;
    } else if (feature.type == FeatureType::kCategorical) {
      if (!IsCode(value, feature)) {
        return Refusal(
            feature, row,
            StrCat("must be missing or a category number from 0 to ", feature.values.size()));
      }
      out[i] = value;
      if (value == feature.other()) ++notes.unknown_categories;
    } else if (std::isinf(value)) {
      return Refusal(feature, row, "must be missing or a finite number");
    } else {
      const EncodedField field = EncodeNumber(feature, value);
      out[i] = field.value;
      Count(field.note, notes);
    }
  }
  return OkStatus();
}

}  // namespace coppice::python
