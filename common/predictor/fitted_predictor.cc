#include "common/predictor/fitted_predictor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/parallel.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/predictor/learner_stack.h"
#include "common/predictor/learners.h"
#include "common/predictor/tree_grower.h"

namespace coppice {
namespace {

constexpr size_t kFolds = 5;
constexpr size_t kRowsOfFolds = 20;  // of fewer rows each is a fold of its own
// A tree may take this part of the model: a forest that is worth its trees has sixteen at least.
constexpr size_t kPartOfTree = 16;
// Numbers whose deviation is this part of the largest differ by rounding.
constexpr double kRoundingOfNumbers = 1e-12;

Status CheckPublicRows(const Table& rows) {
  if (rows.num_rows() == 0) return InvalidArgumentError("there is no public row to learn from");
  const size_t columns = ScoreColumns(rows.schema());
  if (rows.num_rows() * columns > kMaxHeldOutScores) {
    return InvalidArgumentError(StrCat(rows.num_rows(), " public rows of ", columns,
                                       " classes are more than can be held out: ", "give at most ",
                                       kMaxHeldOutScores / columns, " rows"));
  }
  const absl::Span<const uint32_t> labels = rows.labels();
  const auto unlabelled = std::find(labels.begin(), labels.end(), kUnlabelled);
  if (rows.schema().target() || unlabelled == labels.end()) return OkStatus();
  return InvalidArgumentError(
      StrCat("public row ", unlabelled - labels.begin() + 1, " has no label: leave it out"));
}

// The rows' answers in the unit of learners.
struct StandardAnswers {
  explicit StandardAnswers(const Table& rows);

  double mean = 0;
  double deviation = 1;
  std::vector<double> numbers;
  LearnerAnswers answers;
};

StandardAnswers::StandardAnswers(const Table& rows) {
  if (!rows.schema().target()) {
    answers = {.labels = rows.labels(), .classes = rows.schema().num_classes()};
    return;
  }
  const auto count = static_cast<double>(rows.num_rows());
  double largest = 0, squares = 0;
  for (const double number : rows.targets()) {
    mean += number / count;
    largest = std::max(largest, std::abs(number));
  }
  for (const double number : rows.targets()) squares += (number - mean) * (number - mean) / count;
  if (std::sqrt(squares) > kRoundingOfNumbers * largest) deviation = std::sqrt(squares);
  for (const double number : rows.targets()) numbers.push_back((number - mean) / deviation);
  answers = {.numbers = numbers};
}

// Deals the rows out to folds so that each fold has its share of every class, or of small and large
// numbers: rows in random order, sorted by their answer, go to one fold after another.
std::vector<uint32_t> DealFolds(const LearnerAnswers& answers, size_t rows, size_t folds,
                                PublicRandom& random) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  for (size_t i = rows; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return answers.classes > 0 ? answers.labels[a] < answers.labels[b]
                               : answers.numbers[a] < answers.numbers[b];
  });
  std::vector<uint32_t> fold_of_row(rows);
  for (size_t i = 0; i < rows; ++i) fold_of_row[order[i]] = static_cast<uint32_t>(i % folds);
  return fold_of_row;
}

// Fits every learner to all rows and without each fold. The fits are independent, each with a
// random stream of its own, so threads cannot change them.
class FitAll {
 public:
  FitAll(const Table& rows, const LearnerAnswers& answers, const std::vector<uint32_t>& fold_of_row,
         size_t folds, const PredictorOptions& options)
      : features_(rows),
        answers_(answers),
        options_(options),
        learners_(StackedLearners(rows.num_rows(), rows.schema().num_features(), answers.classes,
                                  LeavesOfTree(rows.schema()))),
        subsets_(folds + 1) {
    for (uint32_t row = 0; row < rows.num_rows(); ++row) {
      for (size_t fold = 0; fold <= folds; ++fold) {
        if (fold_of_row[row] != fold) subsets_[fold].push_back(row);
      }
    }
  }

  const std::vector<LearnerOptions>& learners() const { return learners_; }

  StatusOr<std::vector<LearnerFits>> Run(const CancelCheck& cancel) {
    const size_t folds = subsets_.size() - 1;
    std::vector<LearnerFits> fits(learners_.size());
    for (LearnerFits& of_learner : fits) of_learner.without_fold.resize(folds);
    const auto fit = [&](size_t job) -> Status {
      COPPICE_RETURN_IF_ERROR(cancel());
      const size_t fold = job / learners_.size(), m = job % learners_.size();
      FittedLearner fitted = Fit(job, learners_[m], subsets_[fold]);
      (fold < folds ? fits[m].without_fold[fold] : fits[m].to_all) = std::move(fitted);
      return OkStatus();
    };
    COPPICE_RETURN_IF_ERROR(
        RunInParallel(subsets_.size() * learners_.size(), options_.threads, fit));
    return fits;
  }

 private:
  uint32_t LeavesOfTree(const Schema& schema) const {
    const Node single_leaf;
    const size_t leaves =
        options_.max_model_bytes / kPartOfTree / ModelBytes({&single_leaf, 1}, 1, schema);
    return static_cast<uint32_t>(std::clamp<size_t>(leaves, 2, kMaxNodes / 2));
  }

  FittedLearner Fit(size_t job, const LearnerOptions& learner,
                    const std::vector<uint32_t>& subset) const {
    // Without the only row there is nothing to fit: all scores are 0.
    if (subset.empty()) return {.base = std::vector<double>(answers_.columns())};
    TreeGrower grower(features_);
    PublicRandom random(options_.seed, job);
    return FitLearner(learner, answers_, subset, grower, random);
  }

  const SortedFeatures features_;
  const LearnerAnswers& answers_;
  const PredictorOptions& options_;
  const std::vector<LearnerOptions> learners_;
  std::vector<std::vector<uint32_t>> subsets_;  // by fold those outside of it; at the end, all rows
};

std::vector<LearnerReport> ReportsOf(const LearnerStack& stack,
                                     const std::vector<LearnerOptions>& learners,
                                     const std::vector<LearnerFits>& fits) {
  std::vector<LearnerReport> reports;
  for (size_t m = 0; m < learners.size(); ++m) {
    LearnerReport& report = reports.emplace_back();
    report = {.name = learners[m].name,
              .weight = stack.weight(m),
              .temperature = stack.temperature(m),
              .held_out_loss = stack.loss(m)};
    if (report.weight == 0 || report.temperature == 0) continue;
    report.trees = stack.size(m).trees;
    for (uint32_t t = 0; t < report.trees; ++t) {
      report.leaves += std::min(fits[m].to_all.trees[t].num_leaves(), stack.size(m).max_leaves);
    }
  }
  return reports;
}

}  // namespace

StatusOr<FittedPredictor> FitPredictor(const Table& public_rows, const PredictorOptions& options,
                                       const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckPublicRows(public_rows));
  const StandardAnswers standard(public_rows);
  const size_t rows = public_rows.num_rows();
  const size_t folds = rows < kRowsOfFolds ? rows : kFolds;
  PublicRandom random(options.seed);
  std::vector<uint32_t> fold_of_row = DealFolds(standard.answers, rows, folds, random);
  FitAll fit_all(public_rows, standard.answers, fold_of_row, folds, options);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<LearnerFits> fits, fit_all.Run(cancel));
  LearnerStack stack(public_rows, standard.answers, fold_of_row, fits);
  const double unbounded_loss = stack.held_out_loss();
  COPPICE_RETURN_IF_ERROR(stack.ShrinkTo(options.max_model_bytes));
  COPPICE_ASSIGN_OR_RETURN(PublicPredictor predictor,
                           stack.Served(standard.mean, standard.deviation));
  const double unit_of_loss = standard.deviation * standard.deviation;
  FittedPredictor fitted{.predictor = std::move(predictor),
                         .held_out = stack.held_out(),
                         .fold_of_row = std::move(fold_of_row),
                         .held_out_loss = unit_of_loss * stack.held_out_loss(),
                         .unbounded_held_out_loss = unit_of_loss * unbounded_loss,
                         .learners = ReportsOf(stack, fit_all.learners(), fits)};
  for (double& score : fitted.held_out) score = standard.mean + standard.deviation * score;
  for (LearnerReport& report : fitted.learners) report.held_out_loss *= unit_of_loss;
  return fitted;
}

}  // namespace coppice
