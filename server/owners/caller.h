// Who calls, and what of the curator's resources exists for this caller.
//
// A resource (a study, dataset, job, model or endpoint) belongs to the policy entry that made it,
// by the entry's name; a job to its dataset's owner, and a model to that of what it was made from.
// For everybody else it exists as far as the policy grants its name.

#ifndef COPPICE_SERVER_OWNERS_CALLER_H_
#define COPPICE_SERVER_OWNERS_CALLER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/owners/patterns.h"

namespace coppice::owners {

struct Resource {
  // "models/ID" and so on: its own name first, then those of what it was made from.
  std::vector<std::string> names;
  std::string owner{};  // empty: the operator's alone
};

// Names that the policy keeps for the entries of one name.
struct Claim {
  std::string name;
  Patterns patterns;
};

// What one call may touch, by the grants that let it call its method.
//
// Guarantee  deny by default: a caller without grants sees nothing, and makes nothing.
// Threads    safe to share: it does not change.
struct Caller {
  std::string name{};        // of the policy's entry; empty without a policy
  bool is_operator = false;  // an admin of everything, who has the disk too; or there is no policy
  bool sees_all = false;     // every resource, but not what is the owners' alone
  Patterns resources{};      // that the policy grants besides what is owned
  bool relays = false;       // a relay or an admin,
  Patterns relayed{};        // and what it is granted as that
  std::shared_ptr<const std::vector<Claim>> claims{};  // of all entries; null: none

  static Caller Operator() { return {.is_operator = true, .sees_all = true}; }

  // Rows, their number, and when jobs ran are for who owns the dataset.
  bool Owns(absl::string_view owner) const {
    return is_operator || (!owner.empty() && owner == name);
  }
  bool MaySee(const Resource& resource) const;
  // Whether a study that takes reports through a relay gives this caller its tickets.
  bool MayRelay(const Resource& study) const;
  // Whether it may make a resource of this name, whether or not there is one.
  bool MayMake(absl::string_view new_name) const;
};

}  // namespace coppice::owners

#endif  // COPPICE_SERVER_OWNERS_CALLER_H_
