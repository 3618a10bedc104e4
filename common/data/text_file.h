// A text file in UTF-8 line by line, in bounded memory whatever the file holds.

#ifndef COPPICE_COMMON_DATA_TEXT_FILE_H_
#define COPPICE_COMMON_DATA_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice {

// Whether bytes are well-formed UTF-8, however they are cut into pieces.
class Utf8Check {
 public:
  // Where the first character of `piece` that cannot be begins (0 if in the piece before), or npos.
  size_t FindBad(absl::string_view piece);
  // Whether a character was begun and not ended.
  bool InCharacter() const { return more_ > 0; }

 private:
  bool Take(unsigned char byte);

  size_t taken_ = 0;  // bytes of the character so far
  int more_ = 0;      // bytes that it still needs, the next of them from lowest_ to highest_
  unsigned char lowest_ = 0x80, highest_ = 0xBF;
};

// Errors     NotFound for a missing file; other failures to read by their errno. ResourceExhausted
//            above `max_bytes`. InvalidArgument for text in another encoding (UTF-16, Latin-1) and
//            for a NUL byte, with line and byte and the command that converts the file.
// Threads    one at a time.
class TextFile {
 public:
  static absl::StatusOr<TextFile> Open(const std::string& path, uint64_t max_bytes);

  // The next line up to and with its line feed, or as much of it as the buffer holds: a piece ends
  // a line only if it ends in '\n' or is the last. Empty at the end of the file. Valid until the
  // next call. A byte order mark at the start of the file is left out.
  absl::StatusOr<absl::string_view> Next();

  // The line of the last piece, from 1.
  uint64_t line() const { return line_; }

  // `status` with "path:line: " before its message; OK stays OK.
  absl::Status At(uint64_t line, const absl::Status& status) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  TextFile(std::string path, std::unique_ptr<std::FILE, Close> file, uint64_t max_bytes);
  absl::Status Fill();
  absl::Status CheckEncoding(absl::string_view piece);
  // InvalidArgument at `byte` of the piece, the first being 0: `what` is wrong, `encoding` the
  // encoding that it suggests.
  absl::Status NotUtf8(size_t byte, absl::string_view what, absl::string_view encoding) const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t bytes_left_;
  std::vector<char> buffer_;
  absl::string_view unread_;  // of the buffer
  uint64_t line_ = 0;
  uint64_t line_bytes_ = 0;  // of the line returned so far
  bool line_ended_ = true;
  Utf8Check utf8_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_TEXT_FILE_H_
