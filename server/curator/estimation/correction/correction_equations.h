// The linear equations of a correction (correction.h): its unknowns, their derivatives at the
// public rows, and what sums about leaves say of them. Only this folder includes this file.
//
// The correction has one column for two classes or a number, else one per class. A column's
// unknowns are one per direction of the field, then the level and the scale.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_EQUATIONS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_EQUATIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Eigen/Dense"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/estimation/correction/correction.h"
#include "server/curator/estimation/correction/leaf_residuals.h"
#include "server/curator/estimation/pooled/gaussian_average.h"

namespace coppice::curator {

struct CorrectionBasis::Parts {
  Parts(const Forest& forest, const Bags& bags, const Table& public_rows);

  PublicLeaves leaves;
  uint32_t classes;
  std::vector<size_t> field_rows;  // the public rows that the field has a value at, increasing
  double prior_scale = 0;          // c
  Eigen::VectorXd lambda;
  Eigen::MatrixXd vectors;  // Q: field rows by directions
};

// What is believed of the unknowns before any report: tau^2 of the field, and how far level and
// scale may lie from 0.
struct PriorWidths {
  double field = 0;
  double level = 0;
  double scale = 0;
};

// What a column's correction, as far as it is known, makes devices answer.
struct ColumnAnswers {
  // By public row: the probability of the column's output, or the place of a number.
  std::vector<double> expected;
  // By row of the field: h, by how much the answer moves with the correction, and the information
  // that a public label has of it.
  Eigen::VectorXd moves;
  Eigen::VectorXd label_information;
};

class CorrectionEquations {
 public:
  // `offset` as in FitCorrection(). Both must outlive this.
  CorrectionEquations(const CorrectionBasis& basis, const CorrectionOffset& offset)
      : basis_(basis.parts()),
        offset_(offset),
        size_(basis_.lambda.size() + 2),
        columns_(basis_.classes == 2 ? 1 : basis_.classes) {}

  const CorrectionBasis::Parts& basis() const { return basis_; }
  size_t columns() const { return columns_; }
  Eigen::Index size() const { return size_; }  // of a column's unknowns

  // The output that a column is about.
  uint32_t OutputOf(size_t column) const {
    return static_cast<uint32_t>(columns_ == 1 ? 1 : column);
  }
  // The predictor's score of a row in the unit of the column's correction.
  double ScoreAt(size_t row, size_t column) const;
  bool are_numbers() const { return offset_.numbers.has_value(); }
  // The variance of numbers that nothing is known of, in squared units of their correction.
  double SquaredSpread() const {
    return are_numbers() ? offset_.numbers->spread * offset_.numbers->spread : 1;
  }
  // By column, given delta by column, then public row.
  std::vector<ColumnAnswers> AnswersOf(const std::vector<std::vector<double>>& delta) const;

  // Phi: the derivatives of delta at the field's rows.
  Eigen::MatrixXd DirectionsOf(size_t column) const;
  // Phi' diag(information) Phi of all public labels.
  Eigen::MatrixXd InformationOfLabels(const Eigen::MatrixXd& directions,
                                      const Eigen::VectorXd& information) const;
  // The diagonal part of a prior's precision.
  Eigen::VectorXd PrecisionOf(const PriorWidths& widths) const;
  // A: the information of the residuals about the sums q over the field's rows; and D: how far
  // devices in a row's leaves are from the row.
  Eigen::MatrixXd SharedInformation(const LeafResiduals& residuals) const;
  Eigen::VectorXd ScatterOf(const LeafResiduals& residuals) const;
  // What residuals say of the unknowns, as a step from where they were taken.
  StatusOr<GaussianLikelihood> LikelihoodOf(const LeafResiduals& residuals,
                                            const Eigen::MatrixXd& directions,
                                            const Eigen::VectorXd& moves) const;

 private:
  ColumnAnswers AnswersOfClass(std::vector<double> probabilities) const;
  ColumnAnswers AnswersOfNumbers(const std::vector<double>& delta) const;
  // Public rows that a row of the field stands for.
  double RowsPerFieldRow() const;

  const CorrectionBasis::Parts& basis_;
  const CorrectionOffset& offset_;
  const Eigen::Index size_;
  const size_t columns_;
};

// InvalidArgument unless the counts have the shape of the forest.
Status CheckCorrectionCounts(const PublicLeaves& leaves, uint32_t classes,
                             absl::Span<const PrivateCounts> counts);

// The entries of Z diag(weights) Z' at these rows: the weights of the leaves that two rows share.
Eigen::MatrixXd SharedWeights(const PublicLeaves& leaves, const std::vector<size_t>& rows,
                              absl::Span<const double> weights);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_EQUATIONS_H_
