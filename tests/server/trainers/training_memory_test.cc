// What every algorithm takes of memory for a row is no more than it states.

#include <string>

#include "common/base/status.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/cut_rows.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

class TrainingMemoryTest : public ::testing::TestWithParam<const Trainer*> {};

INSTANTIATE_TEST_SUITE_P(All, TrainingMemoryTest, ::testing::ValuesIn(AllTrainers()),
                         [](const auto& test) { return test.param->info().name; });

TEST_P(TrainingMemoryTest, ARowTakesNoMoreThanIsStated) {
  const Trainer& trainer = *GetParam();
  if (!trainer.info().is_private) GTEST_SKIP() << "no job trains without privacy";
  if (!CountsMemory()) GTEST_SKIP() << "memory cannot be counted here";
  constexpr size_t kRows = 60'000;
  // The model, a block that is read and the sums of a tree's nodes, whatever the number of rows.
  constexpr uint64_t kBesideRows = 1'500'000;
  for (const auto& schema : {MixedClasses(2), MixedClasses(5), MixedRegression(),
                             std::make_shared<const Schema>(
                                 *Schema::Create(NumericFeatures(3), "label", {"no", "yes"}))}) {
    const AlgorithmInfo& info = trainer.info();
    if (schema->target() ? !info.regression : !info.classification) continue;
    TrainOptions options{.epsilon = *Budget::Parse("1")};
    for (const Parameter& parameter : info.parameters) {
      if (parameter.name == "depth") options.settings["depth"] = "3";
      if (parameter.name == "rounds") options.settings["rounds"] = "5";
    }
    const Table table = RandomTable(schema, {.rows = kRows, .missing = 0.1}, 1);
    SeededRandom random(1);
    const uint64_t taken = PeakBytesOf([&] {
      EXPECT_OK(
          trainer.Train(CutRows(table, 1'000), options, random, [](double) { return OkStatus(); }));
    });
    ASSERT_OK_AND_ASSIGN(const uint64_t of_row, trainer.MostBytesOfRow(*schema, options));
    EXPECT_LE(taken, of_row * kRows + kBesideRows)
        << "of the table of " << schema->num_features() << " features, at " << of_row << " a row";
    // A statement far above the truth would refuse what fits.
    EXPECT_GE(3 * (taken + kBesideRows), of_row * kRows) << schema->num_features();
  }
}

}  // namespace
}  // namespace coppice::trainers
