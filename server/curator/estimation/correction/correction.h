// The smooth estimator: what public rows predict, moved as far as reports say that it is wrong.
//
// A few hundred public rows make a good predictor, and a study's reports are too noisy to make a
// better one from nothing: at epsilon = 1 a report about 16 leaves says less of a leaf than one
// public row does. What reports can do is to find where the predictor is wrong on the whole, in
// some direction that many leaves of many trees share. So the predictor's log odds f are kept as an
// offset, and reports estimate a correction of them,
//
//     delta(x) = sum over trees of a leaf value  +  level  +  scale f(x),
//
// which is again a sum of trees: the answer is the softmax of f + delta. With several classes each
// has a delta of its own, and they share the scale. With two, half of one delta is added to the one
// class and half taken from the other.
//
// The leaf values are a Gaussian field over the public rows. P = Z Z' / T is the share of the T
// trees in which two public rows are in one leaf (Z: rows by leaves), with eigenvectors Q and
// eigenvalues lambda; leaf values (1/T) Z' Q a give the rows Q lambda a. The prior variance of `a`
// is tau^2 c, so the field's is largest along directions that the trees find again and again
// (c = n / sum lambda^2 makes its mean over the rows tau^2).
//
// The public labels have already spoken about all of these directions, level and scale included.
// Where n labels left the truth is near 0 by as much as they can tell, which is the information
// Phi' diag(h) Phi of n labels, h = p (1 - p), about the unknowns, Phi being their derivatives at
// the rows. It is added to the prior's precision. Without it reports would be believed where they
// are noisier than what is known.
//
// Reports measure q_i = h_i delta_i + sqrt(D_i) xi_i, added up over the rows of a leaf, through the
// residuals of leaf_residuals.h. The xi are standard normal: private rows in a leaf are not quite
// like its public rows. They are integrated out; what is left is one linear model with Gaussian
// noise. It is solved for several hypotheses about how far the public rows may be trusted, which
// are averaged by their evidence:
//
//     none        reports say nothing that the public rows do not: delta = 0
//     related     the public labels are like the private ones, as above, for three tau^2
//     unrelated   they mean nothing: their information is left out, and level and scale are free
//
// Since h and p depend on delta, this is repeated a few times (a Newton method). Several classes
// would overshoot, as each is solved by itself, so they move half-way.
//
// Without public labels there is no offset: f = 0, and the hypotheses are those of a field that
// nobody has seen.
//
// Numbers are corrected in the same way, without log odds: f and delta are numbers, in units of the
// error that the predictor has on public rows, and h is by how much a device's answer moves with
// its number (number_answers.h). Reports about numbers say less than those about classes, and what
// leaves of a few rows can add to a good predictor is little, so half of the prior weight is on
// "none".
//
// Guarantee  post-processing of randomized sums and public rows: costs no privacy, may be repeated.
// Errors     CorrectionBasis::Create(): InvalidArgument without a public row or where shapes do not
//            match. FitCorrection(): InvalidArgument where shapes do not match, Internal if a
//            decomposition fails, and what `cancel` returns.
// Threads    a basis is immutable after Create(); safe to share.
// Source     evidence: MacKay, "Bayesian interpolation" (1992); the rest:
//            docs/research/mechanisms.md#correction.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "server/curator/estimation/correction/leaf_residuals.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

// Leaves and eigenvectors of the public rows. It depends on no report, so one basis serves a study.
class CorrectionBasis {
 public:
  static StatusOr<CorrectionBasis> Create(const Forest& forest, const Bags& bags,
                                          const Table& public_rows);
  ~CorrectionBasis();
  CorrectionBasis(CorrectionBasis&&) noexcept;
  CorrectionBasis& operator=(CorrectionBasis&&) noexcept;

  uint32_t classes() const;  // of numbers: the two ends
  const PublicLeaves& leaves() const;
  size_t rank() const;

  struct Parts;  // correction_equations.h
  const Parts& parts() const { return *parts_; }

 private:
  explicit CorrectionBasis(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

// The posterior weights of the hypotheses; they add up to 1.
struct HypothesisWeights {
  double none = 0;
  double related = 0;
  double unrelated = 0;
};

// What devices answer about numbers if the predictor is right.
struct ExpectedNumbers {
  std::vector<double> places;  // one per public row
  double per_unit = 0;         // by how much a place moves with the correction
  double spread = 1;           // deviation of numbers that nothing is known of, in its units
};

// What a predictor that has not seen a public row says of it.
struct CorrectionOffset {
  // scores[row * classes + k], log odds; of numbers one per row. Empty without public labels.
  std::vector<double> scores;
  std::optional<ExpectedNumbers> numbers{};  // for numbers only
};

struct Correction {
  // What the predictor's scores are multiplied by, and what is added to each class's, or to the
  // number.
  double scale = 1;
  std::vector<double> level;
  // values[tree][leaf * classes + k], to be added up, and the variance of the whole answer at the
  // leaf's public rows, in the same order. Of numbers there is one per leaf.
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> variance;
  HypothesisWeights weights;
  // The correlation of the scores before and after; below 0 if labels are inverted.
  double agreement = 0;

  // What the weights mean for whoever runs the study: "reports correct what the public rows say"...
  std::string InWords() const;
};

// `counts` has one entry per tree. Without any counts nothing is corrected, and the variance is
// what public labels leave open, if they are like the private ones: that of the prior, which their
// information is a part of.
StatusOr<Correction> FitCorrection(const CorrectionBasis& basis, const CorrectionOffset& offset,
                                   absl::Span<const PrivateCounts> counts,
                                   const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_CORRECTION_H_
