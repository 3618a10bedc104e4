#include "server/daemon/operation/process.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace coppice::daemon {
namespace {

absl::Status PortFileError(const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("--port-file ", path, ": ", std::strerror(error),
                   "; name a file in a folder that the daemon may write to"));
}

}  // namespace

absl::Status WritePortFile(const std::string& path, int port) {
  std::string unfinished = absl::StrCat(path, ".XXXXXX");
  const int file = mkstemp(unfinished.data());  // O_EXCL: nobody made it before
  if (file < 0) return PortFileError(path, errno);
  const std::string text = absl::StrCat(port, "\n");
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fchmod(file, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) == 0;
  const bool placed = written && std::rename(unfinished.c_str(), path.c_str()) == 0;
  const int error = errno;
  close(file);
  if (placed) return absl::OkStatus();
  unlink(unfinished.c_str());
  return PortFileError(path, error);
}

}  // namespace coppice::daemon
