// Planted bugs: the schedules must find each of them.

#ifndef COPPICE_TESTS_FAULTS_TWINS_H_
#define COPPICE_TESTS_FAULTS_TWINS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "server/storage/store.h"

namespace coppice::testing {

enum class Bug : uint8_t {
  kNone,
  kLyingDisk,         // syncs do nothing, so an answer comes before its batch is durable
  kEarlyAnswer,       // the store says OK and writes with the next batch
  kForgottenTickets,  // now and then the tickets of a group are not written
  kHalvedBatch,       // a batch is written in two halves
  kFreshAnswer,       // a device that heard nothing takes a new ticket and randomizes anew
  kForgetfulDevice,   // a device that heard nothing takes its report for delivered
};
inline constexpr Bug kAllBugs[] = {Bug::kLyingDisk,   Bug::kEarlyAnswer, Bug::kForgottenTickets,
                                   Bug::kHalvedBatch, Bug::kFreshAnswer, Bug::kForgetfulDevice};

inline absl::string_view BugName(Bug bug) {
  constexpr absl::string_view kNames[] = {
      "none",         "lying_disk",   "early_answer",    "forgotten_tickets",
      "halved_batch", "fresh_answer", "forgetful_device"};
  return kNames[static_cast<size_t>(bug)];
}

// A Store with the bug, if it is one of a store.
class TwinStore final : public Store {
 public:
  TwinStore(Store& store, Bug bug) : store_(store), bug_(bug) {}

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    return store_.Get(key);
  }
  absl::Status Apply(const StoreBatch& batch) override {
    ++writes_;
    if (bug_ == Bug::kEarlyAnswer) return ApplyLate(batch);
    if (bug_ == Bug::kForgottenTickets && writes_ % 3 == 0) return ApplyWithoutTickets(batch);
    if (bug_ == Bug::kHalvedBatch) return ApplyHalves(batch);
    return store_.Apply(batch);
  }
  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    return store_.Scan(prefix, visit);
  }
  absl::Status Purge(absl::string_view prefix) override { return store_.Purge(prefix); }

 private:
  absl::Status ApplyLate(const StoreBatch& batch) {
    const std::optional<StoreBatch> before = std::exchange(late_, batch);
    return before.has_value() ? store_.Apply(*before) : absl::OkStatus();
  }
  absl::Status ApplyWithoutTickets(const StoreBatch& batch) {
    StoreBatch rest;
    for (const std::string& prefix : batch.deleted_prefixes()) rest.DeletePrefix(prefix);
    for (const std::string& key : batch.deleted_keys()) rest.Delete(key);
    for (const auto& [key, value] : batch.puts()) {
      if (!absl::StartsWith(key, "spent/")) rest.Put(key, value);
    }
    return store_.Apply(rest);
  }
  absl::Status ApplyHalves(const StoreBatch& batch) {
    StoreBatch first, second;
    for (const std::string& prefix : batch.deleted_prefixes()) first.DeletePrefix(prefix);
    for (const std::string& key : batch.deleted_keys()) first.Delete(key);
    for (size_t i = 0; i < batch.puts().size(); ++i) {
      const auto& [key, value] = batch.puts()[i];
      (2 * i < batch.puts().size() ? first : second).Put(key, value);
    }
    const absl::Status status = store_.Apply(first);
    return status.ok() ? store_.Apply(second) : status;
  }

  Store& store_;
  const Bug bug_;
  size_t writes_ = 0;
  std::optional<StoreBatch> late_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_TWINS_H_
