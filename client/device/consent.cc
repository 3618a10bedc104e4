#include "client/device/consent.h"

#include <optional>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {

Status Consent::CheckOptedIn() const {
  if (policy_.opted_out) {
    return FailedPreconditionError(
        "this device's owner has opted out; nothing is fetched, answered or sent");
  }
  return journal_.CheckOptedIn();
}

Status Consent::CheckMayFetch() const {
  COPPICE_RETURN_IF_ERROR(policy_.AllowsFetch(journal_.CountUndelivered()));
  if (!policy_.max_journal_bytes.has_value()) return OkStatus();
  return journal_.MakeRoom(*policy_.max_journal_bytes);
}

Status Consent::CheckMayAnswer(const std::string& subject, const Terms& terms,
                               DeliveryRoute route) const {
  if (journal_.Find(subject, terms.study).has_value()) {
    return AlreadyExistsError(StrCat("a subject has answered study ", terms.study, " already"));
  }
  return policy_.Allows(terms, journal_.Spent(subject), route);
}

Status Consent::MakeRoomFor(absl::Span<const std::string> subjects, const Terms& terms,
                            DeliveryRoute route, uint64_t report_bytes) const {
  if (!policy_.max_journal_bytes.has_value()) return OkStatus();
  uint64_t bytes = 0;
  for (const std::string& subject : subjects) {
    JournalEntry empty{.subject = subject, .epsilon = terms.epsilon, .report = {}};
    empty.report.study = terms.study;
    if (route == DeliveryRoute::kThroughRelay) empty.sealed.emplace();
    bytes += Journal::BytesOf(empty) + report_bytes;
  }
  if (bytes > *policy_.max_journal_bytes) {
    return ResourceExhaustedError(StrCat("an answer to study ", terms.study, " takes ", bytes,
                                         " bytes of the journal, which may have ",
                                         *policy_.max_journal_bytes));
  }
  return journal_.MakeRoom(*policy_.max_journal_bytes - bytes);
}

}  // namespace coppice
