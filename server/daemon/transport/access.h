// The access gate as gRPC calls it for each call, before reading any of it. The header with the
// token stays with the call; only the CallerFinder uses it.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>
#include <optional>
#include <string_view>

#include "common/terms/sha256.h"
#include "server/serving/gate/access_gate.h"
#include "server/serving/grpc/services.h"

namespace coppice::daemon {

// For server credentials with TLS. `gate` must outlive the server.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(calls::AccessGate& gate);

// `gate` must outlive it.
rpc::CallerFinder MakeCallerFinder(const calls::AccessGate& gate);

// The hash of the certificate that the other end of a connection showed, if it was verified.
std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context);

// The hash of the DER form of the first certificate in `pem`; none if there is none.
std::optional<Sha256Digest> CertificateSha256(std::string_view pem);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
