// A trainer that waits, fails, or releases more than it planned, as a test says.

#ifndef COPPICE_TESTS_SERVER_DATASETS_FAKE_TRAINER_H_
#define COPPICE_TESTS_SERVER_DATASETS_FAKE_TRAINER_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/trainers/core/trainer.h"

namespace coppice::testing {

class FakeTrainer final : public trainers::Trainer {
 public:
  explicit FakeTrainer(std::string name = "fake",
                       Neighbours neighbours = Neighbours::kAddOrRemoveRow) {
    info_.name = std::move(name);
    info_.summary = "Counts nothing.";
    info_.neighbours = neighbours;
    info_.regression = true;
    info_.public_rows = true;
    info_.parameters = {trainers::IntegerParameter("trees", 1, 9, "1", "How many.")};
  }

  // Makes Train() wait until Let(), calling its progress function meanwhile.
  void Hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void Let() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  // Makes Plan() wait until LetPlans().
  void HoldPlans() {
    const std::lock_guard lock(mutex_);
    plans_held_ = true;
  }
  void AwaitHeldPlan() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return plans_waiting_ > 0; });
  }
  void LetPlans() {
    const std::lock_guard lock(mutex_);
    plans_held_ = false;
    changed_.notify_all();
  }
  // Waits until Train() was called this many times in all.
  void AwaitRuns(int runs) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return runs_ >= runs; });
  }
  // Waits until a held Train() has told of its progress this many times in all.
  void AwaitProgress(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return progress_told_ >= times; });
  }
  int runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }
  size_t rows_seen() const {
    const std::lock_guard lock(mutex_);
    return rows_seen_;
  }
  size_t public_rows_seen() const {
    const std::lock_guard lock(mutex_);
    return public_rows_seen_;
  }
  void Fail(Status status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  // Sets how much the model says it released, as a multiple of the plan.
  void ReleaseTimes(uint64_t times) {
    const std::lock_guard lock(mutex_);
    times_ = times;
  }
  // Plans `parts` releases from now on.
  void PlanParts(uint64_t parts) {
    const std::lock_guard lock(mutex_);
    parts_ = parts;
  }
  // Says that models may take so many bytes, from now on.
  void PlanModelBytes(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    model_bytes_ = bytes;
  }
  // Says that training takes so many bytes for a row, from now on.
  void PlanBytesOfRow(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_of_row_ = bytes;
  }
  trainers::AlgorithmInfo& info() { return info_; }

  const trainers::AlgorithmInfo& info() const override { return info_; }

  StatusOr<std::vector<Release>> Plan(const Schema&,
                                      const trainers::TrainOptions& options) const override {
    const auto settings = trainers::CheckedSettings::Create(info_.parameters, options.settings);
    if (!settings.ok()) return settings.status();
    if (!options.epsilon) return std::vector<Release>();
    std::unique_lock lock(mutex_);
    ++plans_waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !plans_held_; });
    --plans_waiting_;
    return std::vector<Release>(parts_, {.what = "a count",
                                         .mechanism = "fake",
                                         .epsilon_nanos = options.epsilon->nanos() / parts_,
                                         .times = 1,
                                         .part = ""});
  }

  StatusOr<std::vector<std::string>> Warnings(const Schema&,
                                              const trainers::TrainOptions&) const override {
    return std::vector<std::string>{"the fake is of no use"};
  }

  StatusOr<uint64_t> MostModelBytes(const Schema&, const trainers::TrainOptions&) const override {
    const std::lock_guard lock(mutex_);
    return model_bytes_;
  }
  StatusOr<uint64_t> MostBytesOfRow(const Schema&, const trainers::TrainOptions&) const override {
    const std::lock_guard lock(mutex_);
    return bytes_of_row_;
  }
  StatusOr<std::string> AdviceOnSize(const Schema&, const trainers::TrainOptions&) const override {
    return "take fewer fakes";
  }

  StatusOr<Model> Train(const RowBlocks& rows, const trainers::TrainOptions& options,
                        PrivateRandom&, const trainers::TrainProgress& progress) const override {
    {
      std::unique_lock lock(mutex_);
      ++runs_;
      rows_seen_ = rows.num_rows();
      public_rows_seen_ = options.public_rows ? options.public_rows->num_rows() : 0;
      changed_.notify_all();
      while (held_) {
        lock.unlock();
        const Status go_on = progress(0.5);
        if (!go_on.ok()) return go_on;
        lock.lock();
        ++progress_told_;
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return !held_; });
      }
      if (!status_.ok()) return status_;
    }
    ::coppice::Certificate certificate;
    certificate.releases = *Plan(rows.schema(), options);
    certificate.estimator = "fake";
    {
      const std::lock_guard lock(mutex_);
      for (Release& release : certificate.releases) release.times *= times_;
    }
    certificate.epsilon_nanos = *TotalCost(certificate.releases);
    std::vector<double> probabilities(rows.schema().num_outputs(), 0.0);
    probabilities[0] = 1;
    return Model::Create(rows.schema(), {Tree::SingleLeaf()}, {{{.probabilities = probabilities}}},
                         std::move(certificate));
  }

 private:
  trainers::AlgorithmInfo info_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool held_ = false;
  bool plans_held_ = false;
  mutable int plans_waiting_ = 0;
  mutable int runs_ = 0;
  mutable int progress_told_ = 0;
  mutable size_t rows_seen_ = 0;
  mutable size_t public_rows_seen_ = 0;
  Status status_;
  uint64_t times_ = 1;
  uint64_t parts_ = 1;
  uint64_t model_bytes_ = 0;
  uint64_t bytes_of_row_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DATASETS_FAKE_TRAINER_H_
