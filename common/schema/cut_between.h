// Where a tree cuts between two values of a feature.

#ifndef COPPICE_COMMON_SCHEMA_CUT_BETWEEN_H_
#define COPPICE_COMMON_SCHEMA_CUT_BETWEEN_H_

#include "common/schema/schema.h"

namespace coppice {

// The point half-way between two numbers with low < high. It lies in (low, high] even if no double
// is left between them, and is rounded to 12 digits, for readers, where that moves it by less than
// a billionth of the gap.
double Midpoint(double low, double high);

// The cut half-way between two values of `feature` with low < high. For a feature of whole numbers
// it is "at most" a whole number.
double CutBetween(const Feature& feature, double low, double high);

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_CUT_BETWEEN_H_
