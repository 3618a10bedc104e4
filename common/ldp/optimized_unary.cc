#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/unary_vector.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

// `optimized_unary`: in the one-hot vector of the (leaf, label) pair the true bit is sent as it is
// with probability 1/2, and every other bit is raised with probability A / 2^32, A the least whole
// number with (2^32 - A) / A <= exp(epsilon).
//
// Guarantee  epsilon-LDP: with p = 1/2 the worst ratio is (1 - q) / q <= exp(epsilon). Neighbours:
//            any value of the row for any other.
// Source     Wang, Blocki, Li, Jha 2017 (OUE); docs/research/mechanisms.md#optimized_unary.
class OptimizedUnary final : public UnaryVector {
 public:
  static MechanismOr Create(const Budget& epsilon, const Domain& domain) {
    const uint64_t q = LieRate(epsilon, 1);
    const uint64_t p = uint64_t{1} << 31;
    COPPICE_ASSIGN_OR_RETURN(Rates rates, Rates::Create(p, q));
    return std::make_unique<OptimizedUnary>(epsilon, domain, std::move(rates));
  }

  OptimizedUnary(const Budget& epsilon, const Domain& domain, Rates rates)
      : UnaryVector(MechanismKind::kOptimizedUnary, epsilon, domain, std::move(rates)) {}

  // 1 / (2 (exp(epsilon) + 1)).
  double TwoSidedMass() const override { return MaxTwoSidedMass(epsilon()) / 2; }
};

}  // namespace

// Proved: optimized_unary_is_private in tests/proofs/statements.v.
MechanismOr MakeOptimizedUnary(const Budget& epsilon, const Domain& domain) {
  return OptimizedUnary::Create(epsilon, domain);
}

}  // namespace coppice
