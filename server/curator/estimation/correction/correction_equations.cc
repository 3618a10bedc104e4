#include "server/curator/estimation/correction/correction_equations.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status_macros.h"
#include "common/predictor/public_predictor.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// More rows than this would make the equations slow and tell the trees' directions no better: above
// it this many are drawn for the field, and all of them still say what leaves hold.
constexpr size_t kMaxFieldRows = 1200;
constexpr uint64_t kFieldSeed = 1;  // public
// Corrections beyond this in log odds count as this while equations are made: there probabilities
// are certain, and one would jump back and forth between certainties.
constexpr double kMaxLogOdds = 6;
// The least variance of a label: a certain probability must stay movable.
constexpr double kLeastVariance = 0.01;
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

}  // namespace

CorrectionBasis::Parts::Parts(const Forest& forest, const Bags& bags, const Table& public_rows)
    : leaves(forest, public_rows, bags),
      classes(public_rows.schema().num_outputs()),
      field_rows(DrawFieldRows(public_rows.num_rows())) {}

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

double CorrectionEquations::ScoreAt(size_t row, size_t column) const {
  if (offset_.scores.empty()) return 0;
  if (are_numbers()) return offset_.scores[row];
  const double* scores = offset_.scores.data() + row * basis_.classes;
  return columns_ == 1 ? scores[1] - scores[0] : scores[column];
}

std::vector<ColumnAnswers> CorrectionEquations::AnswersOf(
    const std::vector<std::vector<double>>& delta) const {
  std::vector<ColumnAnswers> answers;
  if (are_numbers()) {
    answers.push_back(AnswersOfNumbers(delta[0]));
    return answers;
  }
  std::vector<std::vector<double>> probabilities(columns_);
  std::vector<double> log_odds(basis_.classes);
  for (size_t row = 0; row < basis_.leaves.rows(); ++row) {
    log_odds[0] = 0;  // of two classes, the other one
    for (size_t k = 0; k < columns_; ++k) {
      log_odds[OutputOf(k)] =
          ScoreAt(row, k) + std::clamp(delta[k][row], -kMaxLogOdds, kMaxLogOdds);
    }
    Softmax(absl::MakeSpan(log_odds));
    for (size_t k = 0; k < columns_; ++k) probabilities[k].push_back(log_odds[OutputOf(k)]);
  }
  for (std::vector<double>& of_column : probabilities) {
    answers.push_back(AnswersOfClass(std::move(of_column)));
  }
  return answers;
}

ColumnAnswers CorrectionEquations::AnswersOfClass(std::vector<double> probabilities) const {
  VectorXd moves(static_cast<Index>(basis_.field_rows.size()));
  for (Index i = 0; i < moves.size(); ++i) {
    const double p = probabilities[basis_.field_rows[static_cast<size_t>(i)]];
    moves[i] = std::max(p * (1 - p), kLeastVariance);
  }
  return {.expected = std::move(probabilities), .moves = moves, .label_information = moves};
}

// The unit of a number's correction is the error of a public number, so that each has one of
// information.
ColumnAnswers CorrectionEquations::AnswersOfNumbers(const std::vector<double>& delta) const {
  const auto rows = static_cast<Index>(basis_.field_rows.size());
  std::vector<double> places = offset_.numbers->places;
  for (size_t i = 0; i < places.size(); ++i) places[i] += offset_.numbers->per_unit * delta[i];
  return {.expected = std::move(places),
          .moves = VectorXd::Constant(rows, offset_.numbers->per_unit),
          .label_information = VectorXd::Ones(rows)};
}

MatrixXd CorrectionEquations::DirectionsOf(size_t column) const {
  const auto rows = static_cast<Index>(basis_.field_rows.size());
  MatrixXd directions(rows, size_);
  directions.leftCols(size_ - 2) = basis_.vectors * basis_.lambda.asDiagonal();
  directions.col(size_ - 2).setOnes();
  for (Index i = 0; i < rows; ++i) {
    directions(i, size_ - 1) = ScoreAt(basis_.field_rows[static_cast<size_t>(i)], column);
  }
  return directions;
}

double CorrectionEquations::RowsPerFieldRow() const {
  return static_cast<double>(basis_.leaves.rows()) / static_cast<double>(basis_.field_rows.size());
}

MatrixXd CorrectionEquations::InformationOfLabels(const MatrixXd& directions,
                                                  const VectorXd& information) const {
  return RowsPerFieldRow() * (directions.transpose() * information.asDiagonal() * directions);
}

VectorXd CorrectionEquations::PrecisionOf(const PriorWidths& widths) const {
  VectorXd precision = VectorXd::Constant(size_, 1 / (widths.field * basis_.prior_scale));
  precision[size_ - 2] = 1 / widths.level;
  precision[size_ - 1] = 1 / widths.scale;
  return precision;
}

MatrixXd CorrectionEquations::SharedInformation(const LeafResiduals& residuals) const {
  const auto rows = static_cast<double>(basis_.field_rows.size());
  std::vector<double> weights;
  for (const double of_leaf : residuals.variance) weights.push_back(1 / (of_leaf * rows * rows));
  return SharedWeights(basis_.leaves, basis_.field_rows, weights);
}

// A leaf's mean over all public rows scatters less than that over the field's.
VectorXd CorrectionEquations::ScatterOf(const LeafResiduals& residuals) const {
  VectorXd scatter(static_cast<Index>(basis_.field_rows.size()));
  for (Index i = 0; i < scatter.size(); ++i) {
    scatter[i] =
        residuals.row_variance[basis_.field_rows[static_cast<size_t>(i)]] / RowsPerFieldRow();
  }
  return scatter;
}

StatusOr<GaussianLikelihood> CorrectionEquations::LikelihoodOf(const LeafResiduals& residuals,
                                                               const MatrixXd& directions,
                                                               const VectorXd& moves) const {
  const auto rows = static_cast<double>(basis_.field_rows.size());
  VectorXd pull = VectorXd::Zero(static_cast<Index>(basis_.field_rows.size()));
  for (Index i = 0; i < pull.size(); ++i) {
    const size_t row = basis_.field_rows[static_cast<size_t>(i)];
    for (size_t t = 0; t < basis_.leaves.trees(); ++t) {
      const uint32_t leaf = basis_.leaves.leaf_of(t)[row];
      pull[i] += residuals.value[leaf] / (residuals.variance[leaf] * rows);
    }
  }
  return IntegrateScatter(moves.asDiagonal() * directions, SharedInformation(residuals), pull,
                          ScatterOf(residuals));
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

}  // namespace coppice::curator
