// What a device makes of a curator's messages, which common/wire reads: offers, proofs, outcomes.
// All bytes that come are hostile until they are checked.

#ifndef COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGES_H_
#define COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/device/curator_link.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/terms/key_chain.h"
#include "common/terms/terms.h"

namespace coppice {

// A GetOfferRequest for one ticket. `submission_token` is empty where the study asks for none;
// `known_manifest` is what the curator may leave out.
std::string OfferRequestBytes(std::string_view study, std::string_view submission_token,
                              const std::optional<Sha256Digest>& known_manifest);

// A GetOfferResponse, all of it hostile until it is checked.
//
// Guarantee  The terms are those that the fingerprint is of and about `study`; `trust` lets them
//            and the manifest pass; there is one ticket; the tree is the one that it answers in,
//            under the terms' root. What a manifest or a tree says is looked at once its signature
//            or its path is checked.
// Errors     DataLoss: no message, or one of another study, fingerprint, tree or number of tickets.
//            InvalidArgument: terms or a tree that this version does not take. Otherwise as
//            Trust::Admit(). Texts of the curator's are printable and short.
StatusOr<Offer> OpenOffer(std::string_view response, std::string_view curator,
                          std::string_view study, Trust& trust);

std::string ProofRequestBytes(std::string_view challenge);

struct CuratorProof {
  PublicKey key{};
  KeyChain endorsements;  // that lead to it, not looked at yet
};
// A GetCuratorKeysResponse that proves, by its signature of `challenge`, that whoever sent it has
// the key. DataLoss: no such message; FailedPrecondition: no such proof.
StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge);

// A SubmitReportsRequest with this report.
std::string ReportRequestBytes(const PrivateReport& report);

// What a SubmitReportsResponse says of the one report. DataLoss: no such message, or not one
// outcome.
StatusOr<DeliveryResult> ReadDelivery(std::string_view response);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_MESSAGES_MESSAGES_H_
