// What a model cost in privacy and what it assumed: for people, and for a check that its parts add
// up to the total.
//
// Releases from all records add up. Releases from one part of the records add up within that part,
// and only the most expensive part counts, because a record is in one part only, whichever other
// records there are (docs/research/mechanisms.md#composition).
//
// Errors     InvalidArgument, with both sums.
// Threads    plain values.

#ifndef COPPICE_COMMON_MODEL_CERTIFICATE_H_
#define COPPICE_COMMON_MODEL_CERTIFICATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice {

// Something that was released from private data, and what each release cost.
struct Release {
  std::string what;            // in words
  std::string mechanism;       // "laplace_split", ...
  uint64_t epsilon_nanos = 0;  // in billionths
  uint64_t delta_atto = 0;     // in 1e-18; 0: pure epsilon-DP
  uint64_t times = 1;
  std::string part{};  // the part of the records that it saw; empty: all
  // In 1e-12: the release is known to be rho-zCDP with this rho. 0: only epsilon is known, which
  // implies rho = epsilon^2 / 2 if delta is 0.
  uint64_t rho_pico = 0;

  friend bool operator==(const Release&, const Release&) = default;
};

// The additional promise towards readers who see only models that were built after their study was
// sealed (docs/research/mechanisms.md#amplification states its assumptions).
struct ReadersBound {
  uint64_t epsilon_nanos = 0;  // in billionths, rounded up; 0: nothing is promised
  uint64_t delta_atto = 0;     // in 1e-18
  uint64_t honest_reports = 0;
  uint32_t dishonest_millionths = 0;  // share of the reports that is assumed to be dishonest

  friend bool operator==(const ReadersBound&, const ReadersBound&) = default;
};

// The additional promise towards a curator that does not collude with the study's relay, and
// towards everybody that the curator shows anything to (docs/relay.md states its assumptions).
struct RelayBound {
  uint64_t epsilon_nanos = 0;         // in billionths, rounded up; 0: nothing is promised
  uint64_t delta_atto = 0;            // in 1e-18
  uint64_t honest_reports = 0;        // honest reports of each batch
  uint32_t dishonest_millionths = 0;  // share of each batch that is assumed to be dishonest
  uint64_t batches = 0;               // batches that the model rests on
  uint64_t least_accepted = 0;        // accepted reports of the smallest batch
  std::string relay_key;              // the first 16 bytes of SHA-256 of the relay's key

  friend bool operator==(const RelayBound&, const RelayBound&) = default;
};

struct Certificate {
  uint64_t epsilon_nanos = 0;              // total, in billionths
  uint64_t delta_atto = 0;                 // total, in 1e-18
  std::vector<Release> releases;           // all of them
  std::string mechanism;                   // "laplace_split", ...
  std::string neighbouring;                // the relation, in words
  std::vector<std::string> public_inputs;  // what was used without protection, in words
  std::string estimator;                   // "weighted lambda=1", "prune", "pooled"
  uint64_t reports = 0;                    // accepted and counted
  uint64_t public_rows = 0;
  // Their SHA-256 (common/table/rows_digest.h), in lower-case hex; empty where they have none:
  // those of studies.
  std::string public_rows_sha256{};
  std::string fingerprint;  // fingerprint of the study's terms, lower-case hex
  std::string code_version;
  // The estimator's finding on its evidence, in words; empty if it cannot tell.
  std::string diagnosis;
  ReadersBound readers{};
  RelayBound relay{};

  friend bool operator==(const Certificate&, const Certificate&) = default;
};

// The total cost of the releases, in billionths. InvalidArgument if it exceeds 64 bits.
StatusOr<uint64_t> TotalCost(absl::Span<const Release> releases);
// The total of their deltas, in 1e-18. Errors as above.
StatusOr<uint64_t> TotalDelta(absl::Span<const Release> releases);

// What the public inputs of a certificate say of columns whose bounds, values or classes were read
// from private rows: with such a schema a model shows more than its epsilon covers. Empty if there
// are none.
std::string UncoveredColumns(const Schema& schema);
// Whether this is what a public input says.
bool IsUncoveredColumns(std::string_view public_input);

// OK if the certificate's epsilon and delta equal the cost of its releases.
Status CheckCertificate(const Certificate& certificate);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_CERTIFICATE_H_
