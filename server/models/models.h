// All models of studies and jobs, in memory and in the store.

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

// Holds a claim on Models for its lifetime: on the id of a model being made, on a served model, or
// on a source whose models are being deleted.
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

// Gives models their ids, stores them, and protects served models from deletion.
//
// All ids share one name space. The maker of a model claims its id first: until the claim ends no
// other model can be made under the id, and afterwards the id is taken if the model was published.
//
// A model may have to become durable together with other records, so storing has two steps: Put()
// into the batch, and Publish() after the batch was applied. Save() does both for a model alone.
//
// A served model cannot be deleted: its endpoint pins it, and deleting a source's models requires
// claiming their removal first.
//
// Errors     Load(): DataLoss. Get(): NotFound. Claim(): AlreadyExists. Pin(), Delete(): NotFound.
//            Delete(), ClaimRemovalOf(): FailedPrecondition, naming the endpoint and its model.
//            Save(), Delete(): what the Store returns; then nothing has changed.
// Threads    safe to share, after Load() and SignWith().
class Models {
 public:
  absl::Status Load(const storage::Store& store);

  absl::StatusOr<ModelClaim> Claim(absl::string_view id);

  // From now on models are signed when they are made.
  void SignWith(ModelSigner signer) { signer_ = std::move(signer); }
  // Signs each stored model again that has a valid signature by the key `before`. Changed or
  // unsigned models, and those signed by another key, stay as they are. Call it before Load().
  static absl::Status SignAnew(storage::Store& store, const PublicKey& before,
                               const ModelSigner& signer);
  // Signs a new model before it is put or saved; does nothing without a signer.
  absl::Status Sign(ModelInfo& info) const;

  static void Put(const ModelInfo& info, storage::StoreBatch& batch);
  void Publish(ModelInfo info);
  absl::Status Save(storage::Store& store, ModelInfo info);

  // The model, and a claim that prevents its deletion.
  struct PinnedModel {
    ModelInfo model;
    ModelClaim claim;
  };
  // `holder` names the caller, "endpoints/ID", for the error that explains why a model stays.
  absl::StatusOr<PinnedModel> Pin(absl::string_view id, absl::string_view holder);

  // Frees the model's id. Callers that already have the model may use it to the end.
  absl::Status Delete(storage::Store& store, absl::string_view id);

  // Until the claim ends no model of the source can be pinned.
  absl::StatusOr<ModelClaim> ClaimRemovalOf(absl::string_view source);
  // Forgets the models of a source; the caller removes them from the store.
  void RemoveOf(absl::string_view source);

  absl::StatusOr<ModelInfo> Get(absl::string_view id) const;
  // The models of one source, or all models if it is empty.
  std::vector<ModelInfo> List(absl::string_view source, const Page& page) const;

 private:
  using ById = absl::btree_map<std::string, ModelInfo>;
  // The model, unless its removal is claimed.
  ById::const_iterator Find(absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `what` as in removals_.
  ModelClaim ClaimRemoval(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ModelSigner signer_;
  mutable Mutex mutex_;
  ById models_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::string> claimed_ids_ ABSL_GUARDED_BY(mutex_);
  // Model and holder.
  absl::btree_multiset<std::pair<std::string, std::string>> pins_ ABSL_GUARDED_BY(mutex_);
  // "models/ID", or a source for all its models.
  absl::btree_set<std::string> removals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_MODELS_H_
