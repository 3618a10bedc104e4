#include "server/curator/intake/submission.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
#include "common/study/ticket.h"

namespace coppice::curator {
namespace {

// What is against every report of a batch alike; kAccepted if nothing is.
ReportOutcome JudgeBatch(const Study* study, absl::string_view fingerprint_bytes,
                         int64_t now_unix_seconds) {
  if (study == nullptr) return ReportOutcome::kUnknownStudy;
  const ReportOutcome standing = study->AdmissionOutcome();
  if (standing != ReportOutcome::kAccepted) return standing;
  if (study->IsOver(now_unix_seconds)) return ReportOutcome::kStudyExpired;
  const Fingerprint& ours = study->definition().fingerprint;
  const bool same =
      std::equal(ours.begin(), ours.end(), fingerprint_bytes.begin(), fingerprint_bytes.end(),
                 [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  return same ? ReportOutcome::kAccepted : ReportOutcome::kStaleFingerprint;
}

// The tickets of all reports. One of another length than a ticket's is left all zeros, which no
// curator issues but with probability 2^-256.
std::vector<Ticket> TicketsOf(const ReportBatch& reports) {
  std::vector<Ticket> tickets;
  tickets.reserve(reports.size());
  for (size_t i = 0; i < reports.size(); ++i) {
    const absl::string_view bytes = reports.ticket(i);
    Ticket& ticket = tickets.emplace_back();
    if (bytes.size() != kTicketIdBytes + kTicketMacBytes) continue;
    std::memcpy(ticket.id.data(), bytes.data(), kTicketIdBytes);
    std::memcpy(ticket.mac.data(), bytes.data() + kTicketIdBytes, kTicketMacBytes);
  }
  return tickets;
}

// Whether a ticket chooses anything; if not, its hash need not be computed.
bool DrawsMatter(absl::Span<const std::unique_ptr<LocalMechanism>> mechanisms) {
  return mechanisms.size() > 1 || mechanisms.front()->columns() > 1;
}

}  // namespace

size_t Submission::Bytes() const {
  return sizeof(Submission) + reports.MemoryBytes() + outcomes.size() * sizeof(ReportOutcome) +
         candidates.size() * sizeof(Candidate);
}

Submission JudgeReports(std::shared_ptr<Study> study, absl::string_view fingerprint_bytes,
                        ReportBatch reports, const TicketAuthority& authority,
                        int64_t now_unix_seconds) {
  Submission batch;
  batch.outcomes.assign(reports.size(),
                        JudgeBatch(study.get(), fingerprint_bytes, now_unix_seconds));
  batch.study = std::move(study);
  batch.reports = std::move(reports);
  if (batch.reports.empty() || batch.outcomes[0] != ReportOutcome::kAccepted) return batch;

  const std::vector<Ticket> tickets = TicketsOf(batch.reports);
  const absl::StatusOr<std::vector<std::optional<TicketSerial>>> issued =
      authority.Recognize(tickets, batch.study->definition().fingerprint);
  if (!issued.ok()) {
    Submission refused;
    refused.refused = issued.status();
    return refused;
  }
  const auto& mechanisms = batch.study->definition().mechanisms;
  const bool drawn = DrawsMatter(mechanisms);
  batch.candidates.reserve(batch.reports.size());
  for (uint32_t i = 0; i < batch.reports.size(); ++i) {
    const std::optional<TicketSerial>& serial = (*issued)[i];
    if (!serial.has_value()) {
      batch.outcomes[i] = ReportOutcome::kBadTicket;
      continue;
    }
    const TicketDraw draw = drawn ? DrawOf(tickets[i]) : TicketDraw();
    const uint32_t tree = draw.Tree(static_cast<uint32_t>(mechanisms.size()));
    const LocalMechanism& mechanism = *mechanisms[tree];
    if (!mechanism.Check(batch.reports.payload(i)).ok()) {
      batch.outcomes[i] = ReportOutcome::kBadPayload;
      continue;
    }
    batch.candidates.push_back(
        {.report = i, .tree = tree, .column = draw.Column(mechanism.columns()), .ticket = *serial});
  }
  return batch;
}

}  // namespace coppice::curator
