#include "common/base/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "common/base/text.h"

namespace coppice {
namespace {

// How many insertions, deletions, replacements and swaps of neighbours lead from `a` to `b`.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, const std::vector<std::string>& words) {
  const auto bare = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('-'), text.size()));
  };
  std::string nearest;
  size_t least = std::max<size_t>(1, bare(word).size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = Distance(bare(word), bare(candidate));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty()) return nearest;
  for (const std::string& candidate : words) {
    if (bare(word).size() > 1 && StartsWith(bare(candidate), bare(word))) return candidate;
  }
  return "";
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& words) {
  const std::string near = NearestWord(word, words);
  return near.empty() ? "" : StrCat("; did you mean \"", near, "\"?");
}

}  // namespace coppice
