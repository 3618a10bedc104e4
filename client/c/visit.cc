#include "client/c/visit.h"

#include <openssl/rand.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/curator_check.h"
#include "client/messages/messages.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

constexpr int64_t kDaySeconds = 24 * 60 * 60;

// Public: whoever answers has to sign it, so that an old proof is none.
absl::StatusOr<std::string> DrawChallenge() {
  std::string challenge(kChallengeBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(challenge.data()), kChallengeBytes) == 1) {
    return challenge;
  }
  return absl::UnavailableError("the system random source failed");
}

// To the caller of the C interface an invalid argument is a mistake of its own, and this one is the
// curator's.
absl::Status OfCurator(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::DataLossError(status.message()) : status;
}

}  // namespace

void Visit::Ask(Step step, const char* method, std::string request) {
  step_ = step;
  method_ = method;
  request_ = std::move(request);
  asked_ = true;
}

absl::StatusOr<std::optional<VisitCall>> Visit::Next() {
  if (!asked_ && step_ != Step::kDone) {
    if (const absl::Status advanced = Advance(); !advanced.ok()) {
      step_ = Step::kDone;
      return advanced;
    }
  }
  if (!asked_) return std::nullopt;
  return VisitCall{method_, request_};
}

absl::Status Visit::Advance() {
  if (step_ == Step::kBegin && !plan_.study.empty()) {
    COPPICE_RETURN_IF_ERROR(BeginOffer());
    if (asked_) return absl::OkStatus();
  }
  if (step_ == Step::kBegin || step_ == Step::kOffer) return BeginProof();
  BeginReport();
  return absl::OkStatus();
}

absl::Status Visit::BeginOffer() {
  const absl::StatusOr<bool> may_fetch = parts_.respondent.MayFetch(plan_.study);
  // A full queue is no reason not to deliver: that is what empties it.
  outcome_.answer = may_fetch.status();
  if (may_fetch.value_or(false)) {
    Ask(Step::kOffer, "/coppice.v1.StudyService/GetOffer",
        OfferRequestBytes(plan_.study, plan_.submission_token,
                          parts_.trust.Known(plan_.curator, plan_.study)));
  }
  return absl::OkStatus();
}

absl::Status Visit::BeginProof() {
  COPPICE_ASSIGN_OR_RETURN(waiting_, parts_.respondent.Waiting());
  std::reverse(waiting_.begin(), waiting_.end());
  step_ = Step::kDone;
  if (waiting_.empty()) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(challenge_, DrawChallenge());
  Ask(Step::kProof, "/coppice.v1.StudyService/GetCuratorKeys", ProofRequestBytes(challenge_));
  return absl::OkStatus();
}

void Visit::BeginReport() {
  step_ = Step::kDone;
  if (waiting_.empty()) return;
  Ask(Step::kReport, "/coppice.v1.ReportService/SubmitReports",
      ReportRequestBytes(waiting_.back().report));
}

absl::Status Visit::Take(absl::string_view response) {
  if (!asked_) return absl::InvalidArgumentError("there is no call to take a response for");
  asked_ = false;
  switch (step_) {
    case Step::kOffer:
      return TakeOffer(response);
    case Step::kProof:
      return TakeProof(response);
    default:
      return TakeReport(response);
  }
}

absl::Status Visit::Fail(const absl::Status& status) {
  if (!asked_) return absl::InvalidArgumentError("there is no call that could have failed");
  asked_ = false;
  if (step_ == Step::kOffer) {
    outcome_.answer = status;
  } else {
    step_ = Step::kDone;
  }
  return absl::OkStatus();
}

absl::Status Visit::TakeOffer(absl::string_view response) {
  outcome_.answer = AnswerOffer(response);
  outcome_.answered_now = outcome_.answer.ok();
  NoteClock();
  return outcome_.answer;
}

absl::Status Visit::AnswerOffer(absl::string_view response) {
  absl::StatusOr<Offer> offer = OpenOffer(response, plan_.curator, plan_.study, parts_.trust);
  if (!offer.ok()) return OfCurator(offer.status());
  COPPICE_RETURN_IF_ERROR(parts_.respondent.CheckTerms(offer->terms));
  if (!plan_.review(offer->terms)) {
    return absl::FailedPreconditionError(
        absl::StrCat("study ", plan_.study, " is declined by the device's own review"));
  }
  return parts_.respondent.Answer(plan_.study, *std::move(offer), plan_.read_row, parts_.random);
}

void Visit::NoteClock() {
  const std::optional<SeenManifest> seen = parts_.journal.OfStudy(plan_.study);
  if (!seen.has_value()) return;
  const int64_t now = std::max<int64_t>(0, parts_.clock());  // so that the difference is one
  const int64_t behind = std::max<int64_t>(0, seen->manifest.issued_unix_seconds) - now;
  if (behind > kDaySeconds) outcome_.clock_behind_seconds = behind;
}

absl::Status Visit::TakeProof(absl::string_view response) {
  const absl::StatusOr<CuratorProof> proof = OpenProof(response, challenge_);
  if (!proof.ok()) {
    waiting_.clear();
    return OfCurator(proof.status());
  }
  CuratorCheck is_curators([&](const PublicKey& root) {
    return parts_.trust.CheckLedTo(proof->key, proof->endorsements, root);
  });
  std::vector<JournalEntry> owned;
  for (JournalEntry& entry : waiting_) {
    const absl::StatusOr<bool> owns = is_curators.Owns(entry);
    if (!owns.ok()) {
      waiting_.clear();
      return OfCurator(owns.status());
    }
    if (*owns) {
      owned.push_back(std::move(entry));
    } else {
      ++outcome_.deliveries.of_other_curators;
    }
  }
  waiting_ = std::move(owned);
  return absl::OkStatus();
}

absl::Status Visit::TakeReport(absl::string_view response) {
  const JournalEntry sent = std::move(waiting_.back());
  waiting_.pop_back();
  const absl::StatusOr<DeliveryResult> result = ReadDelivery(response);
  const absl::Status settled =
      result.ok() ? parts_.respondent.Settle(sent, *result, outcome_.deliveries) : result.status();
  if (!settled.ok()) waiting_.clear();
  return settled;
}

}  // namespace coppice
