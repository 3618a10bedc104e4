// The curator's store in memory, of which a chosen write fails or ends the process.

#ifndef COPPICE_TESTS_FAULTS_RELAY_FAULTY_STORE_H_
#define COPPICE_TESTS_FAULTS_RELAY_FAULTY_STORE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/store/memory_store.h"
#include "server/store/store.h"
#include "tests/faults/relay/twins.h"

namespace coppice::relay_faults {

// One process's way to the disk, which stays. A record of the spool is read only once the ones
// before it are judged, so that a schedule repeats exactly with any number of opening threads.
//
// Guarantee  what Store says of errors, at its worst: a write that failed shows nothing, and if it
//            was `kept` all of it is there after the process has ended, unless a later one came.
// Threads    safe to share.
class FaultyStore final : public storage::Store {
 public:
  struct Fault {
    uint32_t writes = 0;  // that succeed before the one that fails
    bool kept = false;
    bool fatal = false;  // nothing works from then on
  };

  // Has the bug, if it is one of a store.
  explicit FaultyStore(storage::MemoryStore& disk, Bug bug = Bug::kNone) : disk_(disk), bug_(bug) {}

  void FailAt(const Fault& fault);
  void Fill(bool full);
  // Lets `records` more records of the spool be read; later reads wait, as if opening took long.
  void StallOpening(uint32_t records);
  void GoOnOpening();
  // The process is dead, or about to stop: no read waits any more.
  void Die();
  void LetAllRead();
  // Call it once the process has ended.
  void Close();

  bool dead() const;
  bool full() const;
  // Whether batches came whole and are not counted.
  bool HasStored() const;
  uint64_t writes() const;    // that succeeded
  uint64_t failures() const;  // that failed
  // Returns once every batch that came whole is counted, or none can be. False if that takes too
  // long.
  bool AwaitIdle() const;

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override;
  Status Apply(const storage::StoreBatch& batch) override;
  Status Scan(
      std::string_view prefix,
      absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const override;
  Status Purge(std::string_view prefix) override;

 private:
  bool Waits() const;
  bool IsIdle() const;
  bool MayRead(std::string_view key) const;

  Status Write(const storage::StoreBatch& batch);

  storage::MemoryStore& disk_;
  const Bug bug_;
  std::optional<storage::StoreBatch> late_;  // kEarlyAnswer: the one that was answered
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // All below guarded by mutex_.
  std::optional<Fault> fault_;
  std::optional<storage::StoreBatch> unclear_;  // a write that failed but was kept
  bool full_ = false;
  bool dead_ = false;
  bool let_all_read_ = false;
  mutable std::optional<uint32_t> reads_left_;  // of the spool's records, while it stalls
  mutable std::string at_hand_;                 // the record that was read last, until it is judged
  uint64_t writes_ = 0;
  uint64_t failures_ = 0;
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_FAULTY_STORE_H_
