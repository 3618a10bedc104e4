#include "server/curator/intake/group_commit.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/ldp/payload/contribution.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"

namespace coppice::curator {
namespace {

// What a group adds to one study.
struct Tally {
  struct Tree {
    std::vector<Contribution> reports;  // that were accepted; their payloads lie in the batches
    std::shared_ptr<TreeSums> sums;     // with them; null if there are none
  };
  std::vector<Tree> trees;
  std::vector<TicketSerial> spent;  // in the study's set already
  Counts counts;
  bool expires = false;  // the study is open and its time is over: the group seals it
};

class Group {
 public:
  explicit Group(absl::Span<Submission> batches) : batches_(batches) {}

  absl::Status Commit(storage::Store& store) {
    for (Submission& batch : batches_) Decide(batch);
    for (auto& [study, tally] : tallies_) AddUp(*study, tally);
    const storage::StoreBatch writes = MakeWrites();
    const absl::Status stored = writes.puts().empty() ? absl::OkStatus() : store.Apply(writes);
    if (stored.ok()) {
      Publish();
    } else {
      TakeBack();
    }
    return stored;
  }

 private:
  void Decide(Submission& batch) {
    if (batch.study == nullptr || !batch.refused.ok()) return;
    Tally& tally = TallyOf(*batch.study);
    // The study may have been sealed or deleted since its reports were judged.
    const ReportOutcome standing = StandingNow(batch, tally);
    for (const Submission::Candidate& candidate : batch.candidates) {
      batch.outcomes[candidate.report] =
          standing == ReportOutcome::kAccepted ? Count(batch, candidate, tally) : standing;
    }
    for (const ReportOutcome outcome : batch.outcomes) {
      ++tally.counts.outcomes[static_cast<size_t>(outcome)];
    }
    tally.counts.answered += batch.reports.size();
  }

  // Notes that a study expires when a report was found to be too late.
  static ReportOutcome StandingNow(const Submission& batch, Tally& tally) {
    const ReportOutcome standing = batch.study->AdmissionOutcome();
    if (standing != ReportOutcome::kAccepted || batch.outcomes.empty()) return standing;
    if (batch.outcomes[0] == ReportOutcome::kStudyExpired) tally.expires = true;
    return tally.expires ? ReportOutcome::kStudyExpired : standing;
  }

  static ReportOutcome Count(const Submission& batch, const Submission::Candidate& candidate,
                             Tally& tally) {
    if (!batch.study->spent().Insert(candidate.ticket)) return ReportOutcome::kDuplicate;
    tally.spent.push_back(candidate.ticket);
    tally.trees[candidate.tree].reports.push_back(
        {.payload = batch.reports.payload(candidate.report), .column = candidate.column});
    return ReportOutcome::kAccepted;
  }

  static void AddUp(const Study& study, Tally& tally) {
    for (uint32_t i = 0; i < tally.trees.size(); ++i) {
      Tally::Tree& tree = tally.trees[i];
      if (tree.reports.empty()) continue;
      tree.sums = std::make_shared<TreeSums>(*study.SumsOf(i));
      study.definition().mechanisms[i]->AddAll(tree.reports, absl::MakeSpan(tree.sums->sums));
      tree.sums->reports += tree.reports.size();
    }
  }

  storage::StoreBatch MakeWrites() const {
    storage::StoreBatch writes;
    for (const auto& [study, tally] : tallies_) {
      if (!IsWritten(tally)) continue;
      const Counts before = study->CountsSoFar();
      if (!tally.spent.empty() || study->store_is_behind) {
        writes.Put(SpentKey(study->id(), before.of(ReportOutcome::kAccepted)),
                   EncodeSpent(tally.spent));
      }
      writes.Put(CountsKey(study->id()), EncodeCounts(before + tally.counts));
      if (tally.expires) {
        writes.Put(StudyKey(study->id()), EncodeStudy(study->definition(), study->LifeOnceOver()));
      }
      for (uint32_t tree = 0; tree < tally.trees.size(); ++tree) {
        const SharedSums sums = SumsToWrite(*study, tally, tree);
        if (sums != nullptr) writes.Put(SumsKey(study->id(), tree), EncodeSums(*sums));
      }
    }
    return writes;
  }

  // Rejections wait: they are written with the next group that is, or by Studies::Sweep().
  static bool IsWritten(const Tally& tally) {
    return tally.expires ||
           tally.counts.of(ReportOutcome::kAccepted) + tally.counts.of(ReportOutcome::kDuplicate) >
               0;
  }

  // Null if the store has them.
  static SharedSums SumsToWrite(const Study& study, const Tally& tally, uint32_t tree) {
    if (tally.trees[tree].sums != nullptr) return tally.trees[tree].sums;
    return study.store_is_behind ? study.SumsOf(tree) : nullptr;
  }

  void Publish() {
    for (auto& [study, tally] : tallies_) {
      if (IsWritten(tally)) study->store_is_behind = false;
      if (tally.counts.answered > 0) study->counts_are_behind = !IsWritten(tally);
      std::vector<SharedSums> sums;
      for (Tally::Tree& tree : tally.trees) sums.push_back(std::move(tree.sums));
      study->Publish(std::move(sums), tally.counts);
      if (tally.expires) study->Advance(study->LifeOnceOver());
    }
  }

  void TakeBack() {
    for (auto& [study, tally] : tallies_) {
      for (const TicketSerial ticket : tally.spent) study->spent().Erase(ticket);
      study->store_is_behind = true;
      study->Publish({}, {.failed = tally.counts.answered});
    }
  }

  Tally& TallyOf(Study& study) {
    Tally& tally = tallies_[&study];
    tally.trees.resize(study.num_trees());
    return tally;
  }

  const absl::Span<Submission> batches_;
  std::map<Study*, Tally> tallies_;
};

}  // namespace

absl::Status CommitGroup(absl::Span<Submission> group, storage::Store& store) {
  return Group(group).Commit(store);
}

}  // namespace coppice::curator
