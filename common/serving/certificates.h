// TLS of a server's ports, with a certificate that can be replaced while it serves.

#ifndef COPPICE_COMMON_SERVING_CERTIFICATES_H_
#define COPPICE_COMMON_SERVING_CERTIFICATES_H_

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/serving/tls_files.h"

namespace coppice {

// SetAuthMetadataProcessor() works as it does for gRPC's own credentials, except that the processor
// always runs on the thread of the call: it must not block.
//
// Guarantee  a connection made after Replace() meets the new certificate and the new authority of
//            clients; connections that there are go on. Whether clients are asked for a certificate
//            is fixed when the credentials are made.
// Threads    safe to share.
class Certificates {
 public:
  explicit Certificates(TlsFiles files) : files_(std::move(files)) {}

  // `files` are as LoadTlsFiles() returns them: checked, for a pair that does not fit together is
  // found by nobody else.
  void Replace(TlsFiles files);

  bool asks_clients() const;
  absl::Time expires() const;  // the server's certificate

  // What to serve with, if that is not what this returned before; for gRPC's credentials, which
  // have no place for a version.
  std::optional<TlsFiles> TakeChanged() { return ChangedSince(taken_); }
  // The same since `version`, which becomes that of what is returned. 0 is older than all.
  std::optional<TlsFiles> ChangedSince(uint64_t& version) const;

 private:
  mutable Mutex mutex_;
  TlsFiles files_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t taken_ = 0;  // of the one thread that asks before handshakes
};

// For one port. `certificates` must outlive the server.
std::shared_ptr<grpc::ServerCredentials> ServeWith(Certificates& certificates);

}  // namespace coppice

#endif  // COPPICE_COMMON_SERVING_CERTIFICATES_H_
