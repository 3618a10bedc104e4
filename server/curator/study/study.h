// One study in memory: its fixed definition and the progress of its reports.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/terms.h"
#include "common/wire/proto/packed_forest.h"
#include "server/curator/form/study_form.h"
#include "server/curator/keys/join_id.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/study_batches.h"
#include "server/curator/study/study_info.h"
#include "server/curator/study/study_keys.h"
#include "server/curator/study/study_life.h"
#include "server/curator/study/study_sums.h"

namespace coppice::curator {

// The part of a study that is fixed when it is made.
struct StudyDefinition {
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const std::string> terms_bytes;
  std::shared_ptr<const Forest> forest;
  std::shared_ptr<const PackedForest> packed_forest;  // as devices fetch it
  Fingerprint fingerprint{};
  std::shared_ptr<const StudyForm> form;  // of its reports
  PartitionOptions partition;
  int64_t created_unix_seconds = 0;
  std::string choice;  // see StudyInfo
  uint64_t public_rows = 0;
  StudySettings settings{};
  std::string request_id;
  std::string request_hash;  // SHA-256 of the request's content
  std::string owner{};       // as in StudySpec
};

// Makes the definition from the terms' bytes, the forest and how it was made; the caller fills in
// the rest. InvalidArgument if the terms are not valid or need more than kMaxSums sums, or if the
// trees do not begin with the values that `partition` names; DataLoss if the forest is not the one
// that the terms stand for.
inline constexpr uint64_t kMaxSums = uint64_t{1} << 26;
StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed,
                                              PartitionOptions partition);

// What a study is loaded with, or made with.
struct StudyProgress {
  StudyLife life;
  std::vector<SharedSums> sums;  // one per tree
  Counts counts;
};

// The progress of a study that has received no report.
StudyProgress NoProgress(const StudyDefinition& definition);

// What only the committer reads and writes of a study.
struct CommitterState {
  // The tickets counted so far.
  SpentTickets spent;
  // The ids counted so far in a study that is joined by ids: 17 bytes each, in a table at least
  // 7/16 full. Empty in a sealed study.
  absl::flat_hash_set<JoinId> answered_ids;
  // A group could not be stored, and the store may hold effects of it that memory lacks: the next
  // group must write everything about this study again.
  bool store_is_behind = false;
  // Some rejections are counted in memory and not in the store.
  bool counts_are_behind = false;
};

// A study: its definition, which is fixed, and what becomes of it, in parts that each have a
// contract of their own. This class keeps them in step.
//
// Guarantee  A study that is sealed has dropped what only open ones need, and one that is retired
//            what its retention covered. Its life moves before anything is dropped, so whoever
//            misses data sees why.
// Threads    safe to share. Only the committer changes it (intake.h).
class Study {
 public:
  Study(StudyDefinition definition, StudyProgress progress);

  const StudyDefinition& definition() const { return definition_; }
  const std::string& id() const { return definition_.terms->study; }
  const StudyForm& form() const { return *definition_.form; }
  uint32_t num_trees() const { return form().num_trees(); }

  StudyLifecycle& life() { return life_; }
  const StudyLifecycle& life() const { return life_; }
  StudySums& sums() { return sums_; }
  const StudySums& sums() const { return sums_; }
  StudyKeys& keys() { return keys_; }
  const StudyKeys& keys() const { return keys_; }
  // The batches of its relay; empty if reports come directly from devices.
  StudyBatches& batches() { return batches_; }
  const StudyBatches& batches() const { return batches_; }
  CommitterState& committer() { return committer_; }
  const CommitterState& committer() const { return committer_; }
  // The number of ids with features, in a study that is joined by ids.
  uint64_t join_rows() const { return join_rows_.load(std::memory_order_relaxed); }
  void SetJoinRows(uint64_t rows) { join_rows_.store(rows, std::memory_order_relaxed); }

  StudyInfo Info() const;
  // What the curator tells devices of the study under its signature, except the key that signs. All
  // of it is fixed when the study is made, except the sealing key, which sets the sequence.
  Manifest MakeManifest() const;

  // FailedPrecondition if the study is sealed, or joined by ids and without features of any id:
  // devices would spend their epsilon on reports that the study rejects. InvalidArgument unless
  // there is one submission token per ticket if the study requires them, else none.
  Status CheckGivesTickets(size_t tickets, size_t tokens) const;
  // FailedPrecondition while the study is sealed and some of its reports wait to be opened: its
  // counts are neither final nor still open.
  Status CheckNoneWaits() const;
  // Whether its sums grow no more: it is sealed, and no report of its relay waits. Ask before
  // reading the sums.
  bool SumsAreFinal() const;

  // Moves on to the next life, which must be stored. A sealed study drops its spent tickets, unless
  // a batch still needs them, and its answered ids; a retired one its sums, the number of joined
  // rows and its sealing keys. Runs on the committer.
  void Advance(StudyLife life);
  // Drops the spent tickets of a sealed study whose last batch is counted. Runs on the committer.
  void DropSpentOnceCounted();

 private:
  std::optional<StudyRelayInfo> RelayInfo() const;

  const StudyDefinition definition_;
  StudyLifecycle life_;
  StudySums sums_;
  StudyKeys keys_;
  StudyBatches batches_;
  CommitterState committer_;
  std::atomic<uint64_t> join_rows_{0};
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_H_
