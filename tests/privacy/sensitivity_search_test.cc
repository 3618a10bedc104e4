// An adversary searches for neighbouring tables that move a score or statistic further than the
// constant in the code allows. It must fail, and must come within a tenth of each constant, so that
// a constant is neither unsafe nor wasteful. The papers' wrong constants are kept as twins that it
// must break.
//
// The adversary climbs hills from many random tables and from the extremes of the known
// counterexamples, over the numbers of rows of each kind and the row that is added or relabelled. A
// search refutes and never proves; the proofs are in docs/research/mechanisms.md.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/privacy/statistics.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr int kStarts = 60;
constexpr int kClimb = 3000;
constexpr int64_t kMaxRows = 100'000'000;  // per kind

struct Attack {
  BigTable table{};
  uint32_t kind = 0;     // of the row that is added, or relabelled
  uint32_t relabel = 0;  // its new label
};

double MovedBy(const Statistic& statistic, const Attack& attack) {
  BigTable neighbour = attack.table;
  ++neighbour[attack.kind];
  BigTable table = attack.table;
  if (statistic.step == Step::kChangeLabel) {
    ++table[attack.kind - attack.kind % kLabels + attack.relabel];
  }
  const std::vector<double> before = statistic.numbers(table);
  const std::vector<double> after = statistic.numbers(neighbour);
  double least = after[0] - before[0];
  double most = least;
  double sum = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double change = after[i] - before[i];
    least = std::min(least, change);
    most = std::max(most, change);
    sum += std::abs(change);
  }
  switch (statistic.moves) {
    case Moves::kRange:
      return most - least;
    case Moves::kL1:
      return sum;
    case Moves::kSensitivity:
      return std::max(most, -least);
  }
  return 0;
}

class Adversary {
 public:
  explicit Adversary(const Statistic& statistic) : statistic_(statistic) {}

  double Search() {
    for (const Attack& start : KnownAttacks()) Climb(start, kClimb / 100);
    for (int i = 0; i < kStarts; ++i) Climb(RandomAttack(), kClimb);
    return best_;
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  int64_t RandomCount() {
    if (Below(3) == 0) return 0;
    return static_cast<int64_t>(std::pow(10.0, random_() % 8000 / 1000.0));
  }

  Attack RandomAttack() {
    Attack attack;
    for (int64_t& count : attack.table) count = RandomCount();
    attack.kind = Below(kKinds);
    attack.relabel = Below(kLabels);
    return attack;
  }

  // The extremes of the known counterexamples: many rows of one label on one side of either split,
  // and one row of another label among them or apart.
  static std::vector<Attack> KnownAttacks() {
    std::vector<Attack> attacks;
    for (uint32_t one = 0; one < kKinds; ++one) {
      for (uint32_t other = 0; other < kKinds; ++other) {
        for (uint32_t added = 0; added < kKinds; ++added) {
          Attack attack;
          attack.table[one] = kMaxRows / 2;
          attack.table[other] = 10'000;
          attack.kind = added;
          attacks.push_back(attack);
        }
      }
    }
    return attacks;
  }

  Attack Neighbour(Attack attack) {
    int64_t& count = attack.table[Below(kKinds)];
    switch (Below(7)) {
      case 0:
        count = 0;
        break;
      case 1:
        count = RandomCount();
        break;
      case 2:
        count *= 2;
        break;
      case 3:
        count /= 2;
        break;
      case 4:
        ++count;
        break;
      case 5:
        attack.kind = Below(kKinds);
        break;
      default:
        attack.relabel = Below(kLabels);
        break;
    }
    count = std::min(count, kMaxRows);
    return attack;
  }

  void Climb(Attack attack, int steps) {
    double here = MovedBy(statistic_, attack);
    for (int step = 0; step < steps; ++step) {
      const Attack next = Neighbour(attack);
      const double there = MovedBy(statistic_, next);
      if (there < here) continue;
      attack = next;
      here = there;
    }
    best_ = std::max(best_, here);
  }

  const Statistic& statistic_;
  std::mt19937_64 random_{1};
  double best_ = 0;
};

std::string NameOf(const Statistic& statistic) {
  std::string name = statistic.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsAsciiAlnum(c); }, '_');
  return name;
}

class SensitivitySearchTest : public ::testing::TestWithParam<Statistic> {};

INSTANTIATE_TEST_SUITE_P(All, SensitivitySearchTest, ::testing::ValuesIn(AllStatistics()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(SensitivitySearchTest, TheBoundHoldsAndIsNearlyReached) {
  const double found = Adversary(GetParam()).Search();
  std::printf("%s: constant %.6g, found %.6g\n", GetParam().name, GetParam().bound, found);
  EXPECT_LE(found, GetParam().bound * (1 + 1e-12));
  EXPECT_GE(found, GetParam().bound * 0.9);
}

class UnsafeConstantTest : public ::testing::TestWithParam<Statistic> {};

INSTANTIATE_TEST_SUITE_P(All, UnsafeConstantTest, ::testing::ValuesIn(UnsafeStatistics()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(UnsafeConstantTest, TheSearchExceedsAnUnsafeBound) {
  EXPECT_GT(Adversary(GetParam()).Search(), GetParam().bound * 1.5);
}

class WastefulConstantTest : public ::testing::TestWithParam<Statistic> {};

INSTANTIATE_TEST_SUITE_P(All, WastefulConstantTest, ::testing::ValuesIn(WastefulStatistics()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(WastefulConstantTest, TheSearchShowsAWastefulBound) {
  EXPECT_LT(Adversary(GetParam()).Search(), GetParam().bound * 0.9);
}

}  // namespace
}  // namespace coppice
