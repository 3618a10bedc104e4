// A study as its callers see it: what was asked for, how far it is, and what becomes of a report.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_INFO_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_INFO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/study/relay_promise.h"
#include "common/study/sha256.h"
#include "common/study/terms.h"
#include "server/curator/inspection/alarms.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/study_settings.h"

namespace coppice::curator {

// What became of a report. The numbers are stable: the wire and the metrics use them. The retry
// rules are in docs/protocol.md.
enum class ReportOutcome : uint8_t {
  kAccepted = 1,   // counted, and on disk
  kDuplicate = 2,  // its ticket was counted before; a success to the device
  kUnknownStudy = 3,
  kStudySealed = 4,
  kStaleFingerprint = 5,  // made for terms that are not this study's
  kBadTicket = 6,         // its ticket was not issued by this curator for these terms
  kBadPayload = 7,        // wrong length, or values that no honest device sends
  kStudyExpired = 8,      // the study was sealed because its time was over
  kBadSeal = 9,           // came in a relay's batch and does not open
  kUnknownId = 10,        // the curator has no features for the id that it shows
};
inline constexpr size_t kNumReportOutcomes = 11;  // index by the number; 0 is unused

enum class StudyState : uint8_t { kOpen = 1, kSealed = 2, kBuilt = 3 };

// What a request for a study asks for.
struct StudySpec {
  std::string id;          // empty: the curator makes one
  std::string request_id;  // chosen by the caller; repeating it returns the study it made
  std::shared_ptr<const Table> public_rows;
  PartitionOptions partition;
  bool choose_size = false;  // choose the partition's size from the public rows (forest_size.h)
  Budget epsilon;
  std::optional<MechanismKind> mechanism;  // chosen if unset (mechanism_choice.h)
  size_t max_payload_bytes = 0;            // if the mechanism is chosen; 0: no limit
  uint64_t expected_devices = 0;           // 0: unknown
  StudySettings settings{};
  // Where a number is to be predicted; chosen if unset (number_labels.h).
  std::optional<NumberRange> rounding{};
  std::string joined_by{};  // as in the terms
  std::string owner{};      // name of the policy entry that asks; empty without a policy
  uint64_t most_owned = 0;  // studies that the owner may have; 0: no limit
};

// The features of one id, for a study that is joined by ids.
struct JoinRow {
  std::string id;  // 1 to kMaxJoinIdBytes bytes
  Row row;
};
inline constexpr size_t kMaxJoinRowsPerCall = 4096;

// How far a relay's batch has come. The numbers are those of the wire.
enum class BatchState : uint8_t { kReceiving = 1, kStored = 2, kCounted = 3, kBroken = 4 };

// A relay's batch by its totals.
struct BatchInfo {
  Sha256Digest id{};
  BatchState state = BatchState::kReceiving;
  uint64_t reports = 0;
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // of those judged, by ReportOutcome
  int64_t created_unix_seconds = 0;                     // when its first part came
};

struct BatchSummary {
  uint64_t waiting = 0;  // reports that have come and are not judged
  uint64_t batches = 0;
  uint64_t counted = 0;         // batches of which every report was judged
  uint64_t least_accepted = 0;  // reports of one of these
  // Of any batch that the curator has seen reports of, counted or not: those that are accepted, or,
  // as long as that is not known, those that the relay signed for.
  std::optional<uint64_t> smallest_crowd{};
  std::vector<BatchInfo> newest{};  // oldest first
};
inline constexpr size_t kNewestBatches = 100;

// What a relayed study has besides.
struct StudyRelayInfo {
  // The key that its manifest names; nothing once its retention is over.
  std::optional<SealingKeyName> sealing_key{};
  uint32_t earlier_keys = 0;  // that are kept to open what was sealed for them
  bool keys_erased = false;   // sealed reports are opened by nobody any more
  BatchSummary batches{};     // its newest ones are filled in by Studies::Get() alone
};

// A study as it is now.
struct StudyInfo {
  std::string id;
  StudyState state = StudyState::kOpen;
  int64_t created_unix_seconds = 0;
  Fingerprint fingerprint{};
  uint64_t public_rows = 0;
  PartitionOptions partition;
  std::string choice;  // why the mechanism and the forest were chosen; empty if they were given
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const Forest> forest;                 // the one that the terms stand for
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // reports by ReportOutcome
  uint64_t received = 0;
  uint64_t failed = 0;
  uint64_t in_sums = 0;
  std::vector<Alarm> alarms{};  // filled in by Studies::Get() alone
  // As the last Sweep() that looked found them; null before the first.
  std::shared_ptr<const std::vector<Alarm>> alarms_at_last_look{};
  StudySettings settings{};
  int64_t sealed_unix_seconds = 0;  // 0 while it is open
  bool expired = false;             // sealed because its time was over
  std::string final_model{};        // its id; empty unless built
  bool retired = false;             // its sums, public rows and spent tickets are deleted
  uint64_t join_rows = 0;           // how many ids it has features of, where it is joined by them
  std::string owner{};              // as in StudySpec
  std::optional<StudyRelayInfo> relay{};  // set if its settings have a relay
};

// Called once, with one outcome per report in the order of the batch. After an error the caller
// retries the same bytes, since nothing is known to be counted.
using SubmitDone = std::function<void(absl::StatusOr<std::vector<ReportOutcome>>)>;

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_INFO_H_
