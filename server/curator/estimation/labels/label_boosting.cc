#include "server/curator/estimation/labels/label_boosting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/terms/terms.h"
#include "server/curator/estimation/labels/label_folds.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/number_labels.h"

namespace coppice::curator {
namespace {

constexpr uint64_t kLabelFoldSeed = 0x626f6f7374;  // any public number
constexpr uint32_t kRoundsPerStage = 10;
constexpr size_t kMostStages = 20;
// Boosting ends after this many stages without a better one: what is learned from there on is
// noise.
constexpr size_t kStagesOfPatience = 6;
constexpr std::array kShares = {0.25, 0.5, 0.75, 1.0};
constexpr double kGuard = 2;  // in standard errors
constexpr double kLeastCurvature = 1e-3;

// In units of a report's noise. Found on the development sets; half and double were not measured.
constexpr double kScoreRidge = 5;
constexpr double kNumberRidge = 20;

bool AreNumbers(const LabelReports& reports) { return reports.rows->schema().target().has_value(); }

// z: the unbiased share of each column's class, or the margin of a number.
double LabelOf(const LabelReports& reports, size_t column, size_t row) {
  const Schema& schema = reports.rows->schema();
  if (schema.target()) return reports.margins[column][row];
  return 1.0 / schema.num_classes() + reports.margins[column][row] / MarginScale(schema);
}

// The noise of a report in margins. Margins have mean square 1 without it.
double LabelNoise(const LabelReports& reports) {
  double squares = 0, count = 0;
  for (const std::vector<double>& column : reports.margins) {
    for (const double margin : column) squares += margin * margin;
    count += static_cast<double>(column.size());
  }
  const double noise = std::max(squares / count - 1, 0.0);
  const auto columns = static_cast<double>(reports.margins.size());
  return columns > 1 ? noise * (columns - 1) / columns : noise;
}

// The noise of a number's report, in units of the squared error of the start. Without a known error
// that is a margin of 1, as large as numbers are in the default range.
double NumberNoise(const LabelReports& reports, const std::vector<double>& start, double error) {
  double squares = 0;
  for (size_t i = 0; i < start.size(); ++i)
    squares += std::pow(reports.margins[0][i] - start[i], 2);
  const double unit = error > 0 ? kRangeDeviations * error / reports.range->width() : 1;
  return std::max(squares / (static_cast<double>(start.size()) * unit * unit) - 1, 0.0);
}

BoostOptions ScoreOptions(size_t reports, double ridge, double noise) {
  return {.rate = 0.1, .ridge = ridge * noise, .min_leaf = LeastReportsOfLeaf(reports, noise)};
}

// Turns one row's scores into probabilities, in place. A number's score is the answer.
void ToAnswers(bool are_numbers, absl::Span<double> of_columns) {
  if (are_numbers) return;
  if (of_columns.size() > 1) return Softmax(of_columns);
  of_columns[0] = 1 / (1 + std::exp(-2 * of_columns[0]));
}

void AddTree(const BoostedTree& tree, const Table& rows, RowColumns& scores) {
  const std::vector<uint32_t> leaf_of = FindLeaves(tree.tree, rows);
  for (size_t k = 0; k < scores.size(); ++k) {
    for (size_t i = 0; i < leaf_of.size(); ++i) scores[k][i] += tree.values[leaf_of[i]][k];
  }
}

// The trees of one fold, which are boosted on the reports of the others.
struct BoostedFold {
  std::vector<uint32_t> subset{};
  RowColumns scores{};
  std::vector<BoostedTree> trees{};
};

// What held-out reports say of one stage and share.
struct HeldOutGain {
  double sum = 0;
  double squares = 0;

  double LessErrors(double reports) const {
    return sum - kGuard * std::sqrt(std::max(squares - sum * sum / reports, 0.0));
  }
};

class LabelBooster {
 public:
  // `start` are the scores at the reports' rows. At most `most_trees` are grown.
  LabelBooster(const LabelReports& reports, RowColumns start, const BoostOptions& options,
               size_t most_trees)
      : most_stages_(std::min(kMostStages, most_trees / (LabelFolds::kCount * kRoundsPerStage))),
        reports_(reports),
        rows_(*reports.rows),
        bins_(rows_),
        start_(std::move(start)),
        options_(options),
        fold_of_(rows_.num_rows(), kLabelFoldSeed),
        gradients_(start_),
        curvatures_(start_) {
    for (size_t q = 0; q < folds_.size(); ++q) {
      folds_[q].subset = fold_of_.Boosting(q);
      folds_[q].scores = start_;
    }
  }

  StatusOr<LabelBoost> Boost(const CancelCheck& cancel) {
    LabelBoost best;
    double most = 0;
    size_t best_stage = 0;
    for (size_t stage = 1; stage <= most_stages_; ++stage) {
      for (BoostedFold& fold : folds_) COPPICE_RETURN_IF_ERROR(Advance(fold, cancel));
      const std::array<HeldOutGain, kShares.size()> gains = Gains();
      for (size_t a = 0; a < kShares.size(); ++a) {
        const double gain = gains[a].LessErrors(static_cast<double>(fold_of_.reports()));
        if (gain <= most) continue;
        most = gain;
        best_stage = stage;
        best.share = kShares[a];
        best.rounds = static_cast<uint32_t>(stage) * kRoundsPerStage;
      }
      if (stage >= best_stage + kStagesOfPatience) break;
    }
    SetScores(best);
    SetTrees(best);
    return best;
  }

 private:
  Status Advance(BoostedFold& fold, const CancelCheck& cancel) {
    if (fold.subset.empty()) return OkStatus();
    for (uint32_t round = 0; round < kRoundsPerStage; ++round) {
      COPPICE_RETURN_IF_ERROR(cancel());
      SetGradients(fold);
      COPPICE_ASSIGN_OR_RETURN(
          fold.trees.emplace_back(),
          GrowNewtonTree(bins_, fold.subset, options_, gradients_, curvatures_));
      AddTree(fold.trees.back(), rows_, fold.scores);
    }
    return OkStatus();
  }

  void SetGradients(const BoostedFold& fold) {
    std::vector<double> p(start_.size());
    for (const uint32_t row : fold.subset) {
      for (size_t k = 0; k < p.size(); ++k) p[k] = fold.scores[k][row];
      ToAnswers(AreNumbers(reports_), absl::MakeSpan(p));
      for (size_t k = 0; k < p.size(); ++k) {
        gradients_[k][row] = LabelOf(reports_, k, row) - p[k];
        curvatures_[k][row] =
            AreNumbers(reports_) ? 1 : std::max(p[k] * (1 - p[k]), kLeastCurvature);
      }
    }
  }

  double SquaredError(size_t row, absl::Span<const double> p) const {
    double error = 0;
    for (size_t k = 0; k < p.size(); ++k) {
      const double off = LabelOf(reports_, k, row) - p[k];
      error += off * off;
    }
    return error;
  }

  std::array<HeldOutGain, kShares.size()> Gains() const {
    std::array<HeldOutGain, kShares.size()> gains;
    std::vector<double> p(start_.size());
    for (size_t row = 0; row < fold_of_.reports(); ++row) {
      const RowColumns& scores = folds_[fold_of_[row]].scores;
      const auto error = [&](double share) {
        for (size_t k = 0; k < p.size(); ++k) {
          p[k] = start_[k][row] + share * (scores[k][row] - start_[k][row]);
        }
        ToAnswers(AreNumbers(reports_), absl::MakeSpan(p));
        return SquaredError(row, p);
      };
      const double before = error(0);
      for (size_t a = 0; a < kShares.size(); ++a) {
        const double gain = before - error(kShares[a]);
        gains[a].sum += gain;
        gains[a].squares += gain * gain;
      }
    }
    return gains;
  }

  // Sets the held-out scores, and the scores' variance.
  void SetScores(LabelBoost& best) {
    for (BoostedFold& fold : folds_) {
      fold.trees.resize(std::min<size_t>(fold.trees.size(), best.rounds));
      fold.scores = start_;
      for (const BoostedTree& tree : fold.trees) AddTree(tree, rows_, fold.scores);
    }
    best.held_out = start_;
    best.variance = RowColumns(start_.size(), std::vector<double>(fold_of_.reports()));
    for (size_t k = 0; k < start_.size(); ++k) {
      for (size_t row = 0; row < fold_of_.reports(); ++row) {
        const double held_out = folds_[fold_of_[row]].scores[k][row];
        best.held_out[k][row] += best.share * (held_out - start_[k][row]);
        std::array<double, LabelFolds::kCount> scores;
        for (size_t q = 0; q < scores.size(); ++q) scores[q] = folds_[q].scores[k][row];
        best.variance[k][row] = best.share * best.share * VarianceOfMean(scores);
      }
    }
  }

  void SetTrees(LabelBoost& best) {
    const bool are_numbers = AreNumbers(reports_);
    const double unit = are_numbers ? reports_.range->width() / kRangeDeviations : 1;
    const double factor = best.share * unit / LabelFolds::kCount;
    for (BoostedFold& fold : folds_) {
      for (BoostedTree& grown : fold.trees) {
        ScoreTree& tree = best.trees.emplace_back();
        for (const std::vector<double>& leaf : grown.values) {
          if (leaf.size() == 1 && !are_numbers) tree.values.push_back(-factor * leaf[0]);
          for (const double value : leaf) tree.values.push_back(factor * value);
        }
        tree.tree = std::move(grown.tree);
      }
    }
  }

  const size_t most_stages_;
  const LabelReports& reports_;
  const Table& rows_;
  const RowBins bins_;
  const RowColumns start_;
  const BoostOptions options_;
  const LabelFolds fold_of_;
  std::array<BoostedFold, LabelFolds::kCount> folds_;
  RowColumns gradients_, curvatures_;  // of the fold that advances
};

}  // namespace

namespace {

Status CheckStart(const PublicPredictor& start, const LabelReports& reports) {
  const Schema& schema = reports.rows->schema();
  bool fits = start.columns() == ScoreColumns(schema) && reports.rows->num_rows() > 0 &&
              schema.target().has_value() == reports.range.has_value() &&
              reports.margins.size() == MarginColumns(schema.num_outputs());
  for (const std::vector<double>& column : reports.margins) {
    fits = fits && column.size() == reports.rows->num_rows();
  }
  if (fits) return OkStatus();
  return InvalidArgumentError("the reports do not have the shape of the predictor");
}

// The predictor's scores at the reports' rows: margins of numbers, or log odds that add up to 0
// over the classes. The single column of two classes is the second's.
RowColumns ScoresAtReports(const PublicPredictor& start, const LabelReports& reports) {
  const std::vector<double> scores = start.ScoresOf(*reports.rows);
  RowColumns by_column(reports.margins.size());
  if (AreNumbers(reports)) {
    for (const double number : scores) by_column[0].push_back(MarginOf(number, *reports.range));
    return by_column;
  }
  const size_t classes = start.columns();
  for (size_t at = 0; at < scores.size(); at += classes) {
    const double mean =
        std::accumulate(scores.begin() + static_cast<std::ptrdiff_t>(at),
                        scores.begin() + static_cast<std::ptrdiff_t>(at + classes), 0.0) /
        static_cast<double>(classes);
    const size_t first = by_column.size() == 1 ? 1 : 0;
    for (size_t k = 0; k < by_column.size(); ++k) {
      by_column[k].push_back(scores[at + first + k] - mean);
    }
  }
  return by_column;
}

}  // namespace

StatusOr<LabelBoost> BoostOnLabels(const LabelStart& start, const LabelReports& reports,
                                   const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(CheckStart(start.predictor, reports));
  RowColumns scores = ScoresAtReports(start.predictor, reports);
  const size_t rows = reports.rows->num_rows();
  const BoostOptions options =
      AreNumbers(reports)
          ? ScoreOptions(rows, kNumberRidge, NumberNoise(reports, scores[0], start.error))
          : ScoreOptions(rows, kScoreRidge, LabelNoise(reports));
  const size_t taken =
      std::min<size_t>(start.predictor.trees().size() + 1, kMaxTrees);  // with the base
  return LabelBooster(reports, std::move(scores), options, kMaxTrees - taken).Boost(cancel);
}

RowColumns AnswersOfScores(const LabelReports& reports, const RowColumns& scores) {
  RowColumns result = scores;
  std::vector<double> p(scores.size());
  for (size_t row = 0; row < scores[0].size(); ++row) {
    for (size_t k = 0; k < p.size(); ++k) p[k] = scores[k][row];
    ToAnswers(AreNumbers(reports), absl::MakeSpan(p));
    for (size_t k = 0; k < p.size(); ++k) result[k][row] = p[k];
  }
  return result;
}

std::vector<double> SquaredErrors(const LabelReports& reports, const RowColumns& probabilities) {
  std::vector<double> errors(reports.rows->num_rows());
  for (size_t k = 0; k < probabilities.size(); ++k) {
    for (size_t row = 0; row < errors.size(); ++row) {
      errors[row] += std::pow(LabelOf(reports, k, row) - probabilities[k][row], 2);
    }
  }
  return errors;
}

double GainInErrors(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] - b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  const double variance = squares - sum * sum / static_cast<double>(std::max<size_t>(a.size(), 1));
  return variance > 0 ? sum / std::sqrt(variance) : 0;
}

}  // namespace coppice::curator
