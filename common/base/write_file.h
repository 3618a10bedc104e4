// Writes a file completely or not at all, even if the process is interrupted.

#ifndef COPPICE_COMMON_BASE_WRITE_FILE_H_
#define COPPICE_COMMON_BASE_WRITE_FILE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

struct WriteOptions {
  bool replace = false;          // whether an existing file may be replaced
  std::optional<mode_t> mode{};  // exactly this; 0666 less the process's mask if not given
};

// Only the owner may read or write the file.
inline constexpr mode_t kSecretFileMode = 0600;

// Writes `bytes` beside `path` and gives them its name in one step: a reader finds the old file or
// the new one, never a part. Until then only the owner may open what is written. The bytes are on
// disk (fsync) before they get the name, and the name is on disk when the function returns, unless
// the folder cannot be opened for reading.
//
// Errors     AlreadyExists if the file exists and may not be replaced; Unavailable if the file
//            system refuses. Both name the file, and leave nothing behind.
Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                           const WriteOptions& options = {});

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_WRITE_FILE_H_
