// All models, of studies and of jobs, in memory and in the store.
//
// Ids      one name space. Whoever is going to make a model claims its id first: until the claim
//          ends no other can be made under it, and then the id is taken if the model was published.
// Batches  a model may have to become durable with records of somebody else. So storing takes two
//          steps: Put() into the batch, and Publish() once the batch was applied. Save() is both
//          for a model that comes alone.
// Errors   Load(): DataLoss. Get(): NotFound. Claim(): AlreadyExists.
// Threads  safe to share; Load() before that.

#ifndef COPPICE_SERVER_MODELS_MODELS_H_
#define COPPICE_SERVER_MODELS_MODELS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/page.h"
#include "common/tree/model.h"
#include "server/storage/store.h"

namespace coppice {

struct ModelInfo {
  std::string id;
  std::string source;  // "studies/ID" or "jobs/ID"
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Model> model;
};

class Models;

// Holds a model's id for one who is going to make it, for as long as it lives.
class ModelClaim {
 public:
  ModelClaim() = default;
  ModelClaim(Models& models, std::string id) : models_(&models), id_(std::move(id)) {}
  ModelClaim(ModelClaim&& other) noexcept;
  ModelClaim& operator=(ModelClaim&& other) noexcept;
  ~ModelClaim();

 private:
  Models* models_ = nullptr;
  std::string id_;
};

class Models {
 public:
  absl::Status Load(const Store& store);

  absl::StatusOr<ModelClaim> Claim(absl::string_view id);

  static void Put(const ModelInfo& info, StoreBatch& batch);
  void Publish(ModelInfo info);
  absl::Status Save(Store& store, ModelInfo info);

  // Forgets the models of a source; the caller removes them from the store.
  void RemoveOf(absl::string_view source);

  absl::StatusOr<ModelInfo> Get(absl::string_view id) const;
  // Of one source, or of all if it is empty.
  std::vector<ModelInfo> List(absl::string_view source, const Page& page) const;

 private:
  friend class ModelClaim;
  void EndClaim(const std::string& id);

  mutable std::mutex mutex_;
  // Both guarded by mutex_.
  absl::btree_map<std::string, ModelInfo> models_;
  absl::btree_set<std::string> claimed_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_MODELS_MODELS_H_
