// A store whose journal is in a file, which a page has none of.

#include <memory>
#include <utility>

#include "client/device/journal_file.h"
#include "client/device/journal_store.h"
#include "common/base/status_macros.h"

namespace coppice {

StatusOr<std::unique_ptr<JournalStore>> JournalStore::Open(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(JournalFile file, JournalFile::Open(path, Journal::NewBytes()));
  return OpenOn(std::make_unique<JournalFile>(std::move(file)), path);
}

}  // namespace coppice
