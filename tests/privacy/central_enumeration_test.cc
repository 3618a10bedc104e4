// The exact law of every central release on every table of a few rows over a tiny domain: no output
// tells any two neighbours apart by more than the release claims.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/samplers.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/releases.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

class CentralEnumerationTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, CentralEnumerationTest, ::testing::ValuesIn(AllReleases()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(CentralEnumerationTest, NoNeighboursAreToldApartByMoreThanClaimed) {
  ExpectAsPrivateAsClaimed(GetParam());
}

// The papers' flaws, each of which the check above must find.
std::vector<WalkedRelease> BrokenTwins() {
  return {
      {"median with candidates between the data's own ends", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         if (table.empty()) return StatusOr<std::string>("none");
         std::vector<uint64_t> ranks = RanksOf(table);
         ranks.resize(table.back().x + 1);
         return Show(SelectQuantile(ranks, table.size(), 1, 2, epsilon, random));
       }},
      {"stopping when few rows are left", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         if (table.size() <= 2) return StatusOr<std::string>("leaf");
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
      {"two medians that each take all of epsilon", "1", kRow, 4, 1e-7, 1, TwoMedians},
      {"a leaf mean whose noise shrinks with a private count", "1", kRow, 4, 1e-7, 1,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         int64_t sum = 0;
         for (const TinyRow& row : table) sum += row.y;
         const auto count = static_cast<int64_t>(table.size());
         const auto noise = DiscreteLaplace(epsilon, 1, random);
         if (!noise.ok()) return StatusOr<std::string>(noise.status());
         return Show(StatusOr<double>(static_cast<double>(sum + *noise) /
                                      static_cast<double>(std::max<int64_t>(count, 1))));
       }},
  };
}

class BrokenReleaseTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, BrokenReleaseTest, ::testing::ValuesIn(BrokenTwins()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(BrokenReleaseTest, TheEnumerationFindsTheBug) { ExpectFoundOut(GetParam()); }

}  // namespace
}  // namespace coppice
