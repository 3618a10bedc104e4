// TLS for a server's ports, with a certificate that can be replaced while it serves.

#ifndef COPPICE_SERVER_PROCESS_CERTIFICATES_H_
#define COPPICE_SERVER_PROCESS_CERTIFICATES_H_

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "server/process/tls_files.h"

namespace coppice {

// SetAuthMetadataProcessor() works as it does for gRPC's own credentials, except that the processor
// always runs on the call's thread, so it must not block.
//
// Guarantee  a connection made after Replace() gets the new certificate and the new authority of
//            clients; existing connections go on. Whether clients are asked for a certificate is
//            fixed when the credentials are made.
// Threads    safe to share.
class Certificates {
 public:
  explicit Certificates(TlsFiles files) : files_(std::move(files)) {}

  // `files` must come from LoadTlsFiles(), which checks them: nothing else would notice a key that
  // does not match its certificate.
  void Replace(TlsFiles files);

  bool asks_clients() const;
  absl::Time expires() const;  // the server's certificate

  // What the credentials of one port know, for gRPC's C interface, which cannot own it.
  struct ServedPort {
    const Certificates& certificates;
    uint64_t version = 0;  // used by the one thread that asks before handshakes
  };
  ServedPort& AddPort();

  // Returns the files if they are newer than `version`, and updates it. 0 is older than all.
  std::optional<TlsFiles> ChangedSince(uint64_t& version) const;

 private:
  mutable Mutex mutex_;
  TlsFiles files_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
  std::deque<ServedPort> ports_ ABSL_GUARDED_BY(mutex_);
};

// Makes credentials for one port. `certificates` must outlive the server.
std::shared_ptr<grpc::ServerCredentials> ServeWith(Certificates& certificates);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_CERTIFICATES_H_
