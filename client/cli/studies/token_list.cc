#include "client/cli/studies/token_list.h"

#include <fstream>
#include <string_view>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::cli {
namespace {

constexpr size_t kTokenBytes = 32;

}  // namespace

std::string WriteTokenList(absl::Span<const std::string> tokens) {
  std::string lines;
  for (const std::string& token : tokens) {
    StrAppend(&lines, WebSafeBase64Escape(token), "\n");
  }
  return lines;
}

StatusOr<std::vector<std::string>> ReadTokenList(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFoundError(StrCat(path, ": cannot be read"));
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    std::string token;
    const std::string_view text = tokens.empty() ? WithoutByteOrderMark(line) : line;
    if (!WebSafeBase64Unescape(StripAsciiWhitespace(text), &token) || token.size() != kTokenBytes) {
      return InvalidArgumentError(
          StrCat(path, ":", tokens.size() + 1,
                 ": is not a submission token, as `coppice study tokens` writes them"));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace coppice::cli
