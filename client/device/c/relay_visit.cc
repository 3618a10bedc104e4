#include <algorithm>
#include <string_view>

#include "client/device/c/visit.h"
#include "client/device/messages/relay_messages.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice {

Status RelayVisit::Advance() {
  if (step_ == Step::kBegin && !plan_.study.empty()) {
    BeginDeal();
    if (asked()) return OkStatus();
  }
  if (step_ == Step::kDeal && agreed_.has_value()) {
    BeginTicket();
    return OkStatus();
  }
  if (step_ != Step::kReport) COPPICE_RETURN_IF_ERROR(FindWaiting());
  return BeginReport();
}

void RelayVisit::BeginDeal() {
  const StatusOr<bool> may_fetch = parts_.relayed->MayFetch(plan_.study);
  // A full queue is no reason not to deliver: that is what empties it.
  outcome_.answer = may_fetch.status();
  if (!may_fetch.value_or(false)) return;
  outcome_.answer = NotYet();
  step_ = Step::kDeal;
  Ask("/coppice.v1.RelayService/GetRelayTerms", DealRequestBytes(plan_.study));
}

void RelayVisit::BeginTicket() {
  step_ = Step::kTicket;
  Ask("/coppice.v1.RelayService/TakeOffer",
      TicketRequestBytes(plan_.study, agreed_->deal.relay.epoch));
  SetTakesTicket();
}

Status RelayVisit::FindWaiting() {
  step_ = Step::kReport;
  COPPICE_ASSIGN_OR_RETURN(waiting_, parts_.relayed->Waiting());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> all,
                           parts_.journal.Undelivered(parts_.respondent.subject()));
  outcome_.deliveries.of_other_curators = all.size() - waiting_.size();
  std::reverse(waiting_.begin(), waiting_.end());
  return OkStatus();
}

Status RelayVisit::BeginReport() {
  if (waiting_.empty()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const absl::Time may_send,
                           parts_.relayed->MaySendFrom(parts_.wait_clock(), parts_.random));
  AskReport("/coppice.v1.RelayService/SubmitSealedReport",
            SealedReportRequestBytes(waiting_.back()));
  SetCarriedFrom(may_send);
  return OkStatus();
}

Status RelayVisit::TakeAsked(std::string_view response) {
  switch (step_) {
    case Step::kDeal: {
      const Status agreed = OfOtherEnd(AgreeTo(response));
      outcome_.answer = agreed.ok() ? NotYet() : agreed;
      NoteClock();
      return agreed;
    }
    case Step::kTicket:
      outcome_.answer = OfOtherEnd(AnswerTicket(response));
      outcome_.answered_now = outcome_.answer.ok();
      agreed_.reset();
      return outcome_.answer;
    default:
      return TakeReport(response);
  }
}

void RelayVisit::FailAsked(const Status& status) {
  if (step_ == Step::kReport) {
    waiting_.clear();
  } else {
    outcome_.answer = status;
    agreed_.reset();
  }
}

Status RelayVisit::AgreeTo(std::string_view response) {
  COPPICE_ASSIGN_OR_RETURN(const DealOffer offer, ReadDealOffer(response));
  COPPICE_ASSIGN_OR_RETURN(AgreedDeal agreed,
                           parts_.relayed->Agree(offer, plan_.study, plan_.server, parts_.clock()));
  COPPICE_RETURN_IF_ERROR(Review(agreed.deal.terms));
  COPPICE_RETURN_IF_ERROR(parts_.relayed->Prepare(agreed, parts_.random));
  agreed_ = std::move(agreed);
  return OkStatus();
}

Status RelayVisit::AnswerTicket(std::string_view response) {
  const absl::Time came = parts_.wait_clock();
  COPPICE_ASSIGN_OR_RETURN(const std::string_view envelope, OpenTicketResponse(response));
  return parts_.relayed->Answer(*agreed_, envelope, came, plan_.read_row, parts_.random);
}

Status RelayVisit::TakeReport(std::string_view response) {
  const JournalEntry sent = std::move(waiting_.back());
  waiting_.pop_back();
  const StatusOr<SubmitOutcome> outcome = ReadSubmitOutcome(response);
  const Status settled =
      outcome.ok() ? parts_.relayed->Settle(sent, *outcome, outcome_.deliveries) : outcome.status();
  if (!settled.ok()) waiting_.clear();
  return settled;
}

}  // namespace coppice
