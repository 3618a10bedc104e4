// The black-box audit on real randomness: it never finds more than the mechanisms claim, finds
// nearly all of it, and finds each planted bug.
//
// A mechanism joins by being in AllMechanismKinds(); a trainer by being in AllTrainers(), whose
// tables are those of audit_trainer.cc. False alarm: 1e-6 for each audit that must stay below its
// claim.

#include "server/lab/measure_epsilon/audit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/noisy_sums.h"
#include "common/privacy/openssl_random.h"
#include "common/privacy/selection.h"
#include "server/trainers/registry.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DomainFor;

constexpr Domain kDomain{.leaves = 2, .classes = 2};

std::unique_ptr<LocalMechanism> Make(MechanismKind kind, const char* epsilon) {
  return *MakeLocalMechanism(kind, *Budget::Parse(epsilon), DomainFor(kind, kDomain));
}

double LowerBound(const lab::AuditSubject& subject, uint64_t trials, uint32_t threads = 2) {
  const auto result = lab::RunAudit(subject, {.trials = trials, .threads = threads});
  EXPECT_OK(result);
  return result.ok() ? result->epsilon_lower_bound : -1;
}

class MechanismAuditTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, MechanismAuditTest,
                         ::testing::ValuesIn(AllMechanismKinds().begin(),
                                             AllMechanismKinds().end()),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(MechanismAuditTest, FindsNearlyAllOfTheClaimAndNeverMore) {
  for (const char* epsilon : {"1", "3"}) {
    const auto mechanism = Make(GetParam(), epsilon);
    const double claimed = mechanism->epsilon().epsilon();
    const double bound = LowerBound(lab::SubjectOf(*mechanism), 2'000'000);
    EXPECT_LE(bound, claimed);
    EXPECT_GE(bound, 0.9 * claimed);
  }
}

// Planted: half the noise, which costs twice the epsilon.
TEST_P(MechanismAuditTest, HalfTheNoiseIsFoundOut) {
  const double claimed = 1;
  EXPECT_GT(LowerBound(lab::SubjectOf(*Make(GetParam(), "2")), 300'000), 1.2 * claimed);
}

// Planted: noise on U, the leaf, and none on V, the label.
TEST(PlantedBugTest, NoiseOnUOnlyIsFoundOut) {
  const auto mechanism = Make(MechanismKind::kLaplaceSplit, "1");
  lab::AuditSubject subject = lab::SubjectOf(*mechanism);
  subject.run = [run = subject.run](uint32_t input, PrivateRandom& random) {
    StatusOr<std::string> summary = run(input, random);
    const uint32_t leaf = input / kDomain.classes;
    for (uint32_t i = 0; summary.ok() && i < kDomain.leaves; ++i) {
      (*summary)[kDomain.leaves + i] = i == leaf && input % kDomain.classes == 1 ? '2' : '1';
    }
    return summary;
  };
  EXPECT_GT(LowerBound(subject, 20'000), 3);
}

// Planted: bytes drawn ahead, as OpenSslRandom draws them, but kept across fork().
class ForkUnawareRandom final : public PrivateRandom {
 public:
  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    while (true) {
      COPPICE_ASSIGN_OR_RETURN(const uint64_t word, NextWord());
      if (word < bound) return word;
    }
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t value, UniformBelow(denominator));
    return value < numerator;
  }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override {
    return UnimplementedError("no report draws it");
  }
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) {
      COPPICE_ASSIGN_OR_RETURN(const uint16_t first, NextWord());
      COPPICE_ASSIGN_OR_RETURN(draw, table.Resolve(first, [this] { return NextWord(); }));
    }
    return OkStatus();
  }

 private:
  StatusOr<uint16_t> NextWord() {
    if (next_ == words_.size()) {
      for (uint16_t& word : words_) {
        COPPICE_ASSIGN_OR_RETURN(word, source_.UniformBelow(1 << 16));
      }
      next_ = 0;
    }
    return words_[next_++];
  }

  OpenSslRandom source_;
  std::vector<uint16_t> words_ = std::vector<uint16_t>(1024);
  size_t next_ = words_.size();
};

// A process randomizes a known row in a child that it forks, and a private row itself. The observer
// subtracts the two reports: if both have the same noise, the row is left.
template <typename Random>
lab::AuditSubject ForkingProcess(const LocalMechanism& mechanism) {
  lab::AuditSubject subject = lab::SubjectOf(mechanism);
  subject.run = [run = subject.run](uint32_t input, PrivateRandom&) -> StatusOr<std::string> {
    Random random;
    COPPICE_RETURN_IF_ERROR(random.UniformBelow(2).status());  // The buffer is full from here on.
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return InternalError("pipe");
    const pid_t child = fork();
    if (child == 0) {
      const StatusOr<std::string> known = run(0, random);
      if (known.ok()) static_cast<void>(!write(pipe_ends[1], known->data(), known->size()));
      _exit(0);
    }
    close(pipe_ends[1]);
    std::string known(kDomain.cells(), '\0');
    const ssize_t got = read(pipe_ends[0], known.data(), known.size());
    close(pipe_ends[0]);
    waitpid(child, nullptr, 0);
    COPPICE_ASSIGN_OR_RETURN(const std::string own, run(input, random));
    if (got != static_cast<ssize_t>(own.size())) return InternalError("the child failed");
    std::string difference;
    for (size_t i = 0; i < own.size(); ++i) {
      difference.push_back(static_cast<char>('3' + own[i] - known[i]));
    }
    return difference;
  };
  return subject;
}

TEST(PlantedBugTest, NoiseRepeatedAfterAForkIsFoundOut) {
  const auto mechanism = Make(MechanismKind::kLaplaceJoint, "1");
  constexpr uint64_t kTrials = 2000;  // one process per trial
  EXPECT_LE(LowerBound(ForkingProcess<OpenSslRandom>(*mechanism), kTrials, 1), 1);
  EXPECT_GT(LowerBound(ForkingProcess<ForkUnawareRandom>(*mechanism), kTrials, 1), 3);
}

// The median of a table of numbers from 0 to 3, on a grid. Input 1 has one row more than input 0.
StatusOr<size_t> MedianOf(const std::vector<uint32_t>& table, uint32_t cuts,
                          PrivateRandom& random) {
  std::vector<uint64_t> ranks(cuts);
  for (const uint32_t value : table) {
    for (uint32_t cut = value; cut < cuts; ++cut) ++ranks[cut];
  }
  return SelectQuantile(ranks, table.size(), 1, 2, *Budget::Parse("1"), random);
}

lab::AuditSubject MedianSubject(
    std::vector<uint32_t> table, uint32_t more,
    std::function<StatusOr<size_t>(const std::vector<uint32_t>&, PrivateRandom&)> release) {
  std::vector<uint32_t> larger = table;
  larger.push_back(more);
  return {.name = "median",
          .inputs = 2,
          .run = [table, larger, release](uint32_t input,
                                          PrivateRandom& random) -> StatusOr<std::string> {
            COPPICE_ASSIGN_OR_RETURN(const size_t cut,
                                     release(input == 0 ? table : larger, random));
            return std::to_string(cut);
          }};
}

const std::vector<uint32_t>& TenNumbers() {
  static const auto* const numbers = new std::vector<uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3};
  return *numbers;
}

TEST(ReleaseAuditTest, ThePrivateMedianStaysBelowItsClaim) {
  const auto subject = MedianSubject(
      TenNumbers(), 3, [](const auto& table, auto& random) { return MedianOf(table, 4, random); });
  const double bound = LowerBound(subject, 1'000'000);
  EXPECT_LE(bound, 1);
  EXPECT_GT(bound, 0.2);
}

// Planted: a node of ten rows is a leaf, and one of eleven is split.
TEST(PlantedBugTest, APeekAtACountIsFoundOut) {
  const auto subject =
      MedianSubject(TenNumbers(), 3, [](const auto& table, auto& random) -> StatusOr<size_t> {
        if (table.size() <= 10) return 99;
        return MedianOf(table, 4, random);
      });
  EXPECT_GT(LowerBound(subject, 20'000), 3);
}

// Planted: the grid ends where the data ends.
TEST(PlantedBugTest, ARangeTakenFromTheDataIsFoundOut) {
  const auto subject = MedianSubject({0, 0, 0, 0, 0, 0}, 3, [](const auto& table, auto& random) {
    return MedianOf(table, *std::max_element(table.begin(), table.end()) + 1, random);
  });
  EXPECT_GT(LowerBound(subject, 200'000), 1.2);
}

// Planted: the statistic behind a private mean has noise whose scale follows a private count.
TEST(PlantedBugTest, ANoiseScaleTakenFromTheDataIsFoundOut) {
  const lab::AuditSubject subject = {
      .name = "mean",
      .inputs = 2,
      .run = [](uint32_t input, PrivateRandom& random) -> StatusOr<std::string> {
        // No row, or one of value 1; the noise is divided by the number of rows plus one.
        COPPICE_ASSIGN_OR_RETURN(const std::vector<int64_t> noisy,
                                 ReleaseSums({10 * static_cast<int64_t>(input)},
                                             input == 0 ? 10 : 5, *Budget::Parse("1"), random));
        return std::to_string(std::clamp<int64_t>(noisy[0] / 10, -5, 5));
      }};
  EXPECT_GT(LowerBound(subject, 200'000), 1.2);
}

std::vector<const trainers::Trainer*> PrivateTrainers() {
  std::vector<const trainers::Trainer*> trainers;
  for (const trainers::Trainer* trainer : trainers::AllTrainers()) {
    if (trainer->info().is_private) trainers.push_back(trainer);
  }
  return trainers;
}

class TrainerAuditTest : public ::testing::TestWithParam<const trainers::Trainer*> {};

INSTANTIATE_TEST_SUITE_P(All, TrainerAuditTest, ::testing::ValuesIn(PrivateTrainers()),
                         [](const auto& test) { return test.param->info().name; });

// auto divides epsilon among levels by itself and cannot be told to grow one level, so a few rows
// show less of its claim.
bool IsAuto(const trainers::Trainer& trainer) { return trainer.info().name == "auto"; }

TEST_P(TrainerAuditTest, FindsAGoodPartOfTheClaimAndNeverMore) {
  ASSERT_OK_AND_ASSIGN(const lab::AuditSubject subject,
                       lab::SubjectOf(*GetParam(), *Budget::Parse("2")));
  const double bound = LowerBound(subject, 100'000);
  EXPECT_LE(bound, 2);
  // logistic's bound is the smallest: five runs gave 1.23 to 1.42.
  EXPECT_GE(bound, IsAuto(*GetParam()) ? 0.4 : 0.7);
}

// Planted: all noise is for twice or four times the claimed epsilon.
TEST_P(TrainerAuditTest, HalfTheNoiseIsFoundOut) {
  constexpr double kClaimed = 1.5;
  ASSERT_OK_AND_ASSIGN(
      const lab::AuditSubject subject,
      lab::SubjectOf(*GetParam(), *Budget::Parse(IsAuto(*GetParam()) ? "6" : "3")));
  EXPECT_GT(LowerBound(subject, 40'000), kClaimed);
}

TEST(TrainerSubjectTest, RefusesWhatIsNotPrivateAndTooSmallAnEpsilon) {
  const auto invalid = testing::StatusIs(StatusCode::kInvalidArgument, ::testing::_);
  EXPECT_THAT(lab::SubjectOf(**trainers::FindTrainer("random_forest"), *Budget::Parse("2")),
              invalid);
  EXPECT_THAT(lab::SubjectOf(**trainers::FindTrainer("spe"), *Budget::FromNanos(1)), invalid);
}

TEST(RunAuditTest, RefusesWhatSaysNothing) {
  const auto mechanism = Make(MechanismKind::kLaplaceJoint, "1");
  const lab::AuditSubject subject = lab::SubjectOf(*mechanism);
  const auto invalid = testing::StatusIs(StatusCode::kInvalidArgument, ::testing::_);
  EXPECT_THAT(lab::RunAudit(subject, {.trials = 999}), invalid);
  EXPECT_THAT(lab::RunAudit(subject, {.trials = 1000, .confidence = 1}), invalid);
  EXPECT_THAT(lab::RunAudit(subject, {.trials = 1000, .confidence = 0}), invalid);
  EXPECT_THAT(lab::RunAudit(subject, {.trials = 1000, .threads = 0}), invalid);
  EXPECT_THAT(lab::RunAudit({.name = "", .inputs = 1, .run = subject.run}, {.trials = 1000}),
              invalid);
}

TEST(RunAuditTest, PassesOnWhatTheSubjectReturns) {
  const lab::AuditSubject subject = {
      .name = "broken", .inputs = 2, .run = [](uint32_t, PrivateRandom&) -> StatusOr<std::string> {
        return UnavailableError("no randomness");
      }};
  EXPECT_THAT(lab::RunAudit(subject, {.trials = 1000}),
              testing::StatusIs(StatusCode::kUnavailable, ::testing::HasSubstr("no random")));
}

// An audit of something that costs exactly 1 exceeds 1 no more often than it says. At confidence
// 0.9 at most 0.1 of 200 audits do; 45 or more do with probability below 1e-6.
TEST(RunAuditTest, ExceedsTheTruthNoMoreOftenThanItSays) {
  const auto mechanism = Make(MechanismKind::kSymmetricUnary, "1");
  int exceeded = 0;
  for (int i = 0; i < 200; ++i) {
    const auto result = lab::RunAudit(lab::SubjectOf(*mechanism),
                                      {.trials = 2000, .confidence = 0.9, .threads = 1});
    ASSERT_OK(result);
    exceeded += result->epsilon_lower_bound > 1 ? 1 : 0;
  }
  EXPECT_LT(exceeded, 45);
}

}  // namespace
}  // namespace coppice
