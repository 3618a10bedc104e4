#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "common/export/c_parts.h"

namespace coppice::formats {
namespace {

constexpr size_t kMaxWord = 24;  // longer words make unreadable lines

// A question mark may begin a trigraph, an asterisk may begin or end a comment.
bool IsSafe(char c) { return IsAsciiPrint(c) && c != '?'; }

void AppendOctal(std::string& out, char c) { absl::StrAppendFormat(&out, "\\%03o", c); }

}  // namespace

std::string CString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (IsSafe(c) && c != '*') {
      out += c;
    } else {
      AppendOctal(out, c);
    }
  }
  return out + '"';
}

std::string CComment(std::string_view text) {
  const std::string words = StrReplaceAll(text, {{"ε", "epsilon"}, {"δ", "delta"}, {"ρ", "rho"}});
  std::string out;
  for (const char c : words) {
    if (IsSafe(c) && c != '*' && c != '\\') {
      out += c;
    } else {
      AppendOctal(out, c);
    }
  }
  return out;
}

std::string CWord(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (IsAsciiAlnum(c)) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
    if (word.size() == kMaxWord) break;
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  return word.empty() ? "x" : word;
}

std::string CPrefix(std::string_view id) {
  return AsciiStrToLower(StrCat("coppice_", id.empty() ? "model" : CWord(id)));
}

std::string Identifiers::Enumerator(std::string_view prefix, std::string_view name) {
  const std::string wanted = AsciiStrToUpper(StrCat(prefix, "_", CWord(name)));
  std::string unique = wanted;
  for (int number = 2; !taken_.insert(unique).second; ++number) {
    unique = StrCat(wanted, "_", number);
  }
  return unique;
}

}  // namespace coppice::formats
