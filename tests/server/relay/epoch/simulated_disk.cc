#include "tests/server/relay/epoch/simulated_disk.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::testing {
namespace {

constexpr uint64_t kSector = 512;

Status Stopped() { return UnavailableError("the disk does not answer"); }
Status Missing(const std::string& path) { return NotFoundError(StrCat(path, ": is not there")); }
Status Full(const std::string& path) {
  return ResourceExhaustedError(StrCat(path, ": the disk is full"));
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

class SimulatedDisk::File final : public relay::DiskFile {
 public:
  File(SimulatedDisk& disk, std::shared_ptr<Node> node, std::string path)
      : disk_(disk), node_(std::move(node)), path_(std::move(path)) {}
  ~File() override {
    MutexLock lock(disk_.mutex_);
    if (node_->lock == this) node_->lock = nullptr;
  }

  Status Lock() override {
    MutexLock lock(disk_.mutex_);
    if (node_->lock != nullptr && node_->lock != this) {
      return UnavailableError(StrCat(path_, ": another process has it"));
    }
    node_->lock = this;
    return OkStatus();
  }

  StatusOr<uint64_t> Size() const override {
    MutexLock lock(disk_.mutex_);
    return node_->live.size();
  }

  StatusOr<std::string> Identity() const override { return StrCat(node_->number); }

  StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const override {
    MutexLock lock(disk_.mutex_);
    if (disk_.stopped_) return Stopped();
    if (offset > node_->live.size() || bytes > node_->live.size() - offset) {
      return DataLossError(StrCat(path_, ": it ends too early"));
    }
    return node_->live.substr(offset, bytes);
  }

  Status Allocate(uint64_t bytes) override {
    MutexLock lock(disk_.mutex_);
    const Change change = disk_.Count();
    if (change != Change::kFailed && !disk_.full_) {
      node_->live.resize(std::max<size_t>(node_->live.size(), bytes));
    }
    if (change != Change::kMade) return Stopped();
    return disk_.full_ ? Full(path_) : OkStatus();
  }

  Status Write(uint64_t offset, std::string_view bytes) override {
    MutexLock lock(disk_.mutex_);
    switch (disk_.Count()) {
      case Change::kMade:
        if (disk_.full_ && offset + bytes.size() > node_->live.size()) return Full(path_);
        disk_.WriteTo(node_->live, offset, bytes);
        node_->forgotten.erase(node_->forgotten.lower_bound(offset / kSector),
                               node_->forgotten.lower_bound((offset + bytes.size()) / kSector + 1));
        return OkStatus();
      case Change::kTorn:
        disk_.TearTo(node_->live, offset, bytes);
        return Stopped();
      default:
        return Stopped();
    }
  }

  Status Sync() override {
    MutexLock lock(disk_.mutex_);
    const Change change = disk_.Count();
    while (disk_.hold_) disk_.released_.Wait(disk_.mutex_);
    if (disk_.forget_ && change == Change::kMade) {
      disk_.forget_ = false;
      disk_.ForgetUnsynced(*node_);
      return UnavailableError(StrCat(path_, ": cannot be synced"));
    }
    if (change != Change::kFailed && !disk_.lies_) disk_.SyncNode(*node_);
    return change == Change::kMade ? OkStatus() : Stopped();
  }

 private:
  SimulatedDisk& disk_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
};

void SimulatedDisk::StopAfter(uint64_t changes) {
  MutexLock lock(mutex_);
  left_ = changes;
}

bool SimulatedDisk::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

uint64_t SimulatedDisk::changes() const {
  MutexLock lock(mutex_);
  return changes_;
}

void SimulatedDisk::Fill(bool full) {
  MutexLock lock(mutex_);
  full_ = full;
}

void SimulatedDisk::ForgetAtNextSync() {
  MutexLock lock(mutex_);
  forget_ = true;
}

void SimulatedDisk::LieAboutSyncs() {
  MutexLock lock(mutex_);
  lies_ = true;
}

void SimulatedDisk::ForgetUnsynced(Node& node) {
  for (uint64_t at = 0; at < node.live.size(); at += kSector) {
    const bool is_synced =
        at < node.synced.size() && node.synced.compare(at, kSector, node.live, at, kSector) == 0;
    if (!is_synced) node.forgotten.insert(at / kSector);
  }
}

void SimulatedDisk::SyncNode(Node& node) {
  std::string synced = node.live;
  for (const uint64_t sector : node.forgotten) {
    const uint64_t at = sector * kSector;
    const uint64_t bytes = std::min(kSector, synced.size() - at);
    std::string before = at < node.synced.size() ? node.synced.substr(at, bytes) : "";
    before.resize(bytes);
    synced.replace(at, bytes, before);
  }
  node.synced = std::move(synced);
}

void SimulatedDisk::HoldSyncs(bool hold) {
  MutexLock lock(mutex_);
  hold_ = hold;
  released_.NotifyAll();
}

void SimulatedDisk::Revive() {
  stopped_ = false;
  left_.reset();
}

void SimulatedDisk::Kill() {
  MutexLock lock(mutex_);
  Revive();
}

void SimulatedDisk::CutPower() {
  MutexLock lock(mutex_);
  Revive();
  CutNode(*root_, static_cast<Unsynced>(random_() % 3));
}

void SimulatedDisk::CutNode(Node& node, Unsynced unsynced) {
  if (node.folder) {
    const bool kept = unsynced == Unsynced::kKept || (unsynced == Unsynced::kMixed && Coin());
    if (!kept) node.live_names = node.synced_names;
    node.synced_names = node.live_names;
    for (auto& [name, child] : node.live_names) CutNode(*child, unsynced);
    return;
  }
  std::string found = unsynced == Unsynced::kKept ? node.live : node.synced;
  if (unsynced == Unsynced::kMixed) {
    if (Coin()) found.resize(node.live.size());
    for (uint64_t at = 0; at < std::min(found.size(), node.live.size()); at += kSector) {
      if (Coin())
        found.replace(at, kSector, node.live.substr(at, std::min(kSector, found.size() - at)));
    }
  }
  node.live = node.synced = found;
  node.forgotten.clear();
}

std::shared_ptr<SimulatedDisk::Node> SimulatedDisk::CopyOf(const Node& node, Copies& copies) {
  std::shared_ptr<Node>& copy = copies[&node];
  if (copy != nullptr) return copy;
  const std::shared_ptr<Node> made = copy = std::make_shared<Node>(node);
  made->lock = nullptr;
  for (auto& [name, child] : made->live_names) child = CopyOf(*child, copies);
  for (auto& [name, child] : made->synced_names) child = CopyOf(*child, copies);
  return made;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::Copy(uint64_t seed, bool of_files_alone) const {
  auto disk = std::make_unique<SimulatedDisk>(seed);
  MutexLock lock(mutex_);
  MutexLock its(disk->mutex_);
  Copies copies;
  disk->root_ = CopyOf(*root_, copies);
  disk->files_ = files_;
  for (auto& [node, copy] : copies) {
    if (of_files_alone && !copy->folder) copy->number = ++disk->files_;
  }
  return disk;
}

SimulatedDisk::Change SimulatedDisk::Count() {
  if (stopped_) return Change::kFailed;
  ++changes_;
  if (!left_.has_value() || (*left_)-- > 0) return Change::kMade;
  left_.reset();
  stopped_ = true;
  return Coin() ? Change::kTorn : Change::kFailed;
}

std::shared_ptr<SimulatedDisk::Node> SimulatedDisk::Find(const std::string& path) const {
  std::shared_ptr<Node> node = root_;
  for (const std::string_view name : StrSplit(path, '/', SkipEmpty())) {
    const auto found = node->live_names.find(std::string(name));
    if (found == node->live_names.end()) return nullptr;
    node = found->second;
  }
  return node;
}

void SimulatedDisk::WriteTo(std::string& bytes, uint64_t offset, std::string_view written) {
  bytes.resize(std::max<size_t>(bytes.size(), offset + written.size()));
  bytes.replace(offset, written.size(), std::string(written));
}

void SimulatedDisk::TearTo(std::string& bytes, uint64_t offset, std::string_view written) {
  while (!written.empty()) {
    const size_t part = std::min<size_t>(written.size(), kSector - offset % kSector);
    if (Coin()) WriteTo(bytes, offset, written.substr(0, random_() % (part + 1)));
    offset += part;
    written.remove_prefix(part);
  }
}

template <typename Make>
Status SimulatedDisk::ChangeNames(const Make& make) {
  const Change change = Count();
  if (change != Change::kFailed) make();
  return change == Change::kMade ? OkStatus() : Stopped();
}

StatusOr<std::unique_ptr<relay::DiskFile>> SimulatedDisk::CreateFile(const std::string& path) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node> folder = Find(FolderOf(path));
  if (folder == nullptr) return Missing(path);
  if (full_) return Full(path);
  auto node = std::make_shared<Node>();
  node->number = ++files_;
  const Status made = ChangeNames([&] { folder->live_names[NameOf(path)] = node; });
  if (!made.ok()) return made;
  return std::make_unique<File>(*this, node, path);
}

StatusOr<std::unique_ptr<relay::DiskFile>> SimulatedDisk::OpenFile(const std::string& path) {
  MutexLock lock(mutex_);
  if (stopped_) return Stopped();
  std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return Missing(path);
  return std::make_unique<File>(*this, std::move(node), path);
}

Status SimulatedDisk::RemoveFile(const std::string& path) {
  MutexLock lock(mutex_);
  if (stopped_) return Stopped();
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return Missing(path);
  removed_[path] = node->synced;
  Names& names = Find(FolderOf(path))->live_names;
  return ChangeNames([&] { names.erase(NameOf(path)); });
}

Status SimulatedDisk::CreateFolder(const std::string& path) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node> folder = Find(FolderOf(path));
  if (folder == nullptr) return Missing(path);
  if (Find(path) != nullptr) return AlreadyExistsError(path);
  if (full_) return Full(path);
  return ChangeNames(
      [&] { folder->live_names[NameOf(path)] = std::make_shared<Node>(Node{.folder = true}); });
}

Status SimulatedDisk::RemoveFolder(const std::string& path) {
  MutexLock lock(mutex_);
  if (stopped_) return Stopped();
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return Missing(path);
  if (!node->live_names.empty()) return AlreadyExistsError(path + " is not empty");
  Names& names = Find(FolderOf(path))->live_names;
  return ChangeNames([&] { names.erase(NameOf(path)); });
}

// Works within one folder.
Status SimulatedDisk::RenameFolder(const std::string& from, const std::string& to) {
  MutexLock lock(mutex_);
  if (stopped_) return Stopped();
  const std::shared_ptr<Node> node = Find(from);
  if (node == nullptr) return Missing(from);
  if (Find(to) != nullptr) return AlreadyExistsError(to);
  Names& names = Find(FolderOf(from))->live_names;
  return ChangeNames([&] {
    names.erase(NameOf(from));
    names[NameOf(to)] = node;
  });
}

Status SimulatedDisk::SyncFolder(const std::string& path) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return Missing(path);
  const bool lies = lies_;
  return ChangeNames([&] {
    if (!lies) node->synced_names = node->live_names;
  });
}

StatusOr<std::vector<std::string>> SimulatedDisk::List(const std::string& path) const {
  MutexLock lock(mutex_);
  if (stopped_) return Stopped();
  const std::shared_ptr<Node> node = Find(path);
  if (node == nullptr) return Missing(path);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->live_names) names.push_back(name);
  return names;
}

bool SimulatedDisk::Exists(const std::string& path) const {
  MutexLock lock(mutex_);
  return Find(path) != nullptr;
}

std::string SimulatedDisk::Content(const std::string& path) const {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node> node = Find(path);
  return node == nullptr ? "" : node->live;
}

void SimulatedDisk::Damage(const std::string& path, const std::string& content) {
  MutexLock lock(mutex_);
  const std::shared_ptr<Node> node = Find(path);
  node->live = node->synced = content;
}

std::vector<std::string> SimulatedDisk::Paths() const {
  MutexLock lock(mutex_);
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, const Node*>> left = {{"", root_.get()}};
  while (!left.empty()) {
    const auto [path, node] = left.back();
    left.pop_back();
    if (!path.empty()) paths.push_back(path);
    for (const auto& [name, child] : node->live_names) {
      left.emplace_back(StrCat(path, "/", name), child.get());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string SimulatedDisk::LastContent(const std::string& path) const {
  MutexLock lock(mutex_);
  const auto found = removed_.find(path);
  return found == removed_.end() ? "" : found->second;
}

}  // namespace coppice::testing
