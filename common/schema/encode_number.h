// Encodes a number that was never text, as Schema::Encode() encodes one that was.

#ifndef COPPICE_COMMON_SCHEMA_ENCODE_NUMBER_H_
#define COPPICE_COMMON_SCHEMA_ENCODE_NUMBER_H_

#include "common/schema/schema.h"

namespace coppice {

// Clamps `number` to the bounds of a numeric feature, and rounds it where the feature is whole.
// `number` must be finite.
EncodedField EncodeNumber(const Feature& feature, double number);

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_ENCODE_NUMBER_H_
