// `symmetric_unary`, the paper's randomized response: every bit of the one-hot of the (leaf, label)
// pair is flipped with probability A / 2^32, A the least whole number with (2^32 - A) / A <=
// exp(epsilon / 2).
//
// Guarantee  p = 1 - q, so the worst ratio is ((1 - q) / q)^2 <= exp(epsilon):
//            epsilon-LDP. Neighbours: any value of the row for any other.
// Source     Ma and Yang 2024, section 3.1; docs/mechanisms.md#symmetric_unary.

#ifndef COPPICE_COMMON_LDP_SYMMETRIC_UNARY_H_
#define COPPICE_COMMON_LDP_SYMMETRIC_UNARY_H_

#include <memory>
#include <utility>

#include "common/ldp/unary_vector.h"

namespace coppice {

class SymmetricUnary final : public UnaryVector {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

 private:
  SymmetricUnary(const Budget& epsilon, const Domain& domain, Rates rates)
      : UnaryVector(MechanismKind::kSymmetricUnary, epsilon, domain, std::move(rates)) {}
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_SYMMETRIC_UNARY_H_
