// Decides, before a handler runs, whether the resources that a request names exist for its caller.

#ifndef COPPICE_SERVER_SERVING_CALLS_RESOURCE_GUARD_H_
#define COPPICE_SERVER_SERVING_CALLS_RESOURCE_GUARD_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/page.h"
#include "common/base/status.h"
#include "server/serving/access/caller.h"
#include "server/serving/access/method_table.h"

namespace coppice::service {

using owners::Caller;

// Returns the resource of this kind and id; nothing if there is none.
using ResourceFinder =
    std::function<std::optional<owners::Resource>(std::string_view kind, std::string_view id)>;

// The method that takes requests of this type. Aborts for a type of no method or of two, which is a
// programming error.
const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Descriptor& request);

// The text of a field such as "name" or "spec.dataset". The table's test checks that each exists.
std::string FieldOf(const google::protobuf::Message& request, std::string_view path);

// Refuses an id if others would see its resource, of any of these kinds, by a pattern of theirs.
// The message names the pattern.
std::function<Status(const std::string& id)> MayDraw(const Caller& caller,
                                                     std::vector<std::string_view> kinds);

// Uses the method table to find the fields of a request that name resources, and their use.
//
// A call is judged by one policy entry as a whole: what one entry lets it see does not combine with
// a name that another lets it give. A call that makes something is judged by the entry that the
// caller acts as, which is to own it. Any other is judged by each of the caller's entries, and is
// made in the name of the first that allows it.
//
// Guarantee  A hidden resource and a missing one get the same answer, from one place, in the
//            handlers' words. Whether a caller may make a name does not depend on whether it is
//            taken. Only the operator may call a method without an entry.
// Errors     NotFound: no such resource that the caller may see. PermissionDenied: a visible one
//            not its own, where only owners may call; a name that it may not give; a method for
//            the operator. AlreadyExists: a name that it may give, taken by a hidden resource.
// Threads    safe to share, as `find` must be. Looks nothing up for callers who see everything.
class ResourceGuard {
 public:
  explicit ResourceGuard(ResourceFinder find) : find_(std::move(find)) {}

  // The caller, acting as the entry that it makes this request as. Takes requests of any type,
  // including a stream's. Leaves empty fields to the handler.
  StatusOr<Caller> Admit(const Caller& caller, const google::protobuf::Message& request) const;
  // The same if the entry of the request's method is known; null if it has none.
  StatusOr<Caller> Admit(const Caller& caller, const access::Method* method,
                         const google::protobuf::Message& request) const;

  // NotFound if the caller may not see the resource "KIND/ID", or, where there is none, one of that
  // name: a handler then has to do as if there were none.
  Status CheckSeen(const Caller& caller, std::string_view kind, std::string_view id) const;
  // Whether the resource "KIND/ID" exists and the caller may see it.
  bool MaySee(const Caller& caller, std::string_view kind, std::string_view id) const;
  // PermissionDenied unless the entry that the caller acts as may make "KIND/ID".
  static Status CheckMayMake(const Caller& caller, std::string_view kind, std::string_view id);

 private:
  // For a caller of one entry.
  Status CheckAlone(const Caller& caller, const access::Method* method,
                    const google::protobuf::Message& request) const;
  Status CheckNamed(const Caller& caller, const access::NamedResource& named,
                    const std::string& value) const;
  Status CheckSet(const Caller& caller, std::string_view kind, std::string_view id) const;
  Status CheckOwned(const Caller& caller, std::string_view kind, std::string_view id) const;

  const ResourceFinder find_;
};

// Adds to a response the elements of one page that `shows` selects, up to the page's size, from
// what `list` returns for a Page. Returns the token of the next page, or "" if there is none.
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

// Whether the policy has an entry of the caller's credential that makes it an admin of everything.
// Without a policy, or where that needs no credential, the caller may be anybody.
bool IsNamedOperator(const Caller& caller);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_RESOURCE_GUARD_H_
