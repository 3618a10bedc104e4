// What devices answer about numbers on average, if the public predictor is right.
//
// A device cuts its number to a range before it hides it, so the mean of answers about like rows is
// not the mean of their numbers: where numbers have a long tail on one side, it is pulled to the
// other. Compared with the predicted numbers themselves, reports would seem to say that the
// predictor is wrong there, and correcting it would make it worse.
//
// So reports are compared with what devices would answer if the predictor were right. Their numbers
// then lie around the predicted one as those of public rows do, whose predictor has not seen them:
//
//     expected answer(F) = F + mean over public rows of (cut(F + r) - (F + r))
//
// where r are the residuals of the public rows with the nearest predictions, less their own mean,
// because errors are often larger where numbers are. A range that cuts nobody expects F itself.
//
// Guarantee  a function of public rows and public ranges only; it costs no privacy.
// Threads    immutable once made; safe to share.
// Source     docs/research/mechanisms.md#smooth-numbers.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_NUMBER_ANSWERS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_NUMBER_ANSWERS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "common/schema/schema.h"
#include "common/table/table.h"

namespace coppice::curator {

class NumberResiduals {
 public:
  // `held_out` is what a predictor that has not seen the row predicts, for each of the public rows;
  // empty if there are no public labels.
  NumberResiduals(const Table& public_rows, absl::Span<const double> held_out);

  // The root of the mean squared error of the held-out predictions, at least a billionth of the
  // target's span. Without labels, that of always answering the middle of the target's bounds.
  double error() const { return error_; }
  // The mean answer of devices whose predicted number is `predicted`, in a range. Without labels
  // nothing is expected to be cut: what is predicted then is only where a correction starts.
  double ExpectedIn(const NumberRange& range, double predicted) const;
  // The share of these devices whose numbers the range does not cut.
  double ShareWithin(const NumberRange& range, double predicted) const;

 private:
  // The positions in sorted order of the residuals to take for a predicted number.
  struct Near {
    size_t first;
    size_t count;
    double mean;
  };
  Near NearestTo(double predicted) const;

  std::vector<double> predicted_;  // rising
  std::vector<double> residual_;   // in that order
  std::vector<double> sum_;        // of the residuals before each position
  double error_ = 0;
};

// The answers about numbers, as places between the ends of a range.
struct NumberPlaces {
  std::vector<double> of_row;
  double per_number = 0;  // by how much a place moves with its number, on average
};

// `predicted` has a number for each public row.
NumberPlaces PlaceNumbers(const NumberRange& range, const NumberResiduals& residuals,
                          absl::Span<const double> predicted);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_CORRECTION_NUMBER_ANSWERS_H_
