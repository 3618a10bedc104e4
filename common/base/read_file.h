// Reads a small file at once.
//
// A file that people or scripts write is text, and goes through ReadTextFile(): editors on Windows
// put a byte order mark before it, which nobody sees.

#ifndef COPPICE_COMMON_BASE_READ_FILE_H_
#define COPPICE_COMMON_BASE_READ_FILE_H_

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {

// The mark that may begin a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

inline std::string_view WithoutByteOrderMark(std::string_view text) {
  return StripPrefix(text, kByteOrderMark);
}

// NotFound, naming the file and the reason: it is missing, unreadable, a folder, or empty.
inline StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  // Opening a folder succeeds; reading it fails here.
  if (!file || !(bytes << file.rdbuf())) {
    return NotFoundError(
        StrCat(path, ": cannot be read (", errno != 0 ? std::strerror(errno) : "it is empty", ")"));
  }
  return std::move(bytes).str();
}

// As ReadFile(), without the mark. InvalidArgument for UTF-16, which PowerShell's `>` writes.
inline StatusOr<std::string> ReadTextFile(const std::string& path) {
  StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text;
  if (StartsWith(*text, "\xFF\xFE") || StartsWith(*text, "\xFE\xFF")) {
    return InvalidArgumentError(
        StrCat(path,
               ": is text in UTF-16; save it as UTF-8, or convert it with `iconv -f "
               "UTF-16 -t UTF-8`"));
  }
  if (StartsWith(*text, kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_READ_FILE_H_
