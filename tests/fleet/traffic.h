// What goes on while curators fail: devices with one report each, readers of counts, and training
// jobs that race for a budget smaller than their sum.
//
// Clients go through the balancer. Some go past it to curators themselves, which answer as truly or
// not at all; after a failure a device sends the same bytes through the next door.
// Threads    for one, which starts and stops the others.

#ifndef COPPICE_TESTS_FLEET_TRAFFIC_H_
#define COPPICE_TESTS_FLEET_TRAFFIC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "tests/faults/books.h"
#include "tests/fleet/curators.h"
#include "tests/fleet/jobs.h"
#include "tests/fleet/twins.h"
#include "tests/fleet/witness.h"
#include "tests/support/collector.h"

namespace coppice::fleet_faults {

struct TrafficOptions {
  std::string study;
  std::string rows;  // a folder of made-up tables
  Bug bug = Bug::kNone;
  // A busy study has all kinds of traffic, and its readers often wait for a group of reports that
  // the database does not answer. A quiet one has few reports and many readers.
  bool busy = true;
  int racing_jobs = 2;  // for a busy study
};

class Traffic {
 public:
  Traffic(const Curators& curators, Witness& witness, TrafficOptions options);
  ~Traffic() { Stop(); }

  // Makes the study, and for a busy one its dataset.
  Status SetUp(absl::Duration patience, const std::function<void()>& meanwhile);
  void Start(uint64_t seed);
  void Stop();

  // Sends every report again until each is answered.
  Status SendAll(absl::Duration patience, const std::function<void()>& meanwhile);
  // Expects that all are counted.
  Status ReadAll(absl::Duration patience, const std::function<void()>& meanwhile);
  // How the store's books differ from every report once, or empty.
  std::string CompareWith(const testing::Books& books) const;

  Jobs& jobs() { return jobs_; }
  const std::string& study() const { return options_.study; }

 private:
  // The library's way through one door of Curators. After a failure it opens a new channel, as a
  // device's new process would: a channel that has failed often waits long.
  class Door {
   public:
    explicit Door(ConnectOptions connection) : connection_(std::move(connection)) { Open(); }
    std::shared_ptr<Collector> Get();
    void OpenAnew();

   private:
    void Open();

    const ConnectOptions connection_;
    std::mutex mutex_;
    std::shared_ptr<Collector> collector_;
    absl::Time opened_;
  };

  Door& DoorTo(size_t through) { return *doors_[through % doors_.size()]; }
  void RunDevices(uint64_t seed);
  void RunReader(uint64_t seed, bool of_sums);
  void RunResender(uint64_t seed);
  Status Send(size_t device, size_t through);
  StatusOr<uint64_t> ReadCount(size_t through, bool of_sums, bool patient = false);
  // Makes a report for a device from a row of its own.
  PrivateReport Randomize(const Ticket& ticket, size_t device);
  StatusOr<std::vector<Ticket>> FetchTickets(uint32_t tickets, size_t& through);

  const Curators& curators_;
  Witness& witness_;
  const TrafficOptions options_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::optional<FetchedOffer> offer_;
  std::optional<Privatizer> privatizer_;
  Jobs jobs_;
  mutable std::mutex mutex_;
  std::vector<PrivateReport> reports_;  // by device
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_TRAFFIC_H_
