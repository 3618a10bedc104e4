// The access policy as gRPC asks it about each call, before any of it is read.
//
// Guarantee  nothing of a token or a certificate is logged, and no answer repeats it. The header
//            stays with the call, for the CallerFinder alone.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_

#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/study/sha256.h"
#include "server/access/access_control.h"
#include "server/rpc/services.h"

namespace coppice::daemon {

// For server credentials with TLS. `access` must outlive the server.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(
    const access::AccessControl& access);

// By the policy that holds when it is asked; null `access`: everybody is an admin without a name.
// `access` must outlive it.
rpc::CallerFinder MakeCallerFinder(const access::AccessControl* access);

// Of the DER form of the first certificate in `pem`; none if there is none.
std::optional<Sha256Digest> CertificateSha256(absl::string_view pem);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
