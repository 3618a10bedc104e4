// The backups of a run, and what is known of the store that each one holds.

#ifndef COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_
#define COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/store/store.h"
#include "tests/faults/invariants.h"

namespace coppice::testing {

// What is known of a store from outside.
struct Known {
  std::map<std::string, StudyTruth> truths;  // by the study's id
  std::map<uint32_t, uint32_t> generation;   // by slot, that of its study
};

// A copy that was made while `before` became `after`: it holds what was acknowledged before, and
// any part of what came meanwhile.
Known CopiedBetween(const Known& before, const Known& after);

class KnownBackups {
 public:
  // Notes that the backup `id` was acknowledged.
  void Made(uint32_t id, Known known);
  // Notes a backup whose outcome is unknown. Look() must come before the next.
  void Tried(Known known) { tried_ = std::move(known); }
  // Checks the folder's backups; returns what is wrong, or an empty string. The newest that was
  // acknowledged must be there; one that nobody heard of must be the one that was tried.
  std::string Look(const std::vector<storage::StoreBackup>& there);

  const Known& Of(uint32_t id) const { return known_.at(id); }

 private:
  std::map<uint32_t, Known> known_;  // by the backup's id
  std::optional<Known> tried_;
  uint32_t newest_ = 0;  // the newest one acknowledged
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_KNOWN_BACKUPS_H_
