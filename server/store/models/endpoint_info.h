// An endpoint as its callers see it, and the model that it serves.

#ifndef COPPICE_SERVER_STORE_MODELS_ENDPOINT_INFO_H_
#define COPPICE_SERVER_STORE_MODELS_ENDPOINT_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/store/models/model_info.h"

namespace coppice::models {

struct EndpointVersion {
  uint64_t number = 0;
  std::string model;  // its id
  int64_t created_unix_seconds = 0;
  uint64_t restored = 0;  // the version that a rollback restored; 0: the model was set
};

struct EndpointInfo {
  std::string id;
  std::vector<EndpointVersion> versions;  // oldest first, at least one; the last is served
  std::string owner{};                    // name of the policy entry that made it; may be empty
};

// The model that answers for an endpoint, whole.
struct ServedModel {
  ModelInfo model;
  uint64_t version = 0;
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_ENDPOINT_INFO_H_
