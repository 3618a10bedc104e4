#include "client/device/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// Ends the name of the file that Replace() writes. The next call overwrites what a crash left.
constexpr std::string_view kNewSuffix = ".new";

Status FileError(std::string_view doing, const std::string& path, int error) {
  const std::string message =
      StrCat("cannot ", doing, " the journal ", path, ": ", std::strerror(error));
  const bool no_room = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return no_room ? ResourceExhaustedError(StrCat(message, "; make room and try again"))
                 : UnavailableError(message);
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Enough of a file's last bytes to tell it from another of its size: they hold a frame's check.
std::string EndOf(std::string_view bytes) {
  constexpr size_t kEndBytes = 64;
  return std::string(bytes.substr(bytes.size() - std::min(bytes.size(), kEndBytes)));
}

Status Lock(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return OkStatus();
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return UnavailableError(
      StrCat("the journal ", path, " is in use by another process; wait until it is done"));
}

// Writes at `at`, and syncs the bytes to disk.
Status WriteDurably(int descriptor, const std::string& path, uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("write", path, errno);
    at += static_cast<uint64_t>(count);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return fdatasync(descriptor) == 0 ? OkStatus() : FileError("sync", path, errno);
}

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

StatusOr<JournalFile> JournalFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return FileError("open", path, errno);
  JournalFile file(path, descriptor);
  COPPICE_RETURN_IF_ERROR(Lock(descriptor, path));
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return UnavailableError(StrCat("the journal ", path, " is not a regular file"));
  }
  file.size_ = static_cast<uint64_t>(status.st_size);
  file.folder_ = open(DirectoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file.folder_ < 0) return FileError("open the folder of", path, errno);
  // Its owner may have put another file in its place (Replace()) between open() and the lock.
  if (!file.IsWhereItWas()) {
    return UnavailableError(
        StrCat("the journal ", path, " is in use by another process; wait until it is done"));
  }
  return file;
}

JournalFile::JournalFile(JournalFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      folder_(std::exchange(other.folder_, -1)),
      end_(std::move(other.end_)),
      size_(other.size_),
      broken_(other.broken_) {}

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (folder_ >= 0) close(folder_);
}

bool JournalFile::IsWhereItWas() const {
  struct stat opened {};
  struct stat named {};
  return fstat(descriptor_, &opened) == 0 &&
         fstatat(folder_, NameOf(path_).c_str(), &named, 0) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino && static_cast<uint64_t>(opened.st_size) == size_;
}

bool JournalFile::EndsAsLeft() const {
  std::string end(end_.size(), '\0');
  const auto at = static_cast<off_t>(size_ - end.size());
  return pread(descriptor_, end.data(), end.size(), at) == static_cast<ssize_t>(end.size()) &&
         end == end_;
}

Status JournalFile::CheckUntouched() const {
  if (IsWhereItWas() && EndsAsLeft()) return OkStatus();
  return FailedPreconditionError(
      StrCat("the journal ", path_,
             " was changed, replaced or removed while it was open; find out by what, restore "
             "the newest copy, and open it again"));
}

StatusOr<std::string> JournalFile::ReadAll() {
  std::string bytes(size_, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("read", path_, errno);
    if (count == 0) return FileError("read all of", path_, EIO);
    done += static_cast<size_t>(count);
  }
  end_ = EndOf(bytes);
  return bytes;
}

Status JournalFile::CheckUsable() const {
  if (!broken_) return CheckUntouched();
  return UnavailableError(
      StrCat("an earlier write to the journal ", path_, " failed; open it again"));
}

Status JournalFile::Append(std::string_view bytes) {
  COPPICE_RETURN_IF_ERROR(CheckUsable());
  Status written = WriteDurably(descriptor_, path_, size_, bytes);
  if (written.ok()) {
    size_ += bytes.size();
    end_ = EndOf(bytes);
  } else {
    broken_ = !Truncate(size_).ok();
  }
  return written;
}

Status JournalFile::PutInPlace(int descriptor, std::string_view bytes) const {
  const std::string name = NameOf(path_);
  COPPICE_RETURN_IF_ERROR(Lock(descriptor, path_));
  COPPICE_RETURN_IF_ERROR(WriteDurably(descriptor, path_, 0, bytes));
  if (renameat(folder_, StrCat(name, kNewSuffix).c_str(), folder_, name.c_str()) != 0) {
    return FileError("rename", path_, errno);
  }
  return OkStatus();
}

// A second name would go on leading to the old file, which nobody locks: what is spent by one name
// would not be known by the other.
bool JournalFile::HasOneName() const {
  struct stat named {};
  return fstatat(folder_, NameOf(path_).c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(named.st_mode) && named.st_nlink == 1;
}

Status JournalFile::Replace(std::string_view bytes) {
  COPPICE_RETURN_IF_ERROR(CheckUsable());
  if (!HasOneName()) {
    return FailedPreconditionError(
        StrCat("the journal ", path_,
               " is a link or has several names, so it cannot be written anew; give it one"));
  }
  const std::string name = StrCat(NameOf(path_), kNewSuffix);
  const int descriptor =
      openat(folder_, name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return FileError("write anew", path_, errno);
  if (Status put = PutInPlace(descriptor, bytes); !put.ok()) {
    close(descriptor);
    unlinkat(folder_, name.c_str(), 0);
    return put;
  }
  close(descriptor_);
  descriptor_ = descriptor;
  size_ = bytes.size();
  end_ = EndOf(bytes);
  // A crash may leave either file, which does not matter until more is appended to the new one.
  const Status synced = SyncDirectory();
  broken_ = !synced.ok();
  return synced;
}

Status JournalFile::Truncate(uint64_t size) {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    return FileError("truncate", path_, errno);
  }
  if (fdatasync(descriptor_) != 0) return FileError("sync", path_, errno);
  size_ = size;
  end_.clear();  // the bytes that now come last were checked when they were read or appended
  return OkStatus();
}

Status JournalFile::SyncDirectory() const {
  return fsync(folder_) == 0 ? OkStatus() : FileError("sync the folder of", path_, errno);
}

StatusOr<ProcessMark> ProcessMark::Make() {
  void* const page =
      mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, PageBytes(), MADV_WIPEONFORK) != 0) {
    const int error = errno;
    if (page != MAP_FAILED) munmap(page, PageBytes());
    return UnavailableError(
        StrCat("cannot tell this process from its children: ", std::strerror(error)));
  }
  *static_cast<unsigned char*>(page) = kMine;
  return ProcessMark(static_cast<unsigned char*>(page));
}

ProcessMark::ProcessMark(ProcessMark&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

ProcessMark::~ProcessMark() {
  if (page_ != nullptr) munmap(page_, PageBytes());
}

}  // namespace coppice
