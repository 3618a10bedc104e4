#include "server/curator/studies/catalog.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/study/study_sealing.h"
#include "server/store/models/model_record.h"

namespace coppice::curator {
namespace {

// The ID of a key "KIND/ID/".
std::string_view IdOfKey(std::string_view key, std::string_view prefix) {
  return StripSuffix(StripPrefix(key, prefix), "/");
}

}  // namespace

storage::StoreBatch RemovalOf(const Study& study, int64_t now_unix_seconds) {
  const std::string& id = study.id();
  storage::StoreBatch batch;
  for (const std::string& prefix : PrefixesToDelete(id)) batch.DeletePrefix(prefix);
  models::DeleteStudyModels(id, batch);
  batch.DeletePrefix(OutlivedPrefix(id));
  if (MustBePurged(study)) NoteErased(id, batch);
  batch.Put(TombstoneKey(id), EncodeTombstone(OriginOf(study), now_unix_seconds));
  return batch;
}

Status Catalog::Load(const storage::Store& store) {
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kStudyPrefix, [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Study> study,
                                 LoadStudy(store, IdOfKey(key, kStudyPrefix), bytes));
        Add(std::move(study));
        return OkStatus();
      }));
  return store.Scan(kTombstonePrefix, [&](std::string_view key, std::string_view bytes) {
    const std::string id(IdOfKey(key, kTombstonePrefix));
    COPPICE_ASSIGN_OR_RETURN(const StudyOrigin origin, DecodeTombstone(id, bytes));
    const MutexLock lock(mutex_);
    tombstones_.insert(id);
    study_of_request_[origin] = id;
    return OkStatus();
  });
}

void Catalog::Add(std::shared_ptr<Study> study) {
  const MutexLock lock(mutex_);
  study_of_request_[OriginOf(*study)] = study->id();
  studies_[study->id()] = std::move(study);
}

void Catalog::Remove(const Study& study) {
  const MutexLock lock(mutex_);
  tombstones_.insert(study.id());
  studies_.erase(study.id());
}

std::shared_ptr<Study> Catalog::Find(std::string_view id) const {
  const MutexLock lock(mutex_);
  return FindLocked(id);
}

Status Catalog::StoreCounts(storage::Store& store) const {
  storage::StoreBatch batch;
  std::vector<std::shared_ptr<Study>> studies = All();
  std::erase_if(studies, [](const std::shared_ptr<Study>& study) {
    return !study->committer().counts_are_behind || study->committer().store_is_behind;
  });
  for (const std::shared_ptr<Study>& study : studies) {
    batch.Put(CountsKey(study->id()), EncodeCounts(study->sums().counts()));
  }
  if (studies.empty()) return OkStatus();
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  for (const std::shared_ptr<Study>& study : studies) study->committer().counts_are_behind = false;
  return OkStatus();
}

std::shared_ptr<Study> Catalog::FindLocked(std::string_view id) const {
  const auto it = studies_.find(id);
  return it == studies_.end() ? nullptr : it->second;
}

StatusOr<std::shared_ptr<Study>> Catalog::Get(std::string_view id) const {
  std::shared_ptr<Study> study = Find(id);
  if (study == nullptr) return NotFoundError(StrCat("there is no study ", id));
  return study;
}

std::vector<StudyInfo> Catalog::List(const Page& page) const {
  std::vector<StudyInfo> infos;
  const MutexLock lock(mutex_);
  for (auto it = studies_.upper_bound(page.after);
       it != studies_.end() && infos.size() < PageSize(page); ++it) {
    infos.push_back(it->second->Info());
  }
  return infos;
}

std::vector<std::shared_ptr<Study>> Catalog::All() const {
  std::vector<std::shared_ptr<Study>> all;
  const MutexLock lock(mutex_);
  for (const auto& [id, study] : studies_) all.push_back(study);
  return all;
}

StatusOr<std::shared_ptr<Study>> Catalog::MadeBy(const StudyOrigin& origin,
                                                 std::string_view request_hash) const {
  const MutexLock lock(mutex_);
  const auto it = study_of_request_.find(origin);
  if (it == study_of_request_.end()) return nullptr;
  std::shared_ptr<Study> study = FindLocked(it->second);
  if (study == nullptr) {
    return AlreadyExistsError(
        StrCat("request_id: the study ", it->second, " that it made was deleted; choose another"));
  }
  if (study->definition().request_hash != request_hash) {
    return AlreadyExistsError(StrCat("request_id: it made the study ", it->second,
                                     " from another request; choose another"));
  }
  return study;
}

bool Catalog::HasRequest(const StudyOrigin& origin) const {
  const MutexLock lock(mutex_);
  return study_of_request_.contains(origin);
}

Status Catalog::CheckQuota(const std::string& owner, uint64_t most) const {
  if (most == 0) return OkStatus();
  const MutexLock lock(mutex_);
  const auto owned =
      static_cast<uint64_t>(std::count_if(studies_.begin(), studies_.end(), [&](const auto& study) {
        return study.second->definition().owner == owner;
      }));
  if (owned < most) return OkStatus();
  return ResourceExhaustedError(StrCat(owner, " may have ", most, most == 1 ? " study" : " studies",
                                       ", and has: delete one first"));
}

Status Catalog::CheckUnused(std::string_view id) const {
  const MutexLock lock(mutex_);
  if (tombstones_.contains(id)) {
    return AlreadyExistsError(
        StrCat("study_id: the study ", id, " was deleted, and ids are never used again"));
  }
  if (studies_.contains(id)) {
    return AlreadyExistsError(StrCat("study_id: there is a study ", id, " already"));
  }
  return OkStatus();
}

}  // namespace coppice::curator
