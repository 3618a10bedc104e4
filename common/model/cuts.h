// Formats the cuts of a model's numeric features for people.
//
// A cut c sends a value left if value < c. The text is:
//   - c itself if it has at most six digits, or "<= b" if b, the double just below c, has: both are
//     exact;
//   - else c rounded up to the fewest decimals that stay within a thousandth of the feature's range
//     and below the model's next cut of it. Cuts of a feature of whole numbers are always exact.
// A cut that is rounded up is exact for every value with no more decimals than the text shows: in a
// column of whole numbers every row goes the way that the text says.
//
// Guarantee  different cuts of a feature have different texts, in the same order.
// Threads    immutable; safe to share. The model may be destroyed.

#ifndef COPPICE_COMMON_MODEL_CUTS_H_
#define COPPICE_COMMON_MODEL_CUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/model.h"

namespace coppice {

// "value < number", or "value <= number" if `inclusive`.
struct Cut {
  double number = 0;
  bool inclusive = false;

  bool Holds(double value) const { return value < number || (inclusive && value == number); }

  friend bool operator==(const Cut&, const Cut&) = default;
};

// The cut itself, in the form with fewer digits.
Cut ExactCut(double threshold);

class ReadableCuts {
 public:
  explicit ReadableCuts(const Model& model);

  // The cut as the file comment says. `threshold` must be a cut of the model's numeric feature.
  Cut Of(uint32_t feature, double threshold) const;

 private:
  struct OfFeature {
    double tolerance = 0;
    bool whole = false;
    std::vector<double> thresholds;  // increasing
  };
  std::vector<OfFeature> features_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_CUTS_H_
