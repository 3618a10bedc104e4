// What margins promise of rows that were not seen, for votes of one-rules.
//
// A vote of rules errs on a new row at most as often as its margin on the training rows is theta or
// less, plus 2 / theta times the rules' Rademacher complexity, plus 3 sqrt(ln(2 / delta) / 2n):
// with probability 1 - delta, for a theta that is chosen beforehand. Taking the best of a grid of
// thetas, as the thesis seems to, forgets the price of choosing, which makes the promise look
// better than it is and still leaves it far below what the votes score.
//
// Guarantee  none: both sides are read off the training rows as they are.
// Source     Koltchinskii, Panchenko 2002; Salamatian's thesis, Table 5.4.

#ifndef COPPICE_SERVER_RESEARCH_RADEMACHER_H_
#define COPPICE_SERVER_RESEARCH_RADEMACHER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/model/model.h"
#include "common/table/table.h"
#include "server/research/one_hot.h"

namespace coppice::research {

// The mean over `draws` of random signs of the largest correlation that a column, or its negative,
// has with them: a rule votes 1 where the column is not 0 and -1 elsewhere.
double OneRuleComplexity(const OneHotRows& rows, size_t draws, PublicRandom& random);

// By how much the votes for each row's class lead, from -1 to 1. The model has two classes, and
// trees that vote (LeafKind::kScores).
std::vector<double> MarginsOf(const Model& model, const Table& rows);

// The largest accuracy that the bound promises, with the theta that it has it at; 0 if none is
// above that.
struct MarginPromise {
  double accuracy = 0;
  double theta = 0;
};
MarginPromise PromiseOfMargins(absl::Span<const double> margins, double complexity, double delta);

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_RADEMACHER_H_
