#include "server/relay/epoch/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::relay {
namespace {

Status DiskError(std::string_view what, const std::string& path, int error) {
  const std::string message = StrCat(path, ": cannot be ", what, " (", std::strerror(error), ")");
  switch (error) {
    case ENOENT:
      return NotFoundError(message);
    case EEXIST:
    case ENOTEMPTY:
      return AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ResourceExhaustedError(message);
    case EIO:
      if (what == "read") return DataLossError(message);
      [[fallthrough]];
    default:
      return UnavailableError(message);
  }
}

class PosixFile final : public DiskFile {
 public:
  // Owns the descriptor.
  PosixFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~PosixFile() override { close(descriptor_); }

  Status Lock() override {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return OkStatus();
    if (errno != EWOULDBLOCK) return DiskError("locked", path_, errno);
    return UnavailableError(
        StrCat(path_, ": another process has it; each relay needs a folder of its own"));
  }

  StatusOr<uint64_t> Size() const override {
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0) return DiskError("read", path_, errno);
    return static_cast<uint64_t>(facts.st_size);
  }

  // The inode number alone could soon belong to another file.
  StatusOr<std::string> Identity() const override {
    struct statx facts {};
    if (statx(descriptor_, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0) {
      return DiskError("read", path_, errno);
    }
    const bool is_dated = (facts.stx_mask & STATX_BTIME) != 0;
    return StrCat(facts.stx_ino, " ", is_dated ? facts.stx_btime.tv_sec : 0, " ",
                  is_dated ? facts.stx_btime.tv_nsec : 0);
  }

  StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const override {
    std::string read(bytes, '\0');
    for (size_t at = 0; at < read.size();) {
      const ssize_t count =
          pread(descriptor_, read.data() + at, read.size() - at, static_cast<off_t>(offset + at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return DiskError("read", path_, errno);
      if (count == 0) return DataLossError(StrCat(path_, ": it ends too early"));
      at += static_cast<size_t>(count);
    }
    return read;
  }

  Status Allocate(uint64_t bytes) override {
    const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
    return error == 0 ? OkStatus() : DiskError("given its space", path_, error);
  }

  Status Write(uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return DiskError("written", path_, errno);
      offset += static_cast<uint64_t>(count);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return OkStatus();
  }

  Status Sync() override {
    return fdatasync(descriptor_) == 0 ? OkStatus() : DiskError("synced", path_, errno);
  }

 private:
  const int descriptor_;
  const std::string path_;
};

class PosixDisk final : public Disk {
 public:
  StatusOr<std::unique_ptr<DiskFile>> CreateFile(const std::string& path) override {
    return Open(path, O_CREAT | O_EXCL, "made");
  }
  StatusOr<std::unique_ptr<DiskFile>> OpenFile(const std::string& path) override {
    return Open(path, 0, "opened");
  }
  Status RemoveFile(const std::string& path) override {
    return unlink(path.c_str()) == 0 ? OkStatus() : DiskError("removed", path, errno);
  }
  Status CreateFolder(const std::string& path) override {
    return mkdir(path.c_str(), 0700) == 0 ? OkStatus() : DiskError("made", path, errno);
  }
  Status RemoveFolder(const std::string& path) override {
    return rmdir(path.c_str()) == 0 ? OkStatus() : DiskError("removed", path, errno);
  }

  Status RenameFolder(const std::string& from, const std::string& to) override {
    // rename() replaces an empty folder, and no other process makes one here.
    if (access(to.c_str(), F_OK) == 0) return DiskError("renamed to", to, EEXIST);
    return rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : DiskError("renamed", from, errno);
  }

  Status SyncFolder(const std::string& path) override {
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return DiskError("opened", path, errno);
    // EINVAL: the file system has nothing to sync.
    const int error = fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
    close(folder);
    return error == 0 ? OkStatus() : DiskError("synced", path, error);
  }

  StatusOr<std::vector<std::string>> List(const std::string& path) const override {
    DIR* const folder = opendir(path.c_str());
    if (folder == nullptr) return DiskError("opened", path, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    const int error = errno;
    closedir(folder);
    if (error != 0) return DiskError("read", path, error);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  static StatusOr<std::unique_ptr<DiskFile>> Open(const std::string& path, int flags,
                                                  std::string_view what) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (descriptor < 0) return DiskError(what, path, errno);
    return std::make_unique<PosixFile>(descriptor, path);
  }
};

}  // namespace

Disk& RealDisk() {
  static PosixDisk& disk = *new PosixDisk();
  return disk;
}

}  // namespace coppice::relay
