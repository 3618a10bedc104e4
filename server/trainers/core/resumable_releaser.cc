#include "server/trainers/core/resumable_releaser.h"

#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

// Finds a run that went another way, not an attacker: whoever can write checkpoints can write
// models.
uint64_t Digested(uint64_t digest, uint64_t number) { return SplitMix(digest ^ number); }

Status OtherRunError() {
  return FailedPreconditionError(
      "the training does not ask for what it released before it was cut short");
}

}  // namespace

StatusOr<uint64_t> DigestedCoins::UniformBelow(uint64_t bound) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, coins_.UniformBelow(bound));
  digest_ = Digested(digest_, drawn);
  return drawn;
}

StatusOr<bool> DigestedCoins::Bernoulli(uint64_t numerator, uint64_t denominator) {
  COPPICE_ASSIGN_OR_RETURN(const bool drawn, coins_.Bernoulli(numerator, denominator));
  digest_ = Digested(digest_, drawn ? 1 : 0);
  return drawn;
}

ResumableReleaser::ResumableReleaser(PrivateRandom& random, Coins& coins,
                                     std::vector<ReleasedValues> recorded)
    : CoinsOfReleaser{DigestedCoins(coins)},
      PrivateReleaser(random, digested),
      recorded_(std::move(recorded)) {}

std::vector<ReleasedValues> ResumableReleaser::TakeDrawn() { return std::exchange(drawn_, {}); }

ResumableReleaser::Released ResumableReleaser::Release(const Request& request,
                                                       absl::FunctionRef<Released()> draw) {
  for (const uint64_t number :
       {digested.digest(), static_cast<uint64_t>(request.kind), uint64_t{request.count},
        uint64_t{request.share.is_concentrated()}, request.share.amount(), request.sensitivity}) {
    asked_ = Digested(asked_, number);
  }
  if (!KnowsNext()) {
    COPPICE_ASSIGN_OR_RETURN(std::vector<int64_t> values, draw());
    drawn_.push_back({.asked = asked_, .values = values});
    return values;
  }
  ReleasedValues& known = recorded_[next_];
  const bool is_place = request.kind != Request::Kind::kSums;
  if (known.asked != asked_ || known.values.size() != (is_place ? 1 : request.count) ||
      (is_place && static_cast<uint64_t>(known.values.front()) >= request.count)) {
    return OtherRunError();
  }
  ++next_;
  return std::move(known.values);
}

}  // namespace coppice::trainers
