#include "common/base/printable.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/text.h"

namespace coppice {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Range {
  char32_t first, last;
};

// Unicode's control and format characters, its separators of lines and paragraphs, and those that
// it asks to leave out where a font has nothing for them (Default_Ignorable_Code_Point); XML
// forbids the noncharacters U+FFFE and U+FFFF. client/console/src/parts/text.tsx has them too.
constexpr Range kInvisible[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x00AD, 0x00AD},   {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

bool IsVisible(char32_t code) {
  const auto* const range =
      std::lower_bound(std::begin(kInvisible), std::end(kInvisible), code,
                       [](const Range& one, char32_t sought) { return one.last < sought; });
  return range == std::end(kInvisible) || code < range->first;
}

// The number of bytes that a character of this first byte has, 0 if none begins so.
size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Whether a character in so many bytes needs them all, and exists.
bool IsWellFormed(char32_t code, size_t bytes) {
  constexpr char32_t kFewest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kFewest[bytes] && code <= 0x10FFFF && !is_surrogate;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  constexpr Character kInvalid = {.bytes = 1, .code = 0xFFFD, .is_visible = false};
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t bytes = LengthOf(lead);
  if (bytes == 0 || bytes > text.size()) return kInvalid;
  char32_t code = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0u) != 0x80) return kInvalid;
    code = code << 6 | (next & 0x3Fu);
  }
  if (!IsWellFormed(code, bytes)) return kInvalid;
  return {.bytes = bytes, .code = code, .is_visible = IsVisible(code)};
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    StrAppend(&out, first.is_visible ? text.substr(0, first.bytes) : kReplacement);
    text.remove_prefix(first.bytes);
  }
  return out;
}

std::string ListOf(absl::Span<const std::string> names) {
  constexpr size_t kMaxListed = 12, kMaxBytes = 400;
  std::string list;
  size_t listed = 0;
  while (listed < names.size() && listed < kMaxListed && list.size() < kMaxBytes) {
    StrAppend(&list, listed == 0 ? "" : ", ", names[listed].substr(0, kMaxBytes));
    ++listed;
  }
  if (listed < names.size()) StrAppend(&list, " and ", names.size() - listed, " more");
  return list;
}

}  // namespace coppice
