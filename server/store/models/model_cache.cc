#include "server/store/models/model_cache.h"

#include <iterator>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::models {

std::optional<ModelInfo> ModelCache::Find(uint64_t number) {
  const MutexLock lock(mutex_);
  const auto found = by_number_.find(number);
  if (found == by_number_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->model;
}

Status ModelCache::MakeRoom(const ModelSummary& model) {
  const uint64_t most = most_bytes_;
  if (model.memory > most) {
    return FailedPreconditionError(
        StrCat("the model ", model.id, " takes about ", model.memory,
               " bytes of memory, and all models "
               "together have ",
               most, " (--model-cache-bytes): raise that, or delete the model"));
  }
  std::vector<ModelInfo> unused;  // destroyed last, without the lock
  const MutexLock lock(mutex_);
  if (TakeUnused(most - model.memory, unused) <= most - model.memory) return OkStatus();
  return ResourceExhaustedError(StrCat("the models in use leave no room for the model ", model.id,
                                       " in the ", most,
                                       " bytes of --model-cache-bytes; try again later"));
}

uint64_t ModelCache::TakeUnused(uint64_t most, std::vector<ModelInfo>& out) {
  uint64_t taken = *taken_;
  for (auto it = order_.end(); taken > most && it != order_.begin();) {
    --it;
    if (it->model.model.use_count() > 1) continue;
    taken -= it->bytes;
    by_number_.erase(it->number);
    out.push_back(std::move(it->model));
    it = order_.erase(it);
  }
  return taken;
}

ModelInfo ModelCache::Add(uint64_t number, ModelInfo model, uint64_t bytes) {
  *taken_ += bytes;
  const Model* const counted = model.model.get();
  model.model = std::shared_ptr<const Model>(
      counted, [taken = taken_, bytes, owned = std::move(model.model)](const Model*) mutable {
        owned = nullptr;
        *taken -= bytes;
      });
  const MutexLock lock(mutex_);
  order_.push_front({.number = number, .bytes = bytes, .model = model});
  by_number_[number] = order_.begin();
  return model;
}

void ModelCache::Remove(uint64_t number) {
  ModelInfo removed;  // destroyed without the lock
  const MutexLock lock(mutex_);
  const auto found = by_number_.find(number);
  if (found == by_number_.end()) return;
  removed = std::move(found->second->model);
  order_.erase(found->second);
  by_number_.erase(found);
}

}  // namespace coppice::models
