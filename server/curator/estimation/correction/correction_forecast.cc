#include "server/curator/estimation/correction/correction_forecast.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "Eigen/Dense"
#include "absl/container/flat_hash_map.h"
#include "common/base/public_random.h"
#include "common/base/status_macros.h"
#include "common/predictor/public_predictor.h"
#include "server/curator/estimation/correction/correction_equations.h"

namespace coppice::curator {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The mean gain then has an eighth of a draw's deviation as its error, which is less than what the
// unknown truth itself leaves open.
constexpr size_t kDrawnTruths = 64;
// The middle one of the three that a correction averages.
constexpr PriorWidths kForeseenWidths = {3, .1, .0025};
constexpr PriorWidths kForeseenWidthsOfNumbers = {.3, .1, .0025};

// Box and Muller's transform.
VectorXd DrawNormals(Index size, PublicRandom& random) {
  VectorXd drawn(size);
  for (double& of_one : drawn) {
    const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
    of_one = radius * std::cos(2 * std::numbers::pi * random.Unit());
  }
  return drawn;
}

// The most that a probability moves if every residual of a tree moves by 1.
double LargestMove(const CorrectionEquations& equations, const LeafResiduals& residuals,
                   size_t tree, const MatrixXd& response, const VectorXd& moves) {
  const std::vector<size_t>& field_rows = equations.basis().field_rows;
  const absl::Span<const uint32_t> leaf_of = equations.basis().leaves.leaf_of(tree);
  const auto rows = static_cast<double>(field_rows.size());
  absl::flat_hash_map<uint32_t, VectorXd> by_leaf;
  for (size_t i = 0; i < field_rows.size(); ++i) {
    VectorXd& of_leaf = by_leaf[leaf_of[field_rows[i]]];
    if (of_leaf.size() == 0) of_leaf = VectorXd::Zero(response.cols());
    of_leaf += response.row(static_cast<Index>(i)).transpose();
  }
  VectorXd sum = VectorXd::Zero(response.cols());
  for (const auto& [leaf, of_leaf] : by_leaf) {
    sum += of_leaf.cwiseAbs() / (residuals.variance[leaf] * rows);
  }
  return sum.cwiseProduct(moves).maxCoeff();
}

}  // namespace

struct CorrectionForecast::Parts {
  Parts(CorrectionBasis the_basis, CorrectionOffset the_offset)
      : basis(std::move(the_basis)), offset(std::move(the_offset)), equations(basis, offset) {}

  // delta[column](field row) added to the predictor's scores of a row, by class.
  std::vector<double> ScoresWith(const std::vector<VectorXd>& delta, Index i) const {
    const uint32_t classes = basis.classes();
    std::vector<double> result(classes);
    const size_t row = equations.basis().field_rows[static_cast<size_t>(i)];
    for (size_t k = 0; k < delta.size(); ++k) {
      result[equations.OutputOf(k)] = equations.ScoreAt(row, k) + delta[k][i];
    }
    return result;
  }
  // How likely each row's answer is right: the class that `answer` makes largest, under `truth`. Of
  // numbers, how little they are off.
  std::vector<double> Right(const std::vector<VectorXd>& truth,
                            const std::vector<VectorXd>& answer) const {
    std::vector<double> right;
    if (equations.are_numbers()) {
      const VectorXd off = answer[0] - truth[0];
      for (const double of_row : off) right.push_back(-of_row * of_row);
      return right;
    }
    for (Index i = 0; i < truth[0].size(); ++i) {
      std::vector<double> probabilities = ScoresWith(truth, i);
      Softmax(absl::MakeSpan(probabilities));
      const std::vector<double> scores_of_row = ScoresWith(answer, i);
      right.push_back(probabilities[static_cast<size_t>(
          std::max_element(scores_of_row.begin(), scores_of_row.end()) - scores_of_row.begin())]);
    }
    return right;
  }

  CorrectionBasis basis;
  CorrectionOffset offset;
  CorrectionEquations equations;  // of the two above
  struct Column {
    ColumnAnswers answers;  // without a correction
    MatrixXd directions;
    MatrixXd precision{};  // of the prior
  };
  std::vector<Column> columns;
  struct Truth {
    std::vector<VectorXd> unknowns;  // by column
    std::vector<VectorXd> delta;     // at the field's rows
    std::vector<VectorXd> noise;     // standard normal, of reports about the unknowns
    std::vector<double> right;       // of public labels alone, by row
  };
  std::vector<Truth> truths;
};

CorrectionForecast::CorrectionForecast(std::unique_ptr<const Parts> parts)
    : parts_(std::move(parts)) {}
CorrectionForecast::~CorrectionForecast() = default;
CorrectionForecast::CorrectionForecast(CorrectionForecast&&) noexcept = default;
CorrectionForecast& CorrectionForecast::operator=(CorrectionForecast&&) noexcept = default;

StatusOr<CorrectionForecast> CorrectionForecast::Create(CorrectionBasis basis,
                                                        CorrectionOffset offset, uint64_t seed,
                                                        const CancelCheck& cancel) {
  const size_t columns_of_row = offset.numbers.has_value() ? 1 : basis.classes();
  if (offset.scores.size() != basis.leaves().rows() * columns_of_row) {
    return InvalidArgumentError("there must be one score per public row and class");
  }
  auto parts = std::make_unique<Parts>(std::move(basis), std::move(offset));
  const CorrectionEquations& equations = parts->equations;
  const std::vector<std::vector<double>> nothing(equations.columns(),
                                                 std::vector<double>(parts->basis.leaves().rows()));
  std::vector<ColumnAnswers> answers = equations.AnswersOf(nothing);
  const PriorWidths& widths = equations.are_numbers() ? kForeseenWidthsOfNumbers : kForeseenWidths;
  std::vector<Eigen::LLT<MatrixXd>> roots;
  for (size_t k = 0; k < equations.columns(); ++k) {
    COPPICE_RETURN_IF_ERROR(cancel());
    Parts::Column& column = parts->columns.emplace_back(
        Parts::Column{.answers = std::move(answers[k]), .directions = equations.DirectionsOf(k)});
    column.precision =
        equations.InformationOfLabels(column.directions, column.answers.label_information);
    column.precision.diagonal() += equations.PrecisionOf(widths);
    roots.emplace_back(column.precision);
  }
  PublicRandom random(seed);
  const std::vector<VectorXd> alone(
      equations.columns(), VectorXd::Zero(static_cast<Index>(equations.basis().field_rows.size())));
  for (size_t draw = 0; draw < kDrawnTruths; ++draw) {
    COPPICE_RETURN_IF_ERROR(cancel());
    Parts::Truth& truth = parts->truths.emplace_back();
    for (size_t k = 0; k < equations.columns(); ++k) {
      truth.unknowns.push_back(roots[k].matrixU().solve(DrawNormals(equations.size(), random)));
      truth.noise.push_back(DrawNormals(equations.size(), random));
      truth.delta.push_back(parts->columns[k].directions * truth.unknowns.back());
    }
    truth.right = parts->Right(truth.delta, alone);
  }
  return CorrectionForecast(std::move(parts));
}

StatusOr<std::vector<std::vector<double>>> CorrectionForecast::GainsOf(
    absl::Span<const PrivateCounts> expected, const CancelCheck& cancel) const {
  // Eigenvalues that rounding has made negative must not stop a root from being taken.
  constexpr double kRounding = 1e-9;
  const CorrectionEquations& equations = parts_->equations;
  COPPICE_RETURN_IF_ERROR(
      CheckCorrectionCounts(parts_->basis.leaves(), parts_->basis.classes(), expected));
  std::vector<MatrixXd> information, roots;
  std::vector<Eigen::LLT<MatrixXd>> posteriors;
  for (size_t k = 0; k < equations.columns(); ++k) {
    COPPICE_RETURN_IF_ERROR(cancel());
    const Parts::Column& column = parts_->columns[k];
    COPPICE_ASSIGN_OR_RETURN(
        GaussianLikelihood reports,
        equations.LikelihoodOf(ComputeResiduals(parts_->basis.leaves(), expected,
                                                equations.OutputOf(k), column.answers.expected),
                               column.directions, column.answers.moves));
    posteriors.emplace_back(column.precision + reports.information);
    MatrixXd positive = reports.information;
    positive.diagonal().array() += kRounding * (1 + reports.information.diagonal().maxCoeff());
    roots.push_back(positive.llt().matrixL());
    information.push_back(std::move(reports.information));
  }
  std::vector<std::vector<double>> gains;
  for (const Parts::Truth& truth : parts_->truths) {
    COPPICE_RETURN_IF_ERROR(cancel());
    std::vector<VectorXd> found;
    for (size_t k = 0; k < equations.columns(); ++k) {
      const VectorXd pull = information[k] * truth.unknowns[k] + roots[k] * truth.noise[k];
      found.push_back(parts_->columns[k].directions * posteriors[k].solve(pull));
    }
    std::vector<double>& of_rows = gains.emplace_back(parts_->Right(truth.delta, found));
    for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] -= truth.right[i];
  }
  return gains;
}

// The estimate is linear in the residuals r of the leaves: delta = Phi C^-1 (h Phi)' (1 - A S) b
// for b = Z r / (s^2 n), with A and S of IntegrateScatter(). A report of tree t moves each residual
// of the tree by at most most / n_t, so it moves a row by at most the sum of the absolute
// coefficients over the tree's leaves, and the row's probability by h times that.
StatusOr<double> CorrectionForecast::InfluenceOf(absl::Span<const PrivateCounts> expected,
                                                 double most) const {
  const CorrectionEquations& equations = parts_->equations;
  const PublicLeaves& leaves = parts_->basis.leaves();
  COPPICE_RETURN_IF_ERROR(CheckCorrectionCounts(leaves, parts_->basis.classes(), expected));
  double largest = 0;
  for (size_t k = 0; k < equations.columns(); ++k) {
    const Parts::Column& column = parts_->columns[k];
    const LeafResiduals residuals =
        ComputeResiduals(leaves, expected, equations.OutputOf(k), column.answers.expected);
    const VectorXd& moves = column.answers.moves;
    COPPICE_ASSIGN_OR_RETURN(const GaussianLikelihood reports,
                             equations.LikelihoodOf(residuals, column.directions, moves));
    const Eigen::LLT<MatrixXd> posterior(column.precision + reports.information);
    // [field row](row that is looked at): how delta there follows b.
    MatrixXd response =
        moves.asDiagonal() * column.directions * posterior.solve(column.directions.transpose());
    const MatrixXd shared = equations.SharedInformation(residuals);
    const VectorXd root = equations.ScatterOf(residuals).cwiseSqrt();
    MatrixXd inner = root.asDiagonal() * shared * root.asDiagonal();
    inner.diagonal().array() += 1;
    const MatrixXd told = root.asDiagonal() * shared * response;
    response -= root.asDiagonal() * inner.llt().solve(told);
    for (size_t t = 0; t < leaves.trees(); ++t) {
      largest =
          std::max(largest, LargestMove(equations, residuals, t, response, moves) /
                                static_cast<double>(std::max<uint64_t>(expected[t].reports, 1)));
    }
  }
  return most * largest;
}

}  // namespace coppice::curator
