// Which roles may call which method, and how long a call may last: one table, one line a method.
//
// Guarantee  a method without a line may be called by nobody, so that a new one is closed until
//            somebody decides; a test compares the table with what the daemon serves. An admin may
//            call everything that is in the table.

#ifndef COPPICE_SERVER_ACCESS_METHOD_TABLE_H_
#define COPPICE_SERVER_ACCESS_METHOD_TABLE_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/access/role.h"

namespace coppice::access {

struct Method {
  absl::string_view path;  // "/package.Service/Method", as gRPC's :path has it
  RoleSet roles;
  bool open = false;  // to everybody, whatever the policy says
  // From the request until the answer was read; streams have none.
  absl::Duration deadline = absl::Seconds(10);
};

// Sorted by path.
absl::Span<const Method> AllMethods();

// The line of `path`; null if it has none.
const Method* FindMethod(absl::string_view path);

// That of its line; without one the default, for there is no such method.
absl::Duration DeadlineOf(absl::string_view path);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_ACCESS_METHOD_TABLE_H_
