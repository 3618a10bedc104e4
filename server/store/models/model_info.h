// A model and its origin, with and without its trees.

#ifndef COPPICE_SERVER_STORE_MODELS_MODEL_INFO_H_
#define COPPICE_SERVER_STORE_MODELS_MODEL_INFO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/model/model.h"
#include "common/wire/proto/model_signature.h"

namespace coppice::models {

// The most bytes that a model's message may have, unless an operator says otherwise: what the
// curator sends of a file, which with the rest of a message is what clients accept by default (64
// MiB).
inline constexpr uint64_t kMaxModelBytes = uint64_t{63} << 20;

// What is kept in memory of every model.
struct ModelSummary {
  std::string id;
  std::string source;  // "studies/ID" or "jobs/ID"
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Certificate> certificate;
  uint64_t bytes = 0;   // of its record in the store
  uint64_t memory = 0;  // the bytes that it takes once it is read, about
};

// A whole model.
struct ModelInfo {
  std::string id;
  std::string source;  // "studies/ID" or "jobs/ID"
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Model> model;
  std::optional<ModelSignature> signature{};  // none: not signed
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_MODEL_INFO_H_
