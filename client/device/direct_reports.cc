#include "client/device/direct_reports.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_outcome.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"

namespace coppice {
namespace {

bool GoTogether(const PrivateReport& a, const PrivateReport& b) {
  return a.study == b.study && a.fingerprint == b.fingerprint;
}

StatusOr<DeliveryResult> ResultOf(ReportOutcome outcome) {
  if (outcome == ReportOutcome{}) {
    return DataLossError("the curator left a report without an outcome");
  }
  switch (outcome) {
    case ReportOutcome::kAccepted:
      return DeliveryResult{Delivery::kAccepted};
    case ReportOutcome::kDuplicate:
      return DeliveryResult{Delivery::kDuplicate};
    case ReportOutcome::kUnknownStudy:
      return DeliveryResult{Delivery::kUnknownStudy, InWords(outcome)};
    default:
      return DeliveryResult{Delivery::kRefused, InWords(outcome)};
  }
}

std::string SealedContentOf(absl::Span<const PrivateReport* const> reports) {
  std::vector<std::string> tickets;
  for (const PrivateReport* const report : reports) tickets.push_back(report->ticket.ToBytes());
  std::vector<ReportView> views;
  for (size_t i = 0; i < reports.size(); ++i) {
    views.push_back({.ticket = tickets[i],
                     .payload = reports[i]->payload,
                     .public_values = reports[i]->public_values});
  }
  return WriteSealedReports(reports[0]->study, reports[0]->fingerprint, std::move(views));
}

Status CheckGoTogether(absl::Span<const PrivateReport* const> reports, uint32_t report_bytes) {
  for (const PrivateReport* const report : reports) {
    if (!GoTogether(*report, *reports[0])) {
      return InvalidArgumentError("reports of one call must be of one study and fingerprint");
    }
    // Another length than the study's would tell which report it is.
    if (report->payload.size() + report->public_values.size() > report_bytes) {
      return InvalidArgumentError(StrCat("a report of study ", report->study,
                                         " is longer than the curator's manifest says, ",
                                         report_bytes, " bytes"));
    }
  }
  return OkStatus();
}

}  // namespace

std::string ProofRequest(std::string_view challenge) { return WriteProofRequest(challenge); }

StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge) {
  COPPICE_ASSIGN_OR_RETURN(const ProofMessage message, ReadProof(response));
  COPPICE_ASSIGN_OR_RETURN(const DirectKey direct,
                           MakeDirectKey(message.direct_suite, AsBytes(message.direct_key)));
  Signature signature{};
  if (message.proof.size() == signature.size()) {
    std::copy(message.proof.begin(), message.proof.end(), signature.begin());
  }
  if (IsSignedBy(message.key, kCuratorDomain, ProvenBytes(challenge, direct), signature)) {
    return CuratorProof{.key = message.key, .endorsements = message.endorsements, .direct = direct};
  }
  return FailedPreconditionError(
      "the curator does not prove that it has its key; nothing is sent to it");
}

Status CheckReportFits(const Manifest& manifest, uint64_t max_report_bytes) {
  if (!manifest.direct.has_value() || max_report_bytes <= manifest.direct->report_bytes) {
    return OkStatus();
  }
  return FailedPreconditionError(StrCat(
      "the offer of study ", manifest.study, " is declined: an answer may have ", max_report_bytes,
      " bytes, and what the curator signed leaves room for ", manifest.direct->report_bytes));
}

size_t ReportsPerCall(absl::Span<const PrivateReport* const> reports, uint32_t report_bytes,
                      size_t batch) {
  if (reports.empty()) return 0;
  batch =
      std::min({batch, reports.size(), seal::MaxDirectReports(reports[0]->study, report_bytes)});
  size_t size = 1;
  while (size < batch && GoTogether(*reports[size], *reports[0])) ++size;
  return size;
}

StatusOr<DirectReports> DirectReports::Seal(const DirectKey& curator, uint32_t report_bytes,
                                            absl::Span<const PrivateReport* const> reports) {
  if (reports.empty()) return InvalidArgumentError("there are no reports to send");
  COPPICE_RETURN_IF_ERROR(CheckGoTogether(reports, report_bytes));
  const auto aead = static_cast<seal::Aead>(curator.suite);
  const uint64_t bytes =
      seal::DirectPlaintextBytes(reports[0]->study, report_bytes, reports.size());
  COPPICE_ASSIGN_OR_RETURN(
      seal::SealedRequest sealed,
      seal::SealRequest(aead, curator.key, SealedContentOf(reports), static_cast<size_t>(bytes)));
  std::string request = WriteSubmitRequest({.key_id = sealed.key,
                                            .encapsulated = sealed.message.encapsulated,
                                            .ciphertext = sealed.message.ciphertext});
  sealed.message.ciphertext.clear();  // the answer needs the rest alone
  return DirectReports(aead, std::move(sealed), std::move(request), reports.size());
}

StatusOr<std::vector<DeliveryResult>> DirectReports::Open(std::string_view response) const {
  const StatusOr<std::string_view> answer = ReadSealedOutcomes(response);
  const StatusOr<std::string> outcomes =
      answer.ok() ? seal::OpenOutcomes(aead_, sealed_, *answer) : answer.status();
  if (!outcomes.ok() || outcomes->size() != reports_) {
    return DataLossError(
        StrCat("the response is not the curator's answer about the ", reports_,
               reports_ == 1 ? " report" : " reports",
               " that were sent; what became of them is not known, and they wait"));
  }
  std::vector<DeliveryResult> results;
  results.reserve(reports_);
  for (const char outcome : *outcomes) {
    COPPICE_ASSIGN_OR_RETURN(results.emplace_back(),
                             ResultOf(static_cast<ReportOutcome>(static_cast<uint8_t>(outcome))));
  }
  return results;
}

}  // namespace coppice
