// All of a small file at once.

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

// NotFound, naming the file and why: it is not there, must not be read, is a folder, or is empty.
inline absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  // Reading a folder opens well and fails here.
  if (!file || !(bytes << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat(
        path, ": cannot be read (", errno != 0 ? std::strerror(errno) : "it is empty", ")"));
  }
  return std::move(bytes).str();
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_READ_FILE_H_
