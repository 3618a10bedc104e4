#include "server/serving/access/patterns.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::owners {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"studies", "datasets", "jobs", "models",
                                                    "endpoints"};

Status BadPattern(std::string_view text) {
  return InvalidArgumentError(
      StrCat("\"", text,
             "\" is not a pattern of resources: use KIND/ID, where KIND is studies, datasets, "
             "jobs, models, endpoints or *, and ID is an id, or a prefix followed by *, such as "
             "\"datasets/team-a-*\"; or \"*\" for everything"));
}

bool IsOfIds(char letter) {
  return IsAsciiLower(letter) || IsAsciiDigit(letter) || letter == '-' || letter == '_';
}

}  // namespace

StatusOr<Patterns::Pattern> Patterns::ParseOne(std::string_view text) {
  if (text == "*") return Pattern{.is_prefix = true};
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return BadPattern(text);
  const std::string_view kind = text.substr(0, slash);
  std::string_view id = text.substr(slash + 1);
  if (kind != "*" && std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
    return BadPattern(text);
  }
  Pattern pattern{.is_prefix = ConsumeSuffix(&id, "*")};
  if (!std::all_of(id.begin(), id.end(), IsOfIds)) return BadPattern(text);
  if (id.empty() && !pattern.is_prefix) return BadPattern(text);
  pattern.kind = kind == "*" ? "" : std::string(kind);
  pattern.id = std::string(id);
  return pattern;
}

StatusOr<Patterns> Patterns::Parse(absl::Span<const std::string> texts) {
  std::vector<Pattern> parsed;
  for (const std::string& text : texts) {
    COPPICE_ASSIGN_OR_RETURN(Pattern pattern, ParseOne(text));
    parsed.push_back(std::move(pattern));
  }
  Patterns patterns;
  patterns.patterns_ = std::make_shared<const std::vector<Pattern>>(std::move(parsed));
  return patterns;
}

bool Patterns::Pattern::Match(std::string_view name) const {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view of_kind = name.substr(0, slash);
  if (kind.empty() ? std::find(kKinds.begin(), kKinds.end(), of_kind) == kKinds.end()
                   : of_kind != kind) {
    return false;
  }
  const std::string_view of_id = name.substr(slash + 1);
  return is_prefix ? StartsWith(of_id, id) : of_id == id;
}

std::string Patterns::Pattern::Text() const {
  if (kind.empty() && id.empty()) return "*";
  return StrCat(kind.empty() ? "*" : kind, "/", id, is_prefix ? "*" : "");
}

std::vector<std::string> Patterns::Texts() const {
  std::vector<std::string> texts;
  if (empty()) return texts;
  for (const Pattern& pattern : *patterns_) texts.push_back(pattern.Text());
  return texts;
}

bool Patterns::MatchAll() const {
  return !empty() && std::any_of(patterns_->begin(), patterns_->end(), [](const Pattern& pattern) {
    return pattern.kind.empty() && pattern.id.empty() && pattern.is_prefix;
  });
}

bool Patterns::Match(std::string_view name) const {
  return !empty() && std::any_of(patterns_->begin(), patterns_->end(),
                                 [&](const Pattern& pattern) { return pattern.Match(name); });
}

std::optional<std::string> Patterns::FindMatch(std::string_view name) const {
  if (empty()) return std::nullopt;
  for (const Pattern& pattern : *patterns_) {
    if (pattern.Match(name)) return pattern.Text();
  }
  return std::nullopt;
}

Patterns Patterns::Claims() const {
  std::vector<Pattern> claims;
  if (!empty()) {
    std::copy_if(patterns_->begin(), patterns_->end(), std::back_inserter(claims),
                 [](const Pattern& pattern) { return !pattern.id.empty(); });
  }
  Patterns result;
  result.patterns_ = std::make_shared<const std::vector<Pattern>>(std::move(claims));
  return result;
}

}  // namespace coppice::owners
