#include "common/terms/answer.h"

#include <cmath>

#include "common/base/status_macros.h"
#include "common/ldp/randomized_rounding.h"

namespace coppice {

StatusOr<uint32_t> DrawAnswer(const Terms& terms, const LabelledRow& row, PrivateRandom& random) {
  const uint32_t outputs = terms.schema->num_outputs();
  if (AnswersNumbers(terms)) {
    if (std::isfinite(row.number)) return RoundToAnEnd(terms.rounding->PlaceOf(row.number), random);
  } else if (row.label < outputs) {
    return row.label;
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(outputs));
  return static_cast<uint32_t>(drawn);
}

}  // namespace coppice
