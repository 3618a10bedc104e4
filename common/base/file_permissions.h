// Tells whether everybody on the machine can read or change a file that holds a secret.

#ifndef COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_
#define COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_

#include <filesystem>
#include <string>
#include <system_error>

namespace coppice {

// Checks the file's own mode: the owner and the group may have access, as with mounted secrets. A
// folder above it may still keep others out; that is not checked. False for a missing file; opening
// it reports the error.
inline bool IsWorldAccessible(const std::string& path) {
  using std::filesystem::perms;
  std::error_code error;
  const perms mode = std::filesystem::status(path, error).permissions();
  if (error || mode == perms::unknown) return false;
  return (mode & (perms::others_read | perms::others_write)) != perms::none;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_
