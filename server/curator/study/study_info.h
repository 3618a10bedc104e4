// A study as its callers see it: the request, the progress, and the outcomes of reports.

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

#include "common/base/status.h"
#include "common/table/table.h"
#include "common/terms/relay_promise.h"
#include "common/terms/report_outcome.h"
#include "common/terms/sha256.h"
#include "common/terms/terms.h"
#include "server/curator/estimation/inspection/alarms.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/study_settings.h"

namespace coppice::curator {

using coppice::ReportOutcome;
// Those that a study counts: index by the number; 0 is unused.
inline constexpr size_t kNumReportOutcomes = 11;

enum class StudyState : uint8_t { kOpen = 1, kSealed = 2, kBuilt = 3 };

// The content of a request for a study.
struct StudySpec {
  std::string id;          // empty: the curator makes one
  std::string request_id;  // chosen by the caller; repeating it returns the study that it made
  std::shared_ptr<const Table> public_rows;
  PartitionOptions partition;
  bool choose_size = false;  // choose the partition's size from the public rows (forest_size.h)
  Budget epsilon;
  std::optional<MechanismKind> mechanism;  // chosen if unset (mechanism_choice.h)
  size_t max_payload_bytes = 0;            // if the mechanism is chosen; 0: no limit
  uint64_t expected_devices = 0;           // 0: unknown
  StudySettings settings{};
  // The range to round numbers within, if a number is predicted; chosen if unset (number_labels.h).
  std::optional<NumberRange> rounding{};
  std::string joined_by{};   // as in the terms
  std::string owner{};       // name of the requesting policy entry; empty without a policy
  uint64_t most_owned = 0;   // the most studies that the owner may have; 0: no limit
  bool accept_leak = false;  // take a schema that is marked as read from private rows
  // Refuses an id that the curator drew (server/store/models/ids.h); null refuses none.
  std::function<Status(const std::string& id)> may_draw{};
};

// The features of one id, for a study that is joined by ids.
struct JoinRow {
  std::string id;  // 1 to kMaxJoinIdBytes bytes
  Row row;
};
inline constexpr size_t kMaxJoinRowsPerCall = 4096;

// The progress of a relay's batch. The numbers are those of the wire.
enum class BatchState : uint8_t { kReceiving = 1, kStored = 2, kCounted = 3, kBroken = 4 };

// The totals of a relay's batch.
struct BatchInfo {
  Sha256Digest id{};
  BatchState state = BatchState::kReceiving;
  uint64_t reports = 0;
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // of those judged, by ReportOutcome
  int64_t created_unix_seconds = 0;                     // when its first part arrived
};

struct BatchSummary {
  uint64_t waiting = 0;  // reports that have arrived and are not judged
  uint64_t batches = 0;
  uint64_t counted = 0;         // batches whose reports are all judged
  uint64_t least_accepted = 0;  // the least in one of these
  // The smallest crowd of any batch that the curator has seen reports of, counted or not: its
  // accepted reports or, until they are known, the reports that the relay signed for.
  std::optional<uint64_t> smallest_crowd{};
  std::vector<BatchInfo> newest{};  // oldest first
};
inline constexpr size_t kNewestBatches = 100;

// The additional information of a relayed study.
struct StudyRelayInfo {
  // The key that its manifest names; none after its retention.
  std::optional<SealingKeyName> sealing_key{};
  uint32_t earlier_keys = 0;  // kept to open reports sealed for them
  bool keys_erased = false;   // nobody can open sealed reports any more
  BatchSummary batches{};     // only Studies::Get() fills in the newest ones
};

// The current state of a study.
struct StudyInfo {
  std::string id;
  StudyState state = StudyState::kOpen;
  int64_t created_unix_seconds = 0;
  Fingerprint fingerprint{};
  uint64_t public_rows = 0;
  PartitionOptions partition;
  std::string choice;  // why the mechanism and forest were chosen; empty if given
  std::shared_ptr<const Terms> terms;
  std::string neighbouring;                             // as certificates of its models state it
  std::shared_ptr<const Forest> forest;                 // the one that the terms stand for
  std::array<uint64_t, kNumReportOutcomes> outcomes{};  // reports by ReportOutcome
  uint64_t received = 0;
  uint64_t failed = 0;
  uint64_t in_sums = 0;
  std::vector<Alarm> alarms{};  // filled in only by Studies::Get()
  // From the last Sweep() that computed them; null before the first. Unless they are of the final
  // sums, they are for the operator alone.
  std::shared_ptr<const std::vector<Alarm>> alarms_at_last_look{};
  bool last_look_was_final = false;
  StudySettings settings{};
  int64_t sealed_unix_seconds = 0;        // 0 while it is open
  bool expired = false;                   // sealed because its time was over
  std::string final_model{};              // its id; empty unless built
  bool retired = false;                   // its sums, public rows and spent tickets are deleted
  bool seen_early = false;                // as in StudyLife
  uint64_t join_rows = 0;                 // number of ids with features, in a study joined by ids
  std::string owner{};                    // as in StudySpec
  std::optional<StudyRelayInfo> relay{};  // set if its settings have a relay
};

// Called once, with one outcome per report in the order of the batch. After an error none may be
// assumed counted, and the caller retries the same bytes.
using SubmitDone = std::function<void(StatusOr<std::vector<ReportOutcome>>)>;

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_INFO_H_
