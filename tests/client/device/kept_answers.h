// What a journal on disk says, for tests.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_KEPT_ANSWERS_H_
#define COPPICE_TESTS_CLIENT_DEVICE_KEPT_ANSWERS_H_

#include <string>
#include <vector>

#include "client/device/journal_store.h"

namespace coppice::testing {

// All answers in the journal, which nobody else may have open.
inline std::vector<JournalEntry> KeptAnswers(const std::string& path) {
  const auto store = JournalStore::Open(path);
  return store.ok() ? (*store)->journal().Entries() : std::vector<JournalEntry>();
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_KEPT_ANSWERS_H_
