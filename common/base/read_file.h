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
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace coppice {

// The mark that may begin a text in UTF-8.
inline constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

inline absl::string_view WithoutByteOrderMark(absl::string_view text) {
  return absl::StripPrefix(text, kByteOrderMark);
}

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

// As ReadFile(), without the mark. InvalidArgument for UTF-16, which PowerShell's `>` writes.
inline absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text;
  if (absl::StartsWith(*text, "\xFF\xFE") || absl::StartsWith(*text, "\xFE\xFF")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": is text in UTF-16; save it as UTF-8, or convert it with `iconv -f "
                     "UTF-16 -t UTF-8`"));
  }
  if (absl::StartsWith(*text, kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_READ_FILE_H_
