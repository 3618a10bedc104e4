// The disk under an epoch, as a seam: tests replace it by one that fails and loses power.

#ifndef COPPICE_SERVER_RELAY_EPOCH_DISK_H_
#define COPPICE_SERVER_RELAY_EPOCH_DISK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace coppice::relay {

// An open file.
//
// Errors     as Disk. DataLoss: a read beyond its end, or of bytes that the disk has lost.
//            Unavailable: another process has the lock.
// Threads    safe to share.
class DiskFile {
 public:
  virtual ~DiskFile() = default;

  // Excludes everybody else who locks the file, until this object or its process ends.
  virtual Status Lock() = 0;
  virtual StatusOr<uint64_t> Size() const = 0;
  // Identifies the file: renaming or writing keeps the identity, and no copy has the same one.
  virtual StatusOr<std::string> Identity() const = 0;
  virtual StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const = 0;
  // Reserves space, so that no write below `bytes` fails for lack of it. New bytes are zeros.
  virtual Status Allocate(uint64_t bytes) = 0;
  virtual Status Write(uint64_t offset, std::string_view bytes) = 0;
  // When it returns OK, everything written survives a power cut.
  virtual Status Sync() = 0;
};

// Guarantee  new files and folders are for their owner alone. Names survive a power cut once their
//            folder is synced.
// Errors     all name the path. NotFound, AlreadyExists. ResourceExhausted: the disk is full.
//            Unavailable: the file system refuses.
// Threads    safe to share.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual StatusOr<std::unique_ptr<DiskFile>> CreateFile(const std::string& path) = 0;
  virtual StatusOr<std::unique_ptr<DiskFile>> OpenFile(const std::string& path) = 0;
  virtual Status RemoveFile(const std::string& path) = 0;

  virtual Status CreateFolder(const std::string& path) = 0;
  // Removes an empty folder.
  virtual Status RemoveFolder(const std::string& path) = 0;
  // AlreadyExists if `to` exists.
  virtual Status RenameFolder(const std::string& from, const std::string& to) = 0;
  virtual Status SyncFolder(const std::string& path) = 0;
  // Returns the names in a folder, sorted.
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) const = 0;
};

Disk& RealDisk();

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_DISK_H_
