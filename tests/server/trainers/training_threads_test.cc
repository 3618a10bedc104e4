// Any number of threads trains the same model, and asks for the same releases.

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/core/row_ranges.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

// More than three ranges, and no multiple of anything.
constexpr size_t kRows = 4 * kMinRowsOfRange + 12'345;

const Trainer& AutoAlgorithm() {
  for (const Trainer* trainer : AllTrainers()) {
    if (trainer->info().name == "auto") return *trainer;
  }
  std::abort();
}

std::string Trained(const Table& table, uint64_t delta_atto, uint32_t threads) {
  SeededRandom random(1);
  const TrainOptions options{.epsilon = *Budget::Parse("1"),
                             .delta_atto = delta_atto,
                             .concentrated = delta_atto != 0,
                             .threads = threads};
  const StatusOr<Model> model =
      AutoAlgorithm().Train(table, options, random, [](double) { return OkStatus(); });
  EXPECT_OK(model);
  return model.ok() ? ToProto(*model).SerializeAsString() : "";
}

TEST(TrainingThreadsTest, AModelIsTheSameForAnyNumberOfThem) {
  for (const auto& schema : {MixedClasses(2), MixedClasses(3), MixedRegression()}) {
    const Table table = RandomTable(schema, {.rows = kRows, .unlabelled = 0.1}, 3);
    for (const uint64_t delta_atto : {uint64_t{0}, uint64_t{1'000'000'000'000}}) {
      const std::string by_one = Trained(table, delta_atto, 1);
      for (const uint32_t threads : {2, 3}) {
        EXPECT_EQ(Trained(table, delta_atto, threads), by_one) << threads << " threads";
      }
    }
  }
}

TEST(RowRangesTest, EachRowIsInOneRange) {
  for (const size_t rows : {size_t{0}, size_t{1}, kMinRowsOfRange, 2 * kMinRowsOfRange, kRows}) {
    for (const uint32_t threads : {0, 1, 2, 3, 100}) {
      std::vector<int> seen(rows);
      ForRowRanges(rows, threads, [&](size_t, size_t first, size_t end) {
        for (size_t row = first; row < end; ++row) ++seen[row];
      });
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<ptrdiff_t>(rows));
    }
  }
}

}  // namespace
}  // namespace coppice::trainers
