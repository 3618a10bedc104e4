#include "client/cli/gateway.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/responder.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"

namespace coppice {
namespace {

constexpr size_t kMaxCallBytes = 3 << 20;
constexpr size_t kReportOverhead = 64;  // ticket, tags and lengths

std::string SubjectOf(size_t row) { return absl::StrCat(row + 1); }

bool SameCall(const PrivateReport& a, const PrivateReport& b) {
  return a.study == b.study && a.fingerprint == b.fingerprint;
}

void Count(const DeliveryResult& result, GatewayCounts& counts) {
  switch (result.delivery) {
    case Delivery::kAccepted:
      ++counts.accepted;
      break;
    case Delivery::kDuplicate:
      ++counts.duplicate;
      break;
    case Delivery::kRefused:
      ++counts.refused[result.reason];
      break;
  }
}

}  // namespace

uint64_t GatewayCounts::TotalRefused() const {
  uint64_t total = 0;
  for (const auto& [reason, reports] : refused) total += reports;
  return total;
}

double GatewayCounts::MeanPayloadBytes() const {
  const uint64_t sent = accepted + duplicate + TotalRefused();
  return sent == 0 ? 0 : static_cast<double>(payload_bytes) / static_cast<double>(sent);
}

size_t CallSize(absl::Span<const JournalEntry> entries, size_t batch) {
  size_t bytes = 0;
  size_t size = 0;
  while (size < std::min(batch, entries.size())) {
    const PrivateReport& report = entries[size].report;
    bytes += report.payload.size() + kReportOverhead;
    if (size > 0 && (bytes > kMaxCallBytes || !SameCall(report, entries[0].report))) break;
    ++size;
  }
  return size;
}

Gateway::Gateway(GatewayLink link, Journal& journal, size_t batch, std::function<bool()> stop)
    : link_(std::move(link)), journal_(journal), batch_(batch), stop_(std::move(stop)) {}

absl::Status Gateway::CheckStop() const {
  return stop_() ? absl::CancelledError("stopped on request") : absl::OkStatus();
}

absl::Status Gateway::SendOneCall(absl::Span<const JournalEntry> entries, GatewayCounts& counts) {
  COPPICE_RETURN_IF_ERROR(CheckStop());
  std::vector<PrivateReport> reports;
  std::vector<std::string> subjects;
  for (const JournalEntry& entry : entries) {
    reports.push_back(entry.report);
    subjects.push_back(entry.subject);
  }
  COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> results, link_.deliver(reports));
  for (const DeliveryResult& result : results) Count(result, counts);
  for (const PrivateReport& report : reports) counts.payload_bytes += report.payload.size();
  return journal_.MarkDelivered(reports[0].study, subjects);
}

absl::Status Gateway::Send(absl::Span<const JournalEntry> entries, GatewayCounts& counts) {
  while (!entries.empty()) {
    const size_t size = CallSize(entries, batch_);
    COPPICE_RETURN_IF_ERROR(SendOneCall(entries.subspan(0, size), counts));
    entries.remove_prefix(size);
  }
  return absl::OkStatus();
}

absl::Status Gateway::Resume(const std::string& study, GatewayCounts& counts) {
  std::vector<JournalEntry> waiting = journal_.Undelivered();
  if (!study.empty()) {
    std::erase_if(waiting, [&](const JournalEntry& entry) { return entry.report.study != study; });
  }
  return Send(waiting, counts);
}

absl::Status Gateway::AnswerBatch(const Privatizer& privatizer, const Policy& policy,
                                  const Table& table, absl::Span<const size_t> rows,
                                  GatewayCounts& counts) {
  COPPICE_RETURN_IF_ERROR(CheckStop());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> tickets, link_.tickets(rows));
  std::vector<Answer> answers;
  for (size_t i = 0; i < rows.size(); ++i) {
    answers.push_back({SubjectOf(rows[i]), table.row(rows[i]), table.label(rows[i]), tickets[i]});
  }
  OpenSslRandom random;
  COPPICE_ASSIGN_OR_RETURN(std::vector<PrivateReport> reports,
                           Responder(policy, journal_).Respond(privatizer, answers, random));
  std::vector<JournalEntry> entries;
  for (size_t i = 0; i < rows.size(); ++i) {
    entries.push_back({std::move(answers[i].subject), privatizer.terms().epsilon,
                       std::move(reports[i]), /*delivered=*/false});
  }
  return Send(entries, counts);
}

absl::Status Gateway::AnswerRows(const Privatizer& privatizer, const Policy& policy,
                                 const Table& table, size_t rows,
                                 const std::function<void(uint64_t)>& progress,
                                 GatewayCounts& counts) {
  std::vector<size_t> batch;
  for (size_t row = 0; row < rows; ++row) {
    if (journal_.Find(SubjectOf(row), privatizer.terms().study).has_value()) {
      ++counts.answered_before;
    } else {
      batch.push_back(row);
    }
    const bool last = row + 1 == rows;
    if (batch.size() < batch_ && !(last && !batch.empty())) continue;
    COPPICE_RETURN_IF_ERROR(AnswerBatch(privatizer, policy, table, batch, counts));
    batch.clear();
    progress(row + 1);
  }
  return absl::OkStatus();
}

}  // namespace coppice
