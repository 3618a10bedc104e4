// The access policy as gRPC asks it about each call, before any of it is read.
//
// Guarantee  nothing of a token or a certificate is logged, and no answer repeats it. The header
//            stays with the call, for the CallerFinder alone.

#ifndef COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
#define COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/rate_limiter.h"
#include "common/study/sha256.h"
#include "server/access/access_control.h"
#include "server/daemon/transport/token_use.h"
#include "server/rpc/services.h"

namespace coppice::daemon {

// Told of a call that the policy refuses to a caller whose credentials are good, for want of a
// role: the name of the entry and the path. It must not wait.
using RefusalObserver = std::function<void(const std::string& name, absl::string_view path)>;

struct AccessObservers {
  RefusalObserver on_refusal{};
  UseObserver on_use{};
};

// Calls with tokens that are not good: above this limit they are ResourceExhausted.
inline constexpr RateLimit kFailedTokenLimit = {.rate = 10, .burst = 100};

// Where the certificate of a call's client is found.
enum class CertificateSource : uint8_t {
  kConnection,  // the client's own: the metadata are the client's, and do not count
  kMetadata,    // a front's, which says its client's (fronts.h)
};

// For server credentials with TLS. `access`, and what the observers use, must outlive the server.
//
// Guarantee  nobody who shows a good token is slowed by those who do not.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessProcessor(
    const access::AccessControl& access, AccessObservers observers = {},
    CertificateSource source = CertificateSource::kConnection);

// By the policy that holds when it is asked; null `access`: everybody is an admin without a name.
// `access` must outlive it.
rpc::CallerFinder MakeCallerFinder(const access::AccessControl* access,
                                   CertificateSource source = CertificateSource::kConnection);

// Of the certificate that a connection's other end showed and that was verified; else none.
std::optional<Sha256Digest> CertificateOf(const grpc::AuthContext& context);

// Of the DER form of the first certificate in `pem`; none if there is none.
std::optional<Sha256Digest> CertificateSha256(absl::string_view pem);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_TRANSPORT_ACCESS_H_
