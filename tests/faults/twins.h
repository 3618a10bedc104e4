// Planted bugs, each of which the schedules must find.

#ifndef COPPICE_TESTS_FAULTS_TWINS_H_
#define COPPICE_TESTS_FAULTS_TWINS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/store.h"
#include "tests/faults/cast.h"

namespace coppice::testing {

enum class Bug : uint8_t {
  kNone,
  kLyingDisk,           // syncs do nothing, so an answer comes before its batch is durable
  kEarlyAnswer,         // the store says OK and writes with the next batch
  kForgottenTickets,    // now and then the tickets of a group are not written
  kHalvedBatch,         // a batch is written in two halves
  kFreshAnswer,         // a device that heard nothing takes a new ticket and randomizes again
  kForgetfulDevice,     // a device that heard nothing treats its report as delivered
  kStaleBackup,         // where there is a backup, none is made
  kTornBackup,          // a backup lacks the newest tickets
  kForgottenKey,        // the key of manifests is not written, so each start has another
  kLooserManifest,      // a restart forgets how many reports a model needs
  kBrokenChain,         // a rotation is not endorsed
  kTrustingDevice,      // a device believes any manifest
  kFreshTokenTicket,    // a token gets a new ticket each time
  kForgottenTicketKey,  // the key of tickets is not written
  kLaxTickets,          // a ticket's MAC is not checked
  kNeverRetired,        // retiring says OK and does nothing
  kKeptTickets,         // retiring leaves the tickets there
};
inline constexpr std::string_view kBugNames[] = {"none",
                                                 "lying_disk",
                                                 "early_answer",
                                                 "forgotten_tickets",
                                                 "halved_batch",
                                                 "fresh_answer",
                                                 "forgetful_device",
                                                 "stale_backup",
                                                 "torn_backup",
                                                 "forgotten_key",
                                                 "looser_manifest",
                                                 "broken_chain",
                                                 "trusting_device",
                                                 "fresh_token_ticket",
                                                 "forgotten_ticket_key",
                                                 "lax_tickets",
                                                 "never_retired",
                                                 "kept_tickets"};
inline constexpr size_t kNumBugs = std::size(kBugNames) - 1;  // kNone left out

inline std::string_view BugName(Bug bug) { return kBugNames[static_cast<size_t>(bug)]; }
inline std::vector<Bug> AllBugs() { return faults::BugsUpTo<Bug>(kNumBugs); }

// A Store that has the bug, if it is one of a store.
class TwinStore final : public storage::Store {
 public:
  TwinStore(storage::Store& store, Bug bug) : store_(store), bug_(bug) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return store_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    ++writes_;
    switch (bug_) {
      case Bug::kEarlyAnswer:
        return ApplyLate(batch);
      case Bug::kForgottenTickets:
        return writes_ % 3 == 0 ? ApplyWithout(batch, "spent/") : store_.Apply(batch);
      case Bug::kHalvedBatch:
        return ApplyHalves(batch);
      case Bug::kForgottenKey:
        return ApplyWithout(batch, "meta/manifest_key");
      case Bug::kForgottenTicketKey:
        return ApplyWithout(batch, "meta/ticket_key");
      case Bug::kNeverRetired:
        return Retires(batch) ? OkStatus() : store_.Apply(batch);
      case Bug::kKeptTickets:
        return Retires(batch) ? ApplyWithout(batch, "spent/") : store_.Apply(batch);
      default:
        return store_.Apply(batch);
    }
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return store_.Scan(prefix, [&](std::string_view key, std::string_view value) {
      v1::StudyRecord record;
      if (bug_ != Bug::kLooserManifest || !StartsWith(key, "study/") ||
          !record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
        return visit(key, value);
      }
      record.mutable_settings()->set_min_reports(0);
      return visit(key, record.SerializeAsString());
    });
  }
  StatusOr<storage::StoreBackup> Backup(const storage::BackupOptions& options) override {
    if (bug_ == Bug::kTornBackup) return BackupTorn(options);
    if (bug_ == Bug::kStaleBackup) {
      const auto there = storage::ListBackups(options.folder);
      if (there.ok() && !there->empty()) return there->back();
    }
    return store_.Backup(options);
  }
  StatusOr<std::vector<storage::StoreBackup>> ListBackups(
      const std::string& folder) const override {
    return store_.ListBackups(folder);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

 private:
  Status ApplyLate(const storage::StoreBatch& batch) {
    const std::optional<storage::StoreBatch> before = std::exchange(late_, batch);
    return before.has_value() ? store_.Apply(*before) : OkStatus();
  }
  Status ApplyWithout(const storage::StoreBatch& batch, std::string_view prefix) {
    storage::StoreBatch rest;
    for (const std::string& deleted : batch.deleted_prefixes()) {
      if (!StartsWith(deleted, prefix)) rest.DeletePrefix(deleted);
    }
    for (const std::string& key : batch.deleted_keys()) rest.Delete(key);
    for (const auto& [key, value] : batch.puts()) {
      if (!StartsWith(key, prefix)) rest.Put(key, value);
    }
    return store_.Apply(rest);
  }
  static bool Retires(const storage::StoreBatch& batch) {
    for (const auto& [key, value] : batch.puts()) {
      v1::StudyRecord record;
      if (StartsWith(key, "study/") && record.ParseFromString(value) && record.retired()) {
        return true;
      }
    }
    return false;
  }
  Status ApplyHalves(const storage::StoreBatch& batch) {
    storage::StoreBatch first, second;
    for (const std::string& prefix : batch.deleted_prefixes()) first.DeletePrefix(prefix);
    for (const std::string& key : batch.deleted_keys()) first.Delete(key);
    for (size_t i = 0; i < batch.puts().size(); ++i) {
      const auto& [key, value] = batch.puts()[i];
      (2 * i < batch.puts().size() ? first : second).Put(key, value);
    }
    const Status status = store_.Apply(first);
    return status.ok() ? store_.Apply(second) : status;
  }

  StatusOr<storage::StoreBackup> BackupTorn(const storage::BackupOptions& options) {
    std::pair<std::string, std::string> newest;
    static_cast<void>(store_.Scan("spent/", [&](std::string_view key, std::string_view value) {
      newest = {std::string(key), std::string(value)};
      return OkStatus();
    }));
    if (newest.first.empty()) return store_.Backup(options);
    storage::StoreBatch out, back;
    out.Delete(newest.first);
    back.Put(newest.first, newest.second);
    const Status torn = store_.Apply(out);
    if (!torn.ok()) return torn;
    const StatusOr<storage::StoreBackup> made = store_.Backup(options);
    const Status mended = store_.Apply(back);
    return mended.ok() ? made : mended;
  }

  storage::Store& store_;
  const Bug bug_;
  size_t writes_ = 0;
  std::optional<storage::StoreBatch> late_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_TWINS_H_
