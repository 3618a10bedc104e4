// One relay in this process, on a simulated disk that outlives it.

#ifndef COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_
#define COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/signature.h"
#include "coppice/v1/relay.pb.h"
#include "server/relay/dealing/relay.h"
#include "tests/faults/relay/book.h"
#include "tests/server/relay/epoch/simulated_disk.h"

namespace coppice::relay_faults {

inline constexpr std::string_view kStudy = "wells";
inline constexpr uint64_t kTickets = 2100;
inline constexpr absl::Duration kDealFor = absl::Hours(12);
inline constexpr absl::Duration kCollectFor = absl::Hours(24);

SigningKey RelayKey();

// What a device sends to a deal.
struct Sealed {
  std::string epoch;
  std::string claim;
  Report report;
};

// Guarantee  reports that are submitted together are written in the same groups at every run.
// Threads    for one; the relay's own are waited for.
class RelayProcess {
 public:
  using Outcome = StatusOr<v1::SubmitOutcome>;

  // What the process is given.
  struct Parts {
    std::string data_dir;
    PublicKey curator_key{};
    std::function<absl::Time()> now;
    std::function<StatusOr<EpochId>()> draw_epoch;
    // Makes the link of a process that starts.
    std::function<std::shared_ptr<relay::CuratorCalls>()> link;
    std::function<void(const relay::RelayEvent&)> log;
  };

  RelayProcess(Parts parts, std::unique_ptr<testing::SimulatedDisk> disk);
  ~RelayProcess() { Kill(/*power_cut=*/false); }

  Status Start();
  void Stop() { relay_.reset(); }
  void Kill(bool power_cut);
  bool up() const { return relay_ != nullptr; }

  // The process ends when the disk stops.
  void DieAfter(uint64_t changes, bool power_cut);
  // The disk stops, and the process lives.
  void FailAfter(uint64_t changes);
  // The disk works again.
  void Heal();
  bool is_dead() const { return dies_.has_value() && disk_->stopped(); }
  // Ends the process if it is dead; true if it was.
  bool EndIfDead();

  relay::Relay& relay() { return *relay_; }
  testing::SimulatedDisk& disk() { return *disk_; }
  const Parts& parts() const { return parts_; }
  void ReplaceDisk(std::unique_ptr<testing::SimulatedDisk> disk);

  // Work() does all that is due, Step() the first thing only.
  void Work();
  void Step();

  StatusOr<v1::GetRelayTermsResponse> Terms();
  StatusOr<std::string> TakeOffer(const std::string& epoch);
  // An outcome is Cancelled if the relay died before it answered.
  std::vector<Outcome> Submit(const std::vector<Sealed>& reports);

 private:
  class Waiting;

  void MakeFolders();
  void SubmitOne(const Sealed& sealed, Outcome& outcome, Waiting& waiting);

  const Parts parts_;
  std::unique_ptr<testing::SimulatedDisk> disk_;
  std::unique_ptr<relay::Relay> relay_;
  std::optional<bool> dies_;  // whether a power cut ends it; empty: nothing does
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_
