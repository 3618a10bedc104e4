// Decides, before a handler runs, whether the resources that a request names exist for its caller.

#ifndef COPPICE_SERVER_SERVICE_CALLS_RESOURCE_GUARD_H_
#define COPPICE_SERVER_SERVICE_CALLS_RESOURCE_GUARD_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/page.h"
#include "server/access/method_table.h"
#include "server/owners/caller.h"

namespace coppice::service {

using owners::Caller;

// The resource of this kind and id; nothing if there is none.
using ResourceFinder =
    std::function<std::optional<owners::Resource>(absl::string_view kind, absl::string_view id)>;

// The method that takes requests of this type. A program that asks for a type of none, or of two,
// is wrong from its first line on.
const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Descriptor& request);

// The text of "name" or "spec.dataset" in a request. The table's test sees to it that each is
// there.
std::string FieldOf(const google::protobuf::Message& request, absl::string_view path);

// Reads from the method table which fields of a request name resources, and what is done with them.
//
// Guarantee  a resource that is hidden from its caller and one that is not there are answered from
//            one place, in the words of the handlers. Whether a caller may make a name does not
//            depend on whether it is taken. A method without an entry is the operator's alone.
// Errors     NotFound: none that the caller may see. PermissionDenied: one that it may see and does
//            not own, where owners alone may call; a name that is not its to give; a method for the
//            operator.
//            AlreadyExists: a name that it may give, and that is taken by what it may not see.
// Threads    safe to share, as `find` must be. Costs nothing for callers who see everything.
class ResourceGuard {
 public:
  explicit ResourceGuard(ResourceFinder find) : find_(std::move(find)) {}

  // For requests of any type, also those of a stream: fields that are empty are left to the
  // handler.
  absl::Status Check(const Caller& caller, const google::protobuf::Message& request) const;
  // The same where the entry of the request's method is known; null if it has none.
  absl::Status Check(const Caller& caller, const access::Method* method,
                     const google::protobuf::Message& request) const;

  // Whether the resource "KIND/ID" is there, and the caller may see it.
  bool MaySee(const Caller& caller, absl::string_view kind, absl::string_view id) const;
  // PermissionDenied unless the caller may make "KIND/ID".
  static absl::Status CheckMayMake(const Caller& caller, absl::string_view kind,
                                   absl::string_view id);

 private:
  absl::Status CheckNamed(const Caller& caller, const access::NamedResource& named,
                          const std::string& value) const;
  absl::Status CheckSeen(const Caller& caller, absl::string_view kind, absl::string_view id) const;
  absl::Status CheckSet(const Caller& caller, absl::string_view kind, absl::string_view id) const;
  absl::Status CheckOwned(const Caller& caller, absl::string_view kind, absl::string_view id) const;

  const ResourceFinder find_;
};

// Adds to a response the elements of one page that `shows` picks, from what `list` returns for a
// Page, as many as the page has room for. Returns the token of the next page, empty if there is
// none.
template <typename List, typename Shows, typename Add>
std::string AddPage(const Page& page, List list, Shows shows, Add add) {
  std::string last;
  size_t added = 0;
  Page part = page;
  for (;;) {
    const auto infos = list(part);
    for (const auto& info : infos) {
      if (!shows(info)) continue;
      if (added == PageSize(page)) return last;
      add(info);
      last = info.id;
      ++added;
    }
    if (infos.size() < PageSize(part)) return "";
    part.after = infos.back().id;
  }
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_CALLS_RESOURCE_GUARD_H_
