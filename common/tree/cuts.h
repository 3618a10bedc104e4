// The cuts of a model's numeric features as people read them.
//
// A cut c sends a value left if value < c. Text says:
//   - c itself if it has at most six digits, or "<= b" if b, the double just below c, has: both are
//     exact;
//   - else c rounded up to the fewest decimals, none at least, that stay within a thousandth of the
//     feature's range and below the model's next cut of that feature. Not of a feature declared to
//     have whole numbers only: its cuts are said exactly.
// Rounded up, a cut is exact for every value with no more decimals than the text shows: of a column
// of whole numbers no row goes another way than the text says, whatever the cut is.
//
// Guarantee  different cuts of a feature have different texts, in the same order.
// Threads    immutable; safe to share. The model may go.

#ifndef COPPICE_COMMON_TREE_CUTS_H_
#define COPPICE_COMMON_TREE_CUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/tree/model.h"

namespace coppice {

// "value < number", or "value <= number" where `inclusive`.
struct Cut {
  double number = 0;
  bool inclusive = false;

  bool Holds(double value) const { return value < number || (inclusive && value == number); }

  friend bool operator==(const Cut&, const Cut&) = default;
};

// The cut itself, in the form that has fewer digits.
Cut ExactCut(double threshold);

class ReadableCuts {
 public:
  explicit ReadableCuts(const Model& model);

  // As the file says. `threshold` must be a cut of the model's numeric feature.
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

#endif  // COPPICE_COMMON_TREE_CUTS_H_
