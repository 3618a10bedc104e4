#include "server/curator/intake/submission.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/payload/contribution.h"
#include "common/terms/ticket.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/join_rows.h"
#include "server/curator/study/label_record.h"
#include "server/curator/study/study_record.h"

namespace coppice::curator {
namespace {

// The outcome that the study's state, expiry or terms give every report of a batch alike; kAccepted
// if they reject none.
ReportOutcome JudgeBatch(const Study* study, std::string_view fingerprint_bytes,
                         int64_t now_unix_seconds) {
  if (study == nullptr) return ReportOutcome::kUnknownStudy;
  const ReportOutcome admission = study->life().Admission();
  if (admission != ReportOutcome::kAccepted) return admission;
  if (study->life().IsOver(now_unix_seconds)) return ReportOutcome::kStudyExpired;
  const Fingerprint& ours = study->definition().fingerprint;
  const bool same =
      std::equal(ours.begin(), ours.end(), fingerprint_bytes.begin(), fingerprint_bytes.end(),
                 [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  return same ? ReportOutcome::kAccepted : ReportOutcome::kStaleFingerprint;
}

// How often a call's reports with one ticket are read until one of them is good: a bad one does not
// spend its ticket, so another may come after it.
constexpr uint32_t kMaxLooks = 2;

// The different tickets of a call.
struct DifferentTickets {
  std::vector<uint32_t> firsts;   // the first report of each
  std::vector<size_t> of_report;  // for each report, the place of its ticket in `firsts`
};

DifferentTickets TellTicketsApart(const ReportBatch& reports) {
  DifferentTickets tickets;
  std::map<std::string_view, size_t> places;
  tickets.of_report.reserve(reports.size());
  for (uint32_t i = 0; i < reports.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(reports.ticket(i), tickets.firsts.size());
    if (is_new) tickets.firsts.push_back(i);
    tickets.of_report.push_back(place->second);
  }
  return tickets;
}

// The tickets of these reports. A ticket of a wrong length stays all zeros, which a curator issues
// with probability 2^-256.
std::vector<Ticket> TicketsOf(const ReportBatch& reports, absl::Span<const uint32_t> positions) {
  std::vector<Ticket> tickets;
  tickets.reserve(positions.size());
  for (const uint32_t i : positions) {
    const std::string_view bytes = reports.ticket(i);
    Ticket& ticket = tickets.emplace_back();
    if (bytes.size() != kTicketIdBytes + kTicketMacBytes) continue;
    std::memcpy(ticket.id.data(), bytes.data(), kTicketIdBytes);
    std::memcpy(ticket.mac.data(), bytes.data() + kTicketIdBytes, kTicketMacBytes);
  }
  return tickets;
}

// Whether tickets draw anything; if not, their hashes need not be computed.
bool DrawsMatter(const StudyForm& form) {
  return form.num_trees() > 1 || form.mechanism(0).columns() > 1;
}

ReportOutcome OutcomeOf(StudyForm::Verdict verdict) {
  switch (verdict) {
    case StudyForm::Verdict::kGood:
      return ReportOutcome::kAccepted;
    case StudyForm::Verdict::kBad:
      return ReportOutcome::kBadPayload;
    case StudyForm::Verdict::kUnknownId:
      return ReportOutcome::kUnknownId;
  }
  return ReportOutcome::kBadPayload;
}

// The outcome so far of report `i`, whose ticket is good; sets `candidate` if it is kAccepted.
StatusOr<ReportOutcome> JudgeReport(const StudyDefinition& definition, const storage::Store& store,
                                    const ReportBatch& reports, uint32_t i, const TicketDraw& draw,
                                    Submission::Candidate& candidate) {
  candidate = {.report = i, .tree = draw.Tree(definition.form->num_trees())};
  const auto features_of = [&](std::string_view id) {
    candidate.id = JoinIdOf(definition.terms->study, id);
    return FindJoinRow(store, definition, candidate.id);
  };
  COPPICE_ASSIGN_OR_RETURN(
      StudyForm::Reading reading,
      definition.form->Read(candidate.tree, draw,
                            {.payload = reports.payload(i), .in_clear = reports.public_values(i)},
                            features_of));
  candidate.column = reading.column;
  candidate.leaves = std::move(reading.leaves);
  return OutcomeOf(reading.verdict);
}

// How a ticket's reports were judged so far.
struct Looks {
  uint32_t count = 0;
  uint32_t last = 0;  // the report that was read last
  bool is_good = false;
};

// Judges each report not yet rejected by its ticket and its payload.
Status JudgeEach(Submission& batch, const TicketAuthority& authority, const storage::Store& store) {
  const StudyDefinition& definition = batch.study->definition();
  const DifferentTickets different = TellTicketsApart(batch.reports);
  const std::vector<Ticket> tickets = TicketsOf(batch.reports, different.firsts);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::optional<TicketSerial>> issued,
                           authority.Recognize(tickets, definition.fingerprint));
  const bool drawn = DrawsMatter(*definition.form);
  std::vector<Looks> looks(tickets.size());
  batch.candidates.reserve(tickets.size());
  for (uint32_t i = 0; i < batch.reports.size(); ++i) {
    if (batch.outcomes[i] != ReportOutcome::kAccepted) continue;
    const size_t t = different.of_report[i];
    if (!issued[t].has_value()) {
      batch.outcomes[i] = ReportOutcome::kBadTicket;
      continue;
    }
    if (looks[t].is_good || looks[t].count == kMaxLooks) {
      batch.repeats.push_back({.report = i, .first = looks[t].last});
      continue;
    }
    const TicketDraw draw = drawn ? DrawOf(tickets[t]) : TicketDraw();
    Submission::Candidate candidate;
    COPPICE_ASSIGN_OR_RETURN(batch.outcomes[i],
                             JudgeReport(definition, store, batch.reports, i, draw, candidate));
    looks[t] = {.count = looks[t].count + 1,
                .last = i,
                .is_good = batch.outcomes[i] == ReportOutcome::kAccepted};
    if (!looks[t].is_good) continue;
    candidate.ticket = *issued[t];
    batch.candidates.push_back(std::move(candidate));
  }
  return OkStatus();
}

Submission RefusedWith(Status status) {
  Submission refused;
  refused.refused = std::move(status);
  return refused;
}

}  // namespace

size_t Submission::Bytes() const {
  size_t leaves = 0;
  for (const Candidate& candidate : candidates) leaves += candidate.leaves.size();
  return sizeof(Submission) + reports.MemoryBytes() + outcomes.size() * sizeof(ReportOutcome) +
         candidates.size() * sizeof(Candidate) + leaves * sizeof(uint32_t) +
         repeats.size() * sizeof(Repeat);
}

Submission JudgeReports(std::shared_ptr<Study> study, std::string_view fingerprint_bytes,
                        ReportBatch reports, const TicketAuthority& authority,
                        const storage::Store& store, int64_t now_unix_seconds) {
  Submission batch;
  batch.outcomes.assign(reports.size(),
                        JudgeBatch(study.get(), fingerprint_bytes, now_unix_seconds));
  batch.study = std::move(study);
  batch.reports = std::move(reports);
  if (batch.reports.empty() || batch.outcomes[0] != ReportOutcome::kAccepted) return batch;

  const Status judged = JudgeEach(batch, authority, store);
  return judged.ok() ? std::move(batch) : RefusedWith(judged);
}

Submission JudgeStoredReports(std::shared_ptr<Study> study, ReportBatch reports,
                              const std::vector<bool>& is_open, const TicketAuthority& authority,
                              const storage::Store& store) {
  Submission batch;
  batch.outcomes.assign(reports.size(), ReportOutcome::kAccepted);
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!is_open[i]) batch.outcomes[i] = ReportOutcome::kBadSeal;
  }
  batch.study = std::move(study);
  batch.reports = std::move(reports);
  const Status judged = JudgeEach(batch, authority, store);
  return judged.ok() ? std::move(batch) : RefusedWith(judged);
}

namespace {

// The changes that a group makes to one study.
struct Tally {
  struct Tree {
    std::vector<Contribution> reports;  // the accepted ones; their payloads lie in the batches
    // For each report, the leaves that it is about, where features are public.
    std::vector<absl::Span<const uint32_t>> leaves;
    std::shared_ptr<TreeSums> sums;  // the study's plus these reports; null if there are none
  };
  std::vector<Tree> trees;
  std::vector<TicketSerial> spent;  // already in the study's set
  std::vector<LabelReport> labels;  // of these tickets, if all features are public
  std::vector<JoinId> answered;  // of these tickets, if joined by ids; already in the study's set
  Counts counts;
  bool expires = false;      // the study is open and its time is over: the group seals it
  bool also_writes = false;  // a submission has further writes
};

class Group {
 public:
  explicit Group(absl::Span<Submission> batches) : batches_(batches) {}

  Status Commit(storage::Store& store) {
    for (Submission& batch : batches_) Decide(batch);
    for (auto& [study, tally] : tallies_) AddUp(*study, tally);
    const storage::StoreBatch writes = MakeWrites();
    const Status stored = writes.puts().empty() ? OkStatus() : store.Apply(writes);
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
    const ReportOutcome admission = AdmissionNow(batch, tally);
    for (const Submission::Candidate& candidate : batch.candidates) {
      batch.outcomes[candidate.report] =
          admission == ReportOutcome::kAccepted ? Count(batch, candidate, tally) : admission;
    }
    for (const Submission::Repeat& repeat : batch.repeats) {
      const ReportOutcome first = batch.outcomes[repeat.first];
      batch.outcomes[repeat.report] =
          first == ReportOutcome::kAccepted ? ReportOutcome::kDuplicate : first;
    }
    for (const ReportOutcome outcome : batch.outcomes) {
      ++tally.counts.outcomes[static_cast<size_t>(outcome)];
    }
    tally.counts.answered += batch.reports.size();
  }

  // Also notes that a study expires if its judgment found a report too late.
  static ReportOutcome AdmissionNow(const Submission& batch, Tally& tally) {
    if (batch.also_write != nullptr) return AdmissionOfStored(batch, tally);
    const ReportOutcome admission = batch.study->life().Admission();
    if (admission != ReportOutcome::kAccepted || batch.outcomes.empty()) return admission;
    if (batch.outcomes[0] == ReportOutcome::kStudyExpired) tally.expires = true;
    return tally.expires ? ReportOutcome::kStudyExpired : admission;
  }

  static ReportOutcome AdmissionOfStored(const Submission& batch, Tally& tally) {
    const ReportOutcome admission = batch.study->life().AdmissionOfStored();
    if (admission == ReportOutcome::kAccepted) tally.also_writes = true;
    return admission;
  }

  static ReportOutcome Count(const Submission& batch, const Submission::Candidate& candidate,
                             Tally& tally) {
    const StudyForm& form = batch.study->form();
    const bool joined = form.report().ShowsId();
    if (joined && batch.study->committer().answered_ids.contains(candidate.id)) {
      return ReportOutcome::kDuplicate;
    }
    if (!batch.study->committer().spent.Insert(candidate.ticket)) return ReportOutcome::kDuplicate;
    tally.spent.push_back(candidate.ticket);
    if (joined) {
      batch.study->committer().answered_ids.insert(candidate.id);
      tally.answered.push_back(candidate.id);
    }
    const Contribution contribution = {.payload = batch.reports.payload(candidate.report),
                                       .column = candidate.column};
    tally.trees[candidate.tree].reports.push_back(contribution);
    if (form.KeepsReports()) {
      tally.labels.push_back({.public_values = joined
                                                   ? AsBytes(candidate.id)
                                                   : batch.reports.public_values(candidate.report),
                              .payload = contribution.payload,
                              .column = contribution.column,
                              .tree = candidate.tree});
    }
    if (!candidate.leaves.empty()) tally.trees[candidate.tree].leaves.push_back(candidate.leaves);
    return ReportOutcome::kAccepted;
  }

  static void AddUp(const Study& study, Tally& tally) {
    for (uint32_t i = 0; i < tally.trees.size(); ++i) {
      Tally::Tree& tree = tally.trees[i];
      if (tree.reports.empty()) continue;
      tree.sums = std::make_shared<TreeSums>(*study.sums().Of(i));
      study.form().AddAll(i, tree.reports, tree.leaves, absl::MakeSpan(tree.sums->sums));
      tree.sums->reports += tree.reports.size();
    }
  }

  storage::StoreBatch MakeWrites() const {
    storage::StoreBatch writes;
    for (const Submission& batch : batches_) {
      if (batch.also_write == nullptr || !batch.refused.ok()) continue;
      if (batch.study->life().AdmissionOfStored() != ReportOutcome::kAccepted) continue;
      batch.also_write(batch.outcomes, writes);
    }
    for (const auto& [study, tally] : tallies_) {
      if (!IsWritten(tally)) continue;
      const Counts before = study->sums().counts();
      if (!tally.spent.empty() || study->committer().store_is_behind) {
        writes.Put(SpentKey(study->id(), before.of(ReportOutcome::kAccepted)),
                   EncodeSpent(tally.spent));
        if (study->form().KeepsReports()) {
          writes.Put(LabelsKey(study->id(), before.of(ReportOutcome::kAccepted)),
                     EncodeLabels(tally.labels));
        }
      }
      writes.Put(CountsKey(study->id()), EncodeCounts(before + tally.counts));
      if (tally.expires) {
        writes.Put(StudyKey(study->id()),
                   EncodeStudy(study->definition(), study->life().OnceOver()));
      }
      for (uint32_t tree = 0; tree < tally.trees.size(); ++tree) {
        const SharedSums sums = SumsToWrite(*study, tally, tree);
        if (sums != nullptr) writes.Put(SumsKey(study->id(), tree), EncodeSums(*sums));
      }
    }
    return writes;
  }

  // Rejections alone wait for the next written group or for Studies::Sweep().
  static bool IsWritten(const Tally& tally) {
    return tally.expires || tally.also_writes ||
           tally.counts.of(ReportOutcome::kAccepted) + tally.counts.of(ReportOutcome::kDuplicate) >
               0;
  }

  // Null if the store already holds them.
  static SharedSums SumsToWrite(const Study& study, const Tally& tally, uint32_t tree) {
    if (tally.trees[tree].sums != nullptr) return tally.trees[tree].sums;
    return study.committer().store_is_behind ? study.sums().Of(tree) : nullptr;
  }

  void Publish() {
    for (auto& [study, tally] : tallies_) {
      if (IsWritten(tally)) study->committer().store_is_behind = false;
      if (tally.counts.answered > 0) study->committer().counts_are_behind = !IsWritten(tally);
      std::vector<SharedSums> sums;
      for (Tally::Tree& tree : tally.trees) sums.push_back(std::move(tree.sums));
      study->sums().Publish(std::move(sums), tally.counts);
      if (tally.expires) study->Advance(study->life().OnceOver());
    }
  }

  void TakeBack() {
    for (auto& [study, tally] : tallies_) {
      for (const TicketSerial ticket : tally.spent) study->committer().spent.Erase(ticket);
      for (const JoinId& id : tally.answered) study->committer().answered_ids.erase(id);
      study->committer().store_is_behind = true;
      study->sums().Publish({}, {.failed = tally.counts.answered});
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

Status CommitGroup(absl::Span<Submission> group, storage::Store& store) {
  return Group(group).Commit(store);
}

}  // namespace coppice::curator
