#include "tests/faults/disk_state.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

namespace coppice::testing {
namespace {

namespace fs = std::filesystem;
using rocksdb::IOStatus;

bool IsLog(const std::string& path) { return fs::path(path).extension() == ".log"; }
bool IsTable(const std::string& path) { return fs::path(path).extension() == ".sst"; }

std::string ReadWhole(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Returns the folder that holds a file, and for a folder's own path the same in any spelling.
fs::path FolderOf(const std::string& path) {
  return fs::path(path).lexically_normal().parent_path();
}
fs::path FolderAt(const std::string& path) { return FolderOf(path + "/any"); }

bool IsBelow(const std::string& path, const std::string& folder) {
  const std::string within = FolderAt(folder).string() + "/";
  return fs::path(path).lexically_normal().string().starts_with(within);
}

IOStatus Gone() { return IOStatus::IOError("the process is gone"); }

}  // namespace

DiskState::Verdict DiskState::OnAppend(const std::string& path, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return {0, Gone()};
  if (StopsNow()) return {bytes / 2, Gone()};
  if (full_) return {bytes / 2, IOStatus::NoSpace("No space left on device")};
  if (IsLog(path)) {
    ++log_writes_;
    failing_sync_ = false;
    if (fault_ != LogFault::kNone && skipped_-- == 0) {
      const LogFault fault = std::exchange(fault_, LogFault::kNone);
      if (fault == LogFault::kShortWrite) return {bytes / 2, IOStatus::IOError("short write")};
      failing_sync_ = true;
    }
  }
  return {bytes, IOStatus::OK()};
}

void DiskState::Appended(const std::string& path, size_t bytes) {
  const std::lock_guard lock(mutex_);
  files_[path].size += bytes;
}

IOStatus DiskState::OnSync(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || StopsNow()) return Gone();
  if (IsLog(path) && std::exchange(failing_sync_, false)) return IOStatus::IOError("sync failed");
  File& file = files_[path];
  if (!lies_) file.synced = file.size;
  return IOStatus::OK();
}

IOStatus DiskState::OnChange() {
  const std::lock_guard lock(mutex_);
  return stopped_ || StopsNow() ? Gone() : IOStatus::OK();
}

IOStatus DiskState::OnCreate(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || StopsNow()) return Gone();
  if (full_) return IOStatus::NoSpace("No space left on device");
  if (!fs::exists(path)) names_.push_back({.target = path, .source = {}, .replaced = {}});
  files_[path] = {};
  return IOStatus::OK();
}

IOStatus DiskState::OnRename(const std::string& source, const std::string& target) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || StopsNow()) return Gone();
  Name name{.target = target, .source = source, .replaced = {}};
  if (fs::exists(target)) name.replaced = ReadWhole(target);
  names_.push_back(std::move(name));
  files_[target] = files_[source];
  files_.erase(source);
  return IOStatus::OK();
}

void DiskState::Deleted(const std::string& path) {
  const std::lock_guard lock(mutex_);
  files_.erase(path);
  std::erase_if(names_, [&](const Name& name) { return name.target == path; });
}

void DiskState::Truncated(const std::string& path, uint64_t size) {
  const std::lock_guard lock(mutex_);
  File& file = files_[path];
  file.size = std::min(file.size, size);
  file.synced = std::min(file.synced, size);
}

IOStatus DiskState::OnFolderSync(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || StopsNow()) return Gone();
  if (lies_) return IOStatus::OK();
  std::erase_if(names_,
                [&](const Name& name) { return FolderOf(name.target) == FolderAt(folder); });
  return IOStatus::OK();
}

void DiskState::MeetIn(const std::string& folder, uint32_t changes, std::function<void()> meet) {
  const std::lock_guard lock(mutex_);
  meeting_ = std::move(meet);
  meets_in_ = folder;
  meets_after_ = changes;
}

void DiskState::Meet(const std::string& path) {
  std::function<void()> meeting;
  {
    const std::lock_guard lock(mutex_);
    if (meeting_ == nullptr || (!IsTable(path) && !IsBelow(path, meets_in_))) return;
    if (meets_after_ > 0) return static_cast<void>(--meets_after_);
    meeting = std::exchange(meeting_, nullptr);
  }
  meeting();
}

bool DiskState::nearly_full() const {
  const std::lock_guard lock(mutex_);
  return nearly_full_;
}

void DiskState::SayNearlyFull(bool nearly_full) {
  const std::lock_guard lock(mutex_);
  nearly_full_ = nearly_full;
}

void DiskState::Fill(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

void DiskState::FailLogWrite(LogFault fault, uint32_t skipped) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  skipped_ = skipped;
}

bool DiskState::will_fail_log() const {
  const std::lock_guard lock(mutex_);
  return fault_ != LogFault::kNone;
}

void DiskState::LieAboutSyncs() {
  const std::lock_guard lock(mutex_);
  lies_ = true;
}

void DiskState::Heal() {
  const std::lock_guard lock(mutex_);
  nearly_full_ = full_ = failing_sync_ = false;
  fault_ = LogFault::kNone;
  stop_after_.reset();
}

void DiskState::StopAfter(uint32_t changes) {
  const std::lock_guard lock(mutex_);
  stop_after_ = changes;
}

bool DiskState::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

uint64_t DiskState::log_writes() const {
  const std::lock_guard lock(mutex_);
  return log_writes_;
}

uint64_t DiskState::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void DiskState::Kill() {
  const std::lock_guard lock(mutex_);
  GoOn();
}

void DiskState::CutPower(Unsynced unsynced, uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  if (unsynced != Unsynced::kKept) {
    TakeBackNames(unsynced == Unsynced::kLost ? 0 : random() % (names_.size() + 1));
    for (auto& [path, file] : files_) {
      const uint64_t tail = file.size - file.synced;
      const uint64_t kept = unsynced == Unsynced::kLost ? 0 : random() % (tail + 1);
      if (kept == tail) continue;
      file.size = file.synced + kept;
      std::error_code ignored;  // taking back names may have removed the file
      fs::resize_file(path, file.size, ignored);
    }
  }
  for (auto& [path, file] : files_) file.synced = file.size;
  names_.clear();
  GoOn();
}

void DiskState::FilesReplaced(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [&](const auto& file) { return IsBelow(file.first, folder); });
  std::erase_if(names_, [&](const Name& name) { return IsBelow(name.target, folder); });
}

void DiskState::JobBegins() {
  const std::lock_guard lock(mutex_);
  ++jobs_;
}

void DiskState::JobFinalizer() {
  const std::lock_guard lock(mutex_);
  --jobs_;
  idle_.notify_all();
}

void DiskState::AwaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return jobs_ == 0; });
}

bool DiskState::StopsNow() {
  ++changes_;
  if (!stop_after_.has_value()) return false;
  if (*stop_after_ > 0) {
    --*stop_after_;
    return false;
  }
  stop_after_.reset();
  stopped_ = true;
  return true;
}

void DiskState::TakeBackNames(size_t kept) {
  while (names_.size() > kept) {
    const Name& name = names_.back();
    std::error_code ignored;
    if (name.source.has_value()) {
      fs::rename(name.target, *name.source, ignored);
      files_[*name.source] = files_[name.target];
    } else {
      fs::remove(name.target, ignored);
    }
    files_.erase(name.target);
    if (name.replaced.has_value()) {
      WriteWhole(name.target, *name.replaced);
      files_[name.target] = {.size = name.replaced->size(), .synced = name.replaced->size()};
    }
    names_.pop_back();
  }
}

void DiskState::GoOn() {
  stopped_ = false;
  failing_sync_ = false;
  fault_ = LogFault::kNone;
  stop_after_.reset();
}

}  // namespace coppice::testing
