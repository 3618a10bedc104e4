#include "common/ldp/symmetric_unary.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/privacy/exp_bound.h"

namespace coppice {

absl::StatusOr<std::unique_ptr<LocalMechanism>> SymmetricUnary::Create(const Budget& epsilon,
                                                                       const Domain& domain) {
  const uint64_t q = LieRate(epsilon, 2);
  const uint64_t p = (uint64_t{1} << 32) - q;
  COPPICE_ASSIGN_OR_RETURN(Rates rates, Rates::Create(p, q));
  return std::unique_ptr<LocalMechanism>(new SymmetricUnary(epsilon, domain, std::move(rates)));
}

}  // namespace coppice
