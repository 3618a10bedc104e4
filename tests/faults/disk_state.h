// What a FaultyDisk knows of its files: what was synced of them, and which fault comes when.
//
// Threads    safe to share.

#ifndef COPPICE_TESTS_FAULTS_DISK_STATE_H_
#define COPPICE_TESTS_FAULTS_DISK_STATE_H_

#include <rocksdb/io_status.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/faulty_disk.h"

namespace coppice::testing {

class DiskState {
 public:
  // How much of a write is done, and what it returns.
  struct Verdict {
    size_t written = 0;
    rocksdb::IOStatus status;
  };

  Verdict OnAppend(const std::string& path, size_t bytes);
  void Appended(const std::string& path, size_t bytes);

  rocksdb::IOStatus OnSync(const std::string& path);

  rocksdb::IOStatus OnChange();

  // Creating and renaming a file take space too.
  rocksdb::IOStatus OnCreate(const std::string& path);
  rocksdb::IOStatus OnRename(const std::string& source, const std::string& target);
  void Deleted(const std::string& path);
  void Truncated(const std::string& path, uint64_t size);
  rocksdb::IOStatus OnFolderSync(const std::string& folder);

  void MeetIn(const std::string& folder, uint32_t changes, std::function<void()> meet);
  // Called before a change of `path`.
  void Meet(const std::string& path);

  bool nearly_full() const;
  void SayNearlyFull(bool nearly_full);
  void Fill(bool full);
  void FailLogWrite(LogFault fault, uint32_t skipped);
  bool will_fail_log() const;
  void LieAboutSyncs();
  void Heal();
  void StopAfter(uint32_t changes);
  bool stopped() const;
  uint64_t log_writes() const;
  uint64_t changes() const;

  void Kill();
  void CutPower(Unsynced unsynced, uint64_t seed);

  void FilesReplaced(const std::string& folder);

  void JobBegins();
  void JobFinalizer();
  void AwaitIdle();

 private:
  struct File {
    uint64_t size = 0;
    uint64_t synced = 0;
  };
  // A name that no sync of its folder has covered yet.
  struct Name {
    std::string target;
    std::optional<std::string> source;    // the former name; none for a new file
    std::optional<std::string> replaced;  // what the target held before
  };

  // Counts a change of the disk; true if the process ends at this change.
  bool StopsNow();

  // Keeps the first `kept` names: a journaling file system keeps their order.
  void TakeBackNames(size_t kept);

  void GoOn();

  mutable std::mutex mutex_;
  // All below guarded by mutex_.
  std::map<std::string, File> files_;
  std::vector<Name> names_;
  bool nearly_full_ = false;
  bool full_ = false;
  bool lies_ = false;
  LogFault fault_ = LogFault::kNone;
  uint32_t skipped_ = 0;
  bool failing_sync_ = false;
  std::optional<uint32_t> stop_after_;
  bool stopped_ = false;
  uint64_t log_writes_ = 0;
  uint64_t changes_ = 0;
  std::function<void()> meeting_;
  std::string meets_in_;
  uint32_t meets_after_ = 0;
  int jobs_ = 0;
  std::condition_variable idle_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_DISK_STATE_H_
