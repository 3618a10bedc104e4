#include "client/device/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status FileError(std::string_view doing, const std::string& path, int error) {
  const std::string message =
      StrCat("cannot ", doing, " the journal ", path, ": ", std::strerror(error));
  const bool no_room = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return no_room ? ResourceExhaustedError(StrCat(message, "; make room and try again"))
                 : UnavailableError(message);
}

Status InUse(const std::string& path) {
  return UnavailableError(
      StrCat("the journal ", path, " is in use by another process; wait until it is done"));
}

Status SeveralNames(const std::string& path) {
  return FailedPreconditionError(
      StrCat("the journal ", path,
             " has several names, of which one would go on leading to what "
             "is written anew under the other; remove all but one"));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Enough of a file's last bytes to tell it from another of its size: they hold a frame's check.
std::string EndOf(std::string_view bytes) {
  constexpr size_t kEndBytes = 64;
  return std::string(bytes.substr(bytes.size() - std::min(bytes.size(), kEndBytes)));
}

Status LockFile(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return OkStatus();
  return errno == EWOULDBLOCK ? InUse(path) : FileError("lock", path, errno);
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

// Overwrites what a file has with zeros, so that its blocks keep nothing when they are free. Leaves
// alone what is no file, and one whose other name may be somebody else's.
Status Overwrite(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return FileError("look at", path, errno);
  if (!S_ISREG(status.st_mode) || status.st_nlink > 1) return OkStatus();
  const std::string zeros(size_t{1} << 16, '\0');
  const auto size = static_cast<uint64_t>(status.st_size);
  for (uint64_t at = 0; at < size; at += zeros.size()) {
    const size_t bytes = std::min<uint64_t>(zeros.size(), size - at);
    ssize_t written = 0;
    do {
      written = pwrite(descriptor, zeros.data(), bytes, static_cast<off_t>(at));
    } while (written < 0 && errno == EINTR);
    if (written != static_cast<ssize_t>(bytes)) return FileError("overwrite", path, errno);
  }
  return fdatasync(descriptor) == 0 ? OkStatus() : FileError("sync", path, errno);
}

// Whether `name` in the folder leads to the open file.
bool Names(int folder, const std::string& name, int descriptor) {
  struct stat opened {};
  struct stat named {};
  return fstat(descriptor, &opened) == 0 &&
         fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// The file that a link leads to, as the link must stay one; the path itself where it is none.
StatusOr<std::string> Resolve(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> resolved(realpath(path.c_str(), nullptr), std::free);
  if (resolved == nullptr) return FileError("follow the link that is", path, errno);
  return std::string(resolved.get());
}

}  // namespace

std::string JournalFile::Place::name() const { return path.substr(path.rfind('/') + 1); }
std::string JournalFile::Place::new_name() const { return name() + ".new"; }

JournalFile::JournalFile(JournalFile&& other) noexcept
    : place_(std::exchange(other.place_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(std::move(other.end_)),
      size_(other.size_),
      broken_(other.broken_) {}

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (place_.folder >= 0) close(place_.folder);
}

// ---- Opening

StatusOr<JournalFile> JournalFile::Open(const std::string& path, std::string_view first_bytes) {
  COPPICE_ASSIGN_OR_RETURN(const std::string resolved, Resolve(path));
  const int folder = open(FolderOf(resolved).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return FileError("open the folder of", path, errno);
  JournalFile file({.folder = folder, .path = resolved});
  const int descriptor =
      openat(folder, file.place_.name().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno != ENOENT) return FileError("open", path, errno);
  COPPICE_RETURN_IF_ERROR(descriptor < 0 ? file.CreateNew(first_bytes)
                                         : file.OpenExisting(descriptor));
  return file;
}

Status JournalFile::OpenExisting(int descriptor) {
  descriptor_ = descriptor;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return FileError("look at", place_.path, errno);
  if (!S_ISREG(status.st_mode)) {
    return UnavailableError(StrCat("the journal ", place_.path, " is not a regular file"));
  }
  COPPICE_RETURN_IF_ERROR(LockFile(descriptor, place_.path));
  if (fstat(descriptor, &status) != 0) return FileError("look at", place_.path, errno);
  size_ = static_cast<uint64_t>(status.st_size);
  // Its owner may have put another file in its place (Replace()) between open() and the lock.
  if (!IsWhereItWas()) return InUse(place_.path);
  if (!HasOneName()) return SeveralNames(place_.path);
  return RemoveLeftOver();
}

// The process that creates a journal holds a lock on the file under the new name, so that two
// processes cannot both find that there is no journal.
Status JournalFile::CreateNew(std::string_view bytes) {
  COPPICE_RETURN_IF_ERROR(RemoveLeftOver());
  COPPICE_ASSIGN_OR_RETURN(descriptor_, MakeNewFile(bytes));
  if (faccessat(place_.folder, place_.name().c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    unlinkat(place_.folder, place_.new_name().c_str(), 0);
    return InUse(place_.path);
  }
  size_ = bytes.size();
  end_ = EndOf(bytes);
  if (renameat(place_.folder, place_.new_name().c_str(), place_.folder, place_.name().c_str()) !=
      0) {
    const int error = errno;
    unlinkat(place_.folder, place_.new_name().c_str(), 0);
    return FileError("name", place_.path, error);
  }
  return SyncFolder();
}

StatusOr<int> JournalFile::MakeNewFile(std::string_view bytes) {
  const std::string name = place_.new_name();
  const int descriptor =
      openat(place_.folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    return errno == EEXIST ? InUse(place_.path) : FileError("write anew", place_.path, errno);
  }
  Status made = LockFile(descriptor, place_.path);
  // Another process may have taken it for a left-over before it was locked, and removed it.
  if (made.ok() && !Names(place_.folder, name, descriptor)) made = InUse(place_.path);
  if (!made.ok()) {
    close(descriptor);
    return made;
  }
  made = WriteDurably(descriptor, place_.path, 0, bytes);
  if (made.ok()) return descriptor;
  DropNewFile(descriptor);
  return made;
}

// An error of what led here is returned in any case.
void JournalFile::DropNewFile(int descriptor) const {
  (void)Overwrite(descriptor, place_.path);
  unlinkat(place_.folder, place_.new_name().c_str(), 0);
  close(descriptor);
}

Status JournalFile::RemoveLeftOver() {
  const std::string name = place_.new_name();
  const int left =
      openat(place_.folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (left < 0 && errno == ENOENT) return OkStatus();
  Status removed;
  if (left >= 0) {
    removed = LockFile(left, place_.path);  // a process that creates the journal has it
    if (removed.ok()) removed = Overwrite(left, place_.path);
  }
  if (removed.ok() && unlinkat(place_.folder, name.c_str(), 0) != 0 && errno != ENOENT) {
    removed = FileError("remove what was left beside", place_.path, errno);
  }
  if (left >= 0) close(left);
  return removed;
}

// ---- Writing

StatusOr<std::string> JournalFile::ReadAll() {
  std::string bytes(size_, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("read", place_.path, errno);
    if (count == 0) return FileError("read all of", place_.path, EIO);
    done += static_cast<size_t>(count);
  }
  end_ = EndOf(bytes);
  return bytes;
}

Status JournalFile::Write(const JournalWrite& write) {
  COPPICE_RETURN_IF_ERROR(CheckUsable());
  return write.kind == JournalWrite::Kind::kAppend ? Append(write.bytes) : Replace(write.bytes);
}

Status JournalFile::Append(std::string_view bytes) {
  Status written = WriteDurably(descriptor_, place_.path, size_, bytes);
  if (written.ok()) {
    size_ += bytes.size();
    end_ = EndOf(bytes);
  } else {
    broken_ = !Truncate(size_).ok();
  }
  return written;
}

// The names are exchanged, so that a crash at any moment leaves the old file under the new name,
// where the next opening overwrites it, and not as blocks without a name. A file system that cannot
// do that drops the old name; this process still has the file open to overwrite it.
Status JournalFile::TakeName() {
  const std::string name = place_.name(), new_name = place_.new_name();
  if (renameat2(place_.folder, new_name.c_str(), place_.folder, name.c_str(), RENAME_EXCHANGE) ==
          0 ||
      renameat(place_.folder, new_name.c_str(), place_.folder, name.c_str()) == 0) {
    return OkStatus();
  }
  return FileError("rename", place_.path, errno);
}

Status JournalFile::Replace(std::string_view bytes) {
  // A second name would go on leading to the old file, which nobody locks: what is spent by one
  // name would not be known by the other.
  if (!HasOneName()) return SeveralNames(place_.path);
  COPPICE_RETURN_IF_ERROR(RemoveLeftOver());
  COPPICE_ASSIGN_OR_RETURN(const int descriptor, MakeNewFile(bytes));
  if (const Status named = TakeName(); !named.ok()) {
    DropNewFile(descriptor);
    return named;
  }
  const int old = std::exchange(descriptor_, descriptor);
  size_ = bytes.size();
  end_ = EndOf(bytes);
  // A crash may leave either file, which does not matter until more is appended to the new one.
  const Status synced = SyncFolder();
  broken_ = !synced.ok();
  // Where overwriting fails, the old file keeps the new name, and the next call tries again.
  if (synced.ok() && Overwrite(old, place_.path).ok()) {
    unlinkat(place_.folder, place_.new_name().c_str(), 0);
  }
  close(old);
  return synced;
}

Status JournalFile::Truncate(uint64_t size) {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    return FileError("truncate", place_.path, errno);
  }
  if (fdatasync(descriptor_) != 0) return FileError("sync", place_.path, errno);
  size_ = size;
  end_.clear();  // the bytes that now come last were checked when they were read or appended
  return OkStatus();
}

Status JournalFile::SyncFolder() const {
  return fsync(place_.folder) == 0 ? OkStatus()
                                   : FileError("sync the folder of", place_.path, errno);
}

// ---- What the file must still be

bool JournalFile::IsWhereItWas() const {
  struct stat opened {};
  return Names(place_.folder, place_.name(), descriptor_) && fstat(descriptor_, &opened) == 0 &&
         static_cast<uint64_t>(opened.st_size) == size_;
}

bool JournalFile::HasOneName() const {
  struct stat opened {};
  return fstat(descriptor_, &opened) == 0 && opened.st_nlink == 1;
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
      StrCat("the journal ", place_.path,
             " was changed, replaced or removed while it was open; find out by what, restore the "
             "newest copy, and open it again"));
}

Status JournalFile::CheckUsable() const {
  if (!broken_) return CheckUntouched();
  return UnavailableError(
      StrCat("an earlier write to the journal ", place_.path, " failed; open it again"));
}

}  // namespace coppice
