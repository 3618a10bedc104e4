// Models that were read from the store, as far as memory goes.

#ifndef COPPICE_SERVER_STORE_MODELS_MODEL_CACHE_H_
#define COPPICE_SERVER_STORE_MODELS_MODEL_CACHE_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/models/model_info.h"

namespace coppice::models {

// Keeps the models that were used last. A model that a call still holds counts until the call lets
// it go, even if it is no longer here: otherwise calls that hold one model each, such as streams of
// predictions, would take memory without end.
//
// Guarantee  All models that Add() has returned and somebody holds, and those kept here, have at
//            most `most_bytes` bytes together, if each Add() follows its MakeRoom().
// Errors     MakeRoom(): FailedPrecondition for a model that will never fit; ResourceExhausted
//            while too many others are in use.
// Threads    safe to share; one MakeRoom() with its Add() at a time.
class ModelCache {
 public:
  explicit ModelCache(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // For the start: later calls may find models that have no room any more.
  void SetMostBytes(uint64_t most_bytes) { most_bytes_ = most_bytes; }

  // The model with this number, which counts as used now; nothing if it is not here.
  std::optional<ModelInfo> Find(uint64_t number);

  // Drops what was used longest ago and nobody holds, until `bytes` more fit.
  Status MakeRoom(const ModelSummary& model);
  // Keeps the model, and returns it as its holders are to have it.
  ModelInfo Add(uint64_t number, ModelInfo model, uint64_t bytes);
  void Remove(uint64_t number);

  // The bytes of all models that are kept here or held.
  uint64_t bytes() const { return taken_->load(); }

 private:
  struct Kept {
    uint64_t number;
    uint64_t bytes;
    ModelInfo model;
  };
  using Order = std::list<Kept>;  // last used first

  // Takes models out until `most` bytes remain, or only those in use. Returns them, so that they
  // are destroyed without the lock, and the bytes that remain then.
  uint64_t TakeUnused(uint64_t most, std::vector<ModelInfo>& out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<uint64_t> most_bytes_;
  // Outlives the cache where a model does.
  const std::shared_ptr<std::atomic<uint64_t>> taken_ = std::make_shared<std::atomic<uint64_t>>(0);
  Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Order::iterator> by_number_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_MODEL_CACHE_H_
