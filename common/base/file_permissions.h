// Whether a file that holds a secret can be read, or changed, by everybody on the machine.

#ifndef COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_
#define COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_

#include <filesystem>
#include <string>
#include <system_error>

namespace coppice {

// By its own mode: its owner and the group that the owner gave it to may, since mounted secrets
// come so. A folder above it may keep others out all the same; that is not looked at. Not of a file
// that is not there: whoever opens it says so.
inline bool IsWorldAccessible(const std::string& path) {
  using std::filesystem::perms;
  std::error_code error;
  const perms mode = std::filesystem::status(path, error).permissions();
  if (error || mode == perms::unknown) return false;
  return (mode & (perms::others_read | perms::others_write)) != perms::none;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_FILE_PERMISSIONS_H_
