// All models, of studies and of jobs, in memory and in the store.
//
// Ids      one name space. Whoever is going to make a model claims its id first: until the claim
//          ends no other can be made under it, and then the id is taken if the model was published.
// Batches  a model may have to become durable with records of somebody else. So storing takes two
//          steps: Put() into the batch, and Publish() once the batch was applied. Save() is both
//          for a model that comes alone.
// Deleting a model that is served is refused: whoever serves one holds it, whoever deletes the
//          models of a source claims that first.
// Errors   Load(): DataLoss. Get(): NotFound. Claim(): AlreadyExists. Pin(), Delete(): NotFound.
//          Delete(), ClaimRemovalOf(): FailedPrecondition, naming who holds which model.
//          Save(), Delete(): what the Store returns; then nothing has changed.
// Threads  safe to share; Load() before that.

#ifndef COPPICE_SERVER_MODELS_MODELS_H_
#define COPPICE_SERVER_MODELS_MODELS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "server/models/model_info.h"
#include "server/storage/store.h"

namespace coppice::models {

// Holds something of Models for as long as it lives: an id for one who is going to make a model, a
// model for one who serves it, a source for one who deletes its models.
class ModelClaim {
 public:
  ModelClaim() = default;
  explicit ModelClaim(std::function<void()> end) : end_(std::move(end)) {}
  ModelClaim(ModelClaim&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  ModelClaim& operator=(ModelClaim&& other) noexcept {
    std::swap(end_, other.end_);
    return *this;
  }
  ~ModelClaim() {
    if (end_) end_();
  }

 private:
  std::function<void()> end_;
};

class Models {
 public:
  absl::Status Load(const storage::Store& store);

  absl::StatusOr<ModelClaim> Claim(absl::string_view id);

  static void Put(const ModelInfo& info, storage::StoreBatch& batch);
  void Publish(ModelInfo info);
  absl::Status Save(storage::Store& store, ModelInfo info);

  // The model, and what keeps it from being deleted. `holder` names who asks, for the error that
  // says why it cannot be: "endpoints/ID".
  struct PinnedModel {
    ModelInfo model;
    ModelClaim claim;
  };
  absl::StatusOr<PinnedModel> Pin(absl::string_view id, absl::string_view holder);

  // Its id is free then. Whoever has the model already may use it to the end.
  absl::Status Delete(storage::Store& store, absl::string_view id);

  // Until the claim ends no model of the source can be held.
  absl::StatusOr<ModelClaim> ClaimRemovalOf(absl::string_view source);
  // Forgets the models of a source; the caller removes them from the store.
  void RemoveOf(absl::string_view source);

  absl::StatusOr<ModelInfo> Get(absl::string_view id) const;
  // Of one source, or of all if it is empty.
  std::vector<ModelInfo> List(absl::string_view source, const Page& page) const;

 private:
  using ById = absl::btree_map<std::string, ModelInfo>;
  // The model, if it is not on its way out.
  ById::const_iterator Find(absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `what` as in removals_.
  ModelClaim ClaimRemoval(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  ById models_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::string> claimed_ids_ ABSL_GUARDED_BY(mutex_);
  // Model and holder.
  absl::btree_multiset<std::pair<std::string, std::string>> pins_ ABSL_GUARDED_BY(mutex_);
  // "models/ID", or a source: all models of it.
  absl::btree_set<std::string> removals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_MODELS_H_
