// The measure on every table of a few rows: it is smooth, and no row moves it more than it says.

#include "server/trainers/lazybb/smooth_measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace coppice::trainers {
namespace {

using Counts = std::vector<uint64_t>;  // rows by margin, from -rounds

struct Setting {
  double rate;
  uint32_t density;
};
constexpr Setting kSettings[] = {{0.35, 350}, {0.5, 500}, {0.1, 35},  {2.0, 200},
                                 {0.35, 999}, {1.0, 1},   {0.7, 1000}};

uint64_t RowsOf(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// Visits every table of up to `rows` rows with margins up to `done`, for a measure of `rounds`.
void ForEachTable(uint32_t rounds, uint32_t done, uint64_t rows,
                  const std::function<void(const Counts&)>& visit) {
  Counts counts(2 * rounds + 1);
  const std::function<void(uint32_t, uint64_t)> place = [&](uint32_t at, uint64_t left) {
    if (at > rounds + done) {
      visit(counts);
      return;
    }
    for (uint64_t here = 0; here <= left; ++here) {
      counts[at] = here;
      place(at + 1, left - here);
    }
    counts[at] = 0;
  };
  place(rounds - done, rows);
}

Counts WithRow(Counts counts, size_t margin) {
  ++counts[margin];
  return counts;
}

// How far one more row moves masses in L1, over rows; the added row counts with all of its mass.
uint64_t MovedBy(const SmoothMeasure& measure, const Counts& counts, size_t margin) {
  const std::vector<int64_t> before = measure.MassByMargin(counts);
  const std::vector<int64_t> after = measure.MassByMargin(WithRow(counts, margin));
  uint64_t moved = static_cast<uint64_t>(after[margin]);
  for (size_t m = 0; m < counts.size(); ++m) {
    if (counts[m] > 0) moved += static_cast<uint64_t>(std::abs(after[m] - before[m])) * counts[m];
  }
  return moved;
}

TEST(SmoothMeasureTest, IsSmoothAndAddsUpToKappaOfTheRows) {
  for (const auto& [rate, density] : kSettings) {
    const SmoothMeasure measure(rate, density, 2);
    ForEachTable(2, 2, 6, [&, density = density](const Counts& counts) {
      const std::vector<int64_t> masses = measure.MassByMargin(counts);
      const double rows = static_cast<double>(RowsOf(counts));
      double whole = 0;
      int64_t last = kMassUnit;
      for (size_t m = 0; m < counts.size(); ++m) {
        if (counts[m] == 0) continue;
        EXPECT_GE(masses[m], 0);
        EXPECT_LE(masses[m], last) << "the more a row is right, the less it counts";
        last = masses[m];
        whole += static_cast<double>(masses[m]) * static_cast<double>(counts[m]);
      }
      const double wanted = rows * density / kDensityUnit * kMassUnit;
      EXPECT_LE(whole, wanted);
      EXPECT_GE(whole, wanted - rows);
    });
  }
}

// Computes c by bisection, in doubles.
TEST(SmoothMeasureTest, IsTheBregmanProjection) {
  const uint32_t rounds = 5;
  for (const auto& [rate, density] : kSettings) {
    const SmoothMeasure measure(rate, density, rounds);
    for (uint64_t seed = 1; seed < 50; ++seed) {
      Counts counts(2 * rounds + 1);
      for (size_t m = 0; m < counts.size(); ++m) counts[m] = (seed * 7919 + m * 104729 * seed) % 11;
      const auto mass = [&, rate = rate](double c, size_t m) {
        return std::min(1.0, c * std::exp(-rate * (static_cast<double>(m) - rounds)));
      };
      double low = 0, high = 1e12;
      for (int i = 0; i < 300; ++i) {
        const double c = (low + high) / 2;
        double whole = 0;
        for (size_t m = 0; m < counts.size(); ++m) {
          whole += mass(c, m) * static_cast<double>(counts[m]);
        }
        const double wanted = static_cast<double>(RowsOf(counts)) * density / kDensityUnit;
        (whole > wanted ? high : low) = c;
      }
      const std::vector<int64_t> masses = measure.MassByMargin(counts);
      for (size_t m = 0; m < counts.size(); ++m) {
        if (counts[m] == 0) continue;
        EXPECT_NEAR(static_cast<double>(masses[m]) / kMassUnit, mass(low, m), 1e-6);
      }
    }
  }
}

// Tries every number of rounds voted in, every table and every added row.
TEST(SmoothMeasureTest, NoRowMovesItByMoreThanItSays) {
  for (const auto& [rate, density] : kSettings) {
    const SmoothMeasure measure(rate, density, 3);
    for (uint32_t done = 0; done <= 3; ++done) {
      const uint64_t bound = measure.MassChange(done);
      ForEachTable(3, done, done == 3 ? 4 : 6, [&](const Counts& counts) {
        for (size_t m = 3 - done; m <= 3 + done; ++m) {
          // Leaves out the allowance for rounding, which is for many rows.
          EXPECT_LE(MovedBy(measure, counts, m), bound - kMaxRows + RowsOf(counts) + 1);
        }
      });
    }
  }
}

TEST(SmoothMeasureTest, AllOtherRowsMoveOneWay) {
  for (const auto& [rate, density] : kSettings) {
    const SmoothMeasure measure(rate, density, 2);
    ForEachTable(2, 2, 5, [&](const Counts& counts) {
      const std::vector<int64_t> before = measure.MassByMargin(counts);
      for (size_t added = 0; added < counts.size(); ++added) {
        const std::vector<int64_t> after = measure.MassByMargin(WithRow(counts, added));
        bool up = false, down = false;
        for (size_t m = 0; m < counts.size(); ++m) {
          if (counts[m] == 0) continue;
          up = up || after[m] > before[m];
          down = down || after[m] < before[m];
        }
        EXPECT_FALSE(up && down);
      }
    });
  }
}

// A row that is wrong so far, among a million that are right, reaches the bound.
TEST(SmoothMeasureTest, TheBoundIsReached) {
  for (const auto& [rate, density] : kSettings) {
    const uint32_t rounds = 40;
    const SmoothMeasure measure(rate, density, rounds);
    for (const uint32_t done : {0u, 1u, 2u, 3u, 40u}) {
      Counts counts(2 * rounds + 1);
      counts[rounds + done] = 1'000'000;
      const uint64_t bound = measure.MassChange(done);
      const uint64_t moved = MovedBy(measure, counts, rounds - done);
      EXPECT_LE(moved, bound);
      EXPECT_GE(static_cast<double>(moved), 0.99 * static_cast<double>(bound - kMaxRows))
          << rate << " " << density << " " << done;
    }
  }
}

TEST(SmoothMeasureTest, TheFirstRoundMovesByKappaAndNoneByMoreThanTwoLessKappa) {
  const SmoothMeasure measure(0.35, 350, 99);
  EXPECT_NEAR(static_cast<double>(measure.MassChange(0)) / kMassUnit, 0.35, 0.001);
  EXPECT_NEAR(static_cast<double>(measure.MassChange(1)) / kMassUnit,
              2 * 0.35 * std::exp(0.7) - 0.35, 0.001);
  for (uint32_t done = 3; done <= 99; ++done) {
    EXPECT_NEAR(static_cast<double>(measure.MassChange(done)) / kMassUnit, 1.65, 0.0011);
  }
}

// The thesis (Observation 2.7.1) measures by index: relabelling a row keeps all masses and still
// moves a rule's error. Over rows, masses move by at most 2, as Lemma B says.
TEST(SmoothMeasureTest, AChangedLabelMovesMassesByAtMostTwoOverRowsButByNoneOverPlaces) {
  for (const auto& [rate, density] : kSettings) {
    const SmoothMeasure measure(rate, density, 1);
    const std::vector<int64_t> first = measure.MassByMargin(Counts{0, 10, 0});
    EXPECT_GT(first[1], 0) << "the error of every rule moves by this, and no place's mass by any";
    ForEachTable(1, 1, 6, [&](const Counts& rest) {
      for (size_t one = 0; one < 3; ++one) {
        for (size_t other = 0; other < 3; ++other) {
          const std::vector<int64_t> before = measure.MassByMargin(WithRow(rest, one));
          const std::vector<int64_t> after = measure.MassByMargin(WithRow(rest, other));
          int64_t moved = before[one] + after[other];
          for (size_t m = 0; m < 3; ++m) {
            if (rest[m] > 0) {
              moved += std::abs(after[m] - before[m]) * static_cast<int64_t>(rest[m]);
            }
          }
          EXPECT_LE(moved, 2 * kMassUnit + static_cast<int64_t>(RowsOf(rest)));
        }
      }
    });
  }
}

TEST(SmoothMeasureTest, ManyRowsManyRoundsAndExtremeRatesStayExact) {
  for (const double rate : {0.001, 0.35, 1.0, 10.0}) {
    for (const uint32_t density : {1u, 350u, 1000u}) {
      const uint32_t rounds = 999;
      const SmoothMeasure measure(rate, density, rounds);
      Counts counts(2 * rounds + 1, kMaxRows / (2 * rounds + 1));
      const std::vector<int64_t> masses = measure.MassByMargin(counts);
      int64_t whole = 0, rows = 0;
      for (size_t m = 0; m < counts.size(); ++m) {
        EXPECT_GE(masses[m], 0);
        EXPECT_LE(masses[m], kMassUnit);
        whole += masses[m] * static_cast<int64_t>(counts[m]);
        rows += static_cast<int64_t>(counts[m]);
      }
      const double wanted = static_cast<double>(rows) * density / kDensityUnit * kMassUnit;
      EXPECT_LE(static_cast<double>(whole), wanted * (1 + 1e-12));
      EXPECT_GE(static_cast<double>(whole), (wanted - static_cast<double>(rows)) * (1 - 1e-12));
    }
  }
}

TEST(SmoothMeasureTest, NoRowsHaveNoMass) {
  const SmoothMeasure measure(0.35, 350, 2);
  EXPECT_EQ(measure.MassByMargin(Counts(5)), std::vector<int64_t>(5));
}

}  // namespace
}  // namespace coppice::trainers
