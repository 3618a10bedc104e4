#include "client/responder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

absl::Status CheckSameTerms(const PrivateReport& given, const Privatizer& privatizer) {
  if (given.fingerprint == privatizer.fingerprint()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("study ", given.study,
                   " was answered before under other terms; a row is randomized once a study, so "
                   "this one is declined"));
}

}  // namespace

absl::StatusOr<std::vector<PrivateReport>> Responder::Respond(const Privatizer& privatizer,
                                                              absl::Span<const Answer> answers,
                                                              PrivateRandom& random) const {
  const Terms& terms = privatizer.terms();
  std::vector<PrivateReport> reports;
  reports.reserve(answers.size());
  std::vector<JournalEntry> fresh;
  for (const Answer& answer : answers) {
    if (std::optional<JournalEntry> given = journal_.Find(answer.subject, terms.study)) {
      COPPICE_RETURN_IF_ERROR(CheckSameTerms(given->report, privatizer));
      reports.push_back(std::move(given->report));
      continue;
    }
    COPPICE_RETURN_IF_ERROR(policy_.Allows(terms.epsilon, journal_.Spent(answer.subject)));
    COPPICE_ASSIGN_OR_RETURN(PrivateReport report,
                             privatizer.Privatize(answer.row, answer.label, answer.ticket, random));
    fresh.push_back({.subject = answer.subject, .epsilon = terms.epsilon, .report = report});
    reports.push_back(std::move(report));
  }
  COPPICE_RETURN_IF_ERROR(journal_.Append(fresh));
  return reports;
}

}  // namespace coppice
