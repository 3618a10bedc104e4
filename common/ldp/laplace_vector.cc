#include "common/ldp/laplace_vector.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/laplace_noise.h"
#include "common/ldp/payload/integer_payload.h"

namespace coppice {

Status LaplaceVector::Write(LeafLabel value, uint32_t /*column*/, PrivateRandom& random,
                            std::string& payload) const {
  const Ones ones = OnesOf(value);
  payload.clear();
  return noise_.Draw(random, sum_size(), [&](size_t start, absl::Span<int32_t> entries) {
    for (const size_t one : ones) {
      if (one - start < entries.size()) ++entries[one - start];  // a one before it wraps around
    }
    AppendIntegers(entries, payload);
  });
}

Status LaplaceVector::Check(std::string_view payload) const {
  return CheckIntegers(payload, limits_);
}

void LaplaceVector::AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const {
  AddIntegers(reports, sums);
}

Status LaplaceVector::RandomizeInto(LeafLabel value, PrivateRandom& random,
                                    absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  COPPICE_RETURN_IF_ERROR(noise_.AddTo(random, sums));
  for (const size_t one : OnesOf(value)) ++sums[one];
  return OkStatus();
}

Status LaplaceVector::RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                                       absl::Span<int64_t> sums) const {
  uint64_t rows = 0;
  for (size_t cell = 0; cell < rows_of.size(); ++cell) {
    for (const size_t one : OnesOf(ValueOf(cell))) sums[one] += static_cast<int64_t>(rows_of[cell]);
    rows += rows_of[cell];
  }
  for (int64_t& sum : sums) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t noise, noise_.SumOf(rows, random));
    sum += noise;
  }
  return OkStatus();
}

StatusOr<double> LaplaceVector::LogOutputProbability(LeafLabel value, uint32_t column,
                                                     std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
  std::vector<int32_t> entries(sum_size());
  COPPICE_RETURN_IF_ERROR(DecodeIntegers(payload, absl::MakeSpan(entries)));
  for (const size_t one : OnesOf(value)) --entries[one];
  double log_probability = 0;
  for (const int32_t entry : entries) log_probability += noise_.LogProbability(entry);
  return log_probability;
}

}  // namespace coppice
