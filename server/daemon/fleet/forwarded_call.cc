#include "server/daemon/fleet/forwarded_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/text.h"
#include "server/daemon/fleet/leader_gate.h"
#include "server/daemon/transport/access.h"
#include "server/daemon/transport/fronts.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/gate/byte_load.h"
#include "server/serving/gate/call_record.h"

namespace coppice::daemon {
namespace {

constexpr absl::Duration kAfterBrokenConnection = absl::Milliseconds(500);
constexpr absl::Duration kAfterMuchToRead = absl::Seconds(1);

// Replaces an authorization that cannot be sent, and so cannot be one that the daemon knows.
constexpr char kNoToken[] = "unprintable";

constexpr char kStatusDetailsKey[] = "grpc-status-details-bin";  // gRPC derives it from the status

std::string StringOf(grpc::string_ref text) { return {text.data(), text.size()}; }

// Whether gRPC itself, rather than a handler of the leader, may have made the error when the
// connection broke. Refused access has other codes, and no kAnsweredKey. A stopping server cancels
// calls that it has not begun without a message; one that cancels a late call gives a message.
bool MayBeTheConnections(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::UNKNOWN ||
         code == grpc::StatusCode::INTERNAL ||
         (code == grpc::StatusCode::CANCELLED && status.error_message().empty());
}

}  // namespace

std::string SendableAuthorization(std::string value) {
  const bool is_sendable = !value.empty() && std::all_of(value.begin(), value.end(), IsAsciiPrint);
  return is_sendable ? std::move(value) : std::string(kNoToken);
}

ForwardedCall::ForwardedCall(LeaderGate& gate, CallBounds& bounds,
                             grpc::GenericCallbackServerContext& context,
                             const std::optional<Sha256Digest>& http_secret)
    : gate_(gate),
      bounds_(bounds),
      context_(context),
      http_secret_(http_secret),
      method_(context.method().c_str()) {}

void ForwardedCall::Start(std::shared_ptr<grpc::Channel> leader) {
  leader_ = std::move(leader);
  bounds_.deadlines().Add(timed_, context_, bounds_.DeadlineFor(method_));
  leader_context_.set_deadline(context_.raw_deadline());
  AddClientMetadata();
  grpc::GenericStub(leader_).PrepareBidiStreamingCall(&leader_context_, method_, {}, &leader_side_);
  // One hold for requests and one for answers, both forwarded from the client's side.
  leader_side_.AddMultipleHolds(2);
  leader_side_.StartRead(&answer_);
  StartRead(&request_);
  leader_side_.StartCall();
}

void ForwardedCall::Refuse(const grpc::Status& status, absl::Duration retry_after) {
  AskToRetryAfter(retry_after);
  Finish(status);
}

// For a call over HTTP, this process says what certificate the connection showed (http_sender.h).
std::optional<Sha256Digest> ForwardedCall::FindCertificate() const {
  const auto& metadata = context_.client_metadata();
  const auto secret = metadata.find(kHttpSecretKey);
  if (secret != metadata.end() && http_secret_.has_value() &&
      access::HashOfToken(StringOf(secret->second)) == *http_secret_) {
    return ForwardedCertificate(metadata);
  }
  return CertificateOf(*context_.auth_context());
}

void ForwardedCall::AddClientMetadata() {
  const auto add = [this](std::string_view key, const auto& change) {
    const auto [begin, end] =
        context_.client_metadata().equal_range(grpc::string_ref(key.data(), key.size()));
    for (auto entry = begin; entry != end; ++entry) {
      const std::string value = change(StringOf(entry->second));
      if (!value.empty()) leader_context_.AddMetadata(std::string(key), value);
    }
  };
  add("authorization", SendableAuthorization);
  add(calls::kRequestIdKey,
      [](const std::string& value) { return calls::IsRequestId(value) ? value : std::string(); });
  if (const auto digest = FindCertificate()) {
    leader_context_.AddMetadata(
        kClientCertificateKey,
        std::string(reinterpret_cast<const char*>(digest->data()), digest->size()));
  }
}

// A read that fails because the client is gone is no half-close: the leader must not take the
// messages received so far for all.
void ForwardedCall::OnReadDone(bool ok) {
  {
    const MutexLock lock(mutex_);
    if (leader_ended_) return;
    requests_ = ok ? Requests::kSending : Requests::kEnded;
  }
  if (ok) return leader_side_.StartWrite(&request_);
  if (context_.IsCancelled()) {
    leader_context_.TryCancel();
  } else {
    leader_side_.StartWritesDone();
  }
  leader_side_.RemoveHold();
}

void ForwardedCall::OnRequestSent(bool ok) {
  request_.Clear();
  bool go_on = false;
  {
    const MutexLock lock(mutex_);
    go_on = ok && !leader_ended_;
    requests_ = go_on ? Requests::kReading : Requests::kEnded;
  }
  if (go_on) return StartRead(&request_);
  leader_side_.RemoveHold();
}

void ForwardedCall::OnLeaderMetadata(bool ok) {
  {
    const MutexLock lock(mutex_);
    metadata_ = ok ? Metadata::kReceived : Metadata::kNone;
    if (!answer_waits_) return;
    answer_waits_ = false;
  }
  SendAnswer();
}

void ForwardedCall::OnAnswer(bool ok) {
  if (!ok) return EndAnswers();
  {
    const MutexLock lock(mutex_);
    answer_waits_ = metadata_ == Metadata::kAwaited;
    if (answer_waits_) return;
  }
  SendAnswer();
}

void ForwardedCall::SendAnswer() {
  CopyLeaderMetadata();
  if (HoldAnswer()) return StartWrite(&answer_);
  answer_.Clear();
  own_status_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "too many large answers wait to be read; try again later");
  AskToRetryAfter(kAfterMuchToRead);
  leader_context_.TryCancel();
  EndAnswers();
}

// Copies once: metadata go with the first message or with the status.
void ForwardedCall::CopyLeaderMetadata() {
  {
    const MutexLock lock(mutex_);
    if (metadata_ != Metadata::kReceived) return;
    metadata_ = Metadata::kNone;
  }
  for (const auto& [key, value] : leader_context_.GetServerInitialMetadata()) {
    context_.AddInitialMetadata(StringOf(key), StringOf(value));
  }
}

// Holds answers as a daemon without a front does (transport/bounds.h). Streams have no deadline and
// keep one message each in memory.
bool ForwardedCall::HoldAnswer() {
  const size_t bytes = answer_.Length();
  if (bytes < calls::ByteLoad::kSmall) return true;
  if (bounds_.DeadlineFor(method_) == absl::InfiniteDuration()) return true;
  if (!bounds_.answers().TryHold(bytes)) return false;
  held_bytes_ += bytes;
  return true;
}

void ForwardedCall::OnWriteDone(bool ok) {
  answer_.Clear();
  if (ok) return leader_side_.StartRead(&answer_);
  leader_context_.TryCancel();
  EndAnswers();
}

// The leader sends nothing more, or nobody reads it. Its status is next, whatever the client sends.
void ForwardedCall::EndAnswers() {
  bool end_requests = false;
  {
    const MutexLock lock(mutex_);
    leader_ended_ = true;
    end_requests = requests_ == Requests::kReading;
    if (end_requests) requests_ = Requests::kEnded;
  }
  if (end_requests) leader_side_.RemoveHold();
  leader_side_.RemoveHold();
}

void ForwardedCall::OnLeaderDone(const grpc::Status& status) {
  CopyLeaderMetadata();
  Finish(StatusForClient(status));
}

grpc::Status ForwardedCall::StatusForClient(const grpc::Status& status) {
  if (own_status_.has_value()) return *own_status_;
  bool answered = false;
  for (const auto& [key, value] : leader_context_.GetServerTrailingMetadata()) {
    if (key == kAnsweredKey) {
      answered = true;
    } else if (key != kStatusDetailsKey) {
      context_.AddTrailingMetadata(StringOf(key), StringOf(value));
    }
  }
  if (answered || context_.IsCancelled() || !MayBeTheConnections(status)) {
    return status;
  }
  AskToRetryAfter(kAfterBrokenConnection);
  return grpc::Status(grpc::StatusCode::UNAVAILABLE,
                      "the connection to the curator that leads broke before it answered; call "
                      "again: what this call asked for may have been done");
}

void ForwardedCall::AskToRetryAfter(absl::Duration wait) {
  context_.AddTrailingMetadata("grpc-retry-pushback-ms", StrCat(absl::ToInt64Milliseconds(wait)));
}

void ForwardedCall::OnCancel() {
  if (gate_.Leave(*this)) {
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client has gone"));
  } else {
    leader_context_.TryCancel();
  }
}

void ForwardedCall::OnDone() {
  bounds_.deadlines().Remove(timed_);
  bounds_.answers().Release(held_bytes_);
  gate_.Forget();
  delete this;
}

}  // namespace coppice::daemon
