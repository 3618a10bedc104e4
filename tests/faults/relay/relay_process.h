// One relay in this process, on a simulated disk that outlives it.

#ifndef COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_
#define COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/study/signature.h"
#include "coppice/v1/relay.pb.h"
#include "server/relay/dealing/relay.h"
#include "tests/faults/relay/book.h"
#include "tests/server/relay/epoch/simulated_disk.h"

namespace coppice::relay_faults {

inline constexpr absl::string_view kStudy = "wells";
inline constexpr uint64_t kTickets = 2100;
inline constexpr absl::Duration kDealFor = absl::Hours(12);
inline constexpr absl::Duration kCollectFor = absl::Hours(24);

SigningKey RelayKey();

// What a device sends, besides its deal.
struct Sealed {
  std::string epoch;
  std::string claim;
  Report report;
};

// Guarantee  what is submitted together is written in the same groups at every run.
// Threads    for one; the relay's own are waited for.
class RelayProcess {
 public:
  using Outcome = absl::StatusOr<v1::SubmitOutcome>;

  // What it rests on.
  struct Parts {
    std::string data_dir;
    PublicKey curator_key{};
    std::function<absl::Time()> now;
    std::function<absl::StatusOr<EpochId>()> draw_epoch;
    // A link for a process that starts.
    std::function<std::shared_ptr<relay::CuratorCalls>()> link;
    std::function<void(const relay::RelayEvent&)> log;
  };

  RelayProcess(Parts parts, std::unique_ptr<testing::SimulatedDisk> disk);
  ~RelayProcess() { Kill(/*power_cut=*/false); }

  absl::Status Start();
  void Stop() { relay_.reset(); }
  void Kill(bool power_cut);
  bool up() const { return relay_ != nullptr; }

  // The process ends with the disk.
  void DieAfter(uint64_t changes, bool power_cut);
  // It does not.
  void FailAfter(uint64_t changes);
  // Its disk works again.
  void Heal();
  bool is_dead() const { return dies_.has_value() && disk_->stopped(); }
  // Ends it if it is dead. True if it was.
  bool EndIfDead();

  relay::Relay& relay() { return *relay_; }
  testing::SimulatedDisk& disk() { return *disk_; }
  const Parts& parts() const { return parts_; }
  void ReplaceDisk(std::unique_ptr<testing::SimulatedDisk> disk);

  // What is due until nothing is, or the first thing alone.
  void Work();
  void Step();

  absl::StatusOr<v1::GetRelayTermsResponse> Terms();
  absl::StatusOr<std::string> TakeOffer(const std::string& epoch);
  // Cancelled: nobody lived to answer.
  std::vector<Outcome> Submit(const std::vector<Sealed>& reports);

 private:
  class Waiting;

  void MakeFolders();
  void SubmitOne(const Sealed& sealed, Outcome& outcome, Waiting& waiting);

  const Parts parts_;
  std::unique_ptr<testing::SimulatedDisk> disk_;
  std::unique_ptr<relay::Relay> relay_;
  std::optional<bool> dies_;  // by a power cut?
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_RELAY_PROCESS_H_
