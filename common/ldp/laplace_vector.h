// Base of both Laplace mechanisms: a 0/1 vector with one or two ones, and discrete Laplace noise on
// every entry.
//
// A payload is the noisy entries in order (integer_payload.h). A report is refused if an entry, or
// the sum of absolute entries, is one that an honest report has with probability below 2^-100.

#ifndef COPPICE_COMMON_LDP_LAPLACE_VECTOR_H_
#define COPPICE_COMMON_LDP_LAPLACE_VECTOR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "common/base/status.h"
#include "common/ldp/laplace_noise.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/integer_payload.h"

namespace coppice {

// Guarantee  epsilon-LDP if `noise` was made for the largest L1 distance between two such vectors.
class LaplaceVector : public LocalMechanism {
 public:
  size_t payload_bytes() const final { return sum_size(); }
  // Of reports that are not refused.
  size_t max_payload_bytes() const final { return MaxBytesWithin(limits_); }
  size_t sum_size() const final { return domain().cells(); }
  Status Check(std::string_view payload) const final;
  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const final;
  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const final;
  Status RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                          absl::Span<int64_t> sums) const final;
  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const final;
  bool adds_laplace_noise() const final { return true; }

 protected:
  using Ones = absl::InlinedVector<size_t, 2>;

  // A noiseless vector has at most `ones` ones.
  LaplaceVector(MechanismKind kind, const Budget& epsilon, const Domain& domain, LaplaceNoise noise,
                int64_t ones)
      : LocalMechanism(kind, epsilon, domain),
        noise_(std::move(noise)),
        limits_{.count = domain.cells(),
                .each = noise_.bound() + 1,
                .total = noise_.TotalBound(domain.cells()) + ones} {}

  const LaplaceNoise& noise() const { return noise_; }
  const IntegerLimits& limits() const { return limits_; }

 private:
  Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
               std::string& payload) const final;
  // The positions of the ones in the noiseless vector of `value`.
  virtual Ones OnesOf(LeafLabel value) const = 0;

  LaplaceNoise noise_;
  IntegerLimits limits_;  // an honest payload exceeds one with probability below 2^-90
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LAPLACE_VECTOR_H_
