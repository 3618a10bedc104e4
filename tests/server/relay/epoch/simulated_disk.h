// A disk in memory under an epoch: it fails at a chosen change, fills up, and loses what was not
// synced when the power goes.

#ifndef COPPICE_TESTS_SERVER_RELAY_EPOCH_SIMULATED_DISK_H_
#define COPPICE_TESTS_SERVER_RELAY_EPOCH_SIMULATED_DISK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "server/relay/epoch/disk.h"

namespace coppice::testing {

// Files keep what was written and what was synced; folders keep their names likewise.
//
// Crash      StopAfter(): from the change that fails on, nothing reaches the disk. Destroy whatever
//            has files open, then call Kill() or CutPower().
// Not shown  bytes that rot. Damage() makes some.
// Threads    safe to share.
class SimulatedDisk final : public relay::Disk {
 public:
  explicit SimulatedDisk(uint64_t seed) : random_(seed) {}

  // The change after the next `changes` ones fails: a part of it may be made. So do all later ones.
  void StopAfter(uint64_t changes);
  bool stopped() const;
  // Writes, syncs, and changes of names so far.
  uint64_t changes() const;
  // No more space is given.
  void Fill(bool full);
  // The next sync fails, as on Linux: what it was for can be read until the power goes, and only
  // what is written again is synced later.
  void ForgetAtNextSync();
  // Syncs do nothing from now on, and say that they did.
  void LieAboutSyncs();
  // Syncs wait until this is called with false.
  void HoldSyncs(bool hold);

  // An image of it as it is now, synced and not. In one of the files alone each is another file.
  std::unique_ptr<SimulatedDisk> Copy(uint64_t seed, bool of_files_alone) const;

  // The process died: all that was written stays.
  void Kill();
  // The power went: of what was not synced, nothing, all, or some sectors and folders are there.
  void CutPower();

  bool Exists(const std::string& path) const;
  std::string Content(const std::string& path) const;
  // Synced, as all of `path` is.
  void Damage(const std::string& path, const std::string& content);
  // The paths of all files and folders, sorted.
  std::vector<std::string> Paths() const;
  // The last content of a file that was removed.
  std::string LastContent(const std::string& path) const;

  absl::StatusOr<std::unique_ptr<relay::DiskFile>> CreateFile(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<relay::DiskFile>> OpenFile(const std::string& path) override;
  absl::Status RemoveFile(const std::string& path) override;
  absl::Status CreateFolder(const std::string& path) override;
  absl::Status RemoveFolder(const std::string& path) override;
  absl::Status RenameFolder(const std::string& from, const std::string& to) override;
  absl::Status SyncFolder(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) const override;

 private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct Node {
    bool folder = false;
    uint64_t number = 0;    // a file's, for good
    std::string live = {};  // a file's
    std::string synced = {};
    std::set<uint64_t> forgotten = {};  // sectors that no sync is for
    Names live_names = {};              // a folder's
    Names synced_names = {};
    const void* lock = nullptr;
  };
  class File;
  enum class Change { kMade, kFailed, kTorn };
  enum class Unsynced { kLost, kKept, kMixed };

  bool Coin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return random_() % 2 == 0; }
  Change Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Node> Find(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a change of names, as the stop has it.
  template <typename Make>
  absl::Status ChangeNames(const Make& make) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteTo(std::string& bytes, uint64_t offset, absl::string_view written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TearTo(std::string& bytes, uint64_t offset, absl::string_view written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncNode(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetUnsynced(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutNode(Node& node, Unsynced unsynced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A node has one copy, however many names lead to it.
  using Copies = std::map<const Node*, std::shared_ptr<Node>>;
  static std::shared_ptr<Node> CopyOf(const Node& node, Copies& copies);
  void Revive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar released_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Node> root_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Node>(Node{
      .folder = true});
  std::optional<uint64_t> left_ ABSL_GUARDED_BY(mutex_);  // changes until it stops
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  bool forget_ ABSL_GUARDED_BY(mutex_) = false;
  bool lies_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t files_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::string> removed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_RELAY_EPOCH_SIMULATED_DISK_H_
