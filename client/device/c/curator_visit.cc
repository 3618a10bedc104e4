#include <openssl/rand.h>

#include <algorithm>
#include <string_view>

#include "client/device/c/visit.h"
#include "client/device/curator_check.h"
#include "client/device/messages/messages.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

// Public: whoever answers has to sign it, so that an old proof is none.
StatusOr<std::string> DrawChallenge() {
  std::string challenge(kChallengeBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(challenge.data()), kChallengeBytes) == 1) {
    return challenge;
  }
  return UnavailableError("the system random source failed");
}

}  // namespace

Status CuratorVisit::Advance() {
  if (step_ == Step::kBegin && !plan_.study.empty()) {
    COPPICE_RETURN_IF_ERROR(BeginOffer());
    if (asked()) return OkStatus();
  }
  if (step_ == Step::kBegin || step_ == Step::kOffer) return BeginProof();
  BeginReport();
  return OkStatus();
}

Status CuratorVisit::BeginOffer() {
  const StatusOr<bool> may_fetch = parts_.respondent.MayFetch(plan_.study);
  // A full queue is no reason not to deliver: that is what empties it.
  outcome_.answer = may_fetch.status();
  if (may_fetch.value_or(false)) {
    outcome_.answer = NotYet();
    step_ = Step::kOffer;
    Ask("/coppice.v1.StudyService/GetOffer",
        OfferRequestBytes(plan_.study, plan_.submission_token,
                          parts_.trust.Known(plan_.server, plan_.study)));
  }
  return OkStatus();
}

Status CuratorVisit::BeginProof() {
  step_ = Step::kProof;
  COPPICE_ASSIGN_OR_RETURN(waiting_, parts_.respondent.Waiting());
  std::reverse(waiting_.begin(), waiting_.end());
  if (waiting_.empty()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(challenge_, DrawChallenge());
  Ask("/coppice.v1.StudyService/GetCuratorKeys", ProofRequestBytes(challenge_));
  return OkStatus();
}

void CuratorVisit::BeginReport() {
  step_ = Step::kReport;
  if (waiting_.empty()) return;
  AskReport("/coppice.v1.ReportService/SubmitReports", ReportRequestBytes(waiting_.back().report));
}

Status CuratorVisit::TakeAsked(std::string_view response) {
  switch (step_) {
    case Step::kOffer:
      return TakeOffer(response);
    case Step::kProof:
      return TakeProof(response);
    default:
      return TakeReport(response);
  }
}

void CuratorVisit::FailAsked(const Status& status) {
  if (step_ == Step::kOffer) {
    outcome_.answer = status;
  } else {
    waiting_.clear();
  }
}

Status CuratorVisit::TakeOffer(std::string_view response) {
  outcome_.answer = AnswerOffer(response);
  outcome_.answered_now = outcome_.answer.ok();
  NoteClock();
  return outcome_.answer;
}

Status CuratorVisit::AnswerOffer(std::string_view response) {
  StatusOr<Offer> offer = OpenOffer(response, plan_.server, plan_.study, parts_.trust);
  if (!offer.ok()) return OfOtherEnd(offer.status());
  COPPICE_RETURN_IF_ERROR(parts_.respondent.CheckTerms(offer->terms));
  COPPICE_RETURN_IF_ERROR(Review(offer->terms));
  return parts_.respondent.Answer(plan_.study, *std::move(offer), plan_.read_row, parts_.random);
}

Status CuratorVisit::TakeProof(std::string_view response) {
  const StatusOr<CuratorProof> proof = OpenProof(response, challenge_);
  if (!proof.ok()) {
    waiting_.clear();
    return OfOtherEnd(proof.status());
  }
  CuratorCheck is_curators([&](const PublicKey& root) {
    return parts_.trust.CheckLedTo(proof->key, proof->endorsements, root);
  });
  std::vector<JournalEntry> owned;
  for (JournalEntry& entry : waiting_) {
    const StatusOr<bool> owns = is_curators.Owns(entry);
    if (!owns.ok()) {
      waiting_.clear();
      return OfOtherEnd(owns.status());
    }
    if (*owns) {
      owned.push_back(std::move(entry));
    } else {
      ++outcome_.deliveries.of_other_curators;
    }
  }
  waiting_ = std::move(owned);
  return OkStatus();
}

Status CuratorVisit::TakeReport(std::string_view response) {
  const JournalEntry sent = std::move(waiting_.back());
  waiting_.pop_back();
  const StatusOr<DeliveryResult> result = ReadDelivery(response);
  const Status settled =
      result.ok() ? parts_.respondent.Settle(sent, *result, outcome_.deliveries) : result.status();
  if (!settled.ok()) waiting_.clear();
  return settled;
}

}  // namespace coppice
