// Reads models from bytes, as a device and exports do.
//
// Errors     InvalidArgument that names the field, for bytes that are no such message and for
// values
//            that are refused. All input is hostile.

#ifndef COPPICE_COMMON_WIRE_MODEL_H_
#define COPPICE_COMMON_WIRE_MODEL_H_

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/model/model.h"

namespace coppice {

// The signature is skipped, as are the names and times, which belong to the curator's record of the
// model. Errors include those of CheckReader(), before anything else of the model is looked at.
StatusOr<Model> ReadModel(std::string_view bytes);

// InvalidArgument if a model in format `version` needs a later reader than this one, which says to
// upgrade, or if it says no format; `writer` is the version of the code that made it.
Status CheckReader(uint32_t version, uint32_t min_reader, std::string_view writer);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MODEL_H_
