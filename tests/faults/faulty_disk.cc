#include "tests/faults/faulty_disk.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace coppice::testing {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr uint64_t kHardlyAnySpace = 1 << 20;

bool IsLog(const std::string& path) { return fs::path(path).extension() == ".log"; }

std::string ReadWhole(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

IOStatus Gone() { return IOStatus::IOError("the process is gone"); }

}  // namespace

// What was synced, and what goes wrong when.
class FaultyDisk::State {
 public:
  // How much of a write is made, and what it returns.
  struct Verdict {
    size_t written = 0;
    IOStatus status;
  };

  Verdict OnAppend(const std::string& path, size_t bytes) {
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
  void Appended(const std::string& path, size_t bytes) {
    const std::lock_guard lock(mutex_);
    files_[path].size += bytes;
  }

  IOStatus OnSync(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || StopsNow()) return Gone();
    if (IsLog(path) && std::exchange(failing_sync_, false)) return IOStatus::IOError("sync failed");
    File& file = files_[path];
    if (!lies_) file.synced = file.size;
    return IOStatus::OK();
  }

  IOStatus OnChange() {
    const std::lock_guard lock(mutex_);
    return stopped_ || StopsNow() ? Gone() : IOStatus::OK();
  }

  // Making a file, or giving one another name, takes space too.
  IOStatus OnCreate(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || StopsNow()) return Gone();
    if (full_) return IOStatus::NoSpace("No space left on device");
    if (!fs::exists(path)) names_.push_back({.target = path, .source = {}, .replaced = {}});
    files_[path] = {};
    return IOStatus::OK();
  }
  IOStatus OnRename(const std::string& source, const std::string& target) {
    const std::lock_guard lock(mutex_);
    if (stopped_ || StopsNow()) return Gone();
    Name name{.target = target, .source = source, .replaced = {}};
    if (fs::exists(target)) name.replaced = ReadWhole(target);
    names_.push_back(std::move(name));
    files_[target] = files_[source];
    files_.erase(source);
    return IOStatus::OK();
  }
  void Deleted(const std::string& path) {
    const std::lock_guard lock(mutex_);
    files_.erase(path);
    std::erase_if(names_, [&](const Name& name) { return name.target == path; });
  }
  void Truncated(const std::string& path, uint64_t size) {
    const std::lock_guard lock(mutex_);
    File& file = files_[path];
    file.size = std::min(file.size, size);
    file.synced = std::min(file.synced, size);
  }
  IOStatus OnFolderSync() {
    const std::lock_guard lock(mutex_);
    if (stopped_ || StopsNow()) return Gone();
    if (!lies_) names_.clear();
    return IOStatus::OK();
  }

  bool nearly_full() const {
    const std::lock_guard lock(mutex_);
    return nearly_full_;
  }
  void SayNearlyFull(bool nearly_full) {
    const std::lock_guard lock(mutex_);
    nearly_full_ = nearly_full;
  }
  void Fill(bool full) {
    const std::lock_guard lock(mutex_);
    full_ = full;
  }
  void FailLogWrite(LogFault fault, uint32_t skipped) {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
    skipped_ = skipped;
  }
  void LieAboutSyncs() {
    const std::lock_guard lock(mutex_);
    lies_ = true;
  }
  void Heal() {
    const std::lock_guard lock(mutex_);
    nearly_full_ = full_ = failing_sync_ = false;
    fault_ = LogFault::kNone;
    stop_after_.reset();
  }
  void StopAfter(uint32_t changes) {
    const std::lock_guard lock(mutex_);
    stop_after_ = changes;
  }
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  uint64_t log_writes() const {
    const std::lock_guard lock(mutex_);
    return log_writes_;
  }
  uint64_t changes() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

  void Kill() {
    const std::lock_guard lock(mutex_);
    GoOn();
  }
  void CutPower(Unsynced unsynced, uint64_t seed) {
    const std::lock_guard lock(mutex_);
    std::mt19937_64 random(seed);
    if (unsynced != Unsynced::kKept) {
      TakeBackNames(unsynced == Unsynced::kLost ? 0 : random() % (names_.size() + 1));
      for (auto& [path, file] : files_) {
        const uint64_t tail = file.size - file.synced;
        const uint64_t kept = unsynced == Unsynced::kLost ? 0 : random() % (tail + 1);
        if (kept == tail) continue;
        file.size = file.synced + kept;
        std::error_code ignored;  // the file may be one that was just taken back
        fs::resize_file(path, file.size, ignored);
      }
    }
    for (auto& [path, file] : files_) file.synced = file.size;
    names_.clear();
    GoOn();
  }

  void FilesReplaced() {
    const std::lock_guard lock(mutex_);
    files_.clear();
    names_.clear();
  }

  void JobBegins() {
    const std::lock_guard lock(mutex_);
    ++jobs_;
  }
  void JobEnds() {
    const std::lock_guard lock(mutex_);
    --jobs_;
    idle_.notify_all();
  }
  void AwaitIdle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return jobs_ == 0; });
  }

 private:
  struct File {
    uint64_t size = 0;
    uint64_t synced = 0;
  };
  // A name that no sync of its folder has covered yet.
  struct Name {
    std::string target;
    std::optional<std::string> source;    // a rename; else a new file
    std::optional<std::string> replaced;  // what the target held before
  };

  // Counts a change of the disk; true if the process ends at this one.
  bool StopsNow() {
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

  // A journaling file system keeps the order of names: the first `kept` of them stay.
  void TakeBackNames(size_t kept) {
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

  void GoOn() {
    stopped_ = false;
    failing_sync_ = false;
    fault_ = LogFault::kNone;
    stop_after_.reset();
  }

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
  int jobs_ = 0;
  std::condition_variable idle_;
};

class FaultyDisk::Files final : public rocksdb::FileSystemWrapper {
 public:
  explicit Files(std::shared_ptr<State> state)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::move(state)) {}

  const char* Name() const override { return "FaultyDisk"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* context) override {
    IOStatus status = state_->OnCreate(path);
    if (!status.ok()) return status;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    status = target()->NewWritableFile(path, options, &file, context);
    if (status.ok()) *result = std::make_unique<Writable>(std::move(file), state_, path);
    return status;
  }

  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* context) override {
    std::unique_ptr<rocksdb::FSDirectory> folder;
    const IOStatus status = target()->NewDirectory(path, options, &folder, context);
    if (status.ok()) *result = std::make_unique<Folder>(std::move(folder), state_);
    return status;
  }

  IOStatus RenameFile(const std::string& source, const std::string& target_path,
                      const IOOptions& options, IODebugContext* context) override {
    const IOStatus status = state_->OnRename(source, target_path);
    return status.ok() ? target()->RenameFile(source, target_path, options, context) : status;
  }

  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* context) override {
    IOStatus status = state_->OnChange();
    if (!status.ok()) return status;
    status = target()->DeleteFile(path, options, context);
    if (status.ok()) state_->Deleted(path);
    return status;
  }

  IOStatus Truncate(const std::string& path, size_t size, const IOOptions& options,
                    IODebugContext* context) override {
    IOStatus status = state_->OnChange();
    if (!status.ok()) return status;
    status = target()->Truncate(path, size, options, context);
    if (status.ok()) state_->Truncated(path, size);
    return status;
  }

  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                        IODebugContext* context) override {
    const IOStatus status = target()->GetFreeSpace(path, options, bytes, context);
    if (status.ok() && state_->nearly_full()) *bytes = kHardlyAnySpace;
    return status;
  }

 private:
  class Writable final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    Writable(std::unique_ptr<rocksdb::FSWritableFile> file, std::shared_ptr<State> state,
             std::string path)
        : FSWritableFileOwnerWrapper(std::move(file)),
          state_(std::move(state)),
          path_(std::move(path)) {}

    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* context) override {
      const State::Verdict verdict = state_->OnAppend(path_, data.size());
      if (verdict.written > 0) {
        const IOStatus written = FSWritableFileOwnerWrapper::Append(
            rocksdb::Slice(data.data(), verdict.written), options, context);
        if (!written.ok()) return written;
        state_->Appended(path_, verdict.written);
      }
      return verdict.status;
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo&, IODebugContext* context) override {
      return Append(data, options, context);
    }
    IOStatus Sync(const IOOptions&, IODebugContext*) override { return state_->OnSync(path_); }
    IOStatus Fsync(const IOOptions&, IODebugContext*) override { return state_->OnSync(path_); }
    IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
      return IOStatus::OK();
    }
    IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* context) override {
      IOStatus status = state_->OnChange();
      if (!status.ok()) return status;
      status = FSWritableFileOwnerWrapper::Truncate(size, options, context);
      if (status.ok()) state_->Truncated(path_, size);
      return status;
    }

   private:
    const std::shared_ptr<State> state_;
    const std::string path_;
  };

  class Folder final : public rocksdb::FSDirectory {
   public:
    Folder(std::unique_ptr<rocksdb::FSDirectory> folder, std::shared_ptr<State> state)
        : folder_(std::move(folder)), state_(std::move(state)) {}

    IOStatus Fsync(const IOOptions&, IODebugContext*) override { return state_->OnFolderSync(); }
    IOStatus Close(const IOOptions& options, IODebugContext* context) override {
      return folder_->Close(options, context);
    }
    size_t GetUniqueId(char* id, size_t max_size) const override {
      return folder_->GetUniqueId(id, max_size);
    }

   private:
    const std::unique_ptr<rocksdb::FSDirectory> folder_;
    const std::shared_ptr<State> state_;
  };

  const std::shared_ptr<State> state_;
};

// Counts the jobs that RocksDB hands to its threads.
class FaultyDisk::Environment final : public rocksdb::EnvWrapper {
 public:
  Environment(std::unique_ptr<rocksdb::Env> files, std::shared_ptr<State> state)
      : EnvWrapper(std::move(files)), state_(std::move(state)) {}

  const char* Name() const override { return "FaultyDisk"; }

  void Schedule(void (*function)(void*), void* argument, Priority priority, void* tag,
                void (*unscheduled)(void*)) override {
    state_->JobBegins();
    EnvWrapper::Schedule(&RunJob, new Job{function, unscheduled, argument, state_}, priority, tag,
                         &DropJob);
  }

 private:
  struct Job {
    void (*function)(void*);
    void (*unscheduled)(void*);
    void* argument;
    std::shared_ptr<State> state;
  };

  static void RunJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    job->function(job->argument);
    job->state->JobEnds();
  }
  static void DropJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    if (job->unscheduled != nullptr) job->unscheduled(job->argument);
    job->state->JobEnds();
  }

  const std::shared_ptr<State> state_;
};

FaultyDisk::FaultyDisk()
    : state_(std::make_shared<State>()),
      environment_(std::make_unique<Environment>(
          rocksdb::NewCompositeEnv(std::make_shared<Files>(state_)), state_)) {}
FaultyDisk::~FaultyDisk() { AwaitIdle(); }

rocksdb::Env* FaultyDisk::env() const { return environment_.get(); }
void FaultyDisk::SayNearlyFull(bool nearly_full) { state_->SayNearlyFull(nearly_full); }
void FaultyDisk::Fill(bool full) { state_->Fill(full); }
void FaultyDisk::FailLogWrite(LogFault fault, uint32_t skipped) {
  state_->FailLogWrite(fault, skipped);
}
void FaultyDisk::LieAboutSyncs() { state_->LieAboutSyncs(); }
void FaultyDisk::Heal() { state_->Heal(); }
void FaultyDisk::Stop() {
  state_->StopAfter(0);
  static_cast<void>(state_->OnChange());
}
void FaultyDisk::StopAfter(uint32_t changes) { state_->StopAfter(changes); }
bool FaultyDisk::stopped() const { return state_->stopped(); }
void FaultyDisk::Kill() { state_->Kill(); }
void FaultyDisk::CutPower(Unsynced unsynced, uint64_t seed) { state_->CutPower(unsynced, seed); }
void FaultyDisk::FilesReplaced() { state_->FilesReplaced(); }
void FaultyDisk::AwaitIdle() { state_->AwaitIdle(); }
uint64_t FaultyDisk::log_writes() const { return state_->log_writes(); }
uint64_t FaultyDisk::changes() const { return state_->changes(); }

}  // namespace coppice::testing
