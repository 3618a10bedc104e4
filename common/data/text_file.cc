#include "common/data/text_file.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

TextFile::TextFile(std::string path, std::unique_ptr<std::FILE, Close> file, uint64_t max_bytes)
    : path_(std::move(path)), file_(std::move(file)), bytes_left_(max_bytes) {
  buffer_.resize(kBufferBytes);
}

absl::StatusOr<TextFile> TextFile::Open(const std::string& path, uint64_t max_bytes) {
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  TextFile text(path, std::move(file), max_bytes);
  COPPICE_RETURN_IF_ERROR(text.Fill());
  text.unread_ = absl::StripPrefix(text.unread_, kByteOrderMark);
  return text;
}

absl::Status TextFile::Fill() {
  errno = 0;
  const size_t bytes = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (std::ferror(file_.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
  }
  if (bytes > bytes_left_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, ": larger than the limit on bytes; split the file or raise the limit"));
  }
  bytes_left_ -= bytes;
  unread_ = absl::string_view(buffer_.data(), bytes);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> TextFile::Next() {
  if (unread_.empty()) COPPICE_RETURN_IF_ERROR(Fill());
  if (unread_.empty()) return unread_;
  if (line_ended_) {
    ++line_;
    line_bytes_ = 0;
  }
  const size_t feed = unread_.find('\n');
  const absl::string_view piece =
      feed == absl::string_view::npos ? unread_ : unread_.substr(0, feed + 1);
  const size_t nul = piece.find('\0');
  if (nul != absl::string_view::npos) {
    return At(line_, absl::InvalidArgumentError(
                         absl::StrCat("NUL at byte ", line_bytes_ + nul + 1,
                                      " of the line; the file must be text in UTF-8")));
  }
  unread_.remove_prefix(piece.size());
  line_bytes_ += piece.size();
  line_ended_ = piece.back() == '\n';
  return piece;
}

absl::Status TextFile::At(uint64_t line, const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path_, ":", line, ": ", status.message()));
}

}  // namespace coppice
