// Coppice's own file of a model: the message as JSON, with the names of the proto.

#ifndef COPPICE_COMMON_WIRE_MODEL_FILE_H_
#define COPPICE_COMMON_WIRE_MODEL_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "coppice/v1/model.pb.h"

namespace coppice {

// Twice what the curator sends of one, written out as JSON.
inline constexpr size_t kMaxModelFileBytes = size_t{512} << 20;

// The message that a file holds, which FromProto() must still check. NotFound if it cannot be read;
// InvalidArgument, naming it, if it is no model.
absl::StatusOr<v1::Model> ReadModelFile(const std::string& path,
                                        size_t max_bytes = kMaxModelFileBytes);

// The text of such a file.
absl::StatusOr<std::string> ModelFileText(const v1::Model& model);

// The message itself, serialized: the same bytes for the same model. What a device in C reads
// (coppice_model_open()).
std::string ModelMessageBytes(const v1::Model& model);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MODEL_FILE_H_
