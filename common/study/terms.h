// What a device agrees to when it answers a study. All of it is public.

#ifndef COPPICE_COMMON_STUDY_TERMS_H_
#define COPPICE_COMMON_STUDY_TERMS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/study/ticket.h"
#include "common/tree/tree.h"

namespace coppice {

inline constexpr uint32_t kMaxTrees = 1024;

struct Terms {
  std::string study;  // its id, as in "studies/ID": 1 to 63 of a-z 0-9 - _
  std::shared_ptr<const Schema> schema;
  Forest forest;   // 1 to kMaxTrees trees; the ticket fixes which one a device answers in
  Budget epsilon;  // what one report costs the device, at most kMaxStudyEpsilonNanos
  MechanismKind mechanism;
};

// InvalidArgument unless every field is as stated above and each tree fits the mechanism.
absl::Status ValidateTerms(const Terms& terms);

// True for a well-formed study or model id: 1 to 63 of a-z 0-9 - _, starting with a letter or
// digit.
bool IsValidId(absl::string_view id);

// One mechanism a tree, in the forest's order.
absl::StatusOr<std::vector<std::unique_ptr<LocalMechanism>>> MakeMechanisms(const Terms& terms);

// SHA-256 over the terms' bytes as they travel. Device and curator hash the same bytes, so neither
// depends on how the other would have written them.
using Fingerprint = std::array<uint8_t, 32>;
Fingerprint FingerprintOf(absl::string_view terms_bytes);
std::string ToHex(const Fingerprint& fingerprint);

// Everything a device needs to answer once.
struct Offer {
  Terms terms;
  Fingerprint fingerprint;
  Ticket ticket;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_TERMS_H_
