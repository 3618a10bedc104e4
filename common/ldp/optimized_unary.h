// `optimized_unary`: of the one-hot of the (leaf, label) pair the true bit is sent as it is with
// probability 1/2, every other bit is raised with probability A / 2^32, A the least whole number
// with (2^32 - A) / A <= exp(epsilon).
//
// Guarantee  with p = 1/2 the worst ratio is (1 - q) / q <= exp(epsilon): epsilon-LDP.
//            Neighbours: any value of the row for any other.
// Source     Wang, Blocki, Li, Jha 2017 (OUE); docs/mechanisms.md#optimized_unary.

#ifndef COPPICE_COMMON_LDP_OPTIMIZED_UNARY_H_
#define COPPICE_COMMON_LDP_OPTIMIZED_UNARY_H_

#include <memory>
#include <utility>

#include "common/ldp/unary_vector.h"

namespace coppice {

class OptimizedUnary final : public UnaryVector {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

 private:
  OptimizedUnary(const Budget& epsilon, const Domain& domain, Rates rates)
      : UnaryVector(MechanismKind::kOptimizedUnary, epsilon, domain, std::move(rates)) {}
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_OPTIMIZED_UNARY_H_
