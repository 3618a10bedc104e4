// The studies of one curator, by id.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_
#define COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_record.h"
#include "server/storage/store.h"

namespace coppice::curator {

// The studies that there are, by id and by the request that made them, and the ids of those that
// were deleted.
//
// Threads  safe to share.
class Catalog {
 public:
  // Adds every study and tombstone of the store. DataLoss if one does not parse or add up.
  absl::Status Load(const storage::Store& store);

  // Runs on the committer. Writes the rejections that no group has written. While the store may
  // hold more of a study than memory does, its counts are written with everything else, or not.
  absl::Status StoreCounts(storage::Store& store) const;

  void Add(std::shared_ptr<Study> study);
  // Leaves a tombstone.
  void Remove(const Study& study);

  // Null if there is none.
  std::shared_ptr<Study> Find(absl::string_view id) const;
  // NotFound names the id.
  absl::StatusOr<std::shared_ptr<Study>> Get(absl::string_view id) const;
  std::vector<StudyInfo> List(const Page& page) const;
  std::vector<std::shared_ptr<Study>> All() const;

  // The study that this request made, null if it made none. AlreadyExists if that request was not
  // the one of `request_hash`, or if the study was deleted.
  absl::StatusOr<std::shared_ptr<Study>> MadeBy(const StudyOrigin& origin,
                                                absl::string_view request_hash) const;
  // ResourceExhausted if `owner` has `most` studies or more; 0 is no limit.
  absl::Status CheckQuota(const std::string& owner, uint64_t most) const;
  // AlreadyExists if a study has or had this id.
  absl::Status CheckUnused(absl::string_view id) const;

 private:
  std::shared_ptr<Study> FindLocked(absl::string_view id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::btree_map<std::string, std::shared_ptr<Study>> studies_ ABSL_GUARDED_BY(mutex_);
  // By what made them, also ids of deleted studies.
  absl::btree_map<StudyOrigin, std::string> study_of_request_ ABSL_GUARDED_BY(mutex_);
  // The ids of deleted studies.
  absl::btree_set<std::string> tombstones_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_CATALOG_H_
