// The one way from private rows to released values in a trainer: with noise for a share of the
// budget, or exactly where there is no budget (coppice-lab's comparison without privacy).
//
// Guarantee  each call costs its share, if `range` or `sensitivity` are what common/privacy's
//            selection.h and noisy_sums.h ask for. Without a share nothing is protected.
// Errors     as of these; Unavailable if the random source fails.
// Threads    not safe to share.

#ifndef COPPICE_SERVER_TRAINERS_RELEASER_H_
#define COPPICE_SERVER_TRAINERS_RELEASER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice {

// A part of a job's budget, or the wish to go without privacy, which has to be said.
class Share {
 public:
  explicit Share(const Budget& budget) : budget_(budget) {}
  static Share WithoutPrivacy() { return Share(); }
  // Of a whole job: without privacy if `epsilon` is unset.
  static Share Of(const std::optional<Budget>& epsilon) {
    return epsilon ? Share(*epsilon) : WithoutPrivacy();
  }

  bool is_private() const { return budget_.has_value(); }
  // Only of a private one.
  const Budget& budget() const { return *budget_; }
  uint64_t nanos() const { return budget_ ? budget_->nanos() : 0; }

 private:
  Share() = default;

  std::optional<Budget> budget_;
};

enum class SelectionRule : uint8_t { kPermuteAndFlip, kExponential };

class Releaser {
 public:
  Releaser(SelectionRule rule, PrivateRandom& random) : rule_(rule), random_(random) {}

  // The place of the chosen candidate; without a share one of the best, each as likely.
  absl::StatusOr<size_t> Select(absl::Span<const int64_t> scores, const Share& share,
                                uint64_t range);
  absl::StatusOr<std::vector<int64_t>> Sums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                            const Share& share);
  // A coin that costs nothing, because it does not depend on rows.
  absl::StatusOr<uint64_t> Below(uint64_t bound) { return random_.UniformBelow(bound); }

  PrivateRandom& random() { return random_; }

 private:
  SelectionRule rule_;
  PrivateRandom& random_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_TRAINERS_RELEASER_H_
