// The label in a report, whatever the report's form: a class or, where a number is to be predicted,
// its place in the terms' range.

#ifndef COPPICE_COMMON_TERMS_ANSWER_H_
#define COPPICE_COMMON_TERMS_ANSWER_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"

namespace coppice {

// Whether devices answer with a number rather than a class.
inline bool AnswersNumbers(const Terms& terms) { return terms.rounding.has_value(); }

// What a report is about. All of it is public but the leaf, where its features are private.
struct AnswerIn {
  const Tree& tree;
  uint32_t tree_leaf = 0;
  const LocalMechanism& mechanism;
  uint32_t leaf = 0;  // of the mechanism's
  uint32_t column = 0;
};

// Writes the randomized answer of a row into `payload`. A class is hidden as it is. A number is
// clamped to the range of its leaf (AnswerRange()), and its place there is hidden: the mechanism
// rounds it, at random so that the mean is the number. So means of reports estimate means of
// numbers without bias.
//
// Guarantee  As LocalMechanism's, and never declines, so that whether a device answers tells
//            nothing of its label: one that is none of the classes becomes one drawn uniformly, and
//            a missing number counts as the middle of the range.
// Errors     Unavailable if the random source fails; the payload is empty then.
// Source     docs/research/mechanisms.md#numbers.
Status RandomizeAnswer(const Terms& terms, const AnswerIn& in, const LabelledRow& row,
                       PrivateRandom& random, std::string& payload);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_ANSWER_H_
