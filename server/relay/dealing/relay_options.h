// The relay's options, and the events and totals that it reports.

#ifndef COPPICE_SERVER_RELAY_DEALING_RELAY_OPTIONS_H_
#define COPPICE_SERVER_RELAY_DEALING_RELAY_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "server/relay/epoch/disk.h"

namespace coppice::relay {

struct RelayOptions {
  std::string data_dir;              // must exist
  std::vector<std::string> studies;  // their ids, all different
  PublicKey curator_key{};           // the pin
  uint64_t tickets = 0;              // of each pool, at most kMaxEpochTickets
  uint64_t min_batch = 0;            // 0: the manifest's, which is also the minimum
  // Both count from the opening of a deal. The second ends earlier if the study expires soon after.
  absl::Duration deal_for = absl::Hours(12);
  absl::Duration collect_for = absl::Hours(24);
};

// An event of one study, for the daemon's log. Never about one report, one device or one ticket.
struct RelayEvent {
  enum class Severity : uint8_t { kInfo, kWarning, kError };
  Severity severity = Severity::kInfo;
  std::string study;
  std::string text;  // a sentence for the relay's operator; the curator's words are printable
};

// What tests replace.
struct RelaySeams {
  std::function<absl::Time()> now = absl::Now;
  std::function<StatusOr<EpochId>()> draw_epoch = nullptr;  // null: OpenSSL's
  std::function<void(const RelayEvent&)> log = [](const RelayEvent&) {};
  // The disk of the epochs. It must outlive the relay.
  Disk* disk = &RealDisk();
  // Without threads, work happens only in Relay::Step().
  bool threads = true;
};

// Totals since the start of the process, except the values marked "now".
struct StudyTotals {
  enum class Phase : uint8_t {
    kOpening,     // no deal is open yet
    kDealing,     // tickets are dealt and reports taken
    kCollecting,  // only reports are taken
    kEnded,       // the study takes no more reports
  };
  std::string study;
  Phase phase = Phase::kOpening;  // now
  uint64_t dealt = 0;
  // Answers, by outcome.
  uint64_t stored = 0;
  uint64_t conflict = 0;
  uint64_t closed = 0;
  uint64_t unknown = 0;
  uint64_t bad_length = 0;
  // Batches, by state.
  uint64_t waiting = 0;    // closed and not yet at the curator, now
  uint64_t delivered = 0;  // the curator has them
  uint64_t dropped = 0;    // too small, so erased
  uint64_t refused = 0;    // the curator no longer takes them, so erased
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_RELAY_OPTIONS_H_
