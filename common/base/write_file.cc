#include "common/base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status WriteError(const std::string& path, int error) {
  return UnavailableError(StrCat("cannot write ", path, ": ", std::strerror(error)));
}

// What the process's mask leaves of 0666. The mask can only be read by setting it.
mode_t MaskedMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

Status WriteAndSync(int descriptor, const std::string& path, std::string_view bytes, mode_t mode) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return WriteError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  if (fchmod(descriptor, mode) != 0 || fsync(descriptor) != 0) return WriteError(path, errno);
  return OkStatus();
}

// link() refuses to replace a file; rename() replaces it.
Status GiveName(const std::string& temporary, const std::string& path, bool replace) {
  const int failed =
      replace ? rename(temporary.c_str(), path.c_str()) : link(temporary.c_str(), path.c_str());
  if (failed == 0) return OkStatus();
  return !replace && errno == EEXIST ? AlreadyExistsError(StrCat(path, " exists already"))
                                     : WriteError(path, errno);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status SyncFolder(const std::string& path) {
  const int folder = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return OkStatus();
  // EINVAL: the file system does not support syncing folders.
  const int error = fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
  close(folder);
  return error == 0 ? OkStatus() : WriteError(path, error);
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                           const WriteOptions& options) {
  std::string temporary = StrCat(path, ".XXXXXX");
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // only its owner may open it
  if (descriptor < 0) return WriteError(path, errno);
  const mode_t mode = options.mode.has_value() ? *options.mode : MaskedMode();
  Status status = WriteAndSync(descriptor, path, bytes, mode);
  close(descriptor);
  if (status.ok()) status = GiveName(temporary, path, options.replace);
  unlink(temporary.c_str());  // gone already after rename()
  COPPICE_RETURN_IF_ERROR(status);
  return SyncFolder(path);
}

}  // namespace coppice
