// Writes and reads the record of an endpoint. docs/storage.md has the format.
//
// An endpoint is stored as a coppice.v1.Endpoint under endpoint/ID/.
//
// Errors  DataLoss, naming the key, for a record in another form.

#ifndef COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_
#define COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/model.pb.h"
#include "server/store/models/endpoint_info.h"

namespace coppice::models {

inline constexpr std::string_view kEndpointPrefix = "endpoint/";
inline std::string EndpointKey(std::string_view id) { return StrCat(kEndpointPrefix, id, "/"); }

v1::Endpoint ToProto(const EndpointInfo& info);
StatusOr<EndpointInfo> DecodeEndpoint(std::string_view key, std::string_view bytes);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_ENDPOINT_RECORD_H_
