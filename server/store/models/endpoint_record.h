// Writes and reads the record of an endpoint. docs/storage.md has the format.
//
// An endpoint is stored as a coppice.v1.Endpoint under endpoint/ID/.
//
// Errors  DataLoss, naming the key, for a record in another form.

#ifndef COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_
#define COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coppice/v1/model.pb.h"
#include "server/store/models/endpoint_info.h"

namespace coppice::models {

inline constexpr absl::string_view kEndpointPrefix = "endpoint/";
inline std::string EndpointKey(absl::string_view id) {
  return absl::StrCat(kEndpointPrefix, id, "/");
}

v1::Endpoint ToProto(const EndpointInfo& info);
absl::StatusOr<EndpointInfo> DecodeEndpoint(absl::string_view key, absl::string_view bytes);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_
