#include "common/ldp/optimized_unary.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/privacy/exp_bound.h"

namespace coppice {

absl::StatusOr<std::unique_ptr<LocalMechanism>> OptimizedUnary::Create(const Budget& epsilon,
                                                                       const Domain& domain) {
  const uint64_t q = LieRate(epsilon, 1);
  const uint64_t p = uint64_t{1} << 31;
  COPPICE_ASSIGN_OR_RETURN(Rates rates, Rates::Create(p, q));
  return std::unique_ptr<LocalMechanism>(new OptimizedUnary(epsilon, domain, std::move(rates)));
}

}  // namespace coppice
