// A curator's offer: what a device asks for, and how it checks what came.

#ifndef COPPICE_CLIENT_DEVICE_OFFER_H_
#define COPPICE_CLIENT_DEVICE_OFFER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/terms/ticket.h"

namespace coppice {

// Which offer a device asks for.
struct OfferQuestion {
  std::string_view server;  // HOST:PORT
  std::string_view study;
  uint32_t tickets = 1;
  bool whole_forest = false;          // all trees, not only the ticket's
  const Privatizer* known = nullptr;  // terms, and with whole_forest trees, that need not be sent
  uint32_t max_offer_bytes = kUsualOfferBytes;  // of a tree and its path; of each tree of a forest
};

// What a study asks, and all that is needed to answer. Public.
struct Offer {
  SeenManifest manifest;  // to be remembered
  std::shared_ptr<const Privatizer> privatizer;
  std::vector<Ticket> tickets;
};

// A GetOfferRequest. `submission_tokens` has one token per ticket, or none.
std::string OfferRequest(const OfferQuestion& question,
                         absl::Span<const std::string> submission_tokens, const Trust& trust);

// Checks a GetOfferResponse, all of it hostile until then, in the order in which it can be trusted:
// the signature over the manifest's bytes, the manifest, the terms' bytes by its fingerprint, the
// terms, and the trees by the terms' root.
//
// Guarantee  What is returned are the terms that the manifest is about, of the study that was asked
//            for; `trust` let both pass; there are as many tickets as were asked for, and the trees
//            that they answer in.
// Errors     DataLoss: no message, or one of another study, fingerprint, tree or number of tickets.
//            FailedPrecondition: `known` are no longer the study's terms, or a tree is longer than
//            the device has room for, which is found before any is read. Otherwise as Trust. Texts
//            of the curator's are printable and short.
//
// `now` is in seconds since 1970, by the device's clock.
StatusOr<Offer> OpenOffer(std::string_view response, const OfferQuestion& question,
                          const Trust& trust, int64_t now);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_OFFER_H_
