#include "tests/faults/faulty_disk.h"

#include <rocksdb/file_system.h>

#include <string>
#include <utility>

#include "tests/faults/disk_state.h"

namespace coppice::testing {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr uint64_t kHardlyAnySpace = 1 << 20;

}  // namespace

class FaultyDisk::Files final : public rocksdb::FileSystemWrapper {
 public:
  explicit Files(std::shared_ptr<DiskState> state)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::move(state)) {}

  const char* Name() const override { return "FaultyDisk"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* context) override {
    state_->Meet(path);
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
    if (status.ok()) *result = std::make_unique<Folder>(std::move(folder), state_, path);
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
    Writable(std::unique_ptr<rocksdb::FSWritableFile> file, std::shared_ptr<DiskState> state,
             std::string path)
        : FSWritableFileOwnerWrapper(std::move(file)),
          state_(std::move(state)),
          path_(std::move(path)) {}

    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* context) override {
      state_->Meet(path_);
      const DiskState::Verdict verdict = state_->OnAppend(path_, data.size());
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
    const std::shared_ptr<DiskState> state_;
    const std::string path_;
  };

  class Folder final : public rocksdb::FSDirectory {
   public:
    Folder(std::unique_ptr<rocksdb::FSDirectory> folder, std::shared_ptr<DiskState> state,
           const std::string& path)
        : folder_(std::move(folder)), state_(std::move(state)), path_(path) {}

    IOStatus Fsync(const IOOptions&, IODebugContext*) override {
      return state_->OnFolderSync(path_);
    }
    IOStatus Close(const IOOptions& options, IODebugContext* context) override {
      return folder_->Close(options, context);
    }
    size_t GetUniqueId(char* id, size_t max_size) const override {
      return folder_->GetUniqueId(id, max_size);
    }

   private:
    const std::unique_ptr<rocksdb::FSDirectory> folder_;
    const std::shared_ptr<DiskState> state_;
    const std::string path_;
  };

  const std::shared_ptr<DiskState> state_;
};

// Counts the jobs that RocksDB hands to its threads.
class FaultyDisk::Environment final : public rocksdb::EnvWrapper {
 public:
  Environment(std::unique_ptr<rocksdb::Env> files, std::shared_ptr<DiskState> state)
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
    std::shared_ptr<DiskState> state;
  };

  static void RunJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    job->function(job->argument);
    job->state->JobFinalizer();
  }
  static void DropJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    if (job->unscheduled != nullptr) job->unscheduled(job->argument);
    job->state->JobFinalizer();
  }

  const std::shared_ptr<DiskState> state_;
};

FaultyDisk::FaultyDisk()
    : state_(std::make_shared<DiskState>()),
      environment_(std::make_unique<Environment>(
          rocksdb::NewCompositeEnv(std::make_shared<Files>(state_)), state_)) {}
FaultyDisk::~FaultyDisk() { AwaitIdle(); }

rocksdb::Env* FaultyDisk::env() const { return environment_.get(); }
void FaultyDisk::SayNearlyFull(bool nearly_full) { state_->SayNearlyFull(nearly_full); }
void FaultyDisk::Fill(bool full) { state_->Fill(full); }
void FaultyDisk::FailLogWrite(LogFault fault, uint32_t skipped) {
  state_->FailLogWrite(fault, skipped);
}
bool FaultyDisk::will_fail_log() const { return state_->will_fail_log(); }
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
void FaultyDisk::FilesReplaced(const std::string& folder) { state_->FilesReplaced(folder); }
void FaultyDisk::MeetIn(const std::string& folder, uint32_t changes, std::function<void()> meet) {
  state_->MeetIn(folder, changes, std::move(meet));
}
void FaultyDisk::AwaitIdle() { state_->AwaitIdle(); }
uint64_t FaultyDisk::log_writes() const { return state_->log_writes(); }
uint64_t FaultyDisk::changes() const { return state_->changes(); }

}  // namespace coppice::testing
