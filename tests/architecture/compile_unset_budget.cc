// A budget that nobody set must not compile.

#include "common/privacy/budget.h"

namespace coppice {

bool IsSet(const Budget& budget) { return budget.nanos() > 0; }

bool Use() {
#ifdef COPPICE_MISUSE
  Budget budget;
  return IsSet(budget);
#else
  return IsSet(*Budget::Parse("1"));
#endif
}

}  // namespace coppice
