// The catalog of one curator's studies.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_
#define COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_record.h"
#include "server/store/store.h"

namespace coppice::curator {

// The writes that delete a study with its data and its models, and leave a tombstone.
storage::StoreBatch RemovalOf(const Study& study, int64_t now_unix_seconds);

// The existing studies, by id and by the request that made them, and the ids of deleted ones.
//
// Threads  safe to share.
class Catalog {
 public:
  // Adds every study and tombstone of the store. DataLoss if one does not parse or add up.
  Status Load(const storage::Store& store);

  // Writes rejections that no group has written. Skips a study while the store may be ahead of
  // memory, since its counts must be written with everything else. Runs on the committer.
  Status StoreCounts(storage::Store& store) const;

  void Add(std::shared_ptr<Study> study);
  // Replaces the study by a tombstone.
  void Remove(const Study& study);

  // Null if there is no such study.
  std::shared_ptr<Study> Find(std::string_view id) const;
  // As Find(), but NotFound, naming the id, if there is none.
  StatusOr<std::shared_ptr<Study>> Get(std::string_view id) const;
  std::vector<StudyInfo> List(const Page& page) const;
  std::vector<std::shared_ptr<Study>> All() const;

  // The study that this request made, or null if it made none. AlreadyExists if the request had
  // another hash than `request_hash` or the study was deleted.
  StatusOr<std::shared_ptr<Study>> MadeBy(const StudyOrigin& origin,
                                          std::string_view request_hash) const;
  // Whether there was a study of this id, which was deleted.
  bool WasDeleted(std::string_view id) const {
    const MutexLock lock(mutex_);
    return tombstones_.find(id) != tombstones_.end();
  }
  // The number of studies.
  size_t size() const {
    const MutexLock lock(mutex_);
    return studies_.size();
  }
  // Whether this request made a study, deleted or not.
  bool HasRequest(const StudyOrigin& origin) const;
  // ResourceExhausted if `owner` has `most` studies or more; 0 means no limit.
  Status CheckQuota(const std::string& owner, uint64_t most) const;
  // AlreadyExists if a study has or had this id.
  Status CheckUnused(std::string_view id) const;

 private:
  std::shared_ptr<Study> FindLocked(std::string_view id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  StringMap<std::shared_ptr<Study>> studies_ ABSL_GUARDED_BY(mutex_);
  // By the request that made them; includes ids of deleted studies.
  absl::btree_map<StudyOrigin, std::string> study_of_request_ ABSL_GUARDED_BY(mutex_);
  // The ids of deleted studies.
  StringSet tombstones_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_
