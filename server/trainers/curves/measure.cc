#include "server/trainers/curves/measure.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::curves {
namespace {

double RowErrorOf(const std::vector<ConfidenceInterval>& gains) {
  constexpr double kNormal95 = 1.959964;
  double squares = 0;
  for (const ConfidenceInterval& gain : gains) squares += std::pow((gain.high - gain.low) / 2, 2);
  return std::sqrt(squares / static_cast<double>(gains.size())) / kNormal95;
}

// Measures one series, run after run.
class SeriesRuns {
 public:
  SeriesRuns(const trainers::Trainer& trainer, const trainers::TrainOptions& options,
             const SplitSource& source, const Runs& runs,
             const std::function<void(uint32_t)>& progress)
      : trainer_(trainer),
        options_(options),
        source_(source),
        runs_(runs),
        progress_(progress),
        schema_(source(0).test->shared_schema()) {}

  StatusOr<MeasuredSeries> Run(absl::Span<const Budget> budgets) {
    measured_.series.algorithm = trainer_.info().name;
    measured_.series.neighbours = trainer_.info().neighbours == Neighbours::kChangeLabel
                                      ? "the label of one row"
                                      : "one row more or less";
    for (const Budget& budget : budgets) {
      COPPICE_ASSIGN_OR_RETURN(CurveScores scores, TrainOnce(budget));
      measured_.series.points.push_back({.epsilon = budget.epsilon(), .scores = std::move(scores)});
    }
    StatusOr<CurveScores> without = TrainOnce(std::nullopt);
    if (without.ok()) {
      measured_.series.non_private = std::move(*without);
    } else if (!IsInvalidArgument(without.status())) {
      return without.status();
    }  // else the algorithm has no run without privacy
    return std::move(measured_);
  }

 private:
  StatusOr<CurveScores> TrainOnce(std::optional<Budget> epsilon) {
    trainers::TrainOptions options = options_;
    options.epsilon = epsilon;
    if (!epsilon) options.delta_atto = 0;
    const StatusOr<TrainedScores> scores =
        TrainAndScore(trainer_, options, source_, runs_,
                      [this](uint32_t finished) { progress_(done_ + finished); });
    done_ += runs_.repeats;
    COPPICE_RETURN_IF_ERROR(scores.status());
    return schema_->target() ? TakeNumbers(scores->numbers) : TakeClasses(scores->classes);
  }

  CurveScores TakeNumbers(const RepeatedNumberScores& scores) {
    measured_.baseline = scores.mean;
    return ScoresOf(scores);
  }
  CurveScores TakeClasses(const RepeatedClassScores& scores) {
    measured_.baseline = scores.majority;
    measured_.majority_class = schema_->classes()[scores.majority_class[0]];
    return ScoresOf(scores);
  }

  const trainers::Trainer& trainer_;
  const trainers::TrainOptions& options_;
  const SplitSource& source_;
  const Runs& runs_;
  const std::function<void(uint32_t)>& progress_;
  const std::shared_ptr<const Schema> schema_;
  uint32_t done_ = 0;  // repetitions
  MeasuredSeries measured_;
};

}  // namespace

CurveScores ScoresOf(const RepeatedClassScores& scores) {
  return {.measure = scores.accuracy,
          .auc = scores.auc,
          .log_loss = scores.log_loss,
          .row_error = RowErrorOf(scores.gain_interval)};
}

CurveScores ScoresOf(const RepeatedNumberScores& scores) {
  return {.measure = scores.rmse,
          .auc = {},
          .log_loss = {},
          .row_error = RowErrorOf(scores.gain_interval)};
}

std::vector<Budget> RisingBudgets(std::vector<Budget> budgets) {
  std::sort(budgets.begin(), budgets.end(),
            [](const Budget& a, const Budget& b) { return a.nanos() < b.nanos(); });
  budgets.erase(
      std::unique(budgets.begin(), budgets.end(),
                  [](const Budget& a, const Budget& b) { return a.nanos() == b.nanos(); }),
      budgets.end());
  return budgets;
}

Status CheckSeries(const trainers::Trainer& trainer, const Schema& schema,
                   absl::Span<const Budget> budgets, trainers::TrainOptions options) {
  for (const Budget& budget : budgets) {
    options.epsilon = budget;
    const Status planned = trainer.Plan(schema, options).status();
    if (!planned.ok()) {
      return Status(planned.code(), StrCat(trainer.info().name, " at epsilon ", budget.ToString(),
                                           ": ", std::string(planned.message())));
    }
  }
  return OkStatus();
}

StatusOr<MeasuredSeries> MeasureSeries(const trainers::Trainer& trainer,
                                       absl::Span<const Budget> budgets,
                                       const trainers::TrainOptions& options,
                                       const SplitSource& source, const Runs& runs,
                                       const std::function<void(uint32_t)>& progress) {
  return SeriesRuns(trainer, options, source, runs, progress).Run(budgets);
}

}  // namespace coppice::curves
