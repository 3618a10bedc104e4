// A run that was cut short and goes on: every offered algorithm, cut after every step.

#include "server/trainers/core/resumable_releaser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/coins/coins.h"
#include "common/wire/proto/convert.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::HasSubstr;

using Values = std::vector<ReleasedValues>;

CoinSeed SeedOf(char byte) { return *CoinSeed::FromBytes(std::string(CoinSeed::kBytes, byte)); }

// Draws nothing.
class NoNoise final : public PrivateRandom {
 public:
  StatusOr<uint64_t> UniformBelow(uint64_t) override { return Drawn(); }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return Drawn(); }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return Drawn(); }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override { return Drawn(); }

 private:
  static Status Drawn() { return InternalError("noise was drawn"); }
};

struct Finished {
  StatusOr<std::string> model = InternalError("did not run");  // as a message
  Values drawn{};
  std::vector<size_t> steps{};  // how much was drawn at the end of each
};

// A job of one algorithm on one table.
struct Case {
  const Trainer* trainer;
  Table table;
  TrainOptions options;

  // Ends after `most` steps, if it has more.
  Finished Train(PrivateRandom& noise, const CoinSeed& seed, Values recorded,
                 size_t most = SIZE_MAX) const {
    SeededCoins coins(seed);
    ResumableReleaser releaser(noise, coins, std::move(recorded));
    Finished run;
    const auto take = [&] {
      for (ReleasedValues& values : releaser.TakeDrawn()) run.drawn.push_back(std::move(values));
    };
    const auto progress = [&](double) -> Status {
      if (run.steps.size() == most) return AbortedError("cut short");
      take();
      run.steps.push_back(run.drawn.size());
      return OkStatus();
    };
    const StatusOr<Model> model = trainer->TrainWith(table, options, releaser, progress);
    run.model = model.ok() ? StatusOr<std::string>(ToProto(*model).SerializeAsString())
                           : StatusOr<std::string>(model.status());
    take();
    return run;
  }
  Finished Train(uint64_t noise_seed, const CoinSeed& seed, Values recorded,
                 size_t most = SIZE_MAX) const {
    SeededRandom noise(noise_seed);
    return Train(noise, seed, std::move(recorded), most);
  }
};

std::vector<Case> CasesOf(const Trainer& trainer) {
  const AlgorithmInfo& info = trainer.info();
  std::vector<Case> cases;
  for (const bool regression : {false, true}) {
    if (regression ? !info.regression : !info.classification) continue;
    for (const bool with_delta : {false, true}) {
      if (with_delta && !info.delta) continue;
      const Table table =
          RandomTable(regression ? MixedRegression() : MixedClasses(2), {.rows = 150}, 5);
      TrainOptions options{.epsilon = *Budget::Parse("2"),
                           .delta_atto = with_delta ? uint64_t{1'000'000'000'000} : 0,
                           .concentrated = with_delta};
      cases.push_back({&trainer, table, options});
    }
  }
  return cases;
}

class ResumedTrainerTest : public ::testing::TestWithParam<const Trainer*> {};

TEST_P(ResumedTrainerTest, WhatWasReleasedIsReleasedAgainAndMakesTheSameModel) {
  for (const Case& job : CasesOf(*GetParam())) {
    const Finished whole = job.Train(1, SeedOf('s'), {});
    ASSERT_OK(whole.model);
    ASSERT_FALSE(whole.drawn.empty());
    NoNoise no_noise;
    const Finished again = job.Train(no_noise, SeedOf('s'), whole.drawn);
    ASSERT_OK(again.model);
    EXPECT_EQ(*again.model, *whole.model);
  }
}

TEST_P(ResumedTrainerTest, ARunCutAfterAnyStepGoesOnFromItsValues) {
  for (const Case& job : CasesOf(*GetParam())) {
    const Finished whole = job.Train(1, SeedOf('s'), {});
    const size_t stride = std::max<size_t>(1, whole.steps.size() / 3);
    for (size_t cut = 0; cut < whole.steps.size(); cut += stride) {
      Values kept(whole.drawn.begin(),
                  whole.drawn.begin() + static_cast<ptrdiff_t>(whole.steps[cut]));
      // The second run is cut as well, somewhere later, and a third ends.
      const Finished second = job.Train(2, SeedOf('s'), kept, cut + stride);
      const size_t stored = second.steps.empty() ? 0 : second.steps.back();
      kept.insert(kept.end(), second.drawn.begin(),
                  second.drawn.begin() + static_cast<ptrdiff_t>(stored));
      const Finished third = job.Train(3, SeedOf('s'), kept);
      ASSERT_OK(third.model) << "cut after step " << cut;
      kept.insert(kept.end(), third.drawn.begin(), third.drawn.end());
      NoNoise no_noise;
      const Finished again = job.Train(no_noise, SeedOf('s'), kept);
      ASSERT_OK(again.model);
      EXPECT_EQ(*again.model, *third.model);
    }
  }
}

// A planted bug: the groups are drawn anew.
TEST_P(ResumedTrainerTest, OtherCoinsAreNoticed) {
  for (const Case& job : CasesOf(*GetParam())) {
    const Finished whole = job.Train(1, SeedOf('s'), {});
    const Finished other = job.Train(1, SeedOf('t'), whole.drawn);
    // One that tosses no coin has none that could differ.
    if (other.model.ok()) {
      EXPECT_EQ(*other.model, *whole.model);
    } else {
      EXPECT_THAT(other.model.status(), StatusIs(StatusCode::kFailedPrecondition,
                                                 HasSubstr("does not ask for what it released")));
    }
  }
}

std::vector<const Trainer*> Offered() {
  std::vector<const Trainer*> offered;
  for (const Trainer* trainer : AllTrainers()) {
    if (trainer->info().is_private) offered.push_back(trainer);
  }
  return offered;
}

INSTANTIATE_TEST_SUITE_P(Trainers, ResumedTrainerTest, ::testing::ValuesIn(Offered()),
                         [](const auto& test) { return test.param->info().name; });

TEST(ResumableReleaserTest, EveryOfferedAlgorithmCanGoOn) {
  for (const Trainer* trainer : Offered()) EXPECT_TRUE(trainer->CanResume());
}

TEST(ResumableReleaserTest, TheGroupsOfTheseFollowFromTheSeed) {
  for (const std::string name : {"spe", "sspe1", "dpboost"}) {
    const std::vector<const Trainer*> offered = Offered();
    const auto found = std::find_if(offered.begin(), offered.end(),
                                    [&](const Trainer* t) { return t->info().name == name; });
    ASSERT_NE(found, offered.end());
    const Case job = CasesOf(**found).front();
    const Finished whole = job.Train(1, SeedOf('s'), {});
    EXPECT_THAT(job.Train(1, SeedOf('t'), whole.drawn).model.status(),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not ask")))
        << name;
  }
}

class ReleaserTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kNanos = 1'000'000;  // so little that no two draws are likely equal

  BudgetShare share_{*Budget::FromNanos(kNanos)};
  SeededRandom noise_{1};
  SeededCoins coins_{SeedOf('s')};
};

TEST_F(ReleaserTest, AskingForSomethingElseIsRefusedAndDrawsNothing) {
  ResumableReleaser first(noise_, coins_, {});
  ASSERT_OK(first.Sums({1, 2}, 1, share_));
  const Values recorded = first.TakeDrawn();
  NoNoise no_noise;
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not ask"));
  EXPECT_OK(ResumableReleaser(no_noise, coins_, recorded).Sums({8, 9}, 1, share_));
  EXPECT_THAT(ResumableReleaser(no_noise, coins_, recorded).Sums({1, 2, 3}, 1, share_), refused);
  EXPECT_THAT(ResumableReleaser(no_noise, coins_, recorded).Sums({1, 2}, 2, share_), refused);
  EXPECT_THAT(ResumableReleaser(no_noise, coins_, recorded)
                  .Sums({1, 2}, 1, BudgetShare(*Budget::FromNanos(kNanos + 1))),
              refused);
  EXPECT_THAT(
      ResumableReleaser(no_noise, coins_, recorded)
          .Measure({1, 2}, {.l1 = 1, .l2_squared = 1}, BudgetShare(*Rho::FromPicos(kNanos))),
      refused);
  EXPECT_THAT(ResumableReleaser(no_noise, coins_, recorded).Select({1, 2}, share_, 1), refused);
  ResumableReleaser tossed(no_noise, coins_, recorded);
  ASSERT_OK(tossed.Below(2));
  EXPECT_THAT(tossed.Sums({1, 2}, 1, share_), refused);
}

TEST_F(ReleaserTest, AChosenPlaceOutsideTheCandidatesIsRefused) {
  ResumableReleaser first(noise_, coins_, {});
  ASSERT_OK(first.Select({0, 0, 0}, share_, 1));
  Values recorded = first.TakeDrawn();
  recorded.front().values.front() = 3;
  EXPECT_THAT(ResumableReleaser(noise_, coins_, recorded).Select({0, 0, 0}, share_, 1),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not ask")));
  recorded.front().values.front() = -1;
  EXPECT_THAT(ResumableReleaser(noise_, coins_, recorded).Select({0, 0, 0}, share_, 1),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not ask")));
}

}  // namespace
}  // namespace coppice::trainers
