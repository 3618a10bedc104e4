#include "server/models/models.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "server/models/model_record.h"
#include "server/storage/store_record.h"

namespace coppice::models {

namespace {

absl::Status NoModel(absl::string_view id) {
  return absl::NotFoundError(absl::StrCat("there is no model ", id));
}

absl::Status InUse(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, "; serve another model there first, or delete the endpoint"));
}

}  // namespace

absl::Status Models::Load(const storage::Store& store) {
  for (const absl::string_view prefix : {kStudyModelsPrefix, kJobModelsPrefix}) {
    COPPICE_RETURN_IF_ERROR(store.Scan(prefix, [&](absl::string_view key, absl::string_view bytes) {
      COPPICE_ASSIGN_OR_RETURN(ModelInfo info, DecodeModel(key, bytes));
      const MutexLock lock(mutex_);
      if (!models_.try_emplace(info.id, info).second) {
        return storage::CorruptRecord(key, "has the id of another model");
      }
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

absl::Status Models::SignAnew(storage::Store& store, const PublicKey& before,
                              const ModelSigner& signer) {
  const auto sign = [&](absl::string_view key, absl::string_view bytes) -> absl::Status {
    v1::Model model;
    // Load() reports what is wrong with a record.
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::OkStatus();
    }
    const absl::StatusOr<ModelSignature> signature = FromProto(model.signature());
    const bool is_signed = signature.ok() && signature->key == before &&
                           CheckModelSignature(model, before, /*now_unix_seconds=*/0).ok();
    if (!is_signed) return absl::OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const std::string signed_bytes, SignedModelBytes(model));
    COPPICE_ASSIGN_OR_RETURN(const ModelSignature anew, signer(signed_bytes));
    *model.mutable_signature() = ToProto(anew);
    storage::StoreBatch batch;
    batch.Put(std::string(key), model.SerializeAsString());
    return store.Apply(batch);
  };
  for (const absl::string_view prefix : {kStudyModelsPrefix, kJobModelsPrefix}) {
    COPPICE_RETURN_IF_ERROR(store.Scan(prefix, sign));
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelClaim> Models::Claim(absl::string_view id) {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  if (it != models_.end()) {
    return absl::AlreadyExistsError(
        absl::StrCat("model_id: there is a model ", id, " already, of ", it->second.source));
  }
  if (!claimed_ids_.emplace(id).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("model_id: a model ", id, " is being made already"));
  }
  return ModelClaim([this, id = std::string(id)] {
    const MutexLock ending(mutex_);
    claimed_ids_.erase(id);
  });
}

Models::ById::const_iterator Models::Find(absl::string_view id) const {
  const auto it = models_.find(id);
  const bool leaving = it != models_.end() && (removals_.contains(it->second.source) ||
                                               removals_.contains(MakeName(kModels, id)));
  return leaving ? models_.end() : it;
}

absl::StatusOr<Models::PinnedModel> Models::Pin(absl::string_view id, absl::string_view holder) {
  const MutexLock lock(mutex_);
  const auto it = Find(id);
  if (it == models_.end()) return NoModel(id);
  const auto held = pins_.emplace(id, holder);
  return PinnedModel{.model = it->second, .claim = ModelClaim([this, held = *held] {
                                            const MutexLock ending(mutex_);
                                            pins_.erase(pins_.find(held));
                                          })};
}

absl::StatusOr<ModelClaim> Models::ClaimRemovalOf(absl::string_view source) {
  const MutexLock lock(mutex_);
  for (const auto& [id, holder] : pins_) {
    const auto it = models_.find(id);
    if (it == models_.end() || it->second.source != source) continue;
    return InUse(absl::StrCat(source, " cannot be deleted: ", holder, " serves its model ", id));
  }
  return ClaimRemoval(std::string(source));
}

ModelClaim Models::ClaimRemoval(std::string what) {
  removals_.insert(what);
  return ModelClaim([this, what = std::move(what)] {
    const MutexLock ending(mutex_);
    removals_.erase(what);
  });
}

absl::Status Models::Delete(storage::Store& store, absl::string_view id) {
  ModelInfo info;
  ModelClaim leaving;
  {
    const MutexLock lock(mutex_);
    const auto it = Find(id);
    if (it == models_.end()) return NoModel(id);
    const auto held = pins_.lower_bound({std::string(id), ""});
    if (held != pins_.end() && held->first == id) {
      return InUse(absl::StrCat("model ", id, " cannot be deleted: ", held->second, " serves it"));
    }
    info = it->second;
    leaving = ClaimRemoval(MakeName(kModels, id));
  }
  storage::StoreBatch batch;
  batch.Delete(ModelKey(info.source, info.id));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  const MutexLock lock(mutex_);
  // If its source was deleted meanwhile, the model is gone and may have been made again.
  const auto it = models_.find(id);
  if (it != models_.end() && it->second.model == info.model) models_.erase(it);
  return absl::OkStatus();
}

absl::Status Models::Sign(ModelInfo& info) const {
  if (!signer_) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, SignedModelBytes(ToProto(info)));
  COPPICE_ASSIGN_OR_RETURN(info.signature, signer_(bytes));
  return absl::OkStatus();
}

void Models::Put(const ModelInfo& info, storage::StoreBatch& batch) {
  batch.Put(ModelKey(info.source, info.id), ToProto(info).SerializeAsString());
}

void Models::Publish(ModelInfo info) {
  const MutexLock lock(mutex_);
  models_[info.id] = std::move(info);
}

absl::Status Models::Save(storage::Store& store, ModelInfo info) {
  storage::StoreBatch batch;
  Put(info, batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  Publish(std::move(info));
  return absl::OkStatus();
}

void Models::RemoveOf(absl::string_view source) {
  const MutexLock lock(mutex_);
  for (auto it = models_.begin(); it != models_.end();) {
    it = it->second.source == source ? models_.erase(it) : std::next(it);
  }
}

absl::StatusOr<ModelInfo> Models::Get(absl::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  if (it == models_.end()) return NoModel(id);
  return it->second;
}

std::vector<ModelInfo> Models::List(absl::string_view source, const Page& page) const {
  std::vector<ModelInfo> infos;
  const MutexLock lock(mutex_);
  for (auto it = models_.upper_bound(page.after);
       it != models_.end() && infos.size() < PageSize(page); ++it) {
    if (source.empty() || it->second.source == source) infos.push_back(it->second);
  }
  return infos;
}

}  // namespace coppice::models
