// Base of both unary mechanisms: the one-hot vector of the (leaf, label) pair as bits, where the
// true bit is sent as one with probability p and every other bit with probability q, independently.
//
// A payload is leaves * classes bits (bit_payload.h), bit leaf * classes + label. A report whose
// number of ones lies outside [min_ones, max_ones] is refused; for an honest one that happens with
// probability below 2^-99. A device makes one draw per untrue one, not one per bit.

#ifndef COPPICE_COMMON_LDP_UNARY_VECTOR_H_
#define COPPICE_COMMON_LDP_UNARY_VECTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/geometric_table.h"

namespace coppice {

// Guarantee  two values differ in two bits; the worst ratio of probabilities is
//            p (1 - q) / (q (1 - p)), which each mechanism keeps at or below
//            exp(epsilon) in whole numbers over 2^32.
// Source     Wang, Blocki, Li, Jha 2017 ("pure" protocols); docs/research/mechanisms.md#unary.
class UnaryVector : public LocalMechanism {
 public:
  size_t payload_bytes() const final;
  size_t sum_size() const final { return domain().cells(); }
  Status Check(std::string_view payload) const final;
  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const final;
  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const final;
  Status RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                          absl::Span<int64_t> sums) const final;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const final;
  NoiseVariance Variance(uint32_t label) const final;
  Influence MaxInfluence() const final;
  bool has_independent_cells() const final { return true; }
  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const final;

  size_t min_ones() const { return min_ones_; }
  size_t max_ones() const { return max_ones_; }

 protected:
  // Probabilities over 2^32. `silence` draws the zeros between untrue ones: its ratio is 1 - q.
  struct Rates {
    uint64_t p;  // that the true cell's bit is sent as 1
    uint64_t q;  // that any other one is
    GeometricTable silence;

    static StatusOr<Rates> Create(uint64_t p, uint64_t q);
  };

  UnaryVector(MechanismKind kind, const Budget& epsilon, const Domain& domain, Rates rates);

 private:
  Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
               std::string& payload) const final;
  // Calls set(position) for every one bit of a randomized report.
  template <typename Set>
  Status DrawOnes(LeafLabel value, PrivateRandom& random, Set set) const;

  Rates rates_;
  double p_, q_;  // rates_ as fractions
  size_t min_ones_, max_ones_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_UNARY_VECTOR_H_
