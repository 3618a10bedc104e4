// The disk under RocksDB, for tests: it fills up, tears writes, fails syncs, and loses what was not
// synced when the power goes.
//
// How        a rocksdb::Env over real files. Whatever a process has written stays in the files, as
//            in the operating system's cache; beside them this keeps how much of each file was
//            synced, and which names were. A crash of the process keeps all that was written; a
//            power cut cuts every file back to what was synced, or to somewhere after it, and takes
//            back the last names that no sync of their folder has covered.
// Crash      Stop() or StopAfter(): from then on nothing reaches the disk, whatever the process
//            still tries. Destroy the store, then call Kill() or CutPower(), and open it again.
// Not shown  blocks that a power cut leaves as zeros or as garbage, and removed files that come
//            back. Real syncs are left out: only what this class says was synced counts.
// Repeatable faults are counted in writes of the log, which the store's caller makes. RocksDB's own
//            threads are waited for by AwaitIdle(), so between two calls of it nothing else runs.
// Threads    safe to share.

#ifndef COPPICE_TESTS_FAULTS_FAULTY_DISK_H_
#define COPPICE_TESTS_FAULTS_FAULTY_DISK_H_

#include <rocksdb/env.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace coppice::testing {

// What goes wrong with a write of the log.
enum class LogFault : uint8_t {
  kNone,
  kShortWrite,  // half of it is written, then an error
  kFailedSync,  // it is written, but its sync fails; a power cut may take it or leave it
};

// What becomes of bytes and names that were not synced when the power goes.
enum class Unsynced : uint8_t { kLost, kTorn, kKept };

class DiskState;

class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  rocksdb::Env* env() const;

  // Says that there is hardly any space left, as a file system does before it is full.
  void SayNearlyFull(bool nearly_full);
  // Every write fails for want of space, after a part of it.
  void Fill(bool full);
  // The log's write after the next `skipped` ones fails; one write.
  void FailLogWrite(LogFault fault, uint32_t skipped);
  // Whether that write is still to come.
  bool will_fail_log() const;
  // Syncs return OK and do nothing: a planted bug.
  void LieAboutSyncs();
  // All of the above off, but for lies.
  void Heal();

  void Stop();
  // Stops at the change of the disk after the next `changes` ones; if that is a write, a part of it
  // is made.
  void StopAfter(uint32_t changes);
  bool stopped() const;

  // After the store was destroyed: what a new process finds. Both end Stop().
  void Kill();
  void CutPower(Unsynced unsynced, uint64_t seed);
  // Likewise: what is in `folder` is another's now, or gone; all of it is synced.
  void FilesReplaced(const std::string& folder);

  // Calls `meet` once, in the thread that makes it, before the change after the next `changes` ones
  // of a table or of a file below `folder`. RocksDB holds no lock then, unless it is being opened.
  // Null: no longer.
  void MeetIn(const std::string& folder, uint32_t changes, std::function<void()> meet);

  // Returns when RocksDB's threads have nothing to do.
  void AwaitIdle();

  // Writes of the log that were asked for so far, and changes of the disk of any kind.
  uint64_t log_writes() const;
  uint64_t changes() const;

 private:
  class Files;
  class Environment;

  std::shared_ptr<DiskState> state_;
  std::unique_ptr<Environment> environment_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_FAULTY_DISK_H_
