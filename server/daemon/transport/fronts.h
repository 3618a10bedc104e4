// Extends the server of a curator that fronts (server/daemon/fleet) call instead of clients: what a
// front says of its client with each call, and what the curator says to the front.
//
// Guarantee  Only a server behind fronts reads kClientCertificateKey. Fronts, who alone can reach
//            it, drop entries of that name from their clients.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <optional>

#include "common/terms/sha256.h"
#include "server/daemon/config/limits.h"
#include "server/daemon/transport/peer_calls.h"

namespace coppice::daemon {

// The SHA-256 of the certificate that the client showed to the front: 32 bytes, once.
inline constexpr char kClientCertificateKey[] = "coppice-certificate-sha256-bin";

// Set in the trailing metadata of each answer from the curator's handlers. An error without it may
// come from the connection.
inline constexpr char kAnsweredKey[] = "coppice-answered";

// None unless the key is there exactly once, with the size of a digest.
std::optional<Sha256Digest> ForwardedCertificate(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

// Sets kAnsweredKey. Notes which front called if `peers`, which must outlive the server, is not
// null.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MarkAnswers(
    PeerCalls* peers);

// Replaces SetTransportLimits() and SetConnectionLimits(): a front's connection carries the calls
// of all its clients, whose connections the front bounds.
void SetLimitsBehindFronts(const DaemonLimits& limits, grpc::ServerBuilder& builder);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_
