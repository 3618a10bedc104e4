// All models, of studies and of jobs, in memory and in the store.

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

// Keeps something of Models for as long as it lives: the id of a model that is being made, a model
// that is served, or a source whose models are being deleted.
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

// Gives models their ids, stores them, and keeps those that are served from being deleted.
//
// Ids are one name space. The maker of a model claims its id first: until the claim ends no other
// model can be made under it, and then the id is taken if the model was published.
//
// A model may have to become durable with other records. So storing takes two steps: Put() into the
// batch, and Publish() once the batch was applied. Save() is both for a model that comes alone.
//
// A model that is served is not deleted: its endpoint pins it, and to delete the models of a source
// is to claim their removal first.
//
// Errors     Load(): DataLoss. Get(): NotFound. Claim(): AlreadyExists. Pin(), Delete(): NotFound.
//            Delete(), ClaimRemovalOf(): FailedPrecondition, naming who serves which model.
//            Save(), Delete(): what the Store returns; then nothing has changed.
// Threads    safe to share; Load() and SignWith() before that.
class Models {
 public:
  absl::Status Load(const storage::Store& store);

  absl::StatusOr<ModelClaim> Claim(absl::string_view id);

  // From then on models are signed as they are made.
  void SignWith(ModelSigner signer) { signer_ = std::move(signer); }
  // Signs anew each stored model whose signature by the key `before` checks, and no other: one that
  // was changed, that nobody signed, or that another key did stays as it is. Before Load().
  static absl::Status SignAnew(storage::Store& store, const PublicKey& before,
                               const ModelSigner& signer);
  // Signs a model that was made, before it is put or saved; does nothing without a signer.
  absl::Status Sign(ModelInfo& info) const;

  static void Put(const ModelInfo& info, storage::StoreBatch& batch);
  void Publish(ModelInfo info);
  absl::Status Save(storage::Store& store, ModelInfo info);

  // The model, and what keeps it from being deleted.
  struct PinnedModel {
    ModelInfo model;
    ModelClaim claim;
  };
  // `holder` names who asks, "endpoints/ID", for the error that says why the model is not deleted.
  absl::StatusOr<PinnedModel> Pin(absl::string_view id, absl::string_view holder);

  // Frees its id. A caller that has the model already may use it to the end.
  absl::Status Delete(storage::Store& store, absl::string_view id);

  // Until the claim ends no model of the source can be held.
  absl::StatusOr<ModelClaim> ClaimRemovalOf(absl::string_view source);
  // Forgets the models of a source; the caller removes them from the store.
  void RemoveOf(absl::string_view source);

  absl::StatusOr<ModelInfo> Get(absl::string_view id) const;
  // The models of one source, or of all if it is empty.
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
