// Training jobs that race for a budget, and what must hold of their dataset's ledger.
//
// The charges that were not refunded are at most the cap; each job is charged once and ends at most
// once; a job that was acknowledged is there; a model has its charge.
// Threads    Run() may run on several.

#ifndef COPPICE_TESTS_FLEET_JOBS_H_
#define COPPICE_TESTS_FLEET_JOBS_H_

#include <grpcpp/channel.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "coppice/v1/dataset.grpc.pb.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/training.grpc.pb.h"
#include "tests/fleet/witness.h"

namespace coppice::fleet_faults {

class Jobs {
 public:
  static constexpr char kDataset[] = "d";
  static constexpr int kCap = 16;   // the dataset's epsilon; each job wants 1
  static constexpr int kMost = 64;  // jobs

  explicit Jobs(Witness& witness) : witness_(witness) {}

  // Takes one channel per door of Curators.
  void Connect(const std::vector<std::shared_ptr<grpc::Channel>>& channels);
  // Submits jobs, each until it is accepted or refused.
  void Run(uint64_t seed, const std::atomic<bool>& stopping);
  // Waits until every job has ended, and tells the witness what is wrong.
  Status Check(absl::Duration patience, const std::function<void()>& meanwhile);

  int submitted() const { return next_; }
  size_t done() const { return done_; }

 private:
  struct Stubs {
    std::unique_ptr<v1::DatasetService::Stub> datasets;
    std::unique_ptr<v1::TrainingService::Stub> training;
    std::unique_ptr<v1::ModelService::Stub> models;
  };

  // Asks through the doors in turn until one answers.
  template <typename Response>
  Status Ask(absl::Time until, const std::function<void()>& meanwhile,
             const std::function<grpc::Status(Stubs&, grpc::ClientContext&, Response*)>& call,
             Response* response);
  void CheckLedger(const v1::Dataset& dataset);

  Witness& witness_;
  std::vector<Stubs> stubs_;
  std::atomic<int> next_{0};
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  size_t done_ = 0;
};

// Whether the status tells a caller to try again.
bool IsTransient(const grpc::Status& status);

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_JOBS_H_
