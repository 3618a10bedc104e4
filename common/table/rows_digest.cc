#include "common/table/rows_digest.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

// The numbers of these fields in coppice.v1.RowBlock and, of the values, in ColumnValues.
constexpr uint64_t kColumns = 1, kLabels = 2, kTargets = 3, kValues = 1;
constexpr uint64_t kEndOfMessage = 0;
constexpr uint64_t kMissing = 0x7ff8000000000000;

uint64_t BitsOf(uint32_t label) { return label; }
uint64_t BitsOf(double value) {
  if (std::isnan(value)) return kMissing;
  return value == 0 ? 0 : std::bit_cast<uint64_t>(value);  // a zero has no sign
}

class CanonicalRows {
 public:
  explicit CanonicalRows(const Table& rows) {
    const size_t features = rows.schema().num_features();
    bytes_.reserve(8 * (rows.num_rows() + 4) * (features + 1));
    Add(kColumns);
    Add(features);
    for (size_t f = 0; f < features; ++f) {
      AddField(kValues, rows.column(f));
      Add(kEndOfMessage);
    }
    AddField(kLabels, rows.labels());
    AddField(kTargets, rows.targets());
    Add(kEndOfMessage);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Add(uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes_.push_back(static_cast<char>(number >> shift));
  }
  template <typename Value>
  void AddField(uint64_t field, absl::Span<const Value> values) {
    if (values.empty()) return;
    Add(field);
    Add(values.size());
    for (const Value value : values) Add(BitsOf(value));
  }

  std::string bytes_;
};

}  // namespace

std::string RowsDigest(const Table& rows) {
  const Sha256Digest digest = Sha256({CanonicalRows(rows).bytes()});
  return BytesToHexString(std::string(digest.begin(), digest.end()));
}

}  // namespace coppice
