// The backups of a run, and what is known of the store that each of them holds.

#ifndef COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_
#define COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/storage/store.h"
#include "tests/faults/invariants.h"

namespace coppice::testing {

// What is known from outside of a store.
struct Known {
  std::map<std::string, StudyTruth> truths;  // by the study's id
  std::map<uint32_t, uint32_t> generation;   // of the study of each slot
};

// Of a copy that was made while `before` became `after`: it holds what was acknowledged before, and
// of what came meanwhile any part.
Known CopiedBetween(const Known& before, const Known& after);

class KnownBackups {
 public:
  // The backup `id` was acknowledged.
  void Made(uint32_t id, Known known);
  // A backup was begun, and what became of it is not known. One at a time: Look() comes between.
  void Tried(Known known) { tried_ = std::move(known); }
  // `there` is what is in the folder. Empty, or what is wrong: the newest that was acknowledged
  // must be there. One that nobody heard of must be the one that was tried.
  std::string Look(const std::vector<storage::StoreBackup>& there);

  const Known& Of(uint32_t id) const { return known_.at(id); }

 private:
  std::map<uint32_t, Known> known_;  // by the backup's id
  std::optional<Known> tried_;
  uint32_t newest_ = 0;  // that was acknowledged
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_
