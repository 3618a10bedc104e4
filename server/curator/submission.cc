#include "server/curator/submission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/study/ticket.h"
#include "server/curator/store_keys.h"

namespace coppice {
namespace {

// What is against every report of a batch alike; kAccepted if nothing is.
ReportOutcome JudgeBatch(const Study* study, absl::string_view fingerprint_bytes) {
  if (study == nullptr) return ReportOutcome::kUnknownStudy;
  const ReportOutcome standing = study->Standing();
  if (standing != ReportOutcome::kAccepted) return standing;
  const Fingerprint& ours = study->facts().fingerprint;
  const bool same =
      std::equal(ours.begin(), ours.end(), fingerprint_bytes.begin(), fingerprint_bytes.end(),
                 [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  return same ? ReportOutcome::kAccepted : ReportOutcome::kStaleFingerprint;
}

std::string SpentKey(absl::string_view prefix, const Ticket& ticket) {
  return absl::StrCat(
      prefix, absl::string_view(reinterpret_cast<const char*>(ticket.id.data()), ticket.id.size()));
}

}  // namespace

size_t Submission::Bytes() const {
  size_t bytes = sizeof(Submission);
  for (const SubmittedReport& report : reports) {
    bytes += sizeof(SubmittedReport) + report.ticket.size() + report.payload.size();
  }
  for (const std::string& key : spent_keys) {
    bytes += sizeof(Candidate) + sizeof(std::string) + key.size();
  }
  return bytes;
}

Submission JudgeReports(std::shared_ptr<Study> study, absl::string_view fingerprint_bytes,
                        std::vector<SubmittedReport> reports, const TicketAuthority& authority) {
  Submission batch;
  batch.outcomes.assign(reports.size(), JudgeBatch(study.get(), fingerprint_bytes));
  batch.study = std::move(study);
  batch.reports = std::move(reports);
  if (batch.reports.empty() || batch.outcomes[0] != ReportOutcome::kAccepted) return batch;

  const std::string prefix = SpentPrefix(batch.study->id());
  const uint32_t num_trees = batch.study->num_trees();
  batch.candidates.reserve(batch.reports.size());
  batch.spent_keys.reserve(batch.reports.size());
  for (uint32_t i = 0; i < batch.reports.size(); ++i) {
    const absl::StatusOr<Ticket> ticket = Ticket::FromBytes(batch.reports[i].ticket);
    if (!ticket.ok() || !authority.Verify(*ticket, batch.study->facts().fingerprint).ok()) {
      batch.outcomes[i] = ReportOutcome::kBadTicket;
      continue;
    }
    const uint32_t tree = num_trees == 1 ? 0 : TreeOfTicket(*ticket, num_trees);
    batch.candidates.push_back({.report = i, .tree = tree});
    batch.spent_keys.push_back(SpentKey(prefix, *ticket));
  }
  return batch;
}

}  // namespace coppice
