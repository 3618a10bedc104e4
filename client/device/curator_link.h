// The curator as a device sees it: it makes offers and takes reports. Collector implements it over
// gRPC; a program with a transport of its own writes another.

#ifndef COPPICE_CLIENT_DEVICE_CURATOR_LINK_H_
#define COPPICE_CLIENT_DEVICE_CURATOR_LINK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"

namespace coppice {

// What a study asks, and all that is needed to answer. Public.
struct Offer {
  Terms terms;
  Fingerprint fingerprint{};
  std::vector<Ticket> tickets;
  TreesByIndex trees;
};

enum class Delivery : uint8_t {
  kAccepted,
  kDuplicate,     // counted before: as good as accepted
  kRefused,       // for good; never send it again
  kUnknownStudy,  // deleted, or never this curator's
};

struct DeliveryResult {
  Delivery delivery;
  std::string reason;  // in words, for kRefused and kUnknownStudy
};

// Guarantee  An offer is checked before it is returned: terms against their fingerprint, the tree
//            against the terms, and both against what the device trusts (trust.h). Every try sends
//            the same bytes of a report.
// Errors     those of the transport; FailedPrecondition and DataLoss for an offer that is declined.
// Threads    safe to share.
class CuratorLink {
 public:
  virtual ~CuratorLink() = default;

  // Fetches the study's terms, one ticket, and the tree that it answers in. `submission_token` is
  // 32 bytes if the study asks for one, else empty; the same token gets the same ticket.
  virtual StatusOr<Offer> FetchOffer(std::string_view study,
                                     std::string_view submission_token) const = 0;

  // Sends reports of one study and one fingerprint. One result per report, in order.
  virtual StatusOr<std::vector<DeliveryResult>> Deliver(
      absl::Span<const PrivateReport> reports) const = 0;

  // FailedPrecondition unless the other end proves that it is the curator whose first key was
  // `root`: it holds that key, or the one that a chain of endorsements has led to since.
  virtual Status CheckIs(const PublicKey& root) const = 0;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_CURATOR_LINK_H_
