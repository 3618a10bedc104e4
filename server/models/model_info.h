// A model and its origin.

#ifndef COPPICE_SERVER_MODELS_MODEL_INFO_H_
#define COPPICE_SERVER_MODELS_MODEL_INFO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/tree/model.h"
#include "common/wire/model_signature.h"

namespace coppice::models {

struct ModelInfo {
  std::string id;
  std::string source;  // "studies/ID" or "jobs/ID"
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Model> model;
  std::optional<ModelSignature> signature{};  // none: made before models were signed
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_MODEL_INFO_H_
