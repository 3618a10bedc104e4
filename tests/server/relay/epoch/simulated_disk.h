// A disk in memory for an epoch: it fails at a chosen change, fills up, and loses what was not
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
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/relay/epoch/disk.h"

namespace coppice::testing {

// Files keep what was written and what was synced; folders keep their names likewise. After
// StopAfter() nothing reaches the disk from the failing change on: destroy whatever has files open,
// then call Kill() or CutPower(). Bytes do not rot, except by Damage().
//
// Threads    safe to share.
class SimulatedDisk final : public relay::Disk {
 public:
  explicit SimulatedDisk(uint64_t seed) : random_(seed) {}

  // The change after the next `changes` ones fails, perhaps made in part; so do all later ones.
  void StopAfter(uint64_t changes);
  bool stopped() const;
  // Writes, syncs, and changes of names so far.
  uint64_t changes() const;
  // The disk gives no more space.
  void Fill(bool full);
  // The next sync fails as on Linux: its data can be read until the power goes, and later syncs
  // cover only what is written again.
  void ForgetAtNextSync();
  // Syncs report success from now on, and do nothing.
  void LieAboutSyncs();
  // Syncs wait until this is called with false.
  void HoldSyncs(bool hold);

  // An image of the disk as it is, synced or not. With `of_files_alone` each file has a new number.
  std::unique_ptr<SimulatedDisk> Copy(uint64_t seed, bool of_files_alone) const;

  // The process dies: all that was written stays.
  void Kill();
  // The power goes: of what was not synced nothing, all, or some sectors and folders are left.
  void CutPower();

  bool Exists(const std::string& path) const;
  std::string Content(const std::string& path) const;
  // Replaces a file's content; all of the file counts as synced.
  void Damage(const std::string& path, const std::string& content);
  // The paths of all files and folders, sorted.
  std::vector<std::string> Paths() const;
  // The last content of a removed file.
  std::string LastContent(const std::string& path) const;

  StatusOr<std::unique_ptr<relay::DiskFile>> CreateFile(const std::string& path) override;
  StatusOr<std::unique_ptr<relay::DiskFile>> OpenFile(const std::string& path) override;
  Status RemoveFile(const std::string& path) override;
  Status CreateFolder(const std::string& path) override;
  Status RemoveFolder(const std::string& path) override;
  Status RenameFolder(const std::string& from, const std::string& to) override;
  Status SyncFolder(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& path) const override;

 private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  struct Node {
    bool folder = false;
    uint64_t number = 0;    // a file's, which never changes
    std::string live = {};  // a file's
    std::string synced = {};
    std::set<uint64_t> forgotten = {};  // sectors that no sync will write
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
  // Makes a change of names, or fails it as StopAfter() demands.
  template <typename Make>
  Status ChangeNames(const Make& make) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteTo(std::string& bytes, uint64_t offset, std::string_view written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TearTo(std::string& bytes, uint64_t offset, std::string_view written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SyncNode(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetUnsynced(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutNode(Node& node, Unsynced unsynced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A node is copied once, however many names lead to it.
  using Copies = std::map<const Node*, std::shared_ptr<Node>>;
  static std::shared_ptr<Node> CopyOf(const Node& node, Copies& copies);
  void Revive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar released_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Node> root_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Node>(Node{
      .folder = true});
  std::optional<uint64_t> left_ ABSL_GUARDED_BY(mutex_);  // changes until the stop
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
