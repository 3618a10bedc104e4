// What an owner's datasets may take: Datasets::Reserve(), Release() and CheckNumber().

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/datasets.h"

namespace coppice::central {

Status Datasets::Reserve(const std::string& owner, uint64_t added, uint64_t most,
                         Reservation& reservation) {
  const MutexLock lock(mutex_);
  const auto reserved = reserved_bytes_.find(owner);
  uint64_t bytes = added + (reserved == reserved_bytes_.end() ? 0 : reserved->second);
  for (const auto& [id, dataset] : datasets_) {
    if (dataset.entry.owner == owner) bytes += BytesOf(dataset.entry);
  }
  if (most != 0 && bytes > most) {
    return ResourceExhaustedError(StrCat("rows: the rows and schemas of the datasets of ", owner,
                                         " would have ", bytes, " bytes, and its quota is ", most,
                                         ": delete one first"));
  }
  reserved_bytes_[owner] += added;
  reservation.owner_ = owner;
  reservation.bytes_ = added;
  return OkStatus();
}

void Datasets::Release(Reservation& reservation) {
  if (reservation.bytes_ == 0) return;
  const auto reserved = reserved_bytes_.find(reservation.owner_);
  reserved->second -= reservation.bytes_;
  if (reserved->second == 0) reserved_bytes_.erase(reserved);
  reservation.bytes_ = 0;
}

Status Datasets::CheckNumber(const std::string& owner, uint64_t most) const {
  if (most == 0) return OkStatus();
  uint64_t owned = 0;
  const MutexLock lock(mutex_);
  for (const auto& [id, dataset] : datasets_) {
    owned += dataset.entry.owner == owner && dataset.entry.state != DatasetState::kDeleted;
  }
  if (owned < most) return OkStatus();
  return ResourceExhaustedError(StrCat(owner, " may have ", most,
                                       most == 1 ? " dataset" : " datasets",
                                       ", and has: delete one first"));
}

}  // namespace coppice::central
