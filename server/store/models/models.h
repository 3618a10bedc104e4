// All models of studies and jobs: what they are in memory, their trees in the store.

#ifndef COPPICE_SERVER_STORE_MODELS_MODELS_H_
#define COPPICE_SERVER_STORE_MODELS_MODELS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/models/model_cache.h"
#include "server/store/models/model_info.h"
#include "server/store/store.h"

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

// What an owner has of models.
struct ModelUse {
  uint64_t models = 0;
  uint64_t bytes = 0;  // of their records
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
// A model's trees are read when they are asked for, one model at a time, and kept while there is
// room (model_cache.h). While a model is read it takes its record's size and that of its message
// besides. Before Load() there is no store to read from, and models stay in memory.
//
// Errors     Load(): DataLoss. Get(): NotFound; DataLoss for a model that is damaged; as
//            ModelCache::MakeRoom(). Describe(): NotFound. Claim(): AlreadyExists. Pin(), Delete():
//            NotFound. Delete(), ClaimRemovalOf(): FailedPrecondition, naming the endpoint and its
//            model. Save(), Delete(): what the Store returns; then nothing has changed.
// Threads    safe to share, after Load(), SignWith() and FindOwnersBy().
class Models {
 public:
  static constexpr uint64_t kDefaultCacheBytes = uint64_t{512} << 20;

  explicit Models(uint64_t cache_bytes = kDefaultCacheBytes) : cache_(cache_bytes) {}

  void SetCacheBytes(uint64_t bytes) { cache_.SetMostBytes(bytes); }

  // Loads the summaries of what `store` holds, which must outlive the models.
  Status Load(const storage::Store& store);

  // Says who owns what models are made from, "studies/ID" or "jobs/ID". It may be called whenever
  // UseOf() is, and must give one source always the same owner.
  using OwnerFinder = std::function<std::string(const std::string& source)>;
  void FindOwnersBy(OwnerFinder owner_of) { owner_of_ = std::move(owner_of); }
  // What `owner` has now, and what room is kept for. Costs no more the more models there are.
  ModelUse UseOf(const std::string& owner) const;
  // Keeps room for a model that `owner` is to have, until the claim ends: end it once the model is
  // published, or is not to come. ResourceExhausted if `added` would take the owner over `most`,
  // where 0 means no limit. However many ask at a time, the owner does not get more.
  StatusOr<ModelClaim> Reserve(const std::string& owner, const ModelUse& added,
                               const ModelUse& most);
  // Keeps room that was promised before, so that no quota is asked, and nobody who owns what: a
  // daemon that starts does not know that yet.
  ModelClaim KeepRoom(const std::string& owner, const ModelUse& added);

  StatusOr<ModelClaim> Claim(std::string_view id);

  // From now on models are signed when they are made.
  void SignWith(ModelSigner signer) { signer_ = std::move(signer); }
  // Signs each stored model again that has a valid signature by the key `before`. Changed or
  // unsigned models, and those signed by another key, stay as they are. Call it before Load().
  static Status SignAnew(storage::Store& store, const PublicKey& before, const ModelSigner& signer);
  // Signs a new model before it is put or saved; does nothing without a signer.
  Status Sign(ModelInfo& info) const;

  // Returns the argument of Publish().
  static ModelSummary Put(const ModelInfo& info, storage::StoreBatch& batch);
  void Publish(ModelSummary summary, const ModelInfo& info);
  void Publish(const ModelInfo& info);  // computes the summary
  Status Save(storage::Store& store, ModelInfo info);

  // The model, and a claim that prevents its deletion.
  struct PinnedModel {
    ModelSummary model;
    ModelClaim claim;
  };
  // `holder` names the caller, "endpoints/ID", for the error that explains why a model stays.
  StatusOr<PinnedModel> Pin(std::string_view id, std::string_view holder);

  // Frees the model's id. Callers that already have the model may use it to the end.
  Status Delete(storage::Store& store, std::string_view id);

  // Until the claim ends no model of the source can be pinned.
  StatusOr<ModelClaim> ClaimRemovalOf(std::string_view source);
  // Forgets the models of a source; the caller removes them from the store.
  void RemoveOf(std::string_view source);

  // The whole model. May read the store, and wait for others that are read.
  StatusOr<ModelInfo> Get(std::string_view id) const;
  // The whole model if it is in memory; nothing if Get() would read it, or say why not.
  std::optional<ModelInfo> GetFromMemory(std::string_view id) const;
  StatusOr<ModelSummary> Describe(std::string_view id) const;
  // The models of one source, or all models if it is empty.
  std::vector<ModelSummary> List(std::string_view source, const Page& page) const;

 private:
  struct Entry {
    ModelSummary summary;
    uint64_t number = 0;                 // no two models have the same, even of one id
    std::optional<ModelInfo> kept{};     // the model itself, without a store
    std::optional<std::string> owner{};  // once UseOf() has asked
  };
  using ById = StringMap<Entry>;
  void Add(Entry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ById::iterator Erase(ById::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<ModelInfo> InMemory(const Entry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing if the model was deleted meanwhile.
  StatusOr<std::optional<ModelInfo>> Read(const ModelSummary& summary, uint64_t number) const;
  bool IsThere(std::string_view id, uint64_t number) const;
  void FindNewOwners() const;
  ModelUse UseNow(const std::string& owner) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ModelClaim Hold(const std::string& owner, const ModelUse& added)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(const std::string& owner, const ModelUse& room);
  // The model, unless its removal is claimed.
  ById::const_iterator Find(std::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `what` as in removals_.
  ModelClaim ClaimRemoval(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ModelSigner signer_;
  OwnerFinder owner_of_;
  const storage::Store* store_ = nullptr;
  mutable Mutex load_mutex_;    // held while a model is read; taken before mutex_
  mutable Mutex owners_mutex_;  // held while owners are found; taken before mutex_
  mutable ModelCache cache_;

  mutable Mutex mutex_;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // Ids of models whose owner has not been asked for, and what each owner has of the others.
  mutable std::vector<std::string> unowned_ ABSL_GUARDED_BY(mutex_);
  mutable StringMap<ModelUse> uses_ ABSL_GUARDED_BY(mutex_);
  StringMap<ModelUse> to_come_ ABSL_GUARDED_BY(mutex_);  // by owner
  mutable ById models_ ABSL_GUARDED_BY(mutex_);
  StringSet claimed_ids_ ABSL_GUARDED_BY(mutex_);
  // Model and holder.
  std::multiset<std::pair<std::string, std::string>> pins_ ABSL_GUARDED_BY(mutex_);
  // "models/ID", or a source for all its models.
  StringSet removals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_MODELS_H_
