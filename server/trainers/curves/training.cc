#include "server/trainers/curves/training.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/evaluation/class_evaluation.h"
#include "common/model/votes.h"

namespace coppice::curves {
namespace {

ClassScores EvaluateClasses(const Model& model, const Table& test) {
  ClassEvaluation evaluation(model.schema().num_classes());
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    if (test.label(i) == kUnlabelled) continue;
    test.CopyRow(i, row);
    const Prediction prediction = model.Predict(row);
    evaluation.Add(prediction.label, prediction.probabilities, test.label(i));
  }
  return evaluation.Scores();
}

}  // namespace

StatusOr<SplitSource> HoldOut(std::shared_ptr<const Table> rows, double share) {
  const size_t all = rows->num_rows();
  const double part = std::ceil(share * static_cast<double>(all));
  if (!(share > 0) || part >= static_cast<double>(all)) {
    return InvalidArgumentError(
        "the holdout must be above 0 and leave at least one private row to train on");
  }
  const auto held_out = static_cast<size_t>(part);
  return [rows = std::move(rows), all, held_out](uint64_t seed) {
    PublicRandom random(seed);
    std::vector<size_t> order(all);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = all; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    const absl::Span<const size_t> indices(order);
    return Split{.train = std::make_shared<const Table>(rows->Select(indices.subspan(held_out))),
                 .test = std::make_shared<const Table>(rows->Select(indices.first(held_out)))};
  };
}

NumberScores EvaluateNumbers(const Model& model, const Table& test) {
  const Target& target = *model.schema().target();
  NumberEvaluation evaluation(target.min, target.max);
  Row row;
  for (size_t i = 0; i < test.num_rows(); ++i) {
    test.CopyRow(i, row);
    evaluation.Add(model.Predict(row).value, test.target(i));
  }
  return evaluation.Scores();
}

StatusOr<TrainedScores> TrainAndScore(const trainers::Trainer& trainer,
                                      const trainers::TrainOptions& options,
                                      const SplitSource& source, const Runs& runs,
                                      const std::function<void(uint32_t)>& progress) {
  TrainedScores scores;
  scores.classes.Resize(runs.repeats);
  scores.numbers.Resize(runs.repeats);
  for (auto* values :
       {&scores.fit_seconds, &scores.fit_cpu_seconds, &scores.leaves, &scores.questions}) {
    values->resize(runs.repeats);
  }
  const auto run = [&](uint32_t repetition, PrivateRandom& noise) -> Status {
    COPPICE_RETURN_IF_ERROR(runs.cancel());
    PublicRandom seeds(runs.seed, repetition);
    const Split rows = source(seeds.Next());
    trainers::TrainOptions with_rows = options;
    if (rows.public_rows) with_rows.public_rows = rows.public_rows;
    const Stopwatch fitting;
    COPPICE_ASSIGN_OR_RETURN(
        const Model model,
        trainer.Train(*rows.train, with_rows, noise, [&](double) { return runs.cancel(); }));
    scores.fit_seconds[repetition] = fitting.clock_seconds();
    scores.fit_cpu_seconds[repetition] = fitting.cpu_seconds();
    double leaves = 0;
    for (const Tree& tree : model.forest()) leaves += tree.num_leaves();
    scores.leaves[repetition] = leaves;
    const StatusOr<std::vector<Vote>> votes = VotesOf(model);
    scores.questions[repetition] = votes.ok() ? static_cast<double>(votes->size()) : 0;
    if (model.schema().target()) {
      scores.numbers.Set(repetition, EvaluateNumbers(model, *rows.test));
    } else {
      scores.classes.Set(repetition, EvaluateClasses(model, *rows.test));
    }
    if (repetition == 0) {
      scores.epsilon_spent = static_cast<double>(model.certificate().epsilon_nanos) / 1e9;
      scores.public_rows_sha256 = model.certificate().public_rows_sha256;
      scores.trees = model.forest().size();
    }
    if (repetition == 0 && runs.votes) {
      COPPICE_ASSIGN_OR_RETURN(scores.votes, RenderVotes(model));
    }
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(RunRepetitions(runs.repeats, runs.threads, run, progress));
  return scores;
}

}  // namespace coppice::curves
