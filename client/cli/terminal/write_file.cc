#include "client/cli/terminal/write_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice::cli {
namespace {

absl::Status WriteError(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

absl::Status AlreadyThere(const std::string& path) {
  return absl::AlreadyExistsError(
      absl::StrCat(path, " exists already; name another file, or give --force to replace it"));
}

absl::Status WriteAndSync(int descriptor, const std::string& path, absl::string_view bytes,
                          mode_t mode) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return WriteError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  if (fchmod(descriptor, mode) != 0 || fsync(descriptor) != 0) {
    return WriteError(path, errno);
  }
  return absl::OkStatus();
}

// link() refuses to replace a file, rename() does not.
absl::Status GiveName(const std::string& temporary, const std::string& path, bool replace) {
  if (replace) {
    return rename(temporary.c_str(), path.c_str()) == 0 ? absl::OkStatus()
                                                        : WriteError(path, errno);
  }
  if (link(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return errno == EEXIST ? AlreadyThere(path) : WriteError(path, errno);
}

absl::Status Write(const std::string& path, absl::string_view bytes, bool replace, mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int descriptor = mkstemp(temporary.data());  // its owner's alone so far
  if (descriptor < 0) return WriteError(path, errno);
  absl::Status status = WriteAndSync(descriptor, path, bytes, mode);
  close(descriptor);
  if (status.ok()) status = GiveName(temporary, path, replace);
  unlink(temporary.c_str());  // Gone already after rename().
  return status;
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes, bool replace) {
  const mode_t mask = umask(0);
  umask(mask);
  return Write(path, bytes, replace, 0666 & ~mask);
}

absl::Status WriteSecretAtomically(const std::string& path, absl::string_view bytes, bool replace) {
  return Write(path, bytes, replace, 0600);
}

}  // namespace coppice::cli
