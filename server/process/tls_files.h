// A server's certificates, checked before it serves: a bad one must stop the start instead of
// failing every client's handshake.

#ifndef COPPICE_SERVER_PROCESS_TLS_FILES_H_
#define COPPICE_SERVER_PROCESS_TLS_FILES_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace coppice {

struct TlsFiles {
  std::string certificate;  // PEM, all of these
  std::string key;
  std::string client_ca;  // empty: clients need no certificate
  absl::Time expires{};   // when the certificate expires
};

// The flags that name the files, for messages.
struct TlsFlags {
  std::string_view certificate, key, authority;
};

// Reads and checks the files; `authority` may be empty. NotFound: a file cannot be read.
// InvalidArgument: one does not parse, or the key is another certificate's. FailedPrecondition: the
// certificate is not valid at `now`. Every message names the flag, the file and what to do.
StatusOr<TlsFiles> LoadTlsFiles(const TlsFlags& flags, const std::string& certificate,
                                const std::string& key, const std::string& authority,
                                absl::Time now);

// As above, for --tls-cert, --tls-key and --client-ca.
StatusOr<TlsFiles> LoadTlsFiles(const std::string& certificate, const std::string& key,
                                const std::string& client_ca, absl::Time now);

// Returns the bytes of the file that `flag` names. Errors name both.
StatusOr<std::string> ReadFlaggedFile(std::string_view flag, const std::string& path);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_TLS_FILES_H_
