#include "client/device/journal_store.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

StatusOr<ProcessMark> ProcessMark::Make() {
  void* const page =
      mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, PageBytes(), MADV_WIPEONFORK) != 0) {
    const int error = errno;
    if (page != MAP_FAILED) munmap(page, PageBytes());
    return UnavailableError(
        StrCat("cannot tell this process from its children: ", std::strerror(error)));
  }
  *static_cast<unsigned char*>(page) = kMine;
  return ProcessMark(static_cast<unsigned char*>(page));
}

ProcessMark::ProcessMark(ProcessMark&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

ProcessMark::~ProcessMark() {
  if (page_ != nullptr) munmap(page_, PageBytes());
}

StatusOr<std::unique_ptr<JournalStore>> JournalStore::Open(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(ProcessMark mark, ProcessMark::Make());
  COPPICE_ASSIGN_OR_RETURN(JournalFile file, JournalFile::Open(path, Journal::NewBytes()));
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, file.ReadAll());
  StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(bytes);
  if (!journal.ok()) {
    return Status(journal.status().code(), StrCat(path, ": ", journal.status().message()));
  }
  if ((*journal)->SizeBytes() < bytes.size()) {
    COPPICE_RETURN_IF_ERROR(file.Truncate((*journal)->SizeBytes()));
  }
  return std::unique_ptr<JournalStore>(
      new JournalStore(std::move(mark), std::move(file), *std::move(journal)));
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
  const Status written = store_->file_.Write(*write);
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
