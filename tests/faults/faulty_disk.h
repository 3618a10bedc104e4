// The disk under RocksDB, for tests: it fills up, tears writes, fails syncs, and loses what was not
// synced when the power goes.
//
// It is a rocksdb::Env over real files. Whatever a process has written stays in the files, as in
// the operating system's cache; the disk also keeps how much of each file was synced, and which
// names were. A crash of the process keeps all that was written; a power cut cuts every file back
// to what was synced, or to somewhere after it, and takes back the last names that no sync of their
// folder covered. After Stop() or StopAfter() nothing reaches the disk, whatever the process still
// tries: destroy the store, then call Kill() or CutPower(), and open it again.
// Blocks that a power cut leaves as zeros or garbage, and removed files that come back, are not
// simulated. Nothing is really synced: only what this class says was synced counts.
// Faults are counted in writes of the log, which the store's caller makes, so they are repeatable.
// AwaitIdle() waits for RocksDB's own threads: between two calls of it nothing else runs.
//
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

// What happens to bytes and names that were not synced when the power goes.
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
  // Every write fails for lack of space after a part of it.
  void Fill(bool full);
  // Fails one write of the log: the one after the next `skipped` ones.
  void FailLogWrite(LogFault fault, uint32_t skipped);
  // Whether that write is still to come.
  bool will_fail_log() const;
  // Syncs return OK and do nothing: a planted bug.
  void LieAboutSyncs();
  // Turns all of the above off, except lies.
  void Heal();

  void Stop();
  // Stops at the change of the disk after the next `changes` ones; a write is then done in part.
  void StopAfter(uint32_t changes);
  bool stopped() const;

  // Call them once the store is destroyed; they leave what a new process finds, and end Stop().
  void Kill();
  void CutPower(Unsynced unsynced, uint64_t seed);
  // Call it like these, when the files in `folder` were replaced or removed; they count as synced.
  void FilesReplaced(const std::string& folder);

  // Calls `meet` once before a change of a table or of a file below `folder`: the one after the
  // next `changes`, in the thread that makes it. RocksDB holds no lock then, unless it is being
  // opened. Null takes the call back.
  void MeetIn(const std::string& folder, uint32_t changes, std::function<void()> meet);

  // Returns once RocksDB's threads have nothing to do.
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
