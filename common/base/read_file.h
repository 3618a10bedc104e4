// Reads a small file at once.

#ifndef COPPICE_COMMON_BASE_READ_FILE_H_
#define COPPICE_COMMON_BASE_READ_FILE_H_

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace coppice {

// NotFound, naming the file and the reason: it is missing, unreadable, a folder, or empty.
inline absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  // Opening a folder succeeds; reading it fails here.
  if (!file || !(bytes << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat(
        path, ": cannot be read (", errno != 0 ? std::strerror(errno) : "it is empty", ")"));
  }
  return std::move(bytes).str();
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_READ_FILE_H_
