#include "common/terms/answer.h"

#include <cmath>

#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr double kMiddle = 0.5;

StatusOr<uint32_t> DrawClass(uint32_t classes, uint32_t label, PrivateRandom& random) {
  if (label < classes) return label;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(classes));
  return static_cast<uint32_t>(drawn);
}

}  // namespace

Status RandomizeAnswer(const Terms& terms, const LocalMechanism& mechanism, uint32_t leaf,
                       uint32_t column, const LabelledRow& row, PrivateRandom& random,
                       std::string& payload) {
  if (AnswersNumbers(terms)) {
    const double place = std::isfinite(row.number) ? terms.rounding->PlaceOf(row.number) : kMiddle;
    return mechanism.RandomizeNumber({.leaf = leaf, .place = place}, column, random, payload);
  }
  payload.clear();
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label,
                           DrawClass(terms.schema->num_outputs(), row.label, random));
  return mechanism.Randomize({.leaf = leaf, .label = label}, column, random, payload);
}

}  // namespace coppice
