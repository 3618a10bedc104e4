// What a model cost in privacy and what it assumed: for a person, and for a check that its parts
// add up to its whole.
//
// Releases made of all records add up. Releases made of one part of the records add up within that
// part, and of the parts only the most expensive counts, because a record is in one part only,
// whichever others there are (docs/research/mechanisms.md#composition).
//
// Errors     InvalidArgument, with both sums.
// Threads    plain values.

#ifndef COPPICE_COMMON_TREE_CERTIFICATE_H_
#define COPPICE_COMMON_TREE_CERTIFICATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace coppice {

// Something that left a private path, and what each time cost.
struct Release {
  std::string what;            // in words
  std::string mechanism;       // "laplace_split", ...
  uint64_t epsilon_nanos = 0;  // in billionths
  uint64_t delta_atto = 0;     // in 1e-18; 0: pure epsilon-DP
  uint64_t times = 1;
  std::string part{};  // of the records that it saw; empty: all
  // In 1e-12: it is known to be rho-zCDP with this. 0: nothing is known but what epsilon says,
  // which is epsilon^2 / 2 without a delta.
  uint64_t rho_pico = 0;

  friend bool operator==(const Release&, const Release&) = default;
};

// What is promised, besides, towards whoever sees only models that were built after their study was
// sealed (docs/research/mechanisms.md#amplification, which says under which assumptions).
struct ReadersBound {
  uint64_t epsilon_nanos = 0;  // in billionths, rounded up; 0: nothing is promised
  uint64_t delta_atto = 0;     // in 1e-18
  uint64_t honest_reports = 0;
  uint32_t dishonest_millionths = 0;  // the share of the reports that was assumed not to be

  friend bool operator==(const ReadersBound&, const ReadersBound&) = default;
};

// What is promised, besides, towards a curator that does not collude with the study's relay, and
// towards everybody that the curator shows anything to (docs/relay.md says under which
// assumptions).
struct RelayBound {
  uint64_t epsilon_nanos = 0;         // in billionths, rounded up; 0: nothing is promised
  uint64_t delta_atto = 0;            // in 1e-18
  uint64_t honest_reports = 0;        // of each batch
  uint32_t dishonest_millionths = 0;  // the share of each that was assumed not to be
  uint64_t batches = 0;               // that the model rests on
  uint64_t least_accepted = 0;        // accepted reports of the smallest of them
  std::string relay_key;              // the first 16 bytes of SHA-256 of the relay's key

  friend bool operator==(const RelayBound&, const RelayBound&) = default;
};

struct Certificate {
  uint64_t epsilon_nanos = 0;              // in all, in billionths
  uint64_t delta_atto = 0;                 // in all, in 1e-18
  std::vector<Release> releases;           // every one
  std::string mechanism;                   // "laplace_split", ...
  std::string neighbouring;                // the relation, in words
  std::vector<std::string> public_inputs;  // what was used without protection, in words
  std::string estimator;                   // "weighted lambda=1", "prune", "smooth"
  uint64_t reports = 0;                    // accepted and counted
  uint64_t public_rows = 0;
  std::string fingerprint;  // of the study's terms, lower-case hex
  std::string code_version;
  // What the estimator made of its evidence, in words; empty if it cannot tell.
  std::string diagnosis;
  ReadersBound readers{};
  RelayBound relay{};

  friend bool operator==(const Certificate&, const Certificate&) = default;
};

// What the releases cost in all, in billionths. InvalidArgument if that passes 64 bits.
absl::StatusOr<uint64_t> TotalCost(absl::Span<const Release> releases);
// The same of their deltas, in 1e-18.
absl::StatusOr<uint64_t> TotalDelta(absl::Span<const Release> releases);

// OK if the certificate's epsilon and delta are what its releases cost.
absl::Status CheckCertificate(const Certificate& certificate);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_CERTIFICATE_H_
