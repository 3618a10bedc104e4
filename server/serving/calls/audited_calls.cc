#include "server/serving/calls/audited_calls.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/calls/unchanged.h"

namespace coppice::service {
namespace {

constexpr size_t kMaxNameBytes = 160;
constexpr std::string_view kAnonymous = "anonymous";

// A caller may send anything, so text that is not a short name is replaced by a mark.
std::string NameOrMark(const std::string& text) {
  const bool is_name =
      text.size() <= kMaxNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '/';
      });
  return is_name ? text : "(no name)";
}

std::string NameIn(const access::NamedResource& named, const AnyMessage& request) {
  std::string value = FieldOf(request, named.field);
  if (value.empty()) return value;
  return NameOrMark(named.use == access::Use::kMake ? StrCat(named.kind, "/", value)
                                                    : std::move(value));
}

// The name of this kind in a response: of its study, its job and so on.
std::string NameOf(std::string_view kind, const AnyMessage& response) {
  const google::protobuf::Descriptor& type = *response.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_repeated() || field.message_type() == nullptr) continue;
    const auto* const name = field.message_type()->FindFieldByName("name");
    if (name == nullptr) continue;
    const AnyMessage& part = response.GetReflection()->GetMessage(response, &field);
    std::string text = part.GetReflection()->GetString(part, name);
    if (StartsWith(text, StrCat(kind, "/"))) return text;
  }
  return "";
}

// Whether a handler that failed with this status may have changed something.
bool MayHaveChanged(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
    case StatusCode::kPermissionDenied:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kResourceExhausted:  // a budget, a quota, or disk space
    case StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

std::string KeyOf(const audit::AuditEvent& event) {
  return StrCat(event.entry.actor(), "\n", event.entry.action(), "\n", event.entry.resource());
}

std::string ActorOf(const Caller& caller) {
  return caller.name.empty() ? std::string(kAnonymous) : caller.name;
}

}  // namespace

// A stream's call: noted when its first message names its resources, recorded when it ends. Passes
// the handler's calls on to the transport, and the transport's events to the handler.
//
// Threads    as StreamCall and StreamHandler.
class AuditedStream final : public StreamCall, public StreamHandler {
 public:
  AuditedStream(CallAuditor& auditor, const ResourceGuard& guard, Caller caller,
                const access::Method& method, StreamCall& call)
      : auditor_(auditor),
        guard_(guard),
        caller_(std::move(caller)),
        method_(method),
        event_(CallAuditor::EventOf(caller_, method, {})),
        call_(call) {}

  // For a stream that begins with a request; null for others.
  Status Begin(const AnyMessage* request) {
    if (request == nullptr) return OkStatus();
    return BeginWith(*request);
  }
  void SetHandler(StreamHandlerPtr handler) { handler_ = std::move(handler); }
  // For a stream that did not start; the transport ends it.
  void Enter(const Status& status) {
    // However it ended, messages before the last may have changed something.
    if (begun_.has_value()) {
      if (status.ok() && unchanged_) return auditor_.log_.Forget(*begun_);
      return auditor_.log_.End(*begun_, audit::CodeName(status.code()));
    }
    auditor_.Enter(event_, status);
  }

  void Read() override { call_.Read(); }
  Status ParseTo(google::protobuf::Message& message) override {
    COPPICE_RETURN_IF_ERROR(call_.ParseTo(message));
    return begun_.has_value() ? OkStatus() : BeginWith(message);
  }
  Status Write(const google::protobuf::Message& message) override { return call_.Write(message); }
  void End(const Status& status) override {
    Enter(status);
    call_.End(status);
  }
  void EndWith(const google::protobuf::Message& response) override {
    Enter(OkStatus());
    call_.EndWith(response);
  }
  void NoteUnchanged() override { unchanged_ = true; }
  Status RunOnLane(std::function<void()> work) override { return call_.RunOnLane(std::move(work)); }

  void OnMessage() override { handler_->OnMessage(); }
  void OnNoMoreMessages() override { handler_->OnNoMoreMessages(); }
  void OnWritten(bool sent) override { handler_->OnWritten(sent); }
  void OnCancel() override { handler_->OnCancel(); }
  void OnDone() override { handler_->OnDone(); }

 private:
  Status BeginWith(const AnyMessage& message) {
    const StatusOr<Caller> admitted = guard_.Admit(caller_, &method_, message);
    event_ = CallAuditor::EventOf(admitted.ok() ? *admitted : caller_, method_,
                                  CallAuditor::NamesIn(method_, message));
    COPPICE_ASSIGN_OR_RETURN(begun_, auditor_.log_.Begin(event_));
    return OkStatus();
  }

  CallAuditor& auditor_;
  const ResourceGuard& guard_;
  const Caller caller_;
  const access::Method& method_;
  audit::AuditEvent event_;
  StreamCall& call_;
  std::optional<uint64_t> begun_;
  bool unchanged_ = false;
  StreamHandlerPtr handler_;
};

WholeHandler CallAuditor::Wrap(const access::Method& method, WholeHandler handler) {
  return [this, &method, handler = std::move(handler)](
             const Caller& caller, const AnyMessage& request, AnyMessage* response,
             const CancelCheck& cancel) -> Status {
    const audit::AuditEvent event = EventOf(caller, method, NamesIn(method, request));
    const bool has_private_number = method.privacy == access::Privacy::kPrivateEnd;
    if (has_private_number && IsStoodFor(event)) {
      const audit::ActorScope scope(event.entry.actor());
      const Status status = handler(caller, request, response, cancel);
      if (!status.ok()) Enter(event, status);
      return status;
    }
    COPPICE_ASSIGN_OR_RETURN(const uint64_t call, log_.Begin(event));
    const audit::ActorScope scope(event.entry.actor());
    const UnchangedScope unchanged;
    const Status status = handler(caller, request, response, cancel);
    if (status.ok() && unchanged.noted()) {
      log_.Forget(call);
      return status;
    }
    End(call, event, status, status.ok() ? NamesMade(method, *response) : Names());
    if (has_private_number && status.ok()) StandsForToday(event);
    return status;
  };
}

StreamStarter CallAuditor::Wrap(const ResourceGuard& guard, const access::Method& method,
                                StreamStarter handler) {
  return [this, &guard, &method, start = std::move(handler)](
             const Caller& caller, const AnyMessage* request,
             StreamCall& call) -> StatusOr<StreamHandlerPtr> {
    const auto audited = std::make_shared<AuditedStream>(*this, guard, caller, method, call);
    COPPICE_RETURN_IF_ERROR(audited->Begin(request));
    StatusOr<StreamHandlerPtr> started = start(caller, request, *audited);
    if (!started.ok()) {
      audited->Enter(started.status());
      return started.status();
    }
    audited->SetHandler(*std::move(started));
    return audited;
  };
}

void CallAuditor::EnterRefusal(const Caller& caller, const access::Method& method,
                               const AnyMessage& request, const Status& refusal) {
  Enter(EventOf(caller, method, NamesIn(method, request)), refusal);
}

void CallAuditor::EnterRefusalLater(std::string_view name, const access::Method& method,
                                    const Status& refusal) {
  audit::AuditEvent event = EventOf({.name = std::string(name)}, method, {});
  if (!CountFailure(event.entry.actor())) return;
  event.entry.set_outcome(audit::CodeName(refusal.code()));
  log_.AddLater(std::move(event));
}

CallAuditor::Names CallAuditor::NamesIn(const access::Method& method, const AnyMessage& request) {
  Names names;
  const absl::Span<const access::NamedResource> named = method.names;
  if (!named.empty()) names.resource = NameIn(named[0], request);
  if (named.size() > 1) names.related = NameIn(named[1], request);
  return names;
}

CallAuditor::Names CallAuditor::NamesMade(const access::Method& method,
                                          const AnyMessage& response) {
  Names names;
  const absl::Span<const access::NamedResource> named = method.names;
  const auto made = [&](size_t i) {
    return i < named.size() && named[i].use == access::Use::kMake ? NameOf(named[i].kind, response)
                                                                  : "";
  };
  names.resource = made(0);
  names.related = made(1);
  return names;
}

audit::AuditEvent CallAuditor::EventOf(const Caller& caller, const access::Method& method,
                                       Names names) {
  audit::AuditEvent event = audit::NewAuditEvent(
      ActorOf(caller), StripPrefix(method.path, "/coppice.v1."), names.resource, names.related);
  event.by_day = method.privacy != access::Privacy::kPublic;
  return event;
}

void CallAuditor::End(uint64_t call, const audit::AuditEvent& event, const Status& status,
                      Names made) {
  if (!MayHaveChanged(status) && !CountFailure(event.entry.actor())) return log_.Forget(call);
  log_.End(call, audit::CodeName(status.code()), made.resource, made.related);
}

void CallAuditor::Enter(audit::AuditEvent event, const Status& status) {
  if (!status.ok() && !CountFailure(event.entry.actor())) return;
  event.entry.set_outcome(audit::CodeName(status.code()));
  log_.AddLater(std::move(event));
  log_.WriteLate().IgnoreError();  // the call changed nothing; the next write enters it
}

bool CallAuditor::IsStoodFor(const audit::AuditEvent& event) {
  const MutexLock lock(mutex_);
  TurnDay();
  return entered_.contains(KeyOf(event));
}

void CallAuditor::StandsForToday(const audit::AuditEvent& event) {
  const MutexLock lock(mutex_);
  TurnDay();
  if (entered_.size() >= kMaxStoodFor) entered_.clear();
  entered_.insert(KeyOf(event));
}

void CallAuditor::TurnDay() {
  std::string today = AuditDay(clock_());
  if (today == day_) return;
  failures_.clear();
  entered_.clear();
  day_ = std::move(today);
}

bool CallAuditor::CountFailure(const std::string& name) {
  uint32_t failures = 0;
  {
    const MutexLock lock(mutex_);
    TurnDay();
    failures = ++failures_[name];
    if (failures > kMaxFailures + 1) --failures_[name];
  }
  if (failures == kMaxFailures + 1) {
    audit::AuditEvent event = audit::NewAuditEvent(name, "log/leave-out-failures");
    event.entry.set_outcome("RESOURCE_EXHAUSTED");
    log_.AddLater(std::move(event));
  }
  return failures <= kMaxFailures;
}

}  // namespace coppice::service
