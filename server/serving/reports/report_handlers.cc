#include "server/serving/reports/report_handlers.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "server/process/retry_after.h"
#include "server/serving/reports/submit_request.h"

namespace coppice::service {
namespace {

// The study as the caller sees it: a hidden one becomes "", the id of no study. One that is gone is
// told of under the rules for its name.
std::string VisibleStudy(const ResourceGuard& guard, const Caller& caller, std::string study) {
  return guard.CheckSeen(caller, kStudies, study).ok() ? study : "";
}

using SealedDone = std::function<void(StatusOr<std::string> sealed_outcomes)>;

// Opens a message, has its reports judged, and seals their outcomes for its sender. Each call of
// `done` ends one message.
template <typename Request>
void JudgeMessage(curator::StudyCalls& studies, const ResourceGuard& guard, const Caller& caller,
                  const Request& request, SealedDone done) {
  StatusOr<seal::OpenedRequest> opened =
      studies.OpenMessage(request.key_id(), request.encapsulated(), request.ciphertext());
  if (!opened.ok()) return done(opened.status());
  StatusOr<SubmitRequest> reports = ReadSubmitRequest(std::move(opened->content));
  if (!reports.ok()) return done(ErrorInClear(reports.status()));
  reports->reports.set_message_bytes(opened->plaintext_bytes);
  const std::string study = VisibleStudy(guard, caller, std::move(reports->study));
  studies.Submit(study, reports->fingerprint, std::move(reports->reports),
                 [sender = *std::move(opened),
                  done = std::move(done)](StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
                   if (!outcomes.ok()) return done(ErrorInClear(outcomes.status()));
                   done(seal::SealOutcomes(sender, OutcomeBytes(*outcomes)));
                 });
}

}  // namespace

void ReportHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &ReportHandlers::SubmitReports);
  registry.AddStreamOf<v1::StreamReportsRequest>(*this, &ReportHandlers::StreamReports);
}

void ReportHandlers::SubmitReports(const Caller& caller, const v1::SubmitReportsRequest& request,
                                   v1::SubmitReportsResponse* response, Done done) {
  JudgeMessage(studies_, guard_, caller, request,
               [response, done = std::move(done)](StatusOr<std::string> sealed_outcomes) {
                 const Status status = AskToWaitForLoad(sealed_outcomes.status());
                 if (sealed_outcomes.ok()) {
                   response->set_sealed_outcomes(*std::move(sealed_outcomes));
                 }
                 done(status);
               });
}

StatusOr<StreamHandlerPtr> ReportHandlers::StreamReports(const Caller& caller, StreamCall& call) {
  COPPICE_RETURN_IF_ERROR(AskToWaitForLoad(load_.Open()));
  return ReportStream::Start(studies_, guard_, caller, load_, call);
}

std::shared_ptr<ReportStream> ReportStream::Start(curator::StudyCalls& studies,
                                                  const ResourceGuard& guard, Caller caller,
                                                  StreamLoad& load, StreamCall& call) {
  // The private constructor is out of make_shared's reach.
  const std::shared_ptr<ReportStream> stream(
      new ReportStream(studies, guard, std::move(caller), load, call));
  const MutexLock lock(stream->mutex_);
  stream->Advance();
  return stream;
}

void ReportStream::OnMessage() {
  auto request = std::make_shared<v1::StreamReportsRequest>();
  Status status = call_.ParseTo(*request);
  Answer& answer = AddAnswer(*request);
  if (status.ok()) {
    status = call_.RunOnLane(
        [stream = shared_from_this(), request, &answer] { stream->Judge(*request, answer); });
  }
  if (status.ok()) return;
  OnJudged(answer, status);
  AllowReading();
}

void ReportStream::OnNoMoreMessages() {
  const MutexLock lock(mutex_);
  reading_ = false;
  AddEnd(OkStatus());
  Advance();
}

void ReportStream::OnWritten(bool sent) {
  const MutexLock lock(mutex_);
  writing_ = false;
  unanswered_bytes_ -= answers_.front().bytes;
  load_.Release(answers_.front().bytes);
  answers_.pop_front();
  if (!sent) cancelled_ = true;
  Advance();
}

void ReportStream::OnCancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  Advance();
}

void ReportStream::OnDone() {
  const MutexLock lock(mutex_);  // orders earlier work of all threads before this
  // The curator bounds reports that are not yet answered.
  load_.Release(unanswered_bytes_);
  load_.Close();
}

ReportStream::Answer& ReportStream::AddAnswer(const v1::StreamReportsRequest& request) {
  const MutexLock lock(mutex_);
  Answer& answer = answers_.emplace_back();
  answer.bytes = sizeof(Answer) + request.ciphertext().size() + kAnswerBytes;
  unanswered_bytes_ += answer.bytes;
  load_.Hold(answer.bytes);
  return answer;
}

void ReportStream::AllowReading() {
  const MutexLock lock(mutex_);
  reading_ = false;
  Advance();
}

// Called while reading_ is still set, so the next message cannot overtake this one.
void ReportStream::Judge(const v1::StreamReportsRequest& request, Answer& answer) {
  JudgeMessage(studies_, guard_, caller_, request,
               [stream = shared_from_this(), &answer](StatusOr<std::string> sealed_outcomes) {
                 stream->OnJudged(answer, std::move(sealed_outcomes));
               });
  AllowReading();
}

void ReportStream::OnJudged(Answer& answer, StatusOr<std::string> sealed_outcomes) {
  const MutexLock lock(mutex_);
  answer.ready = true;
  if (sealed_outcomes.ok()) {
    answer.response.set_sealed_outcomes(*std::move(sealed_outcomes));
  } else {
    answer.last = true;
    answer.status = sealed_outcomes.status();
    ended_ = true;
  }
  Advance();
}

void ReportStream::AddEnd(const Status& status) {
  Answer& end = answers_.emplace_back();
  end.ready = true;
  end.last = true;
  end.status = status;
  ended_ = true;
}

void ReportStream::Advance() {
  AdvanceWriting();
  AdvanceReading();
}

void ReportStream::AdvanceWriting() {
  if (writing_ || closed_) return;
  if (cancelled_) return Close(CancelledError());
  if (answers_.empty() || !answers_.front().ready) return;
  if (answers_.front().last) return Close(AskToWaitForLoad(answers_.front().status));
  const Status writing = call_.Write(answers_.front().response);
  if (!writing.ok()) return Close(writing);
  writing_ = true;
}

void ReportStream::AdvanceReading() {
  if (reading_ || ended_ || closed_ || WindowIsFull()) return;
  reading_ = true;
  call_.Read();
}

void ReportStream::Close(const Status& status) {
  closed_ = true;
  call_.End(status);
}

}  // namespace coppice::service
