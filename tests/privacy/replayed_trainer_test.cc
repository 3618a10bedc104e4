// A trainer that releases sums alone, run twice: on a table, and on a neighbour of it with the
// releases of the first run put in place of its own. Whatever it releases next may depend on those
// and on the rows, so for every release the two runs' sums must be within what its noise is for,
// and the shares of all releases together within what was asked for. That is the whole proof of an
// adaptive composition of sums, on the tables that are tried.
//
// ReleaseSums() below takes the place of common/privacy/noisy_sums.cc in this test.

#include <cstdlib>
#include <random>

#include "common/privacy/noisy_sums.h"
#include "server/trainers/trainer.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

// One release, as it was asked for.
struct Asked {
  std::vector<int64_t> sums;
  uint64_t sensitivity = 0;  // L1, or the square of L2 in rho
  uint64_t amount = 0;       // nano-epsilons, or pico-rhos
  bool in_rho = false;
};

struct Recorder {
  std::mt19937_64 engine{1};
  std::vector<Asked> asked;
  std::vector<std::vector<int64_t>> released;
  bool replaying = false;

  absl::StatusOr<std::vector<int64_t>> Release(Asked release, double noise) {
    asked.push_back(release);
    if (replaying) {
      if (asked.size() > released.size()) return absl::InternalError("released more often");
      return released[asked.size() - 1];
    }
    std::normal_distribution<> draw(0, noise);
    for (int64_t& sum : release.sums) sum += static_cast<int64_t>(draw(engine));
    released.push_back(release.sums);
    return release.sums;
  }
};

Recorder* g_recorder = nullptr;

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums,
                                                 uint64_t sensitivity, const Budget& epsilon,
                                                 PrivateRandom&) {
  return g_recorder->Release(
      {.sums = {sums.begin(), sums.end()}, .sensitivity = sensitivity, .amount = epsilon.nanos()},
      static_cast<double>(sensitivity) / epsilon.epsilon());
}

absl::StatusOr<std::vector<int64_t>> ReleaseSums(absl::Span<const int64_t> sums,
                                                 uint64_t l2_squared, const Rho& rho,
                                                 PrivateRandom&) {
  const absl::StatusOr<uint64_t> deviation = rho.DeviationFor(l2_squared);
  if (!deviation.ok()) return deviation.status();
  return g_recorder->Release({.sums = {sums.begin(), sums.end()},
                              .sensitivity = l2_squared,
                              .amount = rho.picos(),
                              .in_rho = true},
                             static_cast<double>(*deviation));
}

namespace {

using namespace ::coppice::testing;  // NOLINT: the suites' vocabulary is all of this file's.

// How far apart two runs' sums are, as a part of what the noise is for.
double PartOfSensitivity(const Asked& one, const Asked& other) {
  double moved = 0;
  for (size_t i = 0; i < one.sums.size(); ++i) {
    const auto change = static_cast<double>(std::abs(one.sums[i] - other.sums[i]));
    moved += one.in_rho ? change * change : change;
  }
  return moved / static_cast<double>(one.sensitivity);
}

struct Spent {
  double largest_part = 0;  // of a sensitivity, in any release but the first
  size_t releases = 0;
  uint64_t nanos = 0, picos = 0;
};

Spent RunTwice(const Table& table, const Table& neighbour, const TrainOptions& options,
               uint64_t seed) {
  const Trainer& trainer = **FindTrainer("logistic");
  const auto go_on = [](double) { return absl::OkStatus(); };
  SeededRandom random(seed);
  Recorder recorder;
  recorder.engine.seed(seed);
  g_recorder = &recorder;
  EXPECT_OK(trainer.Train(table, options, random, go_on));
  const std::vector<Asked> first = std::move(recorder.asked);
  recorder.asked.clear();
  recorder.replaying = true;
  EXPECT_OK(trainer.Train(neighbour, options, random, go_on));
  EXPECT_EQ(recorder.asked.size(), first.size());
  Spent spent{.releases = first.size()};
  for (size_t i = 0; i < std::min(first.size(), recorder.asked.size()); ++i) {
    const Asked& one = first[i];
    const Asked& other = recorder.asked[i];
    EXPECT_EQ(one.sensitivity, other.sensitivity);
    EXPECT_EQ(one.amount, other.amount);
    EXPECT_EQ(one.sums.size(), other.sums.size());
    if (one.sums.size() != other.sums.size()) continue;
    const double part = PartOfSensitivity(one, other);
    EXPECT_LE(part, 1) << "release " << i;
    if (i > 0) spent.largest_part = std::max(spent.largest_part, part);
    (one.in_rho ? spent.picos : spent.nanos) += one.amount;
  }
  return spent;
}

// A row more than `table`, at the ends of all ranges.
Table WithARow(const Table& table, uint32_t label, bool high) {
  Table more = table;
  Row row;
  for (const Feature& feature : table.schema().features()) {
    row.push_back(feature.type == FeatureType::kCategorical ? 0 : high ? feature.max : feature.min);
  }
  more.Append(row, label);
  return more;
}

class ReplayedTrainerTest : public ::testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Classes, ReplayedTrainerTest, ::testing::Values(2, 3));

TEST_P(ReplayedTrainerTest, NoReleaseMovesByMoreThanItsNoiseIsForAndAllTogetherCostEpsilon) {
  const auto schema = MixedClasses(GetParam());
  double most = 0;
  bool fits_lines = false;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Table table = RandomTable(schema, {.rows = 60 * seed * seed, .unlabelled = 0.1}, seed);
    const Table neighbour = WithARow(table, static_cast<uint32_t>(seed % GetParam()), seed % 4 < 2);
    const TrainOptions options{.epsilon = *Budget::Parse("1"), .delta_atto = 0, .settings = {}};
    const Spent spent = RunTwice(table, neighbour, options, seed);
    EXPECT_LE(spent.nanos, options.epsilon->nanos());
    EXPECT_GT(spent.nanos + 1000, options.epsilon->nanos()) << "wasted";
    EXPECT_EQ(spent.picos, 0u);
    // With lines: the number of rows, moments, eight steps, seven columns.
    fits_lines = fits_lines || spent.releases == 17;
    most = std::max(most, spent.largest_part);
  }
  EXPECT_TRUE(fits_lines);
  EXPECT_GT(most, 0.97) << "noise is for more than a row can do";
}

TEST_P(ReplayedTrainerTest, InRhoToo) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create(NumericFeatures(60), "label",
                      GetParam() == 2 ? std::vector<std::string>{"a", "b"}
                                      : std::vector<std::string>{"a", "b", "c"}));
  double most = 0;
  for (const uint64_t rows : {20u, 5000u}) {
    const Table table = RandomTable(schema, {.rows = rows}, 5);
    const TrainOptions options{.epsilon = *Budget::Parse("1"),
                               .delta_atto = 1'000'000'000'000,
                               .settings = {{"lines", "0.5"}}};
    const Spent spent = RunTwice(table, WithARow(table, 1, true), options, 5);
    const Budget weights = *Budget::FromNanos(options.epsilon->nanos() - spent.nanos);
    const Rho rho = *Rho::Implying(weights, options.delta_atto);
    EXPECT_LE(spent.picos, rho.picos());
    EXPECT_GT(spent.picos + 1000, rho.picos());
    EXPECT_EQ(spent.nanos, 10'000'000u);  // the number of rows
    most = std::max(most, spent.largest_part);
  }
  EXPECT_GT(most, 0.9);
}

}  // namespace
}  // namespace coppice
