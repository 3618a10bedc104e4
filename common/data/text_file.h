// A text file line by line, in bounded memory whatever the file holds.

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

// Errors     NotFound for a missing file; other failures to read by their errno. ResourceExhausted
//            above `max_bytes`. InvalidArgument for a NUL byte, with its line and byte.
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

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t bytes_left_;
  std::vector<char> buffer_;
  absl::string_view unread_;  // of the buffer
  uint64_t line_ = 0;
  uint64_t line_bytes_ = 0;  // of the line returned so far
  bool line_ended_ = true;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_TEXT_FILE_H_
