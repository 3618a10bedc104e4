#include "client/device/responder.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status CheckSameTerms(const JournalEntry& entry, const Privatizer& privatizer) {
  const PrivateReport& given = entry.report;
  if (entry.sealed.has_value()) {
    return FailedPreconditionError(
        StrCat("study ", given.study,
               " was answered before, through a relay, and that answer goes to no other; a "
               "row is randomized once per study, so this one is declined"));
  }
  if (entry.forgotten) {
    return FailedPreconditionError(
        StrCat("study ", given.study,
               " was answered before, and the report is delivered and no longer kept; a row "
               "is randomized once per study, so this one is declined"));
  }
  if (given.fingerprint == privatizer.fingerprint()) return OkStatus();
  return FailedPreconditionError(
      StrCat("study ", given.study,
             " was answered before under other terms; a row is randomized once per study, so "
             "this one is declined"));
}

Status InvitedTwice(const Terms& terms) {
  return AlreadyExistsError(
      StrCat("a subject is invited to study ", terms.study, " twice in one call"));
}

Status CheckInvitedOnce(const Terms& terms, absl::Span<const Invitation> invitations) {
  std::set<std::string_view> subjects;
  for (const Invitation& invitation : invitations) {
    if (!subjects.insert(invitation.subject).second) return InvitedTwice(terms);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::optional<PrivateReport>>> Responder::Consent(
    const Privatizer& privatizer, absl::Span<const Invitation> invitations) const {
  const Terms& terms = privatizer.terms();
  COPPICE_RETURN_IF_ERROR(CheckInvitedOnce(terms, invitations));
  std::vector<std::optional<PrivateReport>> given;
  given.reserve(invitations.size());
  for (const Invitation& invitation : invitations) {
    COPPICE_ASSIGN_OR_RETURN(std::optional<JournalEntry> entry,
                             journal_.Find(invitation.subject, terms.study));
    if (entry.has_value()) {
      COPPICE_RETURN_IF_ERROR(CheckSameTerms(*entry, privatizer));
      given.push_back(std::move(entry->report));
      continue;
    }
    COPPICE_RETURN_IF_ERROR(journal_.CheckOptedIn());
    COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> spent, journal_.Spent(invitation.subject));
    COPPICE_RETURN_IF_ERROR(policy_.Allows(terms, spent));
    COPPICE_RETURN_IF_ERROR(privatizer.CheckTicket(invitation.ticket));
    given.push_back(std::nullopt);
  }
  return given;
}

StatusOr<std::vector<PrivateReport>> Responder::Respond(const Privatizer& privatizer,
                                                        absl::Span<const Invitation> invitations,
                                                        ReadRow read, PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(auto given, Consent(privatizer, invitations));
  std::vector<PrivateReport> reports;
  reports.reserve(invitations.size());
  std::vector<JournalEntry> fresh;
  for (size_t i = 0; i < invitations.size(); ++i) {
    if (given[i].has_value()) {
      reports.push_back(*std::move(given[i]));
      continue;
    }
    const auto& [subject, ticket] = invitations[i];
    COPPICE_ASSIGN_OR_RETURN(Privatizer::Blank blank, privatizer.BlankFor(ticket));
    COPPICE_ASSIGN_OR_RETURN(PrivateReport report,
                             privatizer.Privatize(read(i), std::move(blank), random));
    fresh.push_back({.subject = subject, .epsilon = privatizer.terms().epsilon, .report = report});
    reports.push_back(std::move(report));
  }
  COPPICE_RETURN_IF_ERROR(journal_.Append(fresh));
  return reports;
}

Status Responder::CheckSealedConsent(const Terms& terms,
                                     absl::Span<const std::string> subjects) const {
  COPPICE_RETURN_IF_ERROR(journal_.CheckOptedIn());
  std::set<std::string_view> seen;
  for (const std::string& subject : subjects) {
    if (!seen.insert(subject).second) return InvitedTwice(terms);
    COPPICE_ASSIGN_OR_RETURN(const auto answered, journal_.Find(subject, terms.study));
    if (answered.has_value()) {
      return AlreadyExistsError(StrCat("a subject has answered study ", terms.study, " already"));
    }
    COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> spent, journal_.Spent(subject));
    COPPICE_RETURN_IF_ERROR(policy_.Allows(terms, spent, Way::kThroughRelay));
  }
  return OkStatus();
}

StatusOr<std::vector<JournalEntry>> Responder::RespondSealed(
    const Privatizer& privatizer, absl::Span<const Invitation> invitations, ReadRow read,
    SealReport seal, PrivateRandom& random) const {
  std::vector<JournalEntry> entries;
  entries.reserve(invitations.size());
  for (size_t i = 0; i < invitations.size(); ++i) {
    const auto& [subject, ticket] = invitations[i];
    PrivateReport report = {.study = privatizer.terms().study,
                            .fingerprint = privatizer.fingerprint(),
                            .ticket = ticket};
    if (privatizer.CheckTicket(ticket).ok()) {
      COPPICE_ASSIGN_OR_RETURN(Privatizer::Blank blank, privatizer.BlankFor(ticket));
      COPPICE_ASSIGN_OR_RETURN(report, privatizer.Privatize(read(i), std::move(blank), random));
    }
    COPPICE_ASSIGN_OR_RETURN(SealedAnswer sealed, seal(i, report));
    report.payload.clear();
    entries.push_back({.subject = subject,
                       .epsilon = privatizer.terms().epsilon,
                       .report = std::move(report),
                       .sealed = std::move(sealed)});
  }
  COPPICE_RETURN_IF_ERROR(journal_.Append(entries));
  return entries;
}

}  // namespace coppice
