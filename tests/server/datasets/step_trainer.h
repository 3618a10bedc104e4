// A trainer that can go on after a crash, in steps of two draws, and notes what each run saw.

#ifndef COPPICE_TESTS_SERVER_DATASETS_STEP_TRAINER_H_
#define COPPICE_TESTS_SERVER_DATASETS_STEP_TRAINER_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/trainer.h"

namespace coppice::testing {

class StepTrainer final : public trainers::Trainer {
 public:
  static constexpr size_t kSteps = 4;
  static constexpr size_t kDraws = 2;  // of a step

  struct Run {
    std::vector<uint64_t> coins{};  // one per row
    std::vector<int64_t> values{};  // of all draws
    size_t passed = 0;              // steps that were over: others may have heard of their values
    size_t public_rows = 0;
  };

  StepTrainer() {
    info_.name = "fake";
    info_.summary = "Adds up rows, in steps.";
    info_.public_rows = true;
  }

  // Called at the end of a step, before anybody is told of it.
  void AtStep(std::function<void(size_t step)> hook) {
    const std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
  }

  std::vector<Run> runs() const {
    const std::lock_guard lock(mutex_);
    return runs_;
  }

  bool CanResume() const override { return true; }
  const trainers::AlgorithmInfo& info() const override { return info_; }

  StatusOr<std::vector<Release>> Plan(const Schema&,
                                      const trainers::TrainOptions& options) const override {
    return std::vector<Release>{{.what = "sums",
                                 .mechanism = "fake",
                                 .epsilon_nanos = options.epsilon->nanos(),
                                 .times = 1,
                                 .part = ""}};
  }
  StatusOr<std::vector<std::string>> Warnings(const Schema&,
                                              const trainers::TrainOptions&) const override {
    return std::vector<std::string>();
  }

  StatusOr<Model> Train(const RowBlocks&, const trainers::TrainOptions&, PrivateRandom&,
                        const trainers::TrainProgress&) const override {
    return InternalError("it trains with a releaser");
  }

  StatusOr<Model> TrainWith(const RowBlocks& rows, const trainers::TrainOptions& options,
                            trainers::PrivateReleaser& releaser,
                            const trainers::TrainProgress& progress) const override {
    const size_t run = Begin(options);
    for (size_t row = 0; row < rows.num_rows(); ++row) {
      COPPICE_ASSIGN_OR_RETURN(const uint64_t coin, releaser.Below(1'000'000));
      Change(run, [coin](Run& of) { of.coins.push_back(coin); });
    }
    // So little that two draws are equal once in some 10^6 times.
    const trainers::BudgetShare share(*Budget::FromNanos(1000));
    for (size_t step = 0; step < kSteps; ++step) {
      for (size_t draw = 0; draw < kDraws; ++draw) {
        COPPICE_ASSIGN_OR_RETURN(const std::vector<int64_t> sums, releaser.Sums({7}, 1, share));
        Change(run, [&](Run& of) { of.values.push_back(sums.front()); });
      }
      if (const auto hook = Hook()) hook(step);
      COPPICE_RETURN_IF_ERROR(progress(static_cast<double>(step + 1) / kSteps));
      Change(run, [](Run& of) { ++of.passed; });
    }
    return ModelOf(rows.schema(), options);
  }

 private:
  size_t Begin(const trainers::TrainOptions& options) const {
    const std::lock_guard lock(mutex_);
    runs_.push_back(
        {.public_rows = options.public_rows ? options.public_rows->num_rows() : size_t{0}});
    return runs_.size() - 1;
  }
  void Change(size_t run, const std::function<void(Run&)>& change) const {
    const std::lock_guard lock(mutex_);
    change(runs_[run]);
  }
  std::function<void(size_t)> Hook() const {
    const std::lock_guard lock(mutex_);
    return hook_;
  }
  StatusOr<Model> ModelOf(const Schema& schema, const trainers::TrainOptions& options) const {
    ::coppice::Certificate certificate;
    certificate.releases = *Plan(schema, options);
    certificate.estimator = "fake";
    certificate.epsilon_nanos = *TotalCost(certificate.releases);
    std::vector<double> probabilities(schema.num_outputs(), 0.0);
    probabilities[0] = 1;
    return Model::Create(schema, {Tree::SingleLeaf()}, {{{.probabilities = probabilities}}},
                         std::move(certificate));
  }

  trainers::AlgorithmInfo info_;
  mutable std::mutex mutex_;
  mutable std::vector<Run> runs_;
  std::function<void(size_t)> hook_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DATASETS_STEP_TRAINER_H_
