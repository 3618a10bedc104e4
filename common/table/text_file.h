// Reads UTF-8 text line by line, in bounded memory whatever it contains: a file, or what comes from
// elsewhere.

#ifndef COPPICE_COMMON_TABLE_TEXT_FILE_H_
#define COPPICE_COMMON_TABLE_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice {

// Checks that bytes are well-formed UTF-8, however they are cut into pieces.
class Utf8Check {
 public:
  // Returns where the first bad character of `piece` begins (0 if in an earlier piece), or npos.
  size_t FindBad(std::string_view piece);
  // Whether a character has begun and not ended.
  bool InCharacter() const { return more_ > 0; }

 private:
  bool Take(unsigned char byte);

  size_t taken_ = 0;  // bytes of the current character so far
  int more_ = 0;      // bytes that it still needs; the next is in [lowest_, highest_]
  unsigned char lowest_ = 0x80, highest_ = 0xBF;
};

// Where text comes from: fills the buffer as far as it can and returns how many bytes it holds, 0
// at the end.
struct TextSource {
  std::string name;  // for messages: a path, or what a person would call it
  std::function<StatusOr<size_t>(absl::Span<char> buffer)> read;
};

// NotFound for a missing file.
StatusOr<TextSource> OpenTextSource(const std::string& path);

// Errors     those of the source. ResourceExhausted above `max_bytes`. InvalidArgument for text in
//            another encoding (UTF-16, Latin-1) and for a NUL byte, with line and byte and the
//            command that converts the file.
// Threads    not thread-safe.
class TextFile {
 public:
  static StatusOr<TextFile> Open(const std::string& path, uint64_t max_bytes);
  static StatusOr<TextFile> Open(TextSource source, uint64_t max_bytes);

  // Returns the next line with its line feed, or as much as fits the buffer: a piece ends a line
  // only if it ends in '\n' or is the last. Empty at the end of the file. Valid until the next
  // call. Skips a byte order mark at the start.
  StatusOr<std::string_view> Next();

  // The line number of the last piece, from 1.
  uint64_t line() const { return line_; }

  // Returns `status` with "name:line: " before its message; OK stays OK.
  Status At(uint64_t line, const Status& status) const;

 private:
  TextFile(TextSource source, uint64_t max_bytes);
  Status Fill();
  Status CheckEncoding(std::string_view piece);
  // InvalidArgument: `what` is wrong at `byte` of the piece, counted from 0, which suggests the
  // encoding `encoding`.
  Status NotUtf8(size_t byte, std::string_view what, std::string_view encoding) const;

  TextSource source_;
  uint64_t bytes_left_;
  std::vector<char> buffer_;
  std::string_view unread_;  // the rest of the buffer
  uint64_t line_ = 0;
  uint64_t line_bytes_ = 0;  // bytes of the line that were returned
  bool line_ended_ = true;
  Utf8Check utf8_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_TEXT_FILE_H_
