#include "common/base/printable.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace coppice {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the well-formed, printable UTF-8 character at the start of `text`, or 0. The ranges are
// those of the Unicode standard, table 3-7; XML forbids noncharacters.
size_t PrintableLength(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&byte](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return 0;
  if (lead < 0xE0) return lead == 0xC2 && byte(1) < 0xA0 ? 0 : 2;  // U+0080..9F are controls.
  if (!continues(2)) return 0;
  if (lead < 0xF0) {
    const unsigned code = (lead & 0xFu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < 0x800 || surrogate || code >= 0xFFFE ? 0 : 3;
  }
  if (!continues(3) || (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return 4;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = PrintableLength(text);
    absl::StrAppend(&out, length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string ListOf(absl::Span<const std::string> names) {
  constexpr size_t kMaxListed = 12, kMaxBytes = 400;
  std::string list;
  size_t listed = 0;
  while (listed < names.size() && listed < kMaxListed && list.size() < kMaxBytes) {
    absl::StrAppend(&list, listed == 0 ? "" : ", ", names[listed].substr(0, kMaxBytes));
    ++listed;
  }
  if (listed < names.size()) absl::StrAppend(&list, " and ", names.size() - listed, " more");
  return list;
}

}  // namespace coppice
