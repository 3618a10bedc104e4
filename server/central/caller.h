// The caller of a request about datasets and jobs.

#ifndef COPPICE_SERVER_CENTRAL_CALLER_H_
#define COPPICE_SERVER_CENTRAL_CALLER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace coppice::central {

struct Caller {
  std::string name{};     // of the policy's entry; empty without a policy
  bool is_admin = false;  // or there is no policy

  static Caller Admin() { return {.is_admin = true}; }

  // A dataset without an owner is for admins.
  bool MaySee(absl::string_view owner) const {
    return is_admin || (!owner.empty() && owner == name);
  }
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_CALLER_H_
