#include "server/datasets/stored_block.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/datasets/row_block.h"

namespace coppice::central {
namespace {

constexpr std::string_view kFormat("\1\0\0\0", 4);
constexpr size_t kHeaderBytes = 8;
constexpr size_t kRowsAt = kFormat.size();  // where the number of rows is
constexpr size_t kBlockBytes = size_t{1} << 20;

template <size_t kWidth>
void Put(uint64_t number, char* at) {
  for (size_t i = 0; i < kWidth; ++i) at[i] = static_cast<char>(number >> (8 * i));
}

template <size_t kWidth>
uint64_t Get(const char* at) {
  uint64_t number = 0;
  for (size_t i = 0; i < kWidth; ++i) {
    number |= uint64_t{static_cast<uint8_t>(at[i])} << (8 * i);
  }
  return number;
}

// Writes `count` numbers, of which `number_of` returns the i-th; returns where the next one goes.
template <size_t kWidth, typename NumberOf>
char* PutAll(size_t count, NumberOf number_of, char* at) {
  for (size_t i = 0; i < count; ++i, at += kWidth) Put<kWidth>(number_of(i), at);
  return at;
}

template <typename NumberOf>
char* PutColumn(size_t width, size_t count, NumberOf number_of, char* at) {
  switch (width) {
    case 1:
      return PutAll<1>(count, number_of, at);
    case 2:
      return PutAll<2>(count, number_of, at);
    case 4:
      return PutAll<4>(count, number_of, at);
    default:
      return PutAll<8>(count, number_of, at);
  }
}

// Calls `take` with each number of a column, in order.
template <size_t kWidth, typename Take>
void GetAll(std::string_view column, Take take) {
  for (size_t at = 0; at < column.size(); at += kWidth) take(Get<kWidth>(column.data() + at));
}

template <typename Take>
void GetColumn(size_t width, std::string_view column, Take take) {
  switch (width) {
    case 1:
      return GetAll<1>(column, take);
    case 2:
      return GetAll<2>(column, take);
    case 4:
      return GetAll<4>(column, take);
    default:
      return GetAll<8>(column, take);
  }
}

size_t WidthOf(uint64_t largest) {
  if (largest <= std::numeric_limits<uint8_t>::max()) return 1;
  if (largest <= std::numeric_limits<uint16_t>::max()) return 2;
  return largest <= std::numeric_limits<uint32_t>::max() ? 4 : 8;
}

}  // namespace

BlockFormat::Column BlockFormat::Coded(int64_t lowest, uint64_t codes) {
  return {.is_coded = true, .lowest = lowest, .codes = codes, .width = WidthOf(codes)};
}

BlockFormat::Column BlockFormat::ColumnOf(const Feature& feature) {
  if (feature.type == FeatureType::kCategorical) return Coded(0, feature.values.size() + 1);
  if (!feature.integer) return {.min = feature.min, .max = feature.max};
  // At most 2^53 in size (schema.h), so all of this is exact.
  const auto lowest = static_cast<int64_t>(feature.min);
  return Coded(lowest, static_cast<uint64_t>(static_cast<int64_t>(feature.max) - lowest) + 1);
}

BlockFormat::BlockFormat(std::shared_ptr<const Schema> schema) : schema_(std::move(schema)) {
  for (const Feature& feature : schema_->features()) columns_.push_back(ColumnOf(feature));
  const auto& target = schema_->target();
  columns_.push_back(target ? Column{.min = target->min, .max = target->max}
                            : Coded(0, schema_->num_classes()));
  for (const Column& column : columns_) row_bytes_ += column.width;
}

size_t BlockFormat::rows_per_block() const {
  return std::clamp<size_t>(kBlockBytes / row_bytes_, 1, kMaxRowsPerBlock);
}

std::string BlockFormat::Encode(const Table& rows, size_t first, size_t count) const {
  std::string bytes(kHeaderBytes + count * row_bytes_, '\0');
  std::copy(kFormat.begin(), kFormat.end(), bytes.begin());
  Put<4>(count, &bytes[kRowsAt]);
  char* at = &bytes[kHeaderBytes];
  for (size_t f = 0; f < schema_->num_features(); ++f) {
    at = PutValues(columns_[f], rows.column(f).subspan(first, count), at);
  }
  const Column& answers = columns_.back();
  if (schema_->target()) {
    PutValues(answers, rows.targets().subspan(first, count), at);
  } else {
    const absl::Span<const uint32_t> labels = rows.labels().subspan(first, count);
    const auto code_of = [&](size_t i) {
      return labels[i] == kUnlabelled ? answers.codes : labels[i];
    };
    PutColumn(answers.width, count, code_of, at);
  }
  return bytes;
}

char* BlockFormat::PutValues(const Column& column, absl::Span<const double> values, char* at) {
  const auto code_of = [&](size_t i) {
    return IsMissing(values[i])
               ? column.codes
               : static_cast<uint64_t>(static_cast<int64_t>(values[i]) - column.lowest);
  };
  const auto bits_of = [&](size_t i) {
    return std::bit_cast<uint64_t>(IsMissing(values[i]) ? kMissingValue : values[i]);
  };
  return column.is_coded ? PutColumn(column.width, values.size(), code_of, at)
                         : PutAll<8>(values.size(), bits_of, at);
}

// Takes one column after the other from the bytes of a block.
class BlockFormat::Reader {
 public:
  Reader(std::string_view bytes, size_t rows) : left_(bytes), rows_(rows) {}

  std::vector<double> Feature(const Column& column) {
    std::vector<double> values;
    values.reserve(rows_);
    if (!column.is_coded) {
      ReadNumbers(column, /*may_be_missing=*/true, values);
      return values;
    }
    GetColumn(column.width, Take(column), [&](uint64_t code) {
      wrong_ += code > column.codes ? 1 : 0;
      const auto number = static_cast<int64_t>(code + static_cast<uint64_t>(column.lowest));
      values.push_back(code == column.codes ? kMissingValue : static_cast<double>(number));
    });
    return values;
  }

  std::vector<double> Targets(const Column& column) {
    std::vector<double> targets;
    targets.reserve(rows_);
    ReadNumbers(column, /*may_be_missing=*/false, targets);
    return targets;
  }

  std::vector<uint32_t> Labels(const Column& column) {
    std::vector<uint32_t> labels;
    labels.reserve(rows_);
    GetColumn(column.width, Take(column), [&](uint64_t code) {
      wrong_ += code > column.codes ? 1 : 0;
      labels.push_back(code == column.codes ? kUnlabelled : static_cast<uint32_t>(code));
    });
    return labels;
  }

  // Says whether all values so far fit; `name` is that of the last column.
  Status CheckAll(std::string_view name) const {
    if (wrong_ == 0) return OkStatus();
    return InvalidArgumentError(StrCat("has a value of \"", name, "\" that does not fit"));
  }

 private:
  std::string_view Take(const Column& column) {
    const std::string_view taken = left_.substr(0, rows_ * column.width);
    left_.remove_prefix(taken.size());
    return taken;
  }

  void ReadNumbers(const Column& column, bool may_be_missing, std::vector<double>& numbers) {
    GetAll<8>(Take(column), [&](uint64_t bits) {
      const auto number = std::bit_cast<double>(bits);
      const bool fits =
          (number >= column.min && number <= column.max) || (may_be_missing && IsMissing(number));
      wrong_ += fits ? 0 : 1;
      numbers.push_back(number);
    });
  }

  std::string_view left_;
  const size_t rows_;
  size_t wrong_ = 0;
};

StatusOr<Table> BlockFormat::Parse(std::string_view bytes) const {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kRowsAt) != kFormat) {
    return InvalidArgumentError("is no block of rows that this version can read");
  }
  const size_t rows = Get<4>(&bytes[kRowsAt]);
  if (rows == 0 || rows > kMaxRowsPerBlock || bytes.size() != kHeaderBytes + rows * row_bytes_) {
    return InvalidArgumentError("is not as long as its rows");
  }
  Reader reader(bytes.substr(kHeaderBytes), rows);
  std::vector<std::vector<double>> features;
  for (size_t f = 0; f < schema_->num_features(); ++f) {
    features.push_back(reader.Feature(columns_[f]));
    COPPICE_RETURN_IF_ERROR(reader.CheckAll(schema_->features()[f].name));
  }
  const bool regression = schema_->target().has_value();
  Table table =
      regression ? Table::OfNumbers(schema_, std::move(features), reader.Targets(columns_.back()))
                 : Table::OfClasses(schema_, std::move(features), reader.Labels(columns_.back()));
  COPPICE_RETURN_IF_ERROR(reader.CheckAll(schema_->label()));
  return table;
}

}  // namespace coppice::central
