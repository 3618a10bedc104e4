// A releaser for a job that goes on after a crash: it hands out what the job released before, and
// draws the rest.
//
// A trainer is a function of its rows, its options, its coins and what was released to it. So a run
// that was cut short is repeated from its start: with the same coins it asks for the same releases,
// and gets the values that the first run got, until these are used up. No trainer has code for
// this. What a dead run drew and did not store is drawn afresh: nobody saw it.
//
// Each value carries a digest of what was asked and tossed until then. A run that asks for
// something else, as another version might, or that tossed other coins, is refused: with other
// groups, a row that one tree has seen would fall to a later one.

#ifndef COPPICE_SERVER_TRAINERS_CORE_RESUMABLE_RELEASER_H_
#define COPPICE_SERVER_TRAINERS_CORE_RESUMABLE_RELEASER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/coins/coins.h"
#include "common/privacy/private_random.h"
#include "server/trainers/core/private_releaser.h"

namespace coppice::trainers {

// One release: noisy sums, or the chosen place alone.
struct ReleasedValues {
  uint64_t asked = 0;  // the digest of all that was asked and tossed, this release included
  std::vector<int64_t> values{};

  friend bool operator==(const ReleasedValues&, const ReleasedValues&) = default;
};

// Passes coins on, and digests them.
class DigestedCoins final : public Coins {
 public:
  explicit DigestedCoins(Coins& coins) : coins_(coins) {}

  uint64_t digest() const { return digest_; }

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override;
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override;

 private:
  Coins& coins_;
  uint64_t digest_ = 0;
};

// A base that exists before the releaser that uses it.
struct CoinsOfReleaser {
  DigestedCoins digested;
};

// Guarantee  the recorded values and what is drawn after them have together the law of one run, if
//            the coins are those of the first run and what cut it short did not depend on the
//            values that it drew last.
// Errors     those of PrivateReleaser; FailedPrecondition if the run is not that of the recorded
//            values. Nothing was drawn then.
// Threads    not safe to share.
class ResumableReleaser final : private CoinsOfReleaser, public PrivateReleaser {
 public:
  // `random` and `coins` must outlive this. `recorded` is empty for a first run.
  ResumableReleaser(PrivateRandom& random, Coins& coins, std::vector<ReleasedValues> recorded);

  // What was drawn and not taken before. The caller makes it durable before anything outside the
  // training depends on it.
  std::vector<ReleasedValues> TakeDrawn();

  bool KnowsNext(size_t releases = 1) const override {
    return recorded_.size() - next_ >= releases;
  }

 private:
  Released Release(const Request& request, absl::FunctionRef<Released()> draw) override;

  std::vector<ReleasedValues> recorded_;
  size_t next_ = 0;
  std::vector<ReleasedValues> drawn_;
  uint64_t asked_ = 0;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_RESUMABLE_RELEASER_H_
