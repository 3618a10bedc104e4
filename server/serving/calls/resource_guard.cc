#include "server/serving/calls/resource_guard.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/access/access_policy.h"

namespace coppice::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// "studies" becomes "study".
std::string Singular(std::string_view kind) {
  if (ConsumeSuffix(&kind, "ies")) return StrCat(kind, "y");
  return std::string(StripSuffix(kind, "s"));
}

Status NoResource(std::string_view kind, std::string_view id) {
  return NotFoundError(StrCat("there is no ", Singular(kind), " ", id));
}

bool Makes(const access::Method& method) {
  return std::any_of(method.names.begin(), method.names.end(), [](const auto& named) {
    return named.use == access::Use::kMake || named.use == access::Use::kSet;
  });
}

const access::Method* EntryOf(const Message& request) {
  const google::protobuf::MethodDescriptor& method = MethodOf(*request.GetDescriptor());
  return access::FindMethod(StrCat("/", method.service()->full_name(), "/", method.name()));
}

}  // namespace

std::string FieldOf(const Message& request, std::string_view path) {
  const Message* message = &request;
  const std::vector<std::string> parts = StrSplit(path, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(parts[i]);
    if (field == nullptr) std::abort();
    if (i + 1 == parts.size()) return message->GetReflection()->GetString(*message, field);
    message = &message->GetReflection()->GetMessage(*message, field);
  }
  return "";
}

const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Descriptor& request) {
  const google::protobuf::MethodDescriptor* found = nullptr;
  for (int i = 0; i < request.file()->service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *request.file()->service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      if (service.method(j)->input_type() != &request) continue;
      if (found != nullptr) std::abort();
      found = service.method(j);
    }
  }
  if (found == nullptr) std::abort();
  return *found;
}

std::function<Status(const std::string& id)> MayDraw(const Caller& caller,
                                                     std::vector<std::string_view> kinds) {
  return [caller, kinds = std::move(kinds)](const std::string& id) {
    for (const std::string_view kind : kinds) {
      const std::string name = StrCat(kind, "/", id);
      const std::optional<std::string> pattern = caller.PatternOfOthers(name);
      if (!pattern.has_value()) continue;
      return PermissionDeniedError(StrCat(name, " falls under the pattern \"", *pattern,
                                          "\" that the policy grants to others"));
    }
    return OkStatus();
  };
}

StatusOr<Caller> ResourceGuard::Admit(const Caller& caller, const Message& request) const {
  if (caller.is_operator) return caller;
  return Admit(caller, EntryOf(request), request);
}

StatusOr<Caller> ResourceGuard::Admit(const Caller& caller, const access::Method* method,
                                      const Message& request) const {
  if (caller.others.empty()) {
    COPPICE_RETURN_IF_ERROR(CheckAlone(caller, method, request));
    return caller;
  }
  const std::vector<Caller> entries = caller.Alone();
  const size_t judged = method == nullptr || Makes(*method) ? 1 : entries.size();
  Status refusal;
  for (size_t i = 0; i < judged; ++i) {
    const Status status = CheckAlone(entries[i], method, request);
    if (status.ok()) return caller.ActingAs(i);
    // An entry that does not see the resource says less than one that does.
    if (refusal.ok() || IsNotFound(refusal)) refusal = status;
  }
  return refusal;
}

Status ResourceGuard::CheckAlone(const Caller& caller, const access::Method* method,
                                 const Message& request) const {
  if (caller.is_operator) return OkStatus();
  if (method == nullptr || method->scope == access::Scope::kOperator) {
    return PermissionDeniedError(
        "this call concerns all owners: only an admin whose entry lists no resources may make it");
  }
  for (const access::NamedResource& named : method->names) {
    COPPICE_RETURN_IF_ERROR(CheckNamed(caller, named, FieldOf(request, named.field)));
  }
  return OkStatus();
}

Status ResourceGuard::CheckNamed(const Caller& caller, const access::NamedResource& named,
                                 const std::string& value) const {
  using access::Use;
  if (value.empty() || named.use == Use::kFilter) return OkStatus();
  if (named.use == Use::kMake) return CheckMayMake(caller, named.kind, value);
  const size_t slash = value.find('/');
  const std::string_view kind = std::string_view(value).substr(0, slash);
  const bool is_name = slash != std::string::npos && (named.kind.empty() || kind == named.kind);
  if (!is_name) return OkStatus();  // the handler reports the error
  const std::string_view id = std::string_view(value).substr(slash + 1);
  if (named.use == Use::kOwn) return CheckOwned(caller, kind, id);
  if (named.use == Use::kSet) return CheckSet(caller, kind, id);
  return CheckSeen(caller, kind, id);
}

Status ResourceGuard::CheckSeen(const Caller& caller, std::string_view kind,
                                std::string_view id) const {
  if (caller.sees_all) return OkStatus();
  const std::optional<owners::Resource> found = find_(kind, id);
  // A deleted resource may have left a ledger under its name.
  const owners::Resource nameless{.names = {StrCat(kind, "/", id)}};
  return caller.MaySee(found.value_or(nameless)) ? OkStatus() : NoResource(kind, id);
}

// Only callers who may give a name learn whether it is taken.
Status ResourceGuard::CheckSet(const Caller& caller, std::string_view kind,
                               std::string_view id) const {
  if (MaySee(caller, kind, id)) return OkStatus();
  COPPICE_RETURN_IF_ERROR(CheckMayMake(caller, kind, id));
  if (!find_(kind, id).has_value()) return OkStatus();
  return AlreadyExistsError(StrCat(kind, "/", id, " is taken; choose another name"));
}

Status ResourceGuard::CheckOwned(const Caller& caller, std::string_view kind,
                                 std::string_view id) const {
  const std::optional<owners::Resource> found = find_(kind, id);
  if (!found.has_value() || !caller.MaySee(*found)) return NoResource(kind, id);
  if (caller.Owns(found->owner)) return OkStatus();
  return PermissionDeniedError(StrCat(kind, "/", id,
                                      " belongs to someone else, and only its owner may make this "
                                      "call: ask for a token of that name"));
}

bool ResourceGuard::MaySee(const Caller& caller, std::string_view kind, std::string_view id) const {
  const std::optional<owners::Resource> found = find_(kind, id);
  return found.has_value() && caller.MaySee(*found);
}

Status ResourceGuard::CheckMayMake(const Caller& caller, std::string_view kind,
                                   std::string_view id) {
  const std::string name = StrCat(kind, "/", id);
  if (caller.is_operator || caller.MayMake(name)) return OkStatus();
  return PermissionDeniedError(
      StrCat(name,
             " is not a name that the policy lets you use: choose one that matches your "
             "\"resources\", or ask the operator to add it"));
}

bool IsNamedOperator(const Caller& caller) {
  return caller.is_operator && !caller.name.empty() && caller.name != access::kAnonymousName;
}

}  // namespace coppice::service
