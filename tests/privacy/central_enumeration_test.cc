// Every central release's exact law, on every table of a few rows over a tiny domain: no pair of
// neighbours can be told apart by more than the release claims, by any output.

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/privacy/samplers.h"
#include "tests/privacy/privacy_loss.h"
#include "tests/privacy/releases.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: the suites' vocabulary is all of this file's.

std::vector<std::pair<TinyTable, TinyTable>> NeighbouringTables(Neighbours neighbours,
                                                                size_t rows) {
  std::vector<std::pair<TinyTable, TinyTable>> pairs;
  if (neighbours == Neighbours::kAddOrRemoveRow) {
    for (const TinyTable& table : AllTinyTables(rows - 1)) {
      for (uint32_t kind = 0; kind < kTinyKinds; ++kind) {
        pairs.push_back({table, WithRow(table, TinyRowOf(kind))});
      }
    }
    return pairs;
  }
  for (const TinyTable& rest : AllTinyTables(rows - 1)) {
    for (uint32_t x = 0; x < kTinyValues; ++x) {
      pairs.push_back({WithRow(rest, {x, 0}), WithRow(rest, {x, 1})});
    }
  }
  return pairs;
}

struct Worst {
  double loss = 0;
  double cut = 0;
};

Worst WorstOf(const Release& release) {
  const Budget epsilon = *Budget::Parse(release.epsilon);
  std::map<TinyTable, Law<std::string>> laws;
  for (const TinyTable& table : AllTinyTables(release.rows)) {
    laws[table] = WalkAllBranches<std::string>(
        {.cut_off = release.cut_off},
        [&](PrivateRandom& random) { return release.run(table, epsilon, random); });
  }
  Worst worst;
  for (const auto& [table, law] : laws) worst.cut = std::max(worst.cut, law.cut);
  for (const auto& [one, other] : NeighbouringTables(release.neighbours, release.rows)) {
    worst.loss = std::max(
        {worst.loss, ProvenLoss(laws[one], laws[other]), ProvenLoss(laws[other], laws[one])});
  }
  return worst;
}

class CentralEnumerationTest : public ::testing::TestWithParam<Release> {};

std::string NameOf(const Release& release) {
  std::string name = release.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CentralEnumerationTest, ::testing::ValuesIn(AllReleases()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(CentralEnumerationTest, NoNeighboursAreToldApartByMoreThanClaimed) {
  const Worst worst = WorstOf(GetParam());
  const double epsilon = Budget::Parse(GetParam().epsilon)->epsilon();
  EXPECT_LE(worst.loss, epsilon + 1e-9);
  // And the walk sees what there is to see: it would find a release that costs more.
  EXPECT_GE(worst.loss, epsilon * GetParam().found);
  std::printf("%s claims %s, loses %.4f (missing mass %.1e)\n", GetParam().name, GetParam().epsilon,
              worst.loss, worst.cut);
}

// The papers' flaws, each of which the check above must find.
std::vector<Release> BrokenTwins() {
  constexpr Neighbours kRow = Neighbours::kAddOrRemoveRow;
  return {
      {"median with candidates between the data's own ends", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         if (table.empty()) return absl::StatusOr<std::string>("none");
         std::vector<uint64_t> ranks = RanksOf(table);
         ranks.resize(table.back().x + 1);
         return Show(SelectQuantile(ranks, table.size(), 1, 2, epsilon, random));
       }},
      {"stopping when few rows are left", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         if (table.size() <= 2) return absl::StatusOr<std::string>("leaf");
         return Show(SelectQuantile(RanksOf(table), table.size(), 1, 2, epsilon, random));
       }},
      {"a median that takes its score for half as sensitive", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         std::vector<int64_t> scores;
         for (const uint64_t rank : RanksOf(table)) {
           scores.push_back(
               -std::abs(2 * static_cast<int64_t>(rank) - static_cast<int64_t>(table.size())));
         }
         return Show(PermuteAndFlip(scores, epsilon, 1, random));
       }},
      {"a leaf mean whose noise shrinks with a private count", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         int64_t sum = 0;
         for (const TinyRow& row : table) sum += row.y;
         const auto count = static_cast<int64_t>(table.size());
         const auto noise = DiscreteLaplace(epsilon, 1, random);
         if (!noise.ok()) return absl::StatusOr<std::string>(noise.status());
         return Show(absl::StatusOr<double>(static_cast<double>(sum + *noise) /
                                            static_cast<double>(std::max<int64_t>(count, 1))));
       }},
  };
}

class BrokenReleaseTest : public ::testing::TestWithParam<Release> {};

INSTANTIATE_TEST_SUITE_P(All, BrokenReleaseTest, ::testing::ValuesIn(BrokenTwins()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BrokenReleaseTest, IsFoundOut) {
  EXPECT_GT(WorstOf(GetParam()).loss, 1.05 * Budget::Parse(GetParam().epsilon)->epsilon());
}

}  // namespace
}  // namespace coppice
