#include "client/device/journal_store.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
StatusOr<std::unique_ptr<JournalStore>> JournalStore::OpenOn(
    std::unique_ptr<JournalStorage> storage, std::string_view name) {
  COPPICE_ASSIGN_OR_RETURN(ProcessMark mark, ProcessMark::Make());
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, storage->ReadAll());
  StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(bytes);
  if (!journal.ok()) {
    return Status(journal.status().code(), StrCat(name, ": ", journal.status().message()));
  }
  if ((*journal)->SizeBytes() < bytes.size()) {
    COPPICE_RETURN_IF_ERROR(storage->Truncate((*journal)->SizeBytes()));
  }
  return std::unique_ptr<JournalStore>(
      new JournalStore(std::move(mark), std::move(storage), *std::move(journal)));
}

Status JournalStore::CheckOwner() const {
  if (mark_.IsMine()) return OkStatus();
  return FailedPreconditionError(
      "the journal was opened before a fork(), and this is the child: open the journal in the "
      "process that answers");
}

StatusOr<JournalStore::Held> JournalStore::Hold() {
  COPPICE_RETURN_IF_ERROR(CheckOwner());
  return Held(*this);
}

Status JournalStore::Held::WritePending() {
  const JournalWrite* write = (*this)->pending();
  if (write == nullptr) return OkStatus();
  const Status written = store_->storage_->Write(*write);
  if (written.ok()) {
    (*this)->Committed();
  } else {
    (*this)->Failed();
  }
  return written;
}

Status JournalStore::Change(absl::FunctionRef<Status(Journal&)> change) {
  COPPICE_ASSIGN_OR_RETURN(Held held, Hold());
  COPPICE_RETURN_IF_ERROR(change(*held));
  return held.WritePending();
}

}  // namespace coppice
