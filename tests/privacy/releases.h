// The central releases whose laws are computed on every tiny table (central_enumeration_test).
//
// A trainer, or a part of one, joins by one line in AllReleases(): its name, its claim, and a
// function from a table to what an observer sees. Keep it small: the walk follows every branch.

#ifndef COPPICE_TESTS_PRIVACY_RELEASES_H_
#define COPPICE_TESTS_PRIVACY_RELEASES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/neighbours.h"
#include "common/privacy/noisy_sums.h"
#include "common/privacy/selection.h"
#include "server/trainers/core/split_scores.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/walking_random.h"

namespace coppice::testing {

// How many rows have x <= cut, for every public cut.
inline std::vector<uint64_t> RanksOf(const TinyTable& table) {
  std::vector<uint64_t> ranks(kTinyValues);
  for (const TinyRow& row : table) {
    for (uint32_t cut = row.x; cut < kTinyValues; ++cut) ++ranks[cut];
  }
  return ranks;
}

// counts[side * 2 + y] after splitting at x <= cut.
inline std::vector<int64_t> SideCounts(const TinyTable& table, uint32_t cut) {
  std::vector<int64_t> counts(4);
  for (const TinyRow& row : table) ++counts[(row.x <= cut ? 0 : 2) + row.y];
  return counts;
}

using Term = int64_t (*)(absl::Span<const int64_t>);

// The score of splitting at each cut; at the last cut all rows are on one side.
inline std::vector<int64_t> SplitScores(const TinyTable& table, Term term) {
  std::vector<int64_t> scores;
  for (uint32_t cut = 0; cut < kTinyValues; ++cut) {
    const std::vector<int64_t> counts = SideCounts(table, cut);
    scores.push_back(term(absl::MakeSpan(counts).first(2)) +
                     term(absl::MakeSpan(counts).subspan(2)));
  }
  return scores;
}

// Gradients are +1 and -1 by label.
inline int64_t GainOfCounts(absl::Span<const int64_t> counts) {
  return trainers::GainTerm(counts[0] + counts[1],
                            (counts[1] - counts[0]) * trainers::kResidualSteps, {1, 10});
}

// Labels are 0 and 1.
inline int64_t SquaredErrorOfCounts(absl::Span<const int64_t> counts) {
  return trainers::SquaredErrorTerm(counts[0] + counts[1], counts[1], counts[1]);
}

template <typename Place>
StatusOr<std::string> Show(const StatusOr<Place>& place) {
  if (!place.ok()) return place.status();
  return std::to_string(*place);
}
inline StatusOr<std::string> Show(const StatusOr<std::vector<int64_t>>& sums) {
  if (!sums.ok()) return sums.status();
  return StrJoin(*sums, " ");
}

template <Term term, uint64_t range>
StatusOr<std::string> ChooseSplit(const TinyTable& table, const Budget& epsilon,
                                  PrivateRandom& random) {
  return Show(PermuteAndFlip(SplitScores(table, term), epsilon, range, random));
}

// Two medians of the same rows, each of which spends `each`.
inline StatusOr<std::string> TwoMedians(const TinyTable& table, const Budget& each,
                                        PrivateRandom& random) {
  std::string seen;
  for (int i = 0; i < 2; ++i) {
    const auto median = SelectQuantile(RanksOf(table), table.size(), 1, 2, each, random);
    if (!median.ok()) return median.status();
    seen += std::to_string(*median);
  }
  return seen;
}

// The median of each of two groups of rows.
inline StatusOr<std::string> MediansOfGroups(const std::array<TinyTable, 2>& groups,
                                             const Budget& epsilon, PrivateRandom& random) {
  std::string seen;
  for (const TinyTable& group : groups) {
    const auto median = SelectQuantile(RanksOf(group), group.size(), 1, 2, epsilon, random);
    if (!median.ok()) return median.status();
    seen += std::to_string(*median);
  }
  return seen;
}

inline std::vector<WalkedRelease> AllReleases() {
  return {
      {"private median", "1", kRow, 4, 1e-8, 0.99,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return Show(SelectQuantile(RanksOf(table), table.size(), 1, 2, epsilon, random));
       }},
      {"private quartile", "0.5", kRow, 4, 1e-8, 0.8,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return Show(SelectQuantile(RanksOf(table), table.size(), 3, 4, epsilon, random));
       }},
      {"exponential mechanism on miscounts", "1", kRow, 3, 1e-6, 0.7,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return Show(ExponentialMechanism(SplitScores(table, trainers::MiscountTerm), epsilon,
                                          trainers::kMiscountRange, random));
       }},
      {"split by miscount", "1", kRow, 4, 1e-8, 0.99,
       ChooseSplit<trainers::MiscountTerm, trainers::kMiscountRange>},
      {"split by Gini", "2", kRow, 4, 1e-8, 0.7,
       ChooseSplit<trainers::GiniTerm, trainers::kGiniRange>},
      {"split by gain", "1", kRow, 4, 1e-8, 0.7, ChooseSplit<GainOfCounts, trainers::kGainRange>},
      {"split by squared error", "1", kRow, 4, 1e-8, 0.99,
       ChooseSplit<SquaredErrorOfCounts, trainers::SquaredErrorRange(1)>},
      {"noisy count", "1", kRow, 4, 1e-7, 0.99,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return Show(ReleaseSums({static_cast<int64_t>(table.size())}, 1, epsilon, random));
       }},
      {"noisy class counts", "3", kRow, 2, 1e-6, 0.4,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         std::vector<int64_t> classes(2);
         for (const TinyRow& row : table) ++classes[row.y];
         return Show(ReleaseSums(classes, 1, epsilon, random));
       }},
      {"noisy class counts, labels private", "4", Neighbours::kChangeLabel, 2, 1e-6, 0.35,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         std::vector<int64_t> classes(2);
         for (const TinyRow& row : table) ++classes[row.y];
         return Show(ReleaseSums(classes, 2, epsilon, random));
       }},
      {"two medians at half of epsilon each", "1", kRow, 4, 1e-8, 0.99,
       [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
         return TwoMedians(table, *epsilon.Share(2), random);
       }},
      {"medians of two groups drawn row by row", "1", kRow, 3, 1e-8, 0.6,
       [](const TinyTable& table, const Budget& epsilon,
          PrivateRandom& random) -> StatusOr<std::string> {
         std::array<TinyTable, 2> groups;
         for (const TinyRow& row : table) {
           const auto group = random.UniformBelow(2);
           if (!group.ok()) return group.status();
           groups[*group].push_back(row);
         }
         return MediansOfGroups(groups, epsilon, random);
       }},
  };
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_RELEASES_H_
