// Sets of resource names as the access policy writes them, such as "datasets/team-a-*".
//
// A pattern is KIND/ID. KIND is studies, datasets, jobs, models or endpoints, or * for all of them;
// ID is an id, or the beginning of an id followed by *. "*" alone is every resource.

#ifndef COPPICE_SERVER_SERVING_ACCESS_PATTERNS_H_
#define COPPICE_SERVER_SERVING_ACCESS_PATTERNS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice::owners {

// Guarantee  A name matches only as a whole; an unknown kind matches nothing.
// Errors     Parse(): InvalidArgument that quotes the pattern and says what is allowed.
// Threads    safe to share: immutable. Copies are cheap.
class Patterns {
 public:
  Patterns() = default;  // none
  static StatusOr<Patterns> Parse(absl::Span<const std::string> texts);

  bool empty() const { return patterns_ == nullptr || patterns_->empty(); }
  // Whether "*" is among the patterns.
  bool MatchAll() const;
  // `name` is "datasets/ID" and so on.
  bool Match(std::string_view name) const;
  // The first pattern that matches `name`, in the form that Parse() takes; nothing if none does.
  std::optional<std::string> FindMatch(std::string_view name) const;

  // The patterns in the form that Parse() takes.
  std::vector<std::string> Texts() const;

  // The patterns that reserve ids for their holder: those with a whole id or the beginning of one.
  Patterns Claims() const;

 private:
  struct Pattern {
    std::string kind{};  // empty: all
    std::string id{};
    bool is_prefix = false;

    bool Match(std::string_view name) const;
    std::string Text() const;
  };
  static StatusOr<Pattern> ParseOne(std::string_view text);

  std::shared_ptr<const std::vector<Pattern>> patterns_;
};

}  // namespace coppice::owners

#endif  // COPPICE_SERVER_SERVING_ACCESS_PATTERNS_H_
