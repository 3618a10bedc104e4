// The weak learners of smooth boosting: rules that are right about a little more than half the
// mass.
//
// Weak is enough: boosting needs an edge over guessing, not a good model. Simple rules have few
// candidates and large differences between them, so a private choice seldom misses those that have
// an edge.
//
// Each row has a mass, positive if its label is the class in question and negative if not; a row of
// mass 0 does not count. There are two learners:
//
//   one_rule  the literal with the least mass of rows that it gets wrong (Algorithm 1 of the
//             thesis). A literal is a public split of one feature, or one of its bins, read either
//             way; or always the same answer.
//   top_down  a tree grown split by split: of all splits of all leaves the one that lowers the Gini
//             impurity of the masses most (Algorithm 3); then each leaf votes for its larger mass.

#ifndef COPPICE_SERVER_TRAINERS_LAZYBB_WEAK_LEARNERS_H_
#define COPPICE_SERVER_TRAINERS_LAZYBB_WEAK_LEARNERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

struct WeighedRows {
  const BinnedRows& rows;
  absl::Span<const int64_t> masses;  // see above
};

// A rule as a small tree; -1 or 1 for each leaf, and for each row.
struct WeakRule {
  Tree tree = Tree::SingleLeaf();
  std::vector<int8_t> leaf_votes;
  std::vector<int8_t> row_votes;
};

// Guarantee  Learn() costs its share, if adding or removing a row moves all masses together by at
//            most `mass_change` in L1:
//            - the wrong mass of rules moves by at most as much more for one rule than for another,
//              so that is the selection's range;
//            - of the impurity's drop: WeightedGiniRange() (split_scores.h);
//            - the leaves' votes together cost one leaf's: permute and flip between a leaf's two
//              masses loses epsilon times its own part of the change. It votes as the sign of their
//              difference with Laplace noise would: exp(-epsilon d / mass_change) / 2 is the chance
//              to be wrong by either.
//            How many splits a tree has is public: those asked for, or all that there are.
// Errors     InvalidArgument if the share is too small to be divided; what the PrivateReleaser
//            returns.
// Threads    immutable; Learn() may run on several threads, each with its own PrivateReleaser.
// Source     docs/research/mechanisms.md#lazybb.
class WeakLearner {
 public:
  virtual ~WeakLearner() = default;

  // InvalidArgument if the share of a round is too small to be divided.
  virtual Status CheckShare(const BudgetShare& share) const = 0;
  // Returns the part of a round's share that decides which way a rule votes.
  virtual StatusOr<BudgetShare> ShareOfVotes(const BudgetShare& share) const = 0;
  virtual StatusOr<WeakRule> Learn(const WeighedRows& rows, uint64_t mass_change,
                                   const BudgetShare& share, PrivateReleaser& releaser) const = 0;
};

// The literals of a numeric feature.
enum class NumericLiterals : uint8_t { kCuts, kBins };

// `schema` must outlive the learner.
std::unique_ptr<WeakLearner> MakeOneRule(const Schema& schema, std::vector<FeatureBins> bins,
                                         NumericLiterals literals);

// `structure` is the part of a round's share that pays for the splits, in equal parts.
struct TopDownOptions {
  uint32_t splits = 1;
  double structure = 0.5;
};
std::unique_ptr<WeakLearner> MakeTopDown(const Schema& schema, std::vector<FeatureBins> bins,
                                         const TopDownOptions& options);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_LAZYBB_WEAK_LEARNERS_H_
