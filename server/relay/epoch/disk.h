// The disk under an epoch, as a seam: tests put one there that fails and loses power.

#ifndef COPPICE_SERVER_RELAY_EPOCH_DISK_H_
#define COPPICE_SERVER_RELAY_EPOCH_DISK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice::relay {

// A file that is open.
//
// Errors     as Disk. DataLoss: a read beyond its end, or of what the disk has lost. Unavailable:
//            somebody else has the lock.
// Threads    safe to share.
class DiskFile {
 public:
  virtual ~DiskFile() = default;

  // Keeps everybody else out who asks for it, until this object or its process goes.
  virtual absl::Status Lock() = 0;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // What no copy has: it is given with the file, and stays when the file is renamed or written.
  virtual absl::StatusOr<std::string> Identity() const = 0;
  virtual absl::StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const = 0;
  // Reserves space, so that no write below `bytes` can fail for want of it. New bytes are zeros.
  virtual absl::Status Allocate(uint64_t bytes) = 0;
  virtual absl::Status Write(uint64_t offset, absl::string_view bytes) = 0;
  // What was written survives a power cut when this returns.
  virtual absl::Status Sync() = 0;
};

// Guarantee  what is made is for its owner alone. Names survive a power cut once their folder is
//            synced.
// Errors     All name the path. NotFound, AlreadyExists. ResourceExhausted: the disk is full.
//            Unavailable: the file system refuses.
// Threads    safe to share.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual absl::StatusOr<std::unique_ptr<DiskFile>> CreateFile(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<DiskFile>> OpenFile(const std::string& path) = 0;
  virtual absl::Status RemoveFile(const std::string& path) = 0;

  virtual absl::Status CreateFolder(const std::string& path) = 0;
  // An empty one.
  virtual absl::Status RemoveFolder(const std::string& path) = 0;
  // AlreadyExists if `to` does.
  virtual absl::Status RenameFolder(const std::string& from, const std::string& to) = 0;
  virtual absl::Status SyncFolder(const std::string& path) = 0;
  // The names in a folder, sorted.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& path) const = 0;
};

Disk& RealDisk();

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_DISK_H_
