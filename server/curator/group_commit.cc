#include "server/curator/group_commit.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "server/curator/store_keys.h"
#include "server/curator/study_record.h"

namespace coppice {
namespace {

// What a group adds to one study.
struct Tally {
  std::vector<std::shared_ptr<TreeSums>> sums;  // one a tree; null where nothing was added
  Outcomes outcomes{};

  uint64_t of(ReportOutcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
};

class Group {
 public:
  explicit Group(absl::Span<Submission> batches) : batches_(batches) {}

  absl::Status Commit(Store& store) {
    CloseLateBatches();
    CollectKeys();
    if (!keys_.empty()) {
      COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> spent, store.Contains(keys_));
      Decide(spent);
    }
    CountOutcomes();
    const StoreBatch writes = MakeWrites();
    if (!writes.puts().empty()) COPPICE_RETURN_IF_ERROR(store.Apply(writes));
    Publish();
    return absl::OkStatus();
  }

 private:
  // A study may have been sealed or deleted since its reports were judged.
  void CloseLateBatches() {
    for (Submission& batch : batches_) {
      if (batch.candidates.empty()) continue;
      const ReportOutcome standing = batch.study->Standing();
      if (standing == ReportOutcome::kAccepted) continue;
      for (const auto& candidate : batch.candidates) batch.outcomes[candidate.report] = standing;
      batch.candidates.clear();
      batch.spent_keys.clear();
    }
  }

  void CollectKeys() {
    size_t candidates = 0;
    for (const Submission& batch : batches_) candidates += batch.candidates.size();
    keys_.reserve(candidates);
    for (Submission& batch : batches_) {
      keys_.insert(keys_.end(), std::make_move_iterator(batch.spent_keys.begin()),
                   std::make_move_iterator(batch.spent_keys.end()));
    }
    accepted_.assign(keys_.size(), false);
  }

  void Decide(const std::vector<bool>& spent) {
    absl::flat_hash_set<absl::string_view> seen;
    seen.reserve(keys_.size());
    size_t next = 0;
    for (Submission& batch : batches_) {
      if (batch.candidates.empty()) continue;
      Tally& tally = TallyOf(*batch.study);
      for (const Submission::Candidate& candidate : batch.candidates) {
        const size_t key = next++;
        ReportOutcome& outcome = batch.outcomes[candidate.report];
        if (spent[key] || seen.contains(keys_[key])) {
          outcome = ReportOutcome::kDuplicate;
        } else if (!Add(batch, candidate, tally)) {
          outcome = ReportOutcome::kBadPayload;  // Its ticket stays good.
        } else {
          seen.insert(keys_[key]);
          accepted_[key] = true;
        }
      }
    }
  }

  static bool Add(const Submission& batch, const Submission::Candidate& candidate, Tally& tally) {
    std::shared_ptr<TreeSums>& sums = tally.sums[candidate.tree];
    if (sums == nullptr) sums = std::make_shared<TreeSums>(*batch.study->SumsOf(candidate.tree));
    const LocalMechanism& mechanism = *batch.study->facts().mechanisms[candidate.tree];
    const std::string& payload = batch.reports[candidate.report].payload;
    if (!mechanism.Add(payload, absl::MakeSpan(sums->sums)).ok()) return false;
    ++sums->reports;
    return true;
  }

  void CountOutcomes() {
    for (const Submission& batch : batches_) {
      if (batch.study == nullptr) continue;
      Tally& tally = TallyOf(*batch.study);
      for (const ReportOutcome outcome : batch.outcomes) {
        ++tally.outcomes[static_cast<size_t>(outcome)];
      }
    }
  }

  StoreBatch MakeWrites() {
    StoreBatch writes;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (accepted_[i]) writes.Put(std::move(keys_[i]), "");
    }
    for (const auto& [study, tally] : tallies_) {
      if (tally.of(ReportOutcome::kAccepted) + tally.of(ReportOutcome::kDuplicate) == 0) continue;
      Outcomes totals = study->CountsSoFar();
      for (size_t i = 0; i < totals.size(); ++i) totals[i] += tally.outcomes[i];
      writes.Put(CountsKey(study->id()), EncodeCounts(totals));
      for (uint32_t tree = 0; tree < tally.sums.size(); ++tree) {
        if (tally.sums[tree] == nullptr) continue;
        writes.Put(SumsKey(study->id(), tree), EncodeSums(*tally.sums[tree]));
      }
    }
    return writes;
  }

  void Publish() {
    for (auto& [study, tally] : tallies_) {
      study->Publish({tally.sums.begin(), tally.sums.end()}, tally.outcomes);
    }
  }

  Tally& TallyOf(Study& study) {
    Tally& tally = tallies_[&study];
    tally.sums.resize(study.num_trees());
    return tally;
  }

  const absl::Span<Submission> batches_;
  std::vector<std::string> keys_;  // of all candidates, in order
  std::vector<bool> accepted_;     // one a key
  std::map<Study*, Tally> tallies_;
};

}  // namespace

absl::Status CommitGroup(absl::Span<Submission> group, Store& store) {
  return Group(group).Commit(store);
}

}  // namespace coppice
