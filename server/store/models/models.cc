#include "server/store/models/models.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_signature.h"
#include "server/store/models/model_record.h"
#include "server/store/store_record.h"

namespace coppice::models {

namespace {

Status NoModel(std::string_view id) { return NotFoundError(StrCat("there is no model ", id)); }

// Whether an owner that has `use` may have `added` besides.
Status CheckQuota(const std::string& owner, const ModelUse& use, const ModelUse& added,
                  const ModelUse& most) {
  if (most.models != 0 && use.models + added.models > most.models) {
    return ResourceExhaustedError(StrCat(owner, " may have ", most.models,
                                         most.models == 1 ? " model" : " models",
                                         ", jobs under way included, and has: delete one first"));
  }
  if (most.bytes != 0 && use.bytes + added.bytes > most.bytes) {
    return ResourceExhaustedError(StrCat(
        "the models of ", owner, " would have up to ", use.bytes + added.bytes,
        " bytes, jobs under way included, and its quota is ", most.bytes, ": delete one first"));
  }
  return OkStatus();
}

Status InUse(std::string_view what) {
  return FailedPreconditionError(
      StrCat(what, "; serve another model there first, or delete the endpoint"));
}

}  // namespace

Status Models::Load(const storage::Store& store) {
  store_ = &store;
  return store.Scan(kSummariesPrefix, [&](std::string_view key, std::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(ModelSummary summary, DecodeSummary(key, bytes));
    const MutexLock lock(mutex_);
    if (models_.contains(summary.id)) {
      return storage::CorruptRecord(key, "has the id of another model");
    }
    Add({.summary = std::move(summary)});
    return OkStatus();
  });
}

void Models::Add(Entry entry) {
  entry.number = next_number_++;
  const std::string id = entry.summary.id;
  unowned_.push_back(id);
  models_[id] = std::move(entry);
}

Models::ById::iterator Models::Erase(ById::iterator it) {
  const Entry& entry = it->second;
  if (entry.owner.has_value()) {
    ModelUse& use = uses_[*entry.owner];
    --use.models;
    use.bytes -= entry.summary.bytes;
  }
  cache_.Remove(entry.number);
  return models_.erase(it);
}

Status Models::SignAnew(storage::Store& store, const PublicKey& before, const ModelSigner& signer) {
  const auto sign = [&](std::string_view key, std::string_view bytes) -> Status {
    v1::Model model;
    // Load() reports what is wrong with a record.
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return OkStatus();
    }
    const StatusOr<ModelSignature> signature = ParseModelSignature(model.signature());
    const bool is_signed = signature.ok() && signature->key == before &&
                           CheckModelSignature(model, before, /*now_unix_seconds=*/0).ok();
    if (!is_signed) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const std::string signed_bytes, SignedModelBytes(model));
    COPPICE_ASSIGN_OR_RETURN(const ModelSignature anew, signer(signed_bytes));
    *model.mutable_signature() = ToProto(anew);
    storage::StoreBatch batch;
    batch.Put(std::string(key), model.SerializeAsString());  // its summary stays as it is
    return store.Apply(batch);
  };
  for (const std::string_view prefix : {kStudyModelsPrefix, kJobModelsPrefix}) {
    COPPICE_RETURN_IF_ERROR(store.Scan(prefix, sign));
  }
  return OkStatus();
}

StatusOr<ModelClaim> Models::Claim(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  if (it != models_.end()) {
    return AlreadyExistsError(
        StrCat("model_id: there is a model ", id, " already, of ", it->second.summary.source));
  }
  if (!claimed_ids_.emplace(id).second) {
    return AlreadyExistsError(StrCat("model_id: a model ", id, " is being made already"));
  }
  return ModelClaim([this, id = std::string(id)] {
    const MutexLock ending(mutex_);
    claimed_ids_.erase(id);
  });
}

Models::ById::const_iterator Models::Find(std::string_view id) const {
  const auto it = models_.find(id);
  const bool leaving = it != models_.end() && (removals_.contains(it->second.summary.source) ||
                                               removals_.contains(MakeName(kModels, id)));
  return leaving ? models_.end() : it;
}

StatusOr<Models::PinnedModel> Models::Pin(std::string_view id, std::string_view holder) {
  const MutexLock lock(mutex_);
  const auto it = Find(id);
  if (it == models_.end()) return NoModel(id);
  const auto held = pins_.emplace(id, holder);
  return PinnedModel{.model = it->second.summary, .claim = ModelClaim([this, held = *held] {
                                                    const MutexLock ending(mutex_);
                                                    pins_.erase(pins_.find(held));
                                                  })};
}

StatusOr<ModelClaim> Models::ClaimRemovalOf(std::string_view source) {
  const MutexLock lock(mutex_);
  for (const auto& [id, holder] : pins_) {
    const auto it = models_.find(id);
    if (it == models_.end() || it->second.summary.source != source) continue;
    return InUse(StrCat(source, " cannot be deleted: ", holder, " serves its model ", id));
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

Status Models::Delete(storage::Store& store, std::string_view id) {
  ModelSummary summary;
  uint64_t number = 0;
  ModelClaim leaving;
  {
    const MutexLock lock(mutex_);
    const auto it = Find(id);
    if (it == models_.end()) return NoModel(id);
    const auto held = pins_.lower_bound({std::string(id), ""});
    if (held != pins_.end() && held->first == id) {
      return InUse(StrCat("model ", id, " cannot be deleted: ", held->second, " serves it"));
    }
    summary = it->second.summary;
    number = it->second.number;
    leaving = ClaimRemoval(MakeName(kModels, id));
  }
  storage::StoreBatch batch;
  DeleteModel(ModelKey(summary.source, summary.id), batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  const MutexLock lock(mutex_);
  // If its source was deleted meanwhile, the model is gone and may have been made again.
  const auto it = models_.find(id);
  if (it != models_.end() && it->second.number == number) Erase(it);
  return OkStatus();
}

Status Models::Sign(ModelInfo& info) const {
  if (!signer_) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, SignedModelBytes(ToProto(info)));
  COPPICE_ASSIGN_OR_RETURN(info.signature, signer_(bytes));
  return OkStatus();
}

ModelSummary Models::Put(const ModelInfo& info, storage::StoreBatch& batch) {
  return PutModel(info, batch);
}

void Models::Publish(ModelSummary summary, const ModelInfo& info) {
  Entry entry{.summary = std::move(summary)};
  if (store_ == nullptr) entry.kept = info;
  const MutexLock lock(mutex_);
  const auto before = models_.find(info.id);
  if (before != models_.end()) Erase(before);
  Add(std::move(entry));
}

void Models::Publish(const ModelInfo& info) {
  Publish(Summarize(info, ToProto(info).ByteSizeLong()), info);
}

Status Models::Save(storage::Store& store, ModelInfo info) {
  storage::StoreBatch batch;
  ModelSummary summary = Put(info, batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  Publish(std::move(summary), info);
  return OkStatus();
}

void Models::RemoveOf(std::string_view source) {
  const MutexLock lock(mutex_);
  for (auto it = models_.begin(); it != models_.end();) {
    it = it->second.summary.source == source ? Erase(it) : std::next(it);
  }
}

std::optional<ModelInfo> Models::InMemory(const Entry& entry) const {
  return entry.kept.has_value() ? entry.kept : cache_.Find(entry.number);
}

StatusOr<ModelInfo> Models::Get(std::string_view id) const {
  while (true) {
    ModelSummary summary;
    uint64_t number = 0;
    {
      const MutexLock lock(mutex_);
      const auto it = models_.find(id);
      if (it == models_.end()) return NoModel(id);
      if (std::optional<ModelInfo> found = InMemory(it->second)) return *std::move(found);
      summary = it->second.summary;
      number = it->second.number;
    }
    COPPICE_ASSIGN_OR_RETURN(std::optional<ModelInfo> read, Read(summary, number));
    if (read.has_value()) return *std::move(read);
    // It was deleted meanwhile, and another may have its id now.
  }
}

std::optional<ModelInfo> Models::GetFromMemory(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  return it == models_.end() ? std::nullopt : InMemory(it->second);
}

StatusOr<std::optional<ModelInfo>> Models::Read(const ModelSummary& summary,
                                                uint64_t number) const {
  const MutexLock loading(load_mutex_);
  if (std::optional<ModelInfo> found = cache_.Find(number)) return found;
  if (!IsThere(summary.id, number)) return std::nullopt;
  COPPICE_RETURN_IF_ERROR(cache_.MakeRoom(summary));
  const std::string key = ModelKey(summary.source, summary.id);
  COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> bytes, store_->Get(key));
  if (!IsThere(summary.id, number)) return std::nullopt;
  if (!bytes.has_value()) return storage::CorruptRecord(key, "is missing");
  COPPICE_ASSIGN_OR_RETURN(ModelInfo info, DecodeModel(key, *bytes));
  bytes.reset();
  const uint64_t memory = MemoryOf(*info.model);
  const MutexLock lock(mutex_);
  const auto it = models_.find(summary.id);
  if (it == models_.end() || it->second.number != number) return std::nullopt;
  return cache_.Add(number, std::move(info), memory);
}

bool Models::IsThere(std::string_view id, uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  return it != models_.end() && it->second.number == number;
}

StatusOr<ModelSummary> Models::Describe(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = models_.find(id);
  if (it == models_.end()) return NoModel(id);
  return it->second.summary;
}

std::vector<ModelSummary> Models::List(std::string_view source, const Page& page) const {
  std::vector<ModelSummary> summaries;
  const MutexLock lock(mutex_);
  for (auto it = models_.upper_bound(page.after);
       it != models_.end() && summaries.size() < PageSize(page); ++it) {
    const ModelSummary& summary = it->second.summary;
    if (source.empty() || summary.source == source) summaries.push_back(summary);
  }
  return summaries;
}

ModelUse Models::UseNow(const std::string& owner) const {
  ModelUse use;
  const auto add = [&](const StringMap<ModelUse>& part) {
    const auto found = part.find(owner);
    if (found == part.end()) return;
    use.models += found->second.models;
    use.bytes += found->second.bytes;
  };
  add(uses_);
  add(to_come_);
  return use;
}

ModelUse Models::UseOf(const std::string& owner) const {
  const MutexLock finding(owners_mutex_);
  FindNewOwners();
  const MutexLock lock(mutex_);
  return UseNow(owner);
}

StatusOr<ModelClaim> Models::Reserve(const std::string& owner, const ModelUse& added,
                                     const ModelUse& most) {
  const MutexLock finding(owners_mutex_);
  while (true) {
    FindNewOwners();
    const MutexLock lock(mutex_);
    // A model published in the meantime may already have given its room back.
    if (!unowned_.empty()) continue;
    COPPICE_RETURN_IF_ERROR(CheckQuota(owner, UseNow(owner), added, most));
    return Hold(owner, added);
  }
}

ModelClaim Models::KeepRoom(const std::string& owner, const ModelUse& added) {
  const MutexLock lock(mutex_);
  return Hold(owner, added);
}

ModelClaim Models::Hold(const std::string& owner, const ModelUse& added) {
  ModelUse& to_come = to_come_[owner];
  to_come.models += added.models;
  to_come.bytes += added.bytes;
  return ModelClaim([this, owner, added] { GiveBack(owner, added); });
}

void Models::GiveBack(const std::string& owner, const ModelUse& room) {
  const MutexLock lock(mutex_);
  ModelUse& to_come = to_come_[owner];
  to_come.models -= room.models;
  to_come.bytes -= room.bytes;
  if (to_come.models == 0 && to_come.bytes == 0) to_come_.erase(owner);
}

void Models::FindNewOwners() const {
  std::vector<std::pair<uint64_t, ModelSummary>> found;
  {
    const MutexLock lock(mutex_);
    for (const std::string& id : std::exchange(unowned_, {})) {
      const auto it = models_.find(id);
      if (it == models_.end() || it->second.owner.has_value()) continue;
      found.emplace_back(it->second.number, it->second.summary);
    }
  }
  for (const auto& [number, summary] : found) {
    std::string owner = owner_of_ ? owner_of_(summary.source) : "";
    const MutexLock lock(mutex_);
    const auto it = models_.find(summary.id);
    if (it == models_.end() || it->second.number != number) continue;
    ModelUse& use = uses_[owner];
    ++use.models;
    use.bytes += summary.bytes;
    it->second.owner = std::move(owner);
  }
}

}  // namespace coppice::models
