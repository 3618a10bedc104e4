#include <algorithm>
#include <utility>

#include "client/cli/studies/collect.h"
#include "client/device/responder.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice::cli {
namespace {

constexpr size_t kMaxCallBytes = 3 << 20;
constexpr size_t kReportOverhead = 64;  // room for ticket, tags and lengths

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
    case Delivery::kUnknownStudy:
      ++counts.unknown_study;
      break;
  }
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

uint64_t GatewayCounts::TotalRefused() const {
  uint64_t total = 0;
  for (const auto& [reason, reports] : refused) total += reports;
  return total;
}

double GatewayCounts::MeanPayloadBytes() const {
  const uint64_t sent = accepted + duplicate + TotalRefused() + unknown_study;
  return sent == 0 ? 0 : static_cast<double>(payload_bytes) / static_cast<double>(sent);
}

size_t CallSize(absl::Span<const JournalEntry> entries, size_t batch) {
  size_t bytes = 0;
  size_t size = 0;
  while (size < std::min(batch, entries.size())) {
    const PrivateReport& report = entries[size].report;
    bytes += report.payload.size() + report.public_values.size() + kReportOverhead;
    if (size > 0 && (bytes > kMaxCallBytes || !SameCall(report, entries[0].report))) break;
    ++size;
  }
  return size;
}

Gateway::Gateway(GatewayLink link, Journal& journal, const GatewayOptions& options,
                 std::function<bool()> stop)
    : link_(std::move(link)),
      journal_(journal),
      options_(options),
      stop_(std::move(stop)),
      curator_check_(link_.check_is) {}

Status Gateway::CheckStop() const {
  return stop_() ? CancelledError("stopped on request") : OkStatus();
}

Status Gateway::SendOneCall(absl::Span<const JournalEntry> entries, GatewayCounts& counts) {
  COPPICE_RETURN_IF_ERROR(CheckStop());
  std::vector<PrivateReport> reports;
  for (const JournalEntry& entry : entries) reports.push_back(entry.report);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> results, link_.deliver(reports));
  std::vector<std::string> ended;
  for (size_t i = 0; i < results.size(); ++i) {
    Count(results[i], counts);
    counts.payload_bytes += reports[i].payload.size();
    const bool unknown = results[i].delivery == Delivery::kUnknownStudy;
    if (!unknown || options_.end_unknown) ended.push_back(entries[i].subject);
  }
  return journal_.MarkDelivered(reports[0].study, ended);
}

Status Gateway::Send(absl::Span<const JournalEntry> entries, GatewayCounts& counts) {
  while (!entries.empty()) {
    const size_t size = CallSize(entries, options_.batch);
    COPPICE_RETURN_IF_ERROR(SendOneCall(entries.subspan(0, size), counts));
    entries.remove_prefix(size);
  }
  return OkStatus();
}

Status Gateway::Resume(const std::string& study, GatewayCounts& counts) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, journal_.Undelivered());
  std::vector<JournalEntry> for_this_curator;
  for (const JournalEntry& entry : waiting) {
    if (!study.empty() && entry.report.study != study) continue;
    if (entry.sealed.has_value()) {
      ++counts.of_relays;
      continue;
    }
    COPPICE_ASSIGN_OR_RETURN(const bool is_for_this_curator, curator_check_.Owns(entry));
    if (is_for_this_curator) {
      for_this_curator.push_back(entry);
    } else {
      ++counts.of_other_curators;
    }
  }
  return Send(for_this_curator, counts);
}

Status Gateway::AnswerBatch(const Privatizer& privatizer, const Policy& policy,
                            const TableFile& file, absl::Span<const size_t> rows,
                            GatewayCounts& counts) {
  COPPICE_RETURN_IF_ERROR(CheckStop());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> tickets, link_.tickets(rows));
  std::vector<Invitation> invitations;
  for (size_t i = 0; i < rows.size(); ++i) {
    invitations.push_back({SubjectOf(file, rows[i]), tickets[i]});
  }
  const auto read = [&](size_t i) { return RowOf(file, rows[i]); };
  OpenSslRandom random;
  COPPICE_ASSIGN_OR_RETURN(
      std::vector<PrivateReport> reports,
      Responder(policy, journal_).Respond(privatizer, invitations, read, random));
  std::vector<JournalEntry> entries;
  for (size_t i = 0; i < rows.size(); ++i) {
    entries.push_back({std::move(invitations[i].subject), privatizer.terms().epsilon,
                       std::move(reports[i]), /*delivered=*/false});
  }
  return Send(entries, counts);
}

Status Gateway::AnswerRows(const Privatizer& privatizer, const Policy& policy,
                           const TableFile& file, size_t rows,
                           const std::function<void(uint64_t)>& progress, GatewayCounts& counts) {
  std::vector<size_t> batch;
  for (size_t row = 0; row < rows; ++row) {
    COPPICE_ASSIGN_OR_RETURN(const auto answered,
                             journal_.Find(SubjectOf(file, row), privatizer.terms().study));
    if (answered.has_value()) {
      ++counts.answered_before;
    } else {
      batch.push_back(row);
    }
    const bool last = row + 1 == rows;
    if (batch.size() < options_.batch && !last) continue;
    if (!batch.empty()) {
      COPPICE_RETURN_IF_ERROR(AnswerBatch(privatizer, policy, file, batch, counts));
      batch.clear();
    }
    progress(row + 1);
  }
  return OkStatus();
}

}  // namespace coppice::cli
