#include "client/cli/studies/gateway.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::cli {
namespace {

// Concurrent calls to a relay, which takes one report in each.
constexpr size_t kRelayCalls = 32;

SessionPlan PlanOf(const GatewayParts& parts, const GatewayOptions& options) {
  return {.server = parts.server,
          .route = parts.route,
          .stop_unknown = options.end_unknown,
          .batch = options.batch,
          .calls_together = options.batch};
}

// Carries no call once the user wants to stop. What was answered is in the journal then.
class StoppableCarrier final : public Carrier {
 public:
  explicit StoppableCarrier(const GatewayParts& parts) : parts_(parts) {}

  StatusOr<std::string> Carry(const DeviceCall& call) override {
    if (parts_.stop()) return CancelledError("stopped on request");
    return parts_.carrier.Carry(call);
  }

 private:
  const GatewayParts& parts_;
};

Status Run(const GatewayParts& parts, DeviceSession& session, ReadSessionRow read_row) {
  StoppableCarrier carrier(parts);
  return RunSession(session, {.journal = parts.journal, .carrier = carrier, .threads = kRelayCalls},
                    read_row);
}

// For sessions in which nobody answers.
LabelledRow NoRow(size_t /*subject*/, const Terms& /*terms*/) { return {}; }

Status ResultOf(const DeviceSession& session) {
  const SessionOutcome& outcome = session.outcome();
  return outcome.answer.ok() ? outcome.delivery : outcome.answer;
}

// Fills the plan with the unanswered ones of the rows from `first` on; returns them.
StatusOr<std::vector<size_t>> AskRows(const GatewayParts& parts, const AnsweringFile& answering,
                                      size_t first, size_t end, GatewayCounts& counts,
                                      SessionPlan& plan) {
  COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held journal, parts.journal.Hold());
  std::vector<size_t> rows;
  for (size_t row = first; row < end; ++row) {
    std::string subject = SubjectOf(answering.file, row);
    if (journal->Find(subject, answering.study).has_value()) {
      ++counts.answered_before;
      continue;
    }
    rows.push_back(row);
    plan.subjects.push_back(std::move(subject));
    if (answering.submission_tokens.empty()) continue;
    plan.submission_tokens.push_back(answering.submission_tokens[row]);
  }
  return rows;
}

// Leaves to the caller to forget what is final.
Status AnswerBatches(const GatewayParts& parts, const GatewayOptions& options,
                     const AnsweringFile& answering, const std::function<void(uint64_t)>& progress,
                     GatewayCounts& counts) {
  for (size_t first = 0; first < answering.rows; first += options.batch) {
    const size_t end = std::min(first + options.batch, answering.rows);
    SessionPlan plan = PlanOf(parts, options);
    plan.study = plan.deliver_study = answering.study;
    plan.known = answering.known;
    plan.forget = false;
    COPPICE_ASSIGN_OR_RETURN(const std::vector<size_t> rows,
                             AskRows(parts, answering, first, end, counts, plan));
    if (!rows.empty()) {
      DeviceSession session(parts.device, std::move(plan));
      COPPICE_RETURN_IF_ERROR(Run(parts, session, [&](size_t subject, const Terms&) {
        return RowOf(answering.file, rows[subject]);
      }));
      counts.Add(session.outcome());
      COPPICE_RETURN_IF_ERROR(ResultOf(session));
    }
    progress(end);
  }
  return OkStatus();
}

}  // namespace

std::string SubjectOf(const TableFile& file, size_t row) {
  return file.ids.empty() ? StrCat(row + 1) : file.ids[row];
}

LabelledRow RowOf(const TableFile& file, size_t row) {
  const Table& table = file.table;
  LabelledRow read{.row = table.row(row), .id = file.ids.empty() ? "" : file.ids[row]};
  if (table.schema().target()) {
    read.number = table.target(row);
  } else {
    read.label = table.label(row);
  }
  return read;
}

void GatewayCounts::Add(const SessionOutcome& outcome) {
  const Deliveries& deliveries = outcome.deliveries;
  dealt += outcome.dealt;
  accepted += deliveries.accepted;
  duplicate += deliveries.duplicate;
  for (const std::string& reason : deliveries.refused) ++refused[reason];
  unknown_study += deliveries.unknown.size();
  of_other_curators += deliveries.of_other_curators;
  of_relays += deliveries.of_relays;
  payload_bytes += deliveries.payload_bytes;
}

uint64_t GatewayCounts::TotalRefused() const {
  uint64_t total = 0;
  for (const auto& [reason, reports] : refused) total += reports;
  return total;
}

double GatewayCounts::MeanPayloadBytes() const {
  const uint64_t sent = accepted + duplicate + TotalRefused() + unknown_study;
  return sent == 0 ? 0 : static_cast<double>(payload_bytes) / static_cast<double>(sent);
}

StatusOr<std::unique_ptr<DeviceSession>> FetchTerms(const GatewayParts& parts,
                                                    const std::string& study,
                                                    const std::string& submission_token) {
  SessionPlan plan = PlanOf(parts, GatewayOptions());
  plan.study = study;
  plan.deliver = SessionPlan::Deliver::kNothing;
  if (!submission_token.empty()) plan.submission_tokens = {submission_token};
  auto session = std::make_unique<DeviceSession>(parts.device, std::move(plan));
  COPPICE_RETURN_IF_ERROR(Run(parts, *session, NoRow));
  COPPICE_RETURN_IF_ERROR(ResultOf(*session));
  return session;
}

Status Resume(const GatewayParts& parts, const GatewayOptions& options, const std::string& study,
              GatewayCounts& counts) {
  SessionPlan plan = PlanOf(parts, options);
  plan.deliver = SessionPlan::Deliver::kEverybody;
  plan.deliver_study = study;
  DeviceSession session(parts.device, std::move(plan));
  COPPICE_RETURN_IF_ERROR(Run(parts, session, NoRow));
  counts.Add(session.outcome());
  return ResultOf(session);
}

Status AnswerRows(const GatewayParts& parts, const GatewayOptions& options,
                  const AnsweringFile& answering, const std::function<void(uint64_t)>& progress,
                  GatewayCounts& counts) {
  Status status = AnswerBatches(parts, options, answering, progress, counts);
  const int64_t now = DeviceClock::System().Now().unix_seconds;
  status.Update(parts.journal.Change([&](Journal& journal) { return journal.Forget(now); }));
  return status;
}

}  // namespace coppice::cli
