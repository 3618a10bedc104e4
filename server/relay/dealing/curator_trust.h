// Decides which manifests of a study the relay trusts. All of it is public.

#ifndef COPPICE_SERVER_RELAY_DEALING_CURATOR_TRUST_H_
#define COPPICE_SERVER_RELAY_DEALING_CURATOR_TRUST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/signature.h"

namespace coppice::relay {

// Starts at the curator's pinned key, and follows its successors as devices do
// (client/device/trust.h).
//
// Guarantee  What Admit() returns is signed by the pinned key or by its last successor, is about
//            the study, and weakens nothing that was admitted before. It is on disk before Admit()
//            returns. Another pin starts a new chain of keys, but the study keeps its promises.
// Errors     FailedPrecondition: refused, with a message for the relay's operator. DataLoss:
//            malformed, or a bad signature; a damaged file. Unavailable: the file cannot be
//            written.
// Threads    one at a time.
class CuratorTrust {
 public:
  static StatusOr<CuratorTrust> Load(std::string file, std::string_view study,
                                     const PublicKey& pin);

  StatusOr<Manifest> Admit(const SignedManifest& manifest, int64_t now_unix_seconds);
  bool has_admitted() const { return last_.has_value(); }

 private:
  struct Admitted {
    PublicKey pin{};
    PublicKey key{};
    Manifest manifest;
  };

  CuratorTrust(std::string file, std::string_view study, const PublicKey& pin,
               std::optional<Admitted> last)
      : file_(std::move(file)), study_(study), pin_(pin), last_(std::move(last)) {}

  std::string file_;
  std::string study_;
  PublicKey pin_;
  std::optional<Admitted> last_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_CURATOR_TRUST_H_
