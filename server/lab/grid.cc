#include "server/lab/grid.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/lab/numbers.h"
#include "server/lab/simulation/experiment.h"
#include "server/trainers/curves/repetitions.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {
namespace {

std::vector<GridCell> EmptyCells(const RunOptions& options) {
  std::vector<GridCell> cells;
  cells.reserve(options.grid.cells());
  for (const uint32_t depth : options.grid.depths) {
    for (const uint32_t min_leaf : options.grid.min_leaves) {
      for (const curator::EstimatorOptions& estimator : options.grid.estimators) {
        GridCell& cell = cells.emplace_back();
        cell.depth = depth;
        cell.min_leaf = min_leaf;
        cell.estimator = estimator;
        cell.estimator.max_depth = depth;
        cell.scores.Resize(options.repeats);
        cell.numbers.Resize(options.repeats);
        for (auto* values :
             {&cell.leaves, &cell.report_bytes, &cell.fit_seconds, &cell.fit_cpu_seconds}) {
          values->resize(options.repeats);
        }
        cell.alarms.resize(options.repeats);
        cell.alphas.resize(options.repeats);
      }
    }
  }
  return cells;
}

// Runs repetitions; workers share the result and write disjoint entries of it.
class Runner {
 public:
  Runner(const RowSource& rows, const RunOptions& options, RunResult& result)
      : rows_(rows), options_(options), result_(result) {}

  Status RunOne(uint32_t repetition, PrivateRandom& noise) {
    PublicRandom seeds(options_.seed, repetition);
    const LabRows rows = rows_(seeds.Next());
    const uint64_t partition_seed = seeds.Next();
    if (repetition == 0) result_.classes = rows.test_rows->schema().classes();
    const absl::Span<GridCell> cells = absl::MakeSpan(result_.cells);
    const size_t group = options_.grid.estimators.size();
    for (size_t first = 0; first < cells.size(); first += group) {
      CollectOptions collect = options_.collect;
      collect.partition.max_depth = cells[first].depth;
      collect.partition.min_leaf = cells[first].min_leaf;
      collect.partition.seed = partition_seed;
      COPPICE_RETURN_IF_ERROR(
          RunGroup(rows, collect, repetition, seeds, noise, cells.subspan(first, group)));
    }
    return OkStatus();
  }

 private:
  struct Estimated {
    Forest forest;  // empty: the study's
    ForestPredictions leaves;
    std::optional<double> alpha{};
    std::optional<Model> model{};  // in the place of both
  };

  static StatusOr<Estimated> Estimate(SimulatedStudy& study, const LearnedRows& rows,
                                      const curator::EstimatorOptions& options) {
    const Table& public_rows = rows.cut;
    Estimated result;
    if (options.kind == curator::EstimatorKind::kSmooth) {
      COPPICE_ASSIGN_OR_RETURN(result.model, EstimateSmooth(study, rows, options));
    } else if (study.labels.has_value()) {
      COPPICE_ASSIGN_OR_RETURN(curator::LabelOnlyFit fit,
                               EstimateLabels(study, public_rows, options));
      result.forest = std::move(fit.model.forest);
      result.leaves = std::move(fit.model.leaves);
      result.alpha = fit.alpha;
    } else {
      COPPICE_ASSIGN_OR_RETURN(result.leaves, EstimateForest(study, public_rows, options));
    }
    return result;
  }

  // `cells` must differ only in their estimators.
  Status RunGroup(const LabRows& rows, const CollectOptions& collect, uint32_t repetition,
                  PublicRandom& assignment, PrivateRandom& noise, absl::Span<GridCell> cells) {
    const curves::Stopwatch collecting;
    COPPICE_ASSIGN_OR_RETURN(const ReportedRows reported, RowsOfStudy(rows, collect));
    COPPICE_ASSIGN_OR_RETURN(
        SimulatedStudy study,
        Collect(*reported.public_rows, *reported.private_rows, collect, assignment, noise));
    const double collect_seconds = collecting.clock_seconds();
    const double collect_cpu_seconds = collecting.cpu_seconds();
    const bool numbers = reported.rounding.has_value();
    const LocatedRows test(study.forest, *rows.test_rows);
    for (GridCell& cell : cells) {
      const curves::Stopwatch estimating;
      COPPICE_ASSIGN_OR_RETURN(Estimated estimated, Estimate(study,
                                                             {.given = *rows.public_rows,
                                                              .cut = *reported.public_rows,
                                                              .rounding = reported.rounding},
                                                             cell.estimator));
      cell.fit_seconds[repetition] = collect_seconds + estimating.clock_seconds();
      cell.fit_cpu_seconds[repetition] = collect_cpu_seconds + estimating.cpu_seconds();
      if (repetition + 1 == options_.repeats) cell.mechanism = study.mechanism;
      cell.alarms[repetition] = study.alarms;
      cell.alphas[repetition] = estimated.alpha;
      cell.leaves[repetition] = static_cast<double>(study.leaves);
      cell.report_bytes[repetition] = static_cast<double>(study.report_bytes);
      if (numbers && estimated.model.has_value()) {
        cell.numbers.Set(repetition, curves::EvaluateNumbers(*estimated.model, *rows.test_rows));
        continue;
      }
      if (numbers) {
        const Forest& forest = estimated.forest.empty() ? study.forest : estimated.forest;
        COPPICE_ASSIGN_OR_RETURN(
            const NumberScores scores,
            ScoreNumbers(*reported.rounding, forest, std::move(estimated.leaves), *rows.test_rows));
        cell.numbers.Set(repetition, scores);
        continue;
      }
      if (estimated.model.has_value()) {
        cell.scores.Set(repetition, EvaluateClasses(*estimated.model, *rows.test_rows));
        continue;
      }
      cell.scores.Set(
          repetition,
          estimated.alpha.has_value()
              ? LocatedRows(estimated.forest, *rows.test_rows).Evaluate(estimated.leaves)
              : test.Evaluate(estimated.leaves));
    }
    return OkStatus();
  }

  const RowSource& rows_;
  const RunOptions& options_;
  RunResult& result_;
};

// Returns the best cell over the repetitions `first`, `first` + `step`, ...
const GridCell& BestOver(const RunResult& result, size_t first, size_t step) {
  const auto total = [=](const GridCell& cell) {
    double sum = 0;
    for (size_t r = first; r < cell.scores.accuracy.size(); r += step) {
      sum += cell.scores.accuracy[r];
    }
    return sum;
  };
  const GridCell* best = &result.cells.front();
  double best_total = total(*best);
  for (const GridCell& cell : result.cells) {
    const double cell_total = total(cell);
    if (cell_total > best_total) {
      best = &cell;
      best_total = cell_total;
    }
  }
  return *best;
}

}  // namespace

StatusOr<RunResult> RunGrid(const RowSource& rows, const RunOptions& options,
                            const std::function<void(uint32_t)>& progress) {
  if (options.grid.cells() == 0 || options.repeats == 0 || options.threads == 0) {
    return InvalidArgumentError("a run needs at least one cell, repetition and thread");
  }
  RunResult result;
  result.cells = EmptyCells(options);
  Runner runner(rows, options, result);

  COPPICE_RETURN_IF_ERROR(curves::RunRepetitions(
      options.repeats, options.threads,
      [&](uint32_t repetition, PrivateRandom& noise) { return runner.RunOne(repetition, noise); },
      progress));
  return result;
}

const GridCell& BestCell(const RunResult& result) { return BestOver(result, 0, 1); }

std::vector<double> SplitHalfAccuracies(const RunResult& result) {
  std::vector<double> accuracies(result.cells.front().scores.accuracy.size());
  for (size_t half = 0; half < 2; ++half) {
    const GridCell& cell = BestOver(result, half, 2);
    for (size_t r = 1 - half; r < accuracies.size(); r += 2) {
      accuracies[r] = cell.scores.accuracy[r];
    }
  }
  return accuracies;
}

}  // namespace coppice::lab
