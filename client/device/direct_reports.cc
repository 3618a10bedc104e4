#include "client/device/direct_reports.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"

namespace coppice {
namespace {

constexpr size_t kMaxCallBytes = 3 << 20;
constexpr size_t kReportOverhead = 64;  // room for ticket, tags and lengths
constexpr size_t kMaxReportsPerCall = 1000;

bool GoTogether(const PrivateReport& a, const PrivateReport& b) {
  return a.study == b.study && a.fingerprint == b.fingerprint;
}

// By the numbers of coppice.v1.ReportOutcome.
DeliveryResult ResultOf(int32_t outcome) {
  constexpr std::string_view kRefusals[] = {
      "study sealed", "stale fingerprint", "bad ticket", "bad payload",
      "study expired", "bad seal", "unknown id"};
  switch (outcome) {
    case 1:
      return {Delivery::kAccepted};
    case 2:
      return {Delivery::kDuplicate};
    case 3:
      return {Delivery::kUnknownStudy, "unknown study"};
    default:
      break;
  }
  const int64_t refusal = int64_t{outcome} - 4;
  if (refusal >= 0 && refusal < static_cast<int64_t>(std::size(kRefusals))) {
    return {Delivery::kRefused, std::string(kRefusals[static_cast<size_t>(refusal)])};
  }
  return {Delivery::kRefused, StrCat("outcome ", outcome, ", unknown to this version")};
}

}  // namespace

std::string ProofRequest(std::string_view challenge) { return WriteProofRequest(challenge); }

StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge) {
  COPPICE_ASSIGN_OR_RETURN(const ProofMessage message, ReadProof(response));
  Signature signature{};
  if (message.proof.size() == signature.size()) {
    std::copy(message.proof.begin(), message.proof.end(), signature.begin());
  }
  if (IsSignedBy(message.key, kCuratorDomain, challenge, signature)) {
    return CuratorProof{.key = message.key, .endorsements = message.endorsements};
  }
  return FailedPreconditionError(
      "the curator does not prove that it has its key; nothing is sent to it");
}

size_t ReportsPerCall(absl::Span<const JournalEntry> entries, size_t batch) {
  batch = std::min({batch, entries.size(), kMaxReportsPerCall});
  size_t bytes = 0;
  size_t size = 0;
  while (size < batch) {
    const PrivateReport& report = entries[size].report;
    bytes += report.payload.size() + report.public_values.size() + kReportOverhead;
    if (size > 0 && (bytes > kMaxCallBytes || !GoTogether(report, entries[0].report))) break;
    ++size;
  }
  return size;
}

StatusOr<DirectReports> DirectReports::Make(absl::Span<const JournalEntry> entries) {
  std::vector<std::string> tickets;
  for (const JournalEntry& entry : entries) tickets.push_back(entry.report.ticket.ToBytes());
  std::vector<ReportView> reports;
  for (size_t i = 0; i < entries.size(); ++i) {
    reports.push_back({.ticket = tickets[i],
                       .payload = entries[i].report.payload,
                       .public_values = entries[i].report.public_values});
  }
  const PrivateReport& first = entries[0].report;
  return DirectReports(WriteReportsRequest(first.study, first.fingerprint, std::move(reports)),
                       entries.size());
}

StatusOr<std::vector<DeliveryResult>> DirectReports::Open(std::string_view response) const {
  const StatusOr<std::vector<int32_t>> outcomes = ReadOutcomes(response);
  if (!outcomes.ok() || outcomes->size() != reports_) {
    return DataLossError(StrCat("the curator's response does not say what became of the ", reports_,
                                reports_ == 1 ? " report" : " reports"));
  }
  std::vector<DeliveryResult> results;
  results.reserve(reports_);
  for (const int32_t outcome : *outcomes) {
    if (outcome == 0) return DataLossError("the curator left a report without an outcome");
    results.push_back(ResultOf(outcome));
  }
  return results;
}

}  // namespace coppice
