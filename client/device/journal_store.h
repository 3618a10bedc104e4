// A journal in a file, or with the caller of the C interface, for the programs of one process.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_STORE_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_STORE_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/device/journal.h"
#include "client/device/journal_storage.h"
#include "client/device/process_mark.h"
#include "common/base/status.h"

namespace coppice {

// Guarantee  What a change acknowledged is on disk and survives a crash at any point. One process
//            at a time holds the file, and only the one that opened it: a child after fork() is
//            refused every use.
// Errors     Open(): those of Journal and JournalFile. All: FailedPrecondition in another process
//            than Open()'s. Changes: those of Journal and JournalFile; then nothing has changed.
// Threads    safe to share.
class JournalStore {
 public:
  // Opens the journal, or makes one, and cuts off a torn end.
  static StatusOr<std::unique_ptr<JournalStore>> Open(const std::string& path);
  // The same on a storage of another kind, which already has a journal. Errors name it.
  static StatusOr<std::unique_ptr<JournalStore>> OpenOn(std::unique_ptr<JournalStorage> storage,
                                                        std::string_view name);

  // The journal, for as long as nobody else may use it: whoever changes it must call WritePending()
  // before letting go.
  class Held {
   public:
    Journal& operator*() const { return *store_->journal_; }
    Journal* operator->() const { return store_->journal_.get(); }
    // Stores the bytes, and tells nobody.
    Status Write(const JournalWrite& write) const { return store_->storage_->Write(write); }
    // Stores what the last change waits for, if anything, and tells the journal.
    Status WritePending();

   private:
    friend class JournalStore;
    explicit Held(JournalStore& store) : store_(&store), lock_(store.mutex_) {}

    JournalStore* store_;
    std::unique_lock<std::mutex> lock_;
  };
  StatusOr<Held> Hold();
  // For what outlives a Held, as sessions do. It may be used only while it is held.
  Journal& journal() { return *journal_; }

  // Makes one change and stores it.
  Status Change(absl::FunctionRef<Status(Journal&)> change);

 private:
  JournalStore(ProcessMark mark, std::unique_ptr<JournalStorage> storage,
               std::unique_ptr<Journal> journal)
      : mark_(std::move(mark)), storage_(std::move(storage)), journal_(std::move(journal)) {}

  // Called before the mutex is touched, as another thread may have held it at a fork().
  Status CheckOwner() const;

  const ProcessMark mark_;
  std::mutex mutex_;
  const std::unique_ptr<JournalStorage> storage_;
  const std::unique_ptr<Journal> journal_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_STORE_H_
