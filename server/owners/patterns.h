// Sets of resource names, as the access policy writes them: "datasets/team-a-*".
//
// A pattern is KIND/ID. KIND is studies, datasets, jobs, models or endpoints, or * for all of them;
// ID is an id, or the beginning of ids and a * behind it. "*" alone is every resource.

#ifndef COPPICE_SERVER_OWNERS_PATTERNS_H_
#define COPPICE_SERVER_OWNERS_PATTERNS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coppice::owners {

// Guarantee  a name matches only as a whole; a kind that there is not matches nothing.
// Errors     Parse(): InvalidArgument that quotes the pattern and says what it may be.
// Threads    safe to share: it does not change. Copies are cheap.
class Patterns {
 public:
  Patterns() = default;  // none
  static absl::StatusOr<Patterns> Parse(absl::Span<const std::string> texts);

  bool empty() const { return patterns_ == nullptr || patterns_->empty(); }
  // Whether "*" is among them.
  bool MatchAll() const;
  // `name` is "datasets/ID" and so on.
  bool Match(absl::string_view name) const;

  // As Parse() takes them.
  std::vector<std::string> Texts() const;

  // Those that keep ids for their holder: the ones that say how an id begins.
  Patterns Claims() const;
  friend Patterns operator|(const Patterns& a, const Patterns& b);

 private:
  struct Pattern {
    std::string kind{};  // empty: all
    std::string id{};
    bool is_prefix = false;

    bool Match(absl::string_view name) const;
    std::string Text() const;
  };
  static absl::StatusOr<Pattern> ParseOne(absl::string_view text);

  std::shared_ptr<const std::vector<Pattern>> patterns_;
};

}  // namespace coppice::owners

#endif  // COPPICE_SERVER_OWNERS_PATTERNS_H_
