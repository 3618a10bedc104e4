#include <cmath>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/unary_vector.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

// `symmetric_unary`, the paper's randomized response: every bit of the one-hot vector of the (leaf,
// label) pair is flipped with probability A / 2^32, A the least whole number with (2^32 - A) / A <=
// exp(epsilon / 2).
//
// Guarantee  epsilon-LDP: p = 1 - q, so the worst ratio is ((1 - q) / q)^2 <= exp(epsilon).
//            Neighbours: any value of the row for any other.
// Source     Ma and Yang 2024, section 3.1; docs/research/mechanisms.md#symmetric_unary.
class SymmetricUnary final : public UnaryVector {
 public:
  static MechanismOr Create(const Budget& epsilon, const Domain& domain) {
    const uint64_t q = LieRate(epsilon, 2);
    const uint64_t p = (uint64_t{1} << 32) - q;
    COPPICE_ASSIGN_OR_RETURN(Rates rates, Rates::Create(p, q));
    return std::make_unique<SymmetricUnary>(epsilon, domain, std::move(rates));
  }

  SymmetricUnary(const Budget& epsilon, const Domain& domain, Rates rates)
      : UnaryVector(MechanismKind::kSymmetricUnary, epsilon, domain, std::move(rates)) {}

  // 1 / (exp(epsilon / 2) + 1)^2.
  double TwoSidedMass() const override {
    const double root = std::exp(epsilon().epsilon() / 2) + 1;
    return kMassRoundingUp / (root * root);
  }
};

}  // namespace

// Proved: symmetric_unary_is_private in tests/proofs/statements.v.
MechanismOr MakeSymmetricUnary(const Budget& epsilon, const Domain& domain) {
  return SymmetricUnary::Create(epsilon, domain);
}

}  // namespace coppice
