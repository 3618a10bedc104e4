// Datasets and jobs on one store, with a clock that always says 1000.

#ifndef COPPICE_TESTS_SERVER_DATASETS_CENTRAL_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DATASETS_CENTRAL_FIXTURE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/datasets/datasets.h"
#include "server/datasets/evaluations.h"
#include "server/datasets/jobs.h"
#include "server/datasets/ledger/ledger.h"
#include "server/datasets/row_block.h"
#include "server/store/models/models.h"
#include "tests/server/datasets/fake_trainer.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

inline constexpr auto kInvalid = StatusCode::kInvalidArgument;
inline constexpr auto kPrecondition = StatusCode::kFailedPrecondition;

inline constexpr uint64_t kEpsilon = 1'000'000'000;

inline std::shared_ptr<const Schema> CentralSchema() {
  return std::make_shared<const Schema>(*Schema::Create(
      {Numeric("age", 0, 100), Categorical("town", {"a", "b"})}, "label", {"no", "yes"}));
}

inline central::DatasetSpec SpecOf(const std::string& id, uint64_t epsilon_nanos = 10 * kEpsilon) {
  return {.id = id,
          .request_id = "request of " + id,
          .schema = CentralSchema(),
          .cap = {.epsilon_nanos = epsilon_nanos}};
}

// `rows` rows whose age is their number modulo 100.
inline v1::RowBlock Block(int rows) {
  v1::RowBlock block;
  v1::ColumnValues* ages = block.add_columns();
  v1::ColumnValues* towns = block.add_columns();
  for (int i = 0; i < rows; ++i) {
    ages->add_values(i % 100);
    towns->add_values(i % 3);
    block.add_labels(i % 2 == 0 ? 0 : kUnlabelled);
  }
  return block;
}

// Uploads a block as the service does.
inline StatusOr<central::DatasetInfo> UploadBlock(central::Datasets& datasets, std::string_view id,
                                                  uint64_t first_row, const v1::RowBlock& block,
                                                  bool complete) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> schema, datasets.GetSchema(id));
  COPPICE_ASSIGN_OR_RETURN(const Table rows, central::ParseRows(block, schema));
  return datasets.Upload(id, first_row, rows, complete);
}

inline StatusOr<Table> RowsOf(const central::Datasets& datasets, std::string_view id) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const RowBlocks> rows, datasets.ReadyRows(id));
  return ReadWhole(*rows);
}

inline central::JobRequest RequestOf(const std::string& id, uint64_t epsilon_nanos = kEpsilon,
                                     const std::string& dataset = "d") {
  return {.request_id = "request of " + id,
          .id = id,
          .model = "",
          .spec = {.dataset = dataset, .algorithm = "fake", .epsilon_nanos = epsilon_nanos}};
}

// All parts over one store; they are destroyed in reverse order.
struct Central {
  Central() = default;
  Central(Central&&) = default;
  // A part is replaced before the parts that it uses.
  Central& operator=(Central&& other) noexcept {
    evaluations = std::move(other.evaluations);
    jobs = std::move(other.jobs);
    datasets = std::move(other.datasets);
    ledger = std::move(other.ledger);
    models = std::move(other.models);
    return *this;
  }

  std::unique_ptr<models::Models> models = std::make_unique<models::Models>();
  std::unique_ptr<ledger::Ledger> ledger;
  std::unique_ptr<central::Datasets> datasets;
  std::unique_ptr<central::Jobs> jobs;
  std::unique_ptr<central::Evaluations> evaluations;
};

inline central::JobOptions QuickOptions(size_t threads = 1) {
  return {
      .threads = threads, .retry = absl::Milliseconds(1), .between_progress = absl::ZeroDuration()};
}

inline StatusOr<Central> OpenCentral(storage::Store& store,
                                     std::vector<const trainers::Trainer*> trainers,
                                     const central::JobOptions& options = QuickOptions(),
                                     ledger::SpendingJournal* journal = nullptr) {
  const auto clock = [] { return int64_t{1000}; };
  Central central;
  COPPICE_RETURN_IF_ERROR(central.models->Load(store));
  COPPICE_ASSIGN_OR_RETURN(central.ledger, ledger::Ledger::Open(store, clock, journal));
  COPPICE_ASSIGN_OR_RETURN(central.datasets,
                           central::Datasets::Open(store, *central.ledger, clock));
  COPPICE_ASSIGN_OR_RETURN(
      central.jobs, central::Jobs::Open(store, *central.ledger, *central.datasets, *central.models,
                                        trainers, clock, options));
  COPPICE_ASSIGN_OR_RETURN(central.evaluations,
                           central::Evaluations::Open(store, *central.ledger, *central.datasets,
                                                      *central.models, clock));
  return central;
}

// A complete dataset of `rows` rows.
inline Status MakeDataset(central::Datasets& datasets, const central::DatasetSpec& spec,
                          int rows = 10) {
  COPPICE_RETURN_IF_ERROR(datasets.Create(spec).status());
  return UploadBlock(datasets, spec.id, 0, Block(rows), /*complete=*/true).status();
}

// Keeps what it is told.
class Recorder final : public central::JobWatcher {
 public:
  void OnJob(const central::JobInfo& job) override {
    const std::lock_guard lock(mutex_);
    told_.push_back(job);
    changed_.notify_all();
  }
  void OnStop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  central::JobInfo AwaitEnd() {
    return Await([](const central::JobInfo& job) { return central::HasEnded(job.state); });
  }
  template <typename Predicate>
  central::JobInfo Await(Predicate predicate) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !told_.empty() && predicate(told_.back()); });
    return told_.back();
  }
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  std::vector<central::JobInfo> told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<central::JobInfo> told_;
  bool stopped_ = false;
};

inline central::JobInfo AwaitEnd(central::Jobs& jobs, const std::string& id) {
  const auto recorder = std::make_shared<Recorder>();
  EXPECT_OK(jobs.Watch(id, recorder));
  return recorder->AwaitEnd();
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DATASETS_CENTRAL_FIXTURE_H_
