#include "server/curator/estimation/correction/correction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "Eigen/Dense"
#include "absl/strings/str_format.h"
#include "common/base/public_random.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/predictor/public_predictor.h"
#include "server/curator/estimation/smooth/gaussian_average.h"
#include "server/curator/estimation/smooth/symmetric_eigen.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// More rows than this would make the equations slow and tell the trees' directions no better: above
// it this many are drawn for the field, and all of them still say what leaves hold.
constexpr size_t kMaxFieldRows = 1200;
constexpr uint64_t kFieldSeed = 1;  // public
// The directions with the largest eigenvalues have nearly all of the prior's variance.
constexpr size_t kMaxDirections = 256;
// Corrections beyond this in log odds count as this while equations are made: there probabilities
// are certain, and one would jump back and forth between certainties.
constexpr double kMaxLogOdds = 6;
// The least variance of a label: a certain probability must stay movable.
constexpr double kLeastVariance = 0.01;
// Newton steps. With more than two classes each goes half-way.
constexpr int kStepsOfTwoClasses = 3;
constexpr int kStepsOfMoreClasses = 5;

// The hypotheses of the header's comment, with prior weights. Found on the development sets with
// 200 public rows: a trust of .1 or .3 in place of 1 raised the log loss by .001 at epsilon = 1; a
// free scale (variance .04) made reports shrink what the predictor is right about.
struct Hypothesis {
  enum class Kind { kNone, kRelated, kUnrelated };
  Kind kind;
  double weight;
  double variance;  // tau^2
  double trust;     // in the information of the public labels
  double level_variance;
  double scale_variance;
};
constexpr Hypothesis kWithLabels[] = {{Hypothesis::Kind::kNone, .1, 0, 0, 0, 0},
                                      {Hypothesis::Kind::kRelated, .88 / 3, 1, 1, .1, .0025},
                                      {Hypothesis::Kind::kRelated, .88 / 3, 3, 1, .1, .0025},
                                      {Hypothesis::Kind::kRelated, .88 / 3, 10, 1, .1, .0025},
                                      {Hypothesis::Kind::kUnrelated, .01, 1, 0, 1, 4},
                                      {Hypothesis::Kind::kUnrelated, .01, 10, 0, 1, 4}};
constexpr Hypothesis kWithoutLabels[] = {{Hypothesis::Kind::kNone, .01, 0, 0, 0, 0},
                                         {Hypothesis::Kind::kRelated, .33, .3, 0, 4, .0025},
                                         {Hypothesis::Kind::kRelated, .33, 1, 0, 4, .0025},
                                         {Hypothesis::Kind::kRelated, .33, 3, 0, 4, .0025},
                                         {Hypothesis::Kind::kRelated, .33, 10, 0, 4, .0025}};

// What nobody has asked devices about is known as far as public labels tell, if they are like the
// private ones.
constexpr Hypothesis kWithoutReports[] = {{Hypothesis::Kind::kRelated, 1. / 3, 1, 1, .1, .0025},
                                          {Hypothesis::Kind::kRelated, 1. / 3, 3, 1, .1, .0025},
                                          {Hypothesis::Kind::kRelated, 1. / 3, 10, 1, .1, .0025}};

// The rows of the field, increasing.
std::vector<size_t> DrawFieldRows(size_t rows) {
  std::vector<size_t> drawn(rows);
  std::iota(drawn.begin(), drawn.end(), size_t{0});
  if (rows <= kMaxFieldRows) return drawn;
  PublicRandom random(kFieldSeed);
  for (size_t i = 0; i < kMaxFieldRows; ++i) {
    std::swap(drawn[i], drawn[i + random.Below(rows - i)]);
  }
  drawn.resize(kMaxFieldRows);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// The entries of Z diag(weights) Z' at these rows: the weights of the leaves that two rows share.
MatrixXd SharedWeights(const PublicLeaves& leaves, const std::vector<size_t>& rows,
                       absl::Span<const double> weights) {
  const auto size = static_cast<Index>(rows.size());
  MatrixXd shared = MatrixXd::Zero(size, size);
  std::vector<std::vector<Index>> members(leaves.leaves());
  for (size_t t = 0; t < leaves.trees(); ++t) {
    for (Index i = 0; i < size; ++i) {
      members[leaves.leaf_of(t)[rows[static_cast<size_t>(i)]]].push_back(i);
    }
  }
  for (size_t leaf = 0; leaf < members.size(); ++leaf) {
    for (const Index a : members[leaf]) {
      for (const Index b : members[leaf]) shared(b, a) += weights[leaf];
    }
  }
  return shared;
}

Status CheckCorrectionCounts(const PublicLeaves& leaves, uint32_t classes,
                             absl::Span<const PrivateCounts> counts) {
  bool fits = counts.size() == leaves.trees();
  for (size_t t = 0; fits && t < counts.size(); ++t) {
    const size_t end = t + 1 < counts.size() ? leaves.first_leaf(t + 1) : leaves.leaves();
    fits = counts[t].counts.leaf.size() == end - leaves.first_leaf(t) &&
           counts[t].noise.size() == classes && counts[t].has_masses == counts[0].has_masses &&
           counts[t].consistent.has_value() == counts[0].consistent.has_value();
  }
  if (fits) return OkStatus();
  return InvalidArgumentError("the counts do not have the shape of the forest");
}

}  // namespace

struct CorrectionBasis::Parts {
  Parts(const Forest& forest, const Bags& bags, const Table& public_rows)
      : leaves(forest, public_rows, bags),
        classes(public_rows.schema().num_outputs()),
        field_rows(DrawFieldRows(public_rows.num_rows())) {}

  PublicLeaves leaves;
  uint32_t classes;
  std::vector<size_t> field_rows;
  double prior_scale = 0;  // c
  VectorXd lambda;
  MatrixXd vectors;  // Q: field rows by directions
};

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
  if (rows == 0) return InvalidArgumentError("the corrected estimator needs a public row");
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
  CorrectionFitter(const CorrectionBasis& basis, absl::Span<const double> scores,
                   absl::Span<const PrivateCounts> counts, const CancelCheck& cancel)
      : basis_(*basis.parts_),
        scores_(scores),
        counts_(counts),
        cancel_(cancel),
        size_(basis_.lambda.size() + 2),
        columns_(basis_.classes == 2 ? 1 : basis_.classes),
        priors_(PriorsOf(counts.empty()   ? absl::Span<const Hypothesis>(kWithoutReports)
                         : scores.empty() ? absl::Span<const Hypothesis>(kWithoutLabels)
                                          : absl::Span<const Hypothesis>(kWithLabels))),
        columns_of_fit_(columns_) {
    for (Column& column : columns_of_fit_) {
      column.unknowns = VectorXd::Zero(size_);
      column.at_rows.assign(basis_.leaves.rows(), 0);
    }
  }

  StatusOr<Correction> Fit() {
    if (counts_.empty()) {
      COPPICE_RETURN_IF_ERROR(SetErrorsOfPublicLabels());
      return MakeCorrection();
    }
    const int steps = columns_ == 1 ? kStepsOfTwoClasses : kStepsOfMoreClasses;
    for (int step = 0; step < steps; ++step) COPPICE_RETURN_IF_ERROR(MakeStep());
    return MakeCorrection();
  }

 private:
  struct Column {
    VectorXd unknowns;              // one per direction, then level and scale
    std::vector<double> at_leaves;  // the field's leaf values
    std::vector<double> at_rows;    // delta at every public row
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
      prior.precision = VectorXd::Constant(size_, 1 / (hypothesis.variance * basis_.prior_scale));
      prior.precision[size_ - 2] = 1 / hypothesis.level_variance;
      prior.precision[size_ - 1] = 1 / hypothesis.scale_variance;
    }
    return priors;
  }

  // The output that a column is about.
  uint32_t OutputOf(size_t column) const {
    return static_cast<uint32_t>(columns_ == 1 ? 1 : column);
  }

  // The predictor's score of a row in the unit of the column's correction.
  double ScoreAt(size_t row, size_t column) const {
    if (scores_.empty()) return 0;
    const double* scores = scores_.data() + row * basis_.classes;
    return columns_ == 1 ? scores[1] - scores[0] : scores[column];
  }

  // probabilities[column][row], of the column's output.
  std::vector<std::vector<double>> Probabilities() const {
    std::vector<std::vector<double>> result(columns_);
    std::vector<double> log_odds(basis_.classes);
    for (size_t row = 0; row < basis_.leaves.rows(); ++row) {
      log_odds[0] = 0;  // of two classes, the other one
      for (size_t k = 0; k < columns_; ++k) {
        const double delta = std::clamp(columns_of_fit_[k].at_rows[row], -kMaxLogOdds, kMaxLogOdds);
        log_odds[OutputOf(k)] = ScoreAt(row, k) + delta;
      }
      Softmax(absl::MakeSpan(log_odds));
      for (size_t k = 0; k < columns_; ++k) result[k].push_back(log_odds[OutputOf(k)]);
    }
    return result;
  }

  Status MakeStep() {
    const std::vector<std::vector<double>> probabilities = Probabilities();
    for (size_t k = 0; k < columns_; ++k) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      COPPICE_RETURN_IF_ERROR(Solve(k, probabilities[k]));
    }
    if (columns_ > 1) ShareScale();
    for (size_t k = 0; k < columns_; ++k) Evaluate(k);
    return OkStatus();
  }

  // The prior is then all that there is to know.
  Status SetErrorsOfPublicLabels() {
    const std::vector<std::vector<double>> probabilities = Probabilities();
    const GaussianLikelihood nothing = {.information = MatrixXd::Zero(size_, size_),
                                        .pull = VectorXd::Zero(size_)};
    for (size_t k = 0; k < columns_; ++k) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      COPPICE_ASSIGN_OR_RETURN(
          GaussianAverage prior,
          AveragePriors(nothing, InformationOfLabels(DirectionsOf(k), MovesOf(probabilities[k])),
                        priors_));
      columns_of_fit_[k].covariance = std::move(prior.covariance);
      columns_of_fit_[k].weights = std::move(prior.weights);
      columns_of_fit_[k].at_leaves.assign(basis_.leaves.leaves(), 0);
    }
    return OkStatus();
  }

  // Public rows that a row of the field stands for.
  double RowsPerFieldRow() const {
    return static_cast<double>(basis_.leaves.rows()) /
           static_cast<double>(basis_.field_rows.size());
  }

  // h: how far the probability of each row of the field moves with its log odds.
  VectorXd MovesOf(absl::Span<const double> probabilities) const {
    VectorXd moves(static_cast<Index>(basis_.field_rows.size()));
    for (Index i = 0; i < moves.size(); ++i) {
      const double p = probabilities[basis_.field_rows[static_cast<size_t>(i)]];
      moves[i] = std::max(p * (1 - p), kLeastVariance);
    }
    return moves;
  }

  // Phi' diag(h) Phi of all public labels.
  MatrixXd InformationOfLabels(const MatrixXd& directions, const VectorXd& moves) const {
    return RowsPerFieldRow() * (directions.transpose() * moves.asDiagonal() * directions);
  }

  // Phi: the derivatives of delta at the field's rows.
  MatrixXd DirectionsOf(size_t column) const {
    const auto rows = static_cast<Index>(basis_.field_rows.size());
    MatrixXd directions(rows, size_);
    directions.leftCols(size_ - 2) = basis_.vectors * basis_.lambda.asDiagonal();
    directions.col(size_ - 2).setOnes();
    for (Index i = 0; i < rows; ++i) {
      directions(i, size_ - 1) = ScoreAt(basis_.field_rows[static_cast<size_t>(i)], column);
    }
    return directions;
  }

  Status Solve(size_t column, absl::Span<const double> probabilities) {
    const LeafResiduals residuals =
        ComputeResiduals(basis_.leaves, counts_, OutputOf(column), probabilities);
    const auto rows = static_cast<Index>(basis_.field_rows.size());
    const auto field_rows = static_cast<double>(rows);
    std::vector<double> weights, pulls;
    for (size_t leaf = 0; leaf < residuals.value.size(); ++leaf) {
      weights.push_back(1 / (residuals.variance[leaf] * field_rows * field_rows));
      pulls.push_back(residuals.value[leaf] / (residuals.variance[leaf] * field_rows));
    }
    const VectorXd moves = MovesOf(probabilities);
    VectorXd pull = VectorXd::Zero(rows), scatter(rows);
    for (Index i = 0; i < rows; ++i) {
      const size_t row = basis_.field_rows[static_cast<size_t>(i)];
      for (size_t t = 0; t < basis_.leaves.trees(); ++t) {
        pull[i] += pulls[basis_.leaves.leaf_of(t)[row]];
      }
      // A leaf's mean over all public rows scatters less than that over the field's.
      scatter[i] = residuals.row_variance[row] / RowsPerFieldRow();
    }
    const MatrixXd directions = DirectionsOf(column);
    COPPICE_ASSIGN_OR_RETURN(
        GaussianLikelihood likelihood,
        IntegrateScatter(moves.asDiagonal() * directions,
                         SharedWeights(basis_.leaves, basis_.field_rows, weights), pull, scatter));
    // The residuals are about what the present correction leaves; the unknowns are the whole one.
    Column& of_column = columns_of_fit_[column];
    likelihood.pull += likelihood.information * of_column.unknowns;
    COPPICE_ASSIGN_OR_RETURN(
        GaussianAverage found,
        AveragePriors(likelihood, InformationOfLabels(directions, moves), priors_));
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
    for (size_t row = 0; row < of_column.at_rows.size(); ++row) {
      of_column.at_rows[row] = level + scale * ScoreAt(row, column);
    }
    for (size_t t = 0; t < basis_.leaves.trees(); ++t) {
      const absl::Span<const uint32_t> leaf_of = basis_.leaves.leaf_of(t);
      for (Index i = 0; i < field.size(); ++i) {
        of_column.at_leaves[leaf_of[basis_.field_rows[static_cast<size_t>(i)]]] += field[i];
      }
      for (size_t row = 0; row < leaf_of.size(); ++row) {
        of_column.at_rows[row] += of_column.at_leaves[leaf_of[row]];
      }
    }
  }

  // By leaf of all trees: the mean variance of delta at the field's rows there, or over all of them
  // where a leaf has none.
  std::vector<double> VarianceInLeavesOf(size_t column) const {
    const MatrixXd directions = DirectionsOf(column);
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

  // A number of each column as numbers of the classes that add up to 0.
  std::vector<double> ByClass(std::vector<double> of_columns) const {
    if (columns_ == 1) return {-of_columns[0] / 2, of_columns[0] / 2};
    const double mean =
        std::accumulate(of_columns.begin(), of_columns.end(), 0.0) / static_cast<double>(columns_);
    for (double& of_class : of_columns) of_class -= mean;
    return of_columns;
  }
  // A variance of each column as variances of the classes.
  std::vector<double> VarianceByClass(std::vector<double> of_columns) const {
    if (columns_ == 1) return {of_columns[0] / 4, of_columns[0] / 4};
    return of_columns;
  }

  // The correlation of a column's scores before and after the correction, over the public rows.
  double AgreementOf(size_t column) const {
    double products = 0, before = 0, after = 0, mean_before = 0, mean_after = 0;
    const auto rows = static_cast<double>(basis_.leaves.rows());
    for (size_t row = 0; row < basis_.leaves.rows(); ++row) {
      const double f = ScoreAt(row, column), g = f + columns_of_fit_[column].at_rows[row];
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

  const CorrectionBasis::Parts& basis_;
  const absl::Span<const double> scores_;  // by row, then class
  const absl::Span<const PrivateCounts> counts_;
  const CancelCheck& cancel_;
  const Index size_;  // of the unknowns of a column
  const size_t columns_;
  std::vector<Hypothesis::Kind> kinds_;
  const std::vector<GaussianPrior> priors_;
  std::vector<Column> columns_of_fit_;
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

StatusOr<Correction> FitCorrection(const CorrectionBasis& basis, absl::Span<const double> scores,
                                   absl::Span<const PrivateCounts> counts,
                                   const CancelCheck& cancel) {
  if (!scores.empty() && scores.size() != basis.leaves().rows() * basis.classes()) {
    return InvalidArgumentError("there must be one score per public row and class");
  }
  if (scores.empty() && counts.empty()) {
    return InvalidArgumentError("there is nothing to go by: no score and no report");
  }
  if (!counts.empty()) {
    COPPICE_RETURN_IF_ERROR(CheckCorrectionCounts(basis.leaves(), basis.classes(), counts));
  }
  return CorrectionFitter(basis, scores, counts, cancel).Fit();
}

}  // namespace coppice::curator
