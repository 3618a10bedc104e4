// The caller of a method, and the part of the curator's resources that exists for it.
//
// A resource (a study, dataset, job, model or endpoint) belongs to the policy entry that made it,
// by the entry's name. A job belongs to its dataset's owner, and a model to the owner of what it
// was made from. For all others it exists if the policy grants its name.

#ifndef COPPICE_SERVER_SERVING_ACCESS_CALLER_H_
#define COPPICE_SERVER_SERVING_ACCESS_CALLER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/serving/access/patterns.h"

namespace coppice::owners {

struct Resource {
  // "models/ID" and so on: its own name first, then the names of what it was made from.
  std::vector<std::string> names;
  std::string owner{};  // empty: only the operator's
};

// Names that the policy keeps for the entries of one name.
struct Claim {
  std::string name;
  Patterns patterns;
  // Those of everybody are kept for nobody: giving such a name publishes what it names.
  bool is_for_everybody = false;
};

// What one call may touch, according to the policy entries whose own roles allow its method.
//
// The members describe the entry that the caller acts as: what it makes belongs to that entry's
// name. `others` are the entries of its other credentials that allow the call too. They add to what
// it sees and owns, and nothing to what it makes.
//
// Guarantee  Deny by default: a caller without grants sees nothing and makes nothing. What one
//            entry allows never applies to what another owns: every answer below is that of some
//            entry alone.
// Threads    safe to share: immutable.
struct Caller {
  std::string name{};        // of the entry; empty without a policy
  bool is_operator = false;  // admin of everything, who also has the disk; or no policy
  bool sees_all = false;     // every resource, except what only owners may see
  Patterns resources{};      // granted by the policy in addition to what is owned
  bool relays = false;       // is a relay or an admin,
  Patterns relayed{};        // and the resources granted as such
  std::shared_ptr<const std::vector<Claim>> claims{};  // of all entries; null: none
  std::vector<Caller> others{};                        // which have no others themselves

  static Caller Operator() { return {.is_operator = true, .sees_all = true}; }

  // Whether it owns the dataset. Only owners see rows, their number, and when jobs ran.
  bool Owns(std::string_view owner) const;
  bool MaySee(const Resource& resource) const;
  // Whether a relayed study gives this caller its tickets.
  bool MayRelay(const Resource& study) const;
  // Whether it may make a resource of this name, whether or not one exists.
  bool MayMake(std::string_view new_name) const;
  // The pattern by which others see a resource of this name, if they see it by the beginning of its
  // id: no id that the daemon draws may fall under one. Nothing if there is none.
  std::optional<std::string> PatternOfOthers(std::string_view new_name) const;

  // The caller as each of its entries alone: the one that it acts as, then the others.
  std::vector<Caller> Alone() const;
  // The same caller, acting as another entry: the one at `index` of Alone().
  Caller ActingAs(size_t index) const;
};

}  // namespace coppice::owners

#endif  // COPPICE_SERVER_SERVING_ACCESS_CALLER_H_
