// A model as a device reads it from bytes: coppice.v1.Model, in proto/coppice/v1/model.proto.

#ifndef COPPICE_CLIENT_MESSAGES_MODEL_H_
#define COPPICE_CLIENT_MESSAGES_MODEL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tree/model.h"

namespace coppice {

// InvalidArgument for bytes that are no model, one of a later format, or one with a value that
// Model::Create() refuses. The signature is passed over.
absl::StatusOr<Model> ReadModel(absl::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_CLIENT_MESSAGES_MODEL_H_
