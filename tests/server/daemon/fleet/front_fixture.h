// The daemon's server behind one or more fronts, all over TLS: one authority signs clients'
// certificates, and another one curators'.

#ifndef COPPICE_TESTS_SERVER_DAEMON_FLEET_FRONT_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DAEMON_FLEET_FRONT_FIXTURE_H_

#include <grpcpp/generic/async_generic_service.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/text.h"
#include "server/daemon/fleet/front.h"
#include "tests/server/daemon/access_fixture.h"

namespace coppice::testing {

// A whole answer to a client.
struct WholeAnswer {
  grpc::Status status;
  std::string message{};
  std::multimap<std::string, std::string> initial{}, trailing{};
};

inline std::multimap<std::string, std::string> CopyMetadata(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  std::multimap<std::string, std::string> copy;
  for (const auto& [key, value] : metadata) {
    copy.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
  return copy;
}

inline std::string TextOf(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

inline grpc::ByteBuffer BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

using SentMetadata = std::vector<std::pair<std::string, std::string>>;

// Sends one request; the answer may have at most one message.
inline WholeAnswer CallOnce(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                            const SentMetadata& metadata, const std::string& message = "",
                            absl::Duration deadline = absl::Minutes(5)) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
  for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
  const grpc::ByteBuffer request = BytesOf(message);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  grpc::GenericStub(channel).UnaryCall(&context, path, {}, &request, &response,
                                       [&](grpc::Status status) { done.set_value(status); });
  WholeAnswer answer{.status = done.get_future().get()};
  if (answer.status.ok()) answer.message = TextOf(response);
  answer.initial = CopyMetadata(context.GetServerInitialMetadata());
  answer.trailing = CopyMetadata(context.GetServerTrailingMetadata());
  return answer;
}

// Waits for a condition that another thread brings about.
template <typename Condition>
bool Eventually(Condition condition, absl::Duration patience = absl::Minutes(5)) {
  const absl::Time end = absl::Now() + patience;
  while (!condition()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

inline std::shared_ptr<grpc::Channel> ConnectTo(int port, const Certificate& authority,
                                                const Certificate* own = nullptr) {
  grpc::SslCredentialsOptions options{.pem_root_certs = authority.certificate_pem,
                                      .pem_private_key = own == nullptr ? "" : own->key_pem,
                                      .pem_cert_chain = own == nullptr ? "" : own->certificate_pem};
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Bytes that are not read stay with the other side, except for 64 KiB.
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 10);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return grpc::CreateCustomChannel(StrCat("127.0.0.1:", port), grpc::SslCredentials(options),
                                   arguments);
}

inline std::string PushbackOf(const WholeAnswer& answer) {
  const auto found = answer.trailing.find("grpc-retry-pushback-ms");
  return found == answer.trailing.end() ? "" : found->second;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_FLEET_FRONT_FIXTURE_H_
