// Runs private evaluations twice, on neighbours drawn at random: schemas, models, rows, groups, and
// the place of the extra row. No release moves by more than its noise is for, some move by all of
// it, and all together cost what was planned. A twin that counts some rows twice is found out.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/noisy_sums.h"
#include "server/trainers/evaluation/private_evaluation.h"
#include "tests/privacy/replayed_releases.h"
#include "tests/server/trainers/evaluation/staircase.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using trainers::EvaluationPlan;

constexpr int kPairs = 400;

// A table, its neighbour, and what is asked about both.
struct EvaluationCase {
  std::shared_ptr<const Schema> schema;
  std::unique_ptr<Model> model{};
  std::unique_ptr<Table> one{}, other{};
  EvaluationPlan plan{};
};

class CaseMaker {
 public:
  explicit CaseMaker(uint64_t seed) : engine_(seed) {}

  StatusOr<EvaluationCase> Make() {
    const size_t classes = Below(4) == 0 ? 0 : 2 + Below(6);
    EvaluationCase made{.schema = SchemaOf(classes)};
    made.model = std::make_unique<Model>(ModelOf(*made.schema));
    const bool changes_label = Below(2) == 0;
    trainers::EvaluationOptions options{
        .epsilon_nanos = 1'000'000'000,
        .neighbours = changes_label ? Neighbours::kChangeLabel : Neighbours::kAddOrRemoveRow,
        .by = Below(3) == 0 ? "town" : ""};
    if (classes == 0 && Below(2) == 0) options.reach = 0.01 + 20 * Unit();
    COPPICE_ASSIGN_OR_RETURN(made.plan, trainers::PlanEvaluation(*made.schema, options));
    FillTables(classes, changes_label, made);
    return made;
  }

 private:
  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  double Unit() { return std::uniform_real_distribution<>(0, 1)(engine_); }

  static std::shared_ptr<const Schema> SchemaOf(size_t classes) {
    if (classes == 0) return NumbersSchema();
    std::vector<std::string> names;
    for (size_t i = 0; i < classes; ++i) names.push_back(StrCat("class ", i));
    return ClassesSchema(names);
  }

  Model ModelOf(const Schema& schema) {
    std::vector<std::vector<double>> steps(1 + Below(5));
    for (std::vector<double>& step : steps) {
      double sum = 0;
      for (uint32_t i = 0; i < schema.num_outputs(); ++i) sum += step.emplace_back(0.01 + Unit());
      for (double& p : step) p /= sum;
    }
    return Staircase(schema, steps);
  }

  struct Case {
    Row row;
    uint32_t label = 0;
    double target = 0;
  };
  Case RandomCase(size_t classes) {
    Case drawn{.row = {Below(8) == 0 ? kMissingValue : Unit(), static_cast<double>(Below(3))}};
    if (Below(8) == 0) drawn.row[1] = kMissingValue;
    drawn.label =
        classes == 0 || Below(10) == 0 ? kUnlabelled : static_cast<uint32_t>(Below(classes));
    drawn.target = Below(4) == 0 ? static_cast<double>(Below(2)) * 10 : 10 * Unit();
    return drawn;
  }
  static void Append(const Case& drawn, size_t classes, Table& table) {
    classes == 0 ? table.AppendTarget(drawn.row, drawn.target)
                 : table.Append(drawn.row, drawn.label);
  }

  void FillTables(size_t classes, bool changes_label, EvaluationCase& made) {
    made.one = std::make_unique<Table>(made.schema);
    made.other = std::make_unique<Table>(made.schema);
    const size_t rows = Below(20), place = Below(rows + 1);
    for (size_t i = 0; i <= rows; ++i) {
      Case drawn = RandomCase(classes);
      Append(drawn, classes, *made.one);
      if (i == place && !changes_label) continue;
      if (i == place) {
        const Case changed = RandomCase(classes);
        drawn.label = changed.label;
        drawn.target = changed.target;
      }
      Append(drawn, classes, *made.other);
    }
  }

  std::mt19937_64 engine_;
};

using Evaluation = std::function<Status(const Table&, const EvaluationCase&, PrivateRandom&)>;

Status EvaluateAsIs(const Table& rows, const EvaluationCase& asked, PrivateRandom& random) {
  trainers::PrivateReleaser releaser(random);
  return trainers::EvaluatePrivately(BlocksOfTable(rows), *asked.model, asked.plan, releaser)
      .status();
}

// The most that a release moved, as a part of what its noise is for. Fails if releases do not cost
// what was planned.
StatusOr<double> MostMoved(const EvaluationCase& asked, const Evaluation& evaluate, uint64_t seed) {
  Recorder recorder(seed);
  SeededRandom random(seed);
  COPPICE_RETURN_IF_ERROR(evaluate(*asked.one, asked, random));
  const std::vector<ReleaseRequest> first = recorder.Replay();
  COPPICE_RETURN_IF_ERROR(evaluate(*asked.other, asked, random));
  const std::vector<ReleaseRequest> second = recorder.Replay();
  if (first.size() != second.size()) return InternalError("another number of releases");
  uint64_t cost = 0;
  double most = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    cost += first[i].amount;
    most = std::max(most, PartOfSensitivity(first[i], second[i]));
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t planned, TotalCost(asked.plan.releases));
  if (cost != planned) return InternalError("the releases do not cost what was planned");
  return most;
}

TEST(EvaluationReplayTest, NoReleaseMovesByMoreThanItsNoiseIsFor) {
  CaseMaker maker(1);
  double most = 0;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    ASSERT_OK_AND_ASSIGN(const EvaluationCase asked, maker.Make());
    ASSERT_OK_AND_ASSIGN(const double moved, MostMoved(asked, EvaluateAsIs, pair));
    ASSERT_LE(moved, 1) << "pair " << pair;
    most = std::max(most, moved);
  }
  EXPECT_EQ(most, 1) << "the noise is for no more than what a row does";
}

// A table in which a row that is answered wrongly is also counted at its class: two cells.
Status EvaluateWithRowsInTwoCells(const Table& rows, const EvaluationCase& asked,
                                  PrivateRandom& random) {
  const size_t classes = asked.schema->num_classes();
  std::vector<int64_t> cells(classes * classes);
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    const uint32_t label = rows.label(i);
    if (label >= classes) continue;
    const uint32_t predicted = asked.model->Predict(rows.row(i)).label;
    ++cells[label * classes + predicted];
    if (predicted != label) ++cells[label * classes + label];
  }
  for (int half = 0; half < 2; ++half) {
    COPPICE_RETURN_IF_ERROR(
        ReleaseSums(cells, 1, *Budget::FromNanos(asked.plan.half_nanos), random).status());
  }
  return OkStatus();
}

TEST(EvaluationReplayTest, ATwinThatCountsRowsTwiceIsFoundOut) {
  CaseMaker maker(2);
  double most = 0;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    ASSERT_OK_AND_ASSIGN(const EvaluationCase asked, maker.Make());
    if (asked.plan.classes == 0 || asked.plan.options.neighbours != Neighbours::kAddOrRemoveRow) {
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const double moved, MostMoved(asked, EvaluateWithRowsInTwoCells, pair));
    most = std::max(most, moved);
  }
  EXPECT_GT(most, 1.5);
}

}  // namespace
}  // namespace coppice
