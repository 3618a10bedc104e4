// The server of a curator that is called by fronts (server/daemon/fleet), not by clients: what a
// front says of its client beside each call, and what the curator says to the front.
//
// Guarantee  only a server that is behind fronts reads kClientCertificateKey. Fronts, who alone can
//            reach it, drop what their clients send by that name.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <optional>

#include "common/study/sha256.h"
#include "server/daemon/config/limits.h"
#include "server/daemon/transport/peer_calls.h"

namespace coppice::daemon {

// The SHA-256 of the certificate that the client showed to the front: 32 bytes, once.
inline constexpr char kClientCertificateKey[] = "coppice-certificate-sha256-bin";

// In the trailing metadata of each answer that the curator's handlers gave. An error without it may
// be one of the connection.
inline constexpr char kAnsweredKey[] = "coppice-answered";

// None unless it is there once, and of the size of a digest.
std::optional<Sha256Digest> ForwardedCertificate(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

// Sets kAnsweredKey, and notes which front called if `peers` is not null; it must outlive the
// server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MarkAnswers(
    PeerCalls* peers);

// Instead of SetTransportLimits() and SetConnectionLimits(): a front's connection carries the calls
// of all of its clients, whose connections the front bounds.
void SetLimitsBehindFronts(const DaemonLimits& limits, grpc::ServerBuilder& builder);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_FRONTS_H_
