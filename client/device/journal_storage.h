// Where a journal's bytes are kept.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_STORAGE_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_STORAGE_H_

#include <cstdint>
#include <string>

#include "client/device/journal.h"
#include "common/base/status.h"

namespace coppice {

// Stores what a Journal writes.
//
// Guarantee  A write that returns OK is kept, as JournalFile or the caller of the C interface says;
//            one that fails leaves what was there.
// Threads    not safe to share.
class JournalStorage {
 public:
  virtual ~JournalStorage() = default;
  virtual StatusOr<std::string> ReadAll() = 0;
  virtual Status Write(const JournalWrite& write) = 0;
  // Cuts what is kept to its first `size` bytes.
  virtual Status Truncate(uint64_t size) = 0;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_STORAGE_H_
