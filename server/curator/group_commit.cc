#include "server/curator/group_commit.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/curator/store_keys.h"
#include "server/curator/study_record.h"

namespace coppice {
namespace {

// What a group adds to one study.
struct Tally {
  std::vector<std::shared_ptr<TreeSums>> sums;  // one a tree; null where nothing was added
  std::vector<TicketId> spent;                  // in the study's set already
  Outcomes outcomes{};

  uint64_t of(ReportOutcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }
};

class Group {
 public:
  explicit Group(absl::Span<Submission> batches) : batches_(batches) {}

  absl::Status Commit(Store& store) {
    for (Submission& batch : batches_) Decide(batch);
    const StoreBatch writes = MakeWrites();
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
    if (batch.study == nullptr) return;
    Tally& tally = TallyOf(*batch.study);
    // The study may have been sealed or deleted since its reports were judged.
    const ReportOutcome standing = batch.study->Standing();
    for (const Submission::Candidate& candidate : batch.candidates) {
      batch.outcomes[candidate.report] =
          standing == ReportOutcome::kAccepted ? Count(batch, candidate, tally) : standing;
    }
    for (const ReportOutcome outcome : batch.outcomes) {
      ++tally.outcomes[static_cast<size_t>(outcome)];
    }
  }

  static ReportOutcome Count(const Submission& batch, const Submission::Candidate& candidate,
                             Tally& tally) {
    SpentTickets& spent = batch.study->spent();
    if (!spent.insert(candidate.ticket).second) return ReportOutcome::kDuplicate;
    if (!Add(batch, candidate, tally)) {
      spent.erase(candidate.ticket);  // Its ticket stays good.
      return ReportOutcome::kBadPayload;
    }
    tally.spent.push_back(candidate.ticket);
    return ReportOutcome::kAccepted;
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

  StoreBatch MakeWrites() const {
    StoreBatch writes;
    for (const auto& [study, tally] : tallies_) {
      if (!IsWritten(tally)) continue;
      Outcomes totals = study->CountsSoFar();
      if (!tally.spent.empty() || study->store_is_behind) {
        const uint64_t before = totals[static_cast<size_t>(ReportOutcome::kAccepted)];
        writes.Put(SpentKey(study->id(), before), EncodeTicketIds(tally.spent));
      }
      for (size_t i = 0; i < totals.size(); ++i) totals[i] += tally.outcomes[i];
      writes.Put(CountsKey(study->id()), EncodeCounts(totals));
      for (uint32_t tree = 0; tree < tally.sums.size(); ++tree) {
        const SharedSums sums = SumsToWrite(*study, tally, tree);
        if (sums != nullptr) writes.Put(SumsKey(study->id(), tree), EncodeSums(*sums));
      }
    }
    return writes;
  }

  // Rejections are counted in memory only.
  static bool IsWritten(const Tally& tally) {
    return tally.of(ReportOutcome::kAccepted) + tally.of(ReportOutcome::kDuplicate) > 0;
  }

  // Null if the store has them.
  static SharedSums SumsToWrite(const Study& study, const Tally& tally, uint32_t tree) {
    if (tally.sums[tree] != nullptr) return tally.sums[tree];
    return study.store_is_behind ? study.SumsOf(tree) : nullptr;
  }

  void Publish() {
    for (auto& [study, tally] : tallies_) {
      if (IsWritten(tally)) study->store_is_behind = false;
      study->Publish({tally.sums.begin(), tally.sums.end()}, tally.outcomes);
    }
  }

  void TakeBack() {
    for (auto& [study, tally] : tallies_) {
      for (const TicketId& ticket : tally.spent) study->spent().erase(ticket);
      study->store_is_behind = true;
    }
  }

  Tally& TallyOf(Study& study) {
    Tally& tally = tallies_[&study];
    tally.sums.resize(study.num_trees());
    return tally;
  }

  const absl::Span<Submission> batches_;
  std::map<Study*, Tally> tallies_;
};

}  // namespace

absl::Status CommitGroup(absl::Span<Submission> group, Store& store) {
  return Group(group).Commit(store);
}

}  // namespace coppice
