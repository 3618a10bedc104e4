// Coppice's own model file: the message as JSON, with the proto's names.

#ifndef COPPICE_COMMON_WIRE_PROTO_MODEL_FILE_H_
#define COPPICE_COMMON_WIRE_PROTO_MODEL_FILE_H_

#include <cstddef>
#include <string>

#include "common/base/status.h"
#include "coppice/v1/model.pb.h"

namespace coppice {

// Twice the largest message that the curator sends, written as JSON.
inline constexpr size_t kMaxModelFileBytes = size_t{512} << 20;

// Reads the message in a file, which ParseModel() must still check. NotFound if it cannot be read;
// InvalidArgument, naming the file, if it is not a model.
StatusOr<v1::Model> ReadModelFile(const std::string& path, size_t max_bytes = kMaxModelFileBytes);

// Returns the text of such a file.
StatusOr<std::string> ModelFileText(const v1::Model& model);

// Returns the message itself, serialized: the same bytes for the same model. A device in C reads
// these (coppice_model_open()).
std::string ModelMessageBytes(const v1::Model& model);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_MODEL_FILE_H_
