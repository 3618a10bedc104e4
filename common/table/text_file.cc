#include "common/table/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

// Returns how many bytes at the start of `text` are below 0x80, rounded down to a multiple of 8.
size_t AsciiWords(std::string_view text) {
  size_t bytes = 0;
  for (uint64_t word = 0; bytes + sizeof(word) <= text.size(); bytes += sizeof(word)) {
    std::memcpy(&word, text.data() + bytes, sizeof(word));
    if ((word & 0x8080'8080'8080'8080u) != 0) break;
  }
  return bytes;
}

}  // namespace

size_t Utf8Check::FindBad(std::string_view piece) {
  for (size_t i = 0; i < piece.size(); ++i) {
    if (more_ == 0) i += AsciiWords(piece.substr(i));
    if (i < piece.size() && !Take(static_cast<unsigned char>(piece[i]))) {
      return i - std::min(i, taken_);
    }
  }
  return std::string_view::npos;
}

// The ranges are those of the Unicode standard, table 3-7.
bool Utf8Check::Take(unsigned char byte) {
  if (more_ > 0) {
    if (byte < lowest_ || byte > highest_) return false;
    lowest_ = 0x80, highest_ = 0xBF;
    taken_ = --more_ == 0 ? 0 : taken_ + 1;
    return true;
  }
  if (byte < 0x80) return true;
  if (byte < 0xC2 || byte > 0xF4) return false;
  taken_ = 1;
  more_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  if (byte == 0xE0) lowest_ = 0xA0;   // a shorter form exists
  if (byte == 0xED) highest_ = 0x9F;  // surrogates
  if (byte == 0xF0) lowest_ = 0x90;
  if (byte == 0xF4) highest_ = 0x8F;  // above U+10FFFF
  return true;
}

StatusOr<TextSource> OpenTextSource(const std::string& path) {
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rb"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (file == nullptr) {
    const Status status = ErrnoToStatus(errno, StrCat("cannot open ", path));
    return Status(status.code(), StrCat(status.message(), "; check the path"));
  }
  const auto read = [file, path](absl::Span<char> buffer) -> StatusOr<size_t> {
    errno = 0;
    const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (std::ferror(file.get()) == 0) return bytes;
    return ErrnoToStatus(errno, StrCat("cannot read ", path));
  };
  return TextSource{.name = path, .read = read};
}

TextFile::TextFile(TextSource source, uint64_t max_bytes)
    : source_(std::move(source)), bytes_left_(max_bytes) {
  buffer_.resize(kBufferBytes);
}

StatusOr<TextFile> TextFile::Open(const std::string& path, uint64_t max_bytes) {
  COPPICE_ASSIGN_OR_RETURN(TextSource source, OpenTextSource(path));
  return Open(std::move(source), max_bytes);
}

StatusOr<TextFile> TextFile::Open(TextSource source, uint64_t max_bytes) {
  TextFile text(std::move(source), max_bytes);
  COPPICE_RETURN_IF_ERROR(text.Fill());
  for (const std::string_view mark : {"\xFF\xFE", "\xFE\xFF"}) {
    if (StartsWith(text.unread_, mark)) {
      return text.At(1, text.NotUtf8(0, "a byte order mark", "UTF-16"));
    }
  }
  text.unread_ = WithoutByteOrderMark(text.unread_);
  return text;
}

Status TextFile::Fill() {
  COPPICE_ASSIGN_OR_RETURN(const size_t bytes, source_.read(absl::MakeSpan(buffer_)));
  if (bytes > bytes_left_) {
    return ResourceExhaustedError(StrCat(
        source_.name, ": larger than the limit on bytes; split the file or raise the limit"));
  }
  bytes_left_ -= bytes;
  unread_ = std::string_view(buffer_.data(), bytes);
  return OkStatus();
}

StatusOr<std::string_view> TextFile::Next() {
  if (unread_.empty()) COPPICE_RETURN_IF_ERROR(Fill());
  if (unread_.empty()) {
    if (!utf8_.InCharacter()) return unread_;
    return At(line_, NotUtf8(0, "the end of the file within a character", "LATIN1"));
  }
  if (line_ended_) {
    ++line_;
    line_bytes_ = 0;
  }
  const size_t feed = unread_.find('\n');
  const std::string_view piece =
      feed == std::string_view::npos ? unread_ : unread_.substr(0, feed + 1);
  COPPICE_RETURN_IF_ERROR(At(line_, CheckEncoding(piece)));
  unread_.remove_prefix(piece.size());
  line_bytes_ += piece.size();
  line_ended_ = piece.back() == '\n';
  return piece;
}

Status TextFile::CheckEncoding(std::string_view piece) {
  if (const size_t nul = piece.find('\0'); nul != std::string_view::npos) {
    return NotUtf8(nul, "NUL", "UTF-16");
  }
  if (const size_t bad = utf8_.FindBad(piece); bad != std::string_view::npos) {
    return NotUtf8(bad, "a character that is not UTF-8", "LATIN1");
  }
  return OkStatus();
}

Status TextFile::NotUtf8(size_t byte, std::string_view what, std::string_view encoding) const {
  return InvalidArgumentError(StrCat(what, " at byte ", line_bytes_ + byte + 1,
                                     " of the line; the file must be text in UTF-8: if it is ",
                                     encoding == "LATIN1" ? "Latin-1" : encoding,
                                     ", convert it with `iconv -f ", encoding, " -t UTF-8 ",
                                     source_.name, " > utf8.csv`"));
}

Status TextFile::At(uint64_t line, const Status& status) const {
  if (status.ok()) return status;
  return Status(status.code(), StrCat(source_.name, ":", line, ": ", status.message()));
}

}  // namespace coppice
