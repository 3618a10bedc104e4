// What a device agrees to when it answers a study. All of it is public.

#ifndef COPPICE_COMMON_TERMS_TERMS_H_
#define COPPICE_COMMON_TERMS_TERMS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/tree.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/terms/sha256.h"
#include "common/terms/ticket.h"

namespace coppice {

inline constexpr uint32_t kMaxTrees = 1024;

struct Terms {
  std::string study;  // the study's id, as in "studies/ID": 1 to 63 of a-z 0-9 - _
  std::shared_ptr<const Schema> schema;
  uint32_t trees = 1;             // 1 to kMaxTrees; the ticket fixes which one a device answers in
  Sha256Digest forest_root = {};  // root of the hash tree over the trees' bytes, see merkle.h
  Budget epsilon;                 // what one report costs the device, at most kMaxStudyEpsilonNanos
  MechanismKind mechanism;
  // The range within which a device rounds its number; set if and only if the schema has a target.
  std::optional<NumberRange> rounding{};
  // The name of the id that a report shows instead of its features; empty: it shows the features.
  std::string joined_by{};
  // Set if and only if the mechanism has a window; the device takes it as it is.
  std::optional<Window> window{};

  uint32_t num_public_features() const {
    return static_cast<uint32_t>(schema->public_features().size());
  }
};

// InvalidArgument unless every field is as stated above.
Status ValidateTerms(const Terms& terms);
// InvalidArgument unless numbers with these bounds can be rounded within the range. It may extend
// beyond the bounds on either side.
Status CheckRounding(const NumberRange& rounding, const Target& target);
// InvalidArgument unless a device can answer in `tree`: it fits the schema, and a report fits it.
Status ValidateTree(const Terms& terms, const Tree& tree);

// The range that a number of this leaf is cut to and placed in: its own around the leaf's centre,
// or that of the terms. The terms must be about numbers.
NumberRange AnswerRange(const Terms& terms, const Tree& tree, uint32_t leaf);
NumberRange AnswerRange(const NumberRange& of_study, const Tree& tree, uint32_t leaf);

// Trees of a study's forest by their index, from 0: the one that a device fetched, or all.
using TreesByIndex = std::map<uint32_t, Tree>;
TreesByIndex AllTrees(Forest forest);

// True for a well-formed study or model id: 1 to 63 of a-z 0-9 - _, starting with a letter or
// digit.
bool IsValidId(std::string_view id);

// What a report about `leaves` leaves is about.
Domain DomainOf(const Terms& terms, uint32_t leaves);
// MakeMechanism() returns the mechanism for `leaves` leaves: those of a tree or, if features are
// public, those that a row's public values allow. MakeMechanisms() returns one per tree, for all
// its leaves, in the forest's order.
StatusOr<std::unique_ptr<LocalMechanism>> MakeMechanism(const Terms& terms, uint32_t leaves);
StatusOr<std::vector<std::unique_ptr<LocalMechanism>>> MakeMechanisms(const Terms& terms,
                                                                      const Forest& forest);

// SHA-256 over the terms' bytes as they are sent. Device and curator hash the same bytes, so
// neither depends on how the other would have serialized them.
using Fingerprint = std::array<uint8_t, 32>;
Fingerprint FingerprintOf(std::string_view terms_bytes);
std::string ToHex(const Fingerprint& fingerprint);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_TERMS_H_
