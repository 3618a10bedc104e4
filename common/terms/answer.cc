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

Status RandomizeAnswer(const Terms& terms, const AnswerIn& in, const LabelledRow& row,
                       PrivateRandom& random, std::string& payload) {
  if (AnswersNumbers(terms)) {
    const NumberRange range = AnswerRange(terms, in.tree, in.tree_leaf);
    const double place = std::isfinite(row.number) ? range.PlaceOf(row.number) : kMiddle;
    return in.mechanism.RandomizeNumber({.leaf = in.leaf, .place = place}, in.column, random,
                                        payload);
  }
  payload.clear();
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label,
                           DrawClass(terms.schema->num_outputs(), row.label, random));
  return in.mechanism.Randomize({.leaf = in.leaf, .label = label}, in.column, random, payload);
}

}  // namespace coppice
