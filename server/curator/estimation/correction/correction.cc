#include "server/curator/estimation/correction/correction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "Eigen/Dense"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/estimation/correction/correction_equations.h"
#include "server/curator/estimation/pooled/gaussian_average.h"
#include "server/curator/estimation/pooled/symmetric_eigen.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The directions with the largest eigenvalues have nearly all of the prior's variance.
constexpr size_t kMaxDirections = 256;
// Newton steps. With more than two classes each goes half-way. Answers about numbers are linear,
// but how leaves scatter is seen around the corrected number.
constexpr int kStepsOfTwoClasses = 3;
constexpr int kStepsOfMoreClasses = 5;

// The hypotheses of the header's comment, with prior weights. Found on the development sets with
// 200 public rows: a trust of .1 or .3 in place of 1 raised the log loss by .001 at epsilon = 1; a
// free scale (variance .04) made reports shrink what the predictor is right about.
struct Hypothesis {
  enum class Kind { kNone, kRelated, kUnrelated };
  Kind kind;
  double weight;
  PriorWidths widths;
  double trust;  // in the information of the public labels
};
constexpr Hypothesis kWithLabels[] = {{Hypothesis::Kind::kNone, .1, {0, 0, 0}, 0},
                                      {Hypothesis::Kind::kRelated, .88 / 3, {1, .1, .0025}, 1},
                                      {Hypothesis::Kind::kRelated, .88 / 3, {3, .1, .0025}, 1},
                                      {Hypothesis::Kind::kRelated, .88 / 3, {10, .1, .0025}, 1},
                                      {Hypothesis::Kind::kUnrelated, .01, {1, 1, 4}, 0},
                                      {Hypothesis::Kind::kUnrelated, .01, {10, 1, 4}, 0}};
constexpr Hypothesis kWithoutLabels[] = {{Hypothesis::Kind::kNone, .01, {0, 0, 0}, 0},
                                         {Hypothesis::Kind::kRelated, .33, {.3, 4, .0025}, 0},
                                         {Hypothesis::Kind::kRelated, .33, {1, 4, .0025}, 0},
                                         {Hypothesis::Kind::kRelated, .33, {3, 4, .0025}, 0},
                                         {Hypothesis::Kind::kRelated, .33, {10, 4, .0025}, 0}};

// Numbers. Found on the development sets with 200 public rows; half and double were not measured.
constexpr Hypothesis kNumbersWithLabels[] = {{Hypothesis::Kind::kNone, .5, {0, 0, 0}, 0},
                                             {Hypothesis::Kind::kRelated, .16, {.1, .1, .0025}, 1},
                                             {Hypothesis::Kind::kRelated, .16, {.3, .1, .0025}, 1},
                                             {Hypothesis::Kind::kRelated, .16, {1, .1, .0025}, 1},
                                             {Hypothesis::Kind::kUnrelated, .01, {.3, 1, 4}, 0},
                                             {Hypothesis::Kind::kUnrelated, .01, {1, 1, 4}, 0}};
constexpr Hypothesis kNumbersWithoutLabels[] = {{Hypothesis::Kind::kNone, .01, {0, 0, 0}, 0},
                                                {Hypothesis::Kind::kRelated, .33, {.1, 1, 1e-4}, 0},
                                                {Hypothesis::Kind::kRelated, .33, {.3, 1, 1e-4}, 0},
                                                {Hypothesis::Kind::kRelated, .33, {1, 1, 1e-4}, 0}};
constexpr Hypothesis kNumbersWithoutReports[] = {
    {Hypothesis::Kind::kRelated, 1. / 3, {.1, .1, .0025}, 1},
    {Hypothesis::Kind::kRelated, 1. / 3, {.3, .1, .0025}, 1},
    {Hypothesis::Kind::kRelated, 1. / 3, {1, .1, .0025}, 1}};

// What nobody has asked devices about is known as far as public labels tell, if they are like the
// private ones.
constexpr Hypothesis kWithoutReports[] = {{Hypothesis::Kind::kRelated, 1. / 3, {1, .1, .0025}, 1},
                                          {Hypothesis::Kind::kRelated, 1. / 3, {3, .1, .0025}, 1},
                                          {Hypothesis::Kind::kRelated, 1. / 3, {10, .1, .0025}, 1}};

absl::Span<const Hypothesis> HypothesesFor(bool numbers, bool labels, bool reports) {
  if (!reports) return numbers ? absl::MakeConstSpan(kNumbersWithoutReports) : kWithoutReports;
  if (!labels) return numbers ? absl::MakeConstSpan(kNumbersWithoutLabels) : kWithoutLabels;
  return numbers ? absl::MakeConstSpan(kNumbersWithLabels) : kWithLabels;
}

}  // namespace

CorrectionBasis::CorrectionBasis(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
CorrectionBasis::~CorrectionBasis() = default;
CorrectionBasis::CorrectionBasis(CorrectionBasis&&) noexcept = default;
CorrectionBasis& CorrectionBasis::operator=(CorrectionBasis&&) noexcept = default;

uint32_t CorrectionBasis::classes() const { return parts_->classes; }
const PublicLeaves& CorrectionBasis::leaves() const { return parts_->leaves; }
size_t CorrectionBasis::rank() const { return static_cast<size_t>(parts_->lambda.size()); }

StatusOr<CorrectionBasis> CorrectionBasis::Create(const Forest& forest, const Bags& bags,
                                                  const Table& public_rows) {
  const size_t rows = public_rows.num_rows();
  if (rows == 0) return InvalidArgumentError("the smooth estimator needs a public row");
  const bool fits = std::all_of(bags.begin(), bags.end(), [rows](const std::vector<uint32_t>& bag) {
    return bag.size() == rows;
  });
  if (!fits || bags.size() != forest.size()) {
    return InvalidArgumentError("there must be one bag per tree, with one entry per public row");
  }
  KeepBlasOnTheCaller();
  auto parts = std::make_unique<Parts>(forest, bags, public_rows);
  const std::vector<double> shares(parts->leaves.leaves(), 1 / static_cast<double>(forest.size()));
  COPPICE_ASSIGN_OR_RETURN(
      const Eigenvectors found,
      DecomposeSymmetric(SharedWeights(parts->leaves, parts->field_rows, shares)));
  const auto squares =
      std::inner_product(found.values.begin(), found.values.end(), found.values.begin(), 0.0);
  const auto size = static_cast<Index>(parts->field_rows.size());
  const auto rank = static_cast<Index>(std::min(found.values.size(), kMaxDirections));
  parts->prior_scale = static_cast<double>(size) / squares;
  parts->lambda = Eigen::Map<const VectorXd>(found.values.data(), rank);
  parts->vectors = Eigen::Map<const MatrixXd>(found.vectors.data(), size, rank);
  return CorrectionBasis(std::move(parts));
}

// One fit. The correction has one column for two classes, else one per class.
class CorrectionFitter {
 public:
  CorrectionFitter(const CorrectionBasis& basis, const CorrectionOffset& offset,
                   absl::Span<const PrivateCounts> counts, const CancelCheck& cancel)
      : equations_(basis, offset),
        basis_(basis.parts()),
        counts_(counts),
        cancel_(cancel),
        size_(equations_.size()),
        columns_(equations_.columns()),
        priors_(PriorsOf(HypothesesFor(equations_.are_numbers(), !offset.scores.empty(),
                                       /*reports=*/!counts.empty()))),
        columns_of_fit_(columns_),
        delta_(columns_, std::vector<double>(basis_.leaves.rows(), 0)) {
    for (Column& column : columns_of_fit_) column.unknowns = VectorXd::Zero(size_);
  }

  StatusOr<Correction> Fit() {
    if (counts_.empty()) {
      COPPICE_RETURN_IF_ERROR(SetErrorsOfPublicLabels());
      return MakeCorrection();
    }
    for (int step = 0; step < Steps(); ++step) COPPICE_RETURN_IF_ERROR(MakeStep());
    return MakeCorrection();
  }

 private:
  struct Column {
    VectorXd unknowns;              // one per direction, then level and scale
    std::vector<double> at_leaves;  // the field's leaf values
    MatrixXd covariance;            // of the unknowns
    std::vector<double> weights;    // of the hypotheses
  };

  std::vector<GaussianPrior> PriorsOf(absl::Span<const Hypothesis> hypotheses) {
    std::vector<GaussianPrior> priors;
    for (const Hypothesis& hypothesis : hypotheses) {
      kinds_.push_back(hypothesis.kind);
      GaussianPrior& prior = priors.emplace_back(
          GaussianPrior{.weight = hypothesis.weight, .trust = hypothesis.trust});
      if (hypothesis.kind == Hypothesis::Kind::kNone) continue;
      PriorWidths widths = hypothesis.widths;
      if (hypothesis.kind == Hypothesis::Kind::kUnrelated) {
        // Public numbers that mean nothing do not say how far off they are, either.
        widths.field *= equations_.SquaredSpread();
        widths.level *= equations_.SquaredSpread();
      }
      prior.precision = equations_.PrecisionOf(widths);
    }
    return priors;
  }

  int Steps() const { return columns_ == 1 ? kStepsOfTwoClasses : kStepsOfMoreClasses; }

  Status MakeStep() {
    const std::vector<ColumnAnswers> answers = equations_.AnswersOf(delta_);
    for (size_t k = 0; k < columns_; ++k) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      COPPICE_RETURN_IF_ERROR(Solve(k, answers[k]));
    }
    if (columns_ > 1) ShareScale();
    for (size_t k = 0; k < columns_; ++k) Evaluate(k);
    return OkStatus();
  }

  // The prior is then all that there is to know.
  Status SetErrorsOfPublicLabels() {
    const std::vector<ColumnAnswers> answers = equations_.AnswersOf(delta_);
    const GaussianLikelihood nothing = {.information = MatrixXd::Zero(size_, size_),
                                        .pull = VectorXd::Zero(size_)};
    for (size_t k = 0; k < columns_; ++k) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      const MatrixXd labels =
          equations_.InformationOfLabels(equations_.DirectionsOf(k), answers[k].label_information);
      COPPICE_ASSIGN_OR_RETURN(GaussianAverage prior, AveragePriors(nothing, labels, priors_));
      columns_of_fit_[k].covariance = std::move(prior.covariance);
      columns_of_fit_[k].weights = std::move(prior.weights);
      columns_of_fit_[k].at_leaves.assign(basis_.leaves.leaves(), 0);
    }
    return OkStatus();
  }

  Status Solve(size_t column, const ColumnAnswers& answers) {
    const LeafResiduals residuals =
        ComputeResiduals(basis_.leaves, counts_, equations_.OutputOf(column), answers.expected);
    const MatrixXd directions = equations_.DirectionsOf(column);
    COPPICE_ASSIGN_OR_RETURN(GaussianLikelihood likelihood,
                             equations_.LikelihoodOf(residuals, directions, answers.moves));
    // The residuals are about what the present correction leaves; the unknowns are the whole one.
    Column& of_column = columns_of_fit_[column];
    likelihood.pull += likelihood.information * of_column.unknowns;
    COPPICE_ASSIGN_OR_RETURN(
        GaussianAverage found,
        AveragePriors(likelihood,
                      equations_.InformationOfLabels(directions, answers.label_information),
                      priors_));
    of_column.unknowns =
        columns_ == 1 ? found.mean : VectorXd((of_column.unknowns + found.mean) / 2);
    of_column.covariance = std::move(found.covariance);
    of_column.weights = std::move(found.weights);
    return OkStatus();
  }

  void ShareScale() {
    double mean = 0;
    for (const Column& column : columns_of_fit_) {
      mean += column.unknowns[size_ - 1] / static_cast<double>(columns_);
    }
    for (Column& column : columns_of_fit_) column.unknowns[size_ - 1] = mean;
  }

  // Sets the leaf values of a column, and delta at the rows, from the unknowns.
  void Evaluate(size_t column) {
    Column& of_column = columns_of_fit_[column];
    const VectorXd field = basis_.vectors * of_column.unknowns.head(size_ - 2) /
                           static_cast<double>(basis_.leaves.trees());
    of_column.at_leaves.assign(basis_.leaves.leaves(), 0);
    const double level = of_column.unknowns[size_ - 2], scale = of_column.unknowns[size_ - 1];
    std::vector<double>& delta = delta_[column];
    for (size_t row = 0; row < delta.size(); ++row) {
      delta[row] = level + scale * equations_.ScoreAt(row, column);
    }
    for (size_t t = 0; t < basis_.leaves.trees(); ++t) {
      const absl::Span<const uint32_t> leaf_of = basis_.leaves.leaf_of(t);
      for (Index i = 0; i < field.size(); ++i) {
        of_column.at_leaves[leaf_of[basis_.field_rows[static_cast<size_t>(i)]]] += field[i];
      }
      for (size_t row = 0; row < leaf_of.size(); ++row) {
        delta[row] += of_column.at_leaves[leaf_of[row]];
      }
    }
  }

  // By leaf of all trees: the mean variance of delta at the field's rows there, or over all of them
  // where a leaf has none.
  std::vector<double> VarianceInLeavesOf(size_t column) const {
    const MatrixXd directions = equations_.DirectionsOf(column);
    const VectorXd at_rows = (directions * columns_of_fit_[column].covariance)
                                 .cwiseProduct(directions)
                                 .rowwise()
                                 .sum()
                                 .cwiseMax(0);
    std::vector<double> sum(basis_.leaves.leaves()), rows(basis_.leaves.leaves());
    for (size_t t = 0; t < basis_.leaves.trees(); ++t) {
      for (Index i = 0; i < at_rows.size(); ++i) {
        const uint32_t leaf = basis_.leaves.leaf_of(t)[basis_.field_rows[static_cast<size_t>(i)]];
        sum[leaf] += at_rows[i];
        rows[leaf] += 1;
      }
    }
    const double mean = at_rows.mean();
    for (size_t leaf = 0; leaf < sum.size(); ++leaf) {
      sum[leaf] = rows[leaf] > 0 ? sum[leaf] / rows[leaf] : mean;
    }
    return sum;
  }

  // A number of each column as numbers of the classes that add up to 0; that of numbers as it is.
  std::vector<double> ByClass(std::vector<double> of_columns) const {
    if (equations_.are_numbers()) return of_columns;
    if (columns_ == 1) return {-of_columns[0] / 2, of_columns[0] / 2};
    const double mean =
        std::accumulate(of_columns.begin(), of_columns.end(), 0.0) / static_cast<double>(columns_);
    for (double& of_class : of_columns) of_class -= mean;
    return of_columns;
  }
  // A variance of each column as variances of the classes.
  std::vector<double> VarianceByClass(std::vector<double> of_columns) const {
    if (equations_.are_numbers()) return of_columns;
    if (columns_ == 1) return {of_columns[0] / 4, of_columns[0] / 4};
    return of_columns;
  }

  // The correlation of a column's scores before and after the correction, over the public rows.
  double AgreementOf(size_t column) const {
    double products = 0, before = 0, after = 0, mean_before = 0, mean_after = 0;
    const auto rows = static_cast<double>(basis_.leaves.rows());
    for (size_t row = 0; row < basis_.leaves.rows(); ++row) {
      const double f = equations_.ScoreAt(row, column), g = f + delta_[column][row];
      products += f * g;
      before += f * f;
      after += g * g;
      mean_before += f / rows;
      mean_after += g / rows;
    }
    const double squares =
        (before - rows * mean_before * mean_before) * (after - rows * mean_after * mean_after);
    return squares > 0 ? (products - rows * mean_before * mean_after) / std::sqrt(squares) : 0;
  }

  Correction MakeCorrection() const {
    Correction correction;
    std::vector<double> levels;
    std::vector<std::vector<double>> variances;
    for (size_t k = 0; k < columns_; ++k) {
      levels.push_back(columns_of_fit_[k].unknowns[size_ - 2]);
      variances.push_back(VarianceInLeavesOf(k));
      correction.agreement += AgreementOf(k) / static_cast<double>(columns_);
      AddWeights(columns_of_fit_[k].weights, correction.weights);
    }
    correction.scale = 1 + columns_of_fit_[0].unknowns[size_ - 1];
    correction.level = ByClass(std::move(levels));
    correction.values.resize(basis_.leaves.trees());
    correction.variance.resize(basis_.leaves.trees());
    for (size_t leaf = 0; leaf < basis_.leaves.leaves(); ++leaf) {
      std::vector<double> values, of_leaf;
      for (size_t k = 0; k < columns_; ++k) {
        values.push_back(columns_of_fit_[k].at_leaves[leaf]);
        of_leaf.push_back(variances[k][leaf]);
      }
      values = ByClass(std::move(values));
      of_leaf = VarianceByClass(std::move(of_leaf));
      const size_t tree = basis_.leaves.tree_of(leaf);
      correction.values[tree].insert(correction.values[tree].end(), values.begin(), values.end());
      correction.variance[tree].insert(correction.variance[tree].end(), of_leaf.begin(),
                                       of_leaf.end());
    }
    return correction;
  }

  void AddWeights(const std::vector<double>& of_priors, HypothesisWeights& weights) const {
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const double share = of_priors[i] / static_cast<double>(columns_);
      switch (kinds_[i]) {
        case Hypothesis::Kind::kNone:
          weights.none += share;
          break;
        case Hypothesis::Kind::kRelated:
          weights.related += share;
          break;
        case Hypothesis::Kind::kUnrelated:
          weights.unrelated += share;
          break;
      }
    }
  }

  const CorrectionEquations equations_;
  const CorrectionBasis::Parts& basis_;
  const absl::Span<const PrivateCounts> counts_;
  const CancelCheck& cancel_;
  const Index size_;  // of the unknowns of a column
  const size_t columns_;
  std::vector<Hypothesis::Kind> kinds_;
  const std::vector<GaussianPrior> priors_;
  std::vector<Column> columns_of_fit_;
  std::vector<std::vector<double>> delta_;  // by column, then public row
};

std::string Correction::InWords() const {
  constexpr double kSure = 0.5;
  constexpr double kInverted = -0.25;  // labels that mean nothing do not correlate either way
  if (weights.unrelated > kSure) {
    return agreement < kInverted
               ? absl::StrFormat(
                     "the public labels look inverted (weight %.2f); check how they were "
                     "coded",
                     weights.unrelated)
               : absl::StrFormat(
                     "the public labels look unrelated to the private ones (weight %.2f)",
                     weights.unrelated);
  }
  if (weights.none > kSure) {
    return absl::StrFormat(
        "the reports say nothing that the public rows do not, as far as their noise shows "
        "(weight %.2f)",
        weights.none);
  }
  return absl::StrFormat(
      "public labels and reports agree, and reports correct what the public rows say (weight %.2f)",
      weights.related);
}

StatusOr<Correction> FitCorrection(const CorrectionBasis& basis, const CorrectionOffset& offset,
                                   absl::Span<const PrivateCounts> counts,
                                   const CancelCheck& cancel) {
  const bool numbers = offset.numbers.has_value();
  const size_t scores = basis.leaves().rows() * (numbers ? 1 : basis.classes());
  if (!offset.scores.empty() && offset.scores.size() != scores) {
    return InvalidArgumentError("there must be one score per public row and class");
  }
  if (offset.scores.empty() && counts.empty()) {
    return InvalidArgumentError("there is nothing to go by: no score and no report");
  }
  if (!counts.empty()) {
    COPPICE_RETURN_IF_ERROR(CheckCorrectionCounts(basis.leaves(), basis.classes(), counts));
  }
  return CorrectionFitter(basis, offset, counts, cancel).Fit();
}

}  // namespace coppice::curator
