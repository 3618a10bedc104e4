// The law of a central release on every table of a few rows, and how well it tells neighbours
// apart.

#ifndef COPPICE_TESTS_PRIVACY_ENUMERATION_H_
#define COPPICE_TESTS_PRIVACY_ENUMERATION_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/budget.h"
#include "common/privacy/neighbours.h"
#include "tests/privacy/privacy_loss.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/walking_random.h"

namespace coppice::testing {

inline constexpr Neighbours kRow = Neighbours::kAddOrRemoveRow;

// Gives the release as text that tells all of it.
using TinyRelease =
    std::function<StatusOr<std::string>(const TinyTable&, const Budget&, PrivateRandom&)>;

struct WalkedRelease {
  const char* name;
  const char* epsilon;  // what it claims
  Neighbours neighbours;
  size_t rows;     // of the largest tables
  double cut_off;  // of the walk; larger where there are endless tails
  double found;    // the share of epsilon that must be lost on tables this small
  TinyRelease run;
};

inline std::vector<std::pair<TinyTable, TinyTable>> NeighbouringTables(Neighbours neighbours,
                                                                       size_t rows) {
  std::vector<std::pair<TinyTable, TinyTable>> pairs;
  for (const TinyTable& rest : AllTinyTables(rows - 1)) {
    for (uint32_t kind = 0; kind < kTinyKinds; ++kind) {
      const TinyRow row = TinyRowOf(kind);
      if (neighbours == Neighbours::kAddOrRemoveRow) {
        pairs.push_back({rest, WithRow(rest, row)});
      } else if (row.y == 0) {
        pairs.push_back({WithRow(rest, row), WithRow(rest, {row.x, 1})});
      }
    }
  }
  return pairs;
}

struct Worst {
  double loss = 0;
  double cut = 0;
};

inline std::map<TinyTable, Law<std::string>> LawsOf(const WalkedRelease& release) {
  const Budget epsilon = *Budget::Parse(release.epsilon);
  std::map<TinyTable, Law<std::string>> laws;
  for (const TinyTable& table : AllTinyTables(release.rows)) {
    laws[table] = WalkAllBranches<std::string>(
        {.cut_off = release.cut_off},
        [&](PrivateRandom& random) { return release.run(table, epsilon, random); });
  }
  return laws;
}

inline Worst WorstOf(const WalkedRelease& release) {
  std::map<TinyTable, Law<std::string>> laws = LawsOf(release);
  Worst worst;
  for (const auto& [table, law] : laws) worst.cut = std::max(worst.cut, law.cut);
  for (const auto& [one, other] : NeighbouringTables(release.neighbours, release.rows)) {
    worst.loss = std::max(
        {worst.loss, ProvenLoss(laws[one], laws[other]), ProvenLoss(laws[other], laws[one])});
  }
  std::printf("%s claims %s, loses %.4f (missing mass %.1e)\n", release.name, release.epsilon,
              worst.loss, worst.cut);
  return worst;
}

// The largest Renyi divergence between neighbours.
inline double WorstDivergence(const WalkedRelease& release, double order) {
  std::map<TinyTable, Law<std::string>> laws = LawsOf(release);
  double worst = 0;
  for (const auto& [one, other] : NeighbouringTables(release.neighbours, release.rows)) {
    worst = std::max({worst, ProvenDivergence(laws[one], laws[other], order),
                      ProvenDivergence(laws[other], laws[one], order)});
  }
  return worst;
}

inline constexpr double kMaxMissingMass = 0.2;

inline void ExpectAsPrivateAsClaimed(const WalkedRelease& release) {
  const Worst worst = WorstOf(release);
  const double epsilon = Budget::Parse(release.epsilon)->epsilon();
  EXPECT_LE(worst.loss, epsilon + 1e-9);
  EXPECT_LE(worst.cut, kMaxMissingMass);  // a loss beyond epsilon could hide in no more than that
  // The walk is not blind: it would find a release that costs more.
  EXPECT_GE(worst.loss, epsilon * release.found);
}

inline void ExpectFoundOut(const WalkedRelease& broken) {
  EXPECT_GT(WorstOf(broken).loss, 1.05 * Budget::Parse(broken.epsilon)->epsilon());
}

// The largest delta between neighbours at the epsilon that the release claims.
inline double WorstDelta(const WalkedRelease& release) {
  const double epsilon = Budget::Parse(release.epsilon)->epsilon();
  std::map<TinyTable, Law<std::string>> laws = LawsOf(release);
  double worst = 0;
  for (const auto& [one, other] : NeighbouringTables(release.neighbours, release.rows)) {
    worst = std::max({worst, ProvenDelta(laws[one], laws[other], epsilon),
                      ProvenDelta(laws[other], laws[one], epsilon)});
  }
  std::printf("%s claims %s, loses a delta of %.3g\n", release.name, release.epsilon, worst);
  return worst;
}

// The release's name as the name of a test.
inline std::string NameOf(const WalkedRelease& release) {
  std::string name = release.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsAsciiAlnum(c); }, '_');
  return name;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_ENUMERATION_H_
