// Asks private rows how far to follow what public rows say.
//
// Public rows may be of another time, place or population, or simply wrong, and nothing in them can
// tell. So private rows choose among a few ways to answer, by how good each way's answers are: one
// less half of the squared distance between a row's probabilities and its class (half of the Brier
// score), or for numbers one less a third of the error in multiples of its usual size. Either is
// between 0 and 1 for any row and any answer, so one row cannot sway the choice however wrong the
// public rows are about it.
//
// Guarantee  adding or removing a row moves every sum of AnswerQuality by 0 to kQualityUnit in the
//            same direction: a selection among them has the range kQualityUnit. A row's part is a
//            function of its own label and scores, computed the same way wherever the row stands.
//            Rows without a label and scores that are not finite count 0.
// Threads    immutable; the labels and numbers must outlive it.
// Source     docs/research/mechanisms.md#boosting-from-public-rows.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_GUARD_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_GUARD_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/boosting/public/public_start.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

inline constexpr int64_t kQualityUnit = int64_t{1} << 16;

class AnswerQuality {
 public:
  // `unit_of_scores` is that of numbers, in steps.
  AnswerQuality(const BinnedRows& rows, double unit_of_scores)
      : labels_(rows.labels()), targets_(rows.targets()), unit_of_scores_(unit_of_scores) {}

  // Sums the quality of the answers with scores of `origin` + `factor` * `along`, per row.
  int64_t SumOf(const OutputScores& origin, double factor, const OutputScores& along) const;

 private:
  absl::Span<const uint32_t> labels_, targets_;
  double unit_of_scores_;
};

// The parts of the public scores that private rows choose from.
inline constexpr std::array<double, 3> kTrustedParts = {1, 0.5, 0};

// Chooses one of kTrustedParts for `share`. The whole starts ahead by four nats: without evidence
// public rows are believed. `scores` are those of the private rows, around `mean`.
StatusOr<double> ReleaseTrust(const AnswerQuality& quality, const OutputScores& scores, double mean,
                              const BudgetShare& share, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_PUBLIC_PUBLIC_GUARD_H_
