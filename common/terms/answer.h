// The label in a report, whatever the report's form: a class or, where a number is to be predicted,
// one of the two ends of the terms' range.

#ifndef COPPICE_COMMON_TERMS_ANSWER_H_
#define COPPICE_COMMON_TERMS_ANSWER_H_

#include <cstdint>

#include "common/base/status.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"

namespace coppice {

// Whether devices answer with a number rather than a class.
inline bool AnswersNumbers(const Terms& terms) { return terms.rounding.has_value(); }

// The label that a row answers with, from 0 to Schema::num_outputs() - 1. A class is itself. A
// number becomes the lower or upper end of the range, drawn so that its mean is the number, clamped
// to the range: each report then has one of two labels, and means of labels estimate means of
// numbers without bias.
//
// Guarantee  Never declines, so that whether a device answers tells nothing of its label: a label
//            that is none of the classes, and a missing number, become one drawn uniformly. The
//            draw comes before the mechanism, and a mixture of epsilon-private answers is
//            epsilon-private.
// Errors     Unavailable if the random source fails.
// Source     docs/research/mechanisms.md#numbers.
StatusOr<uint32_t> DrawAnswer(const Terms& terms, const LabelledRow& row, PrivateRandom& random);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_ANSWER_H_
