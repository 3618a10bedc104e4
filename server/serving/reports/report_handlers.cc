#include "server/serving/reports/report_handlers.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "server/serving/calls/retry_after.h"
#include "server/serving/reports/submit_request.h"

namespace coppice::service {
namespace {

// The study as the caller sees it: a hidden one becomes "", the id of no study.
std::string VisibleStudy(const ResourceGuard& guard, const Caller& caller, std::string study) {
  if (caller.sees_all || guard.MaySee(caller, kStudies, study)) return study;
  return "";
}

}  // namespace

void ReportHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &ReportHandlers::SubmitReports);
  registry.AddStreamOf<v1::StreamReportsRequest>(*this, &ReportHandlers::StreamReports);
}

void ReportHandlers::SubmitReports(const Caller& caller, const v1::SubmitReportsRequest& request,
                                   v1::SubmitReportsResponse* response, Done done) {
  StatusOr<SubmitRequest> parsed =
      ParseSubmitRequest(request.study(), request.fingerprint(), request.reports());
  if (!parsed.ok()) return done(parsed.status());
  const std::string study = VisibleStudy(guard_, caller, std::move(parsed->study));
  studies_.Submit(
      study, parsed->fingerprint, std::move(parsed->reports),
      [response, done = std::move(done)](StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
        if (outcomes.ok()) SetOutcomes(*outcomes, *response->mutable_outcomes());
        done(AskToWaitForLoad(SubmitError(outcomes.status())));
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
  SubmitReports();
  const MutexLock lock(mutex_);
  reading_ = false;
  Advance();
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

StatusOr<SubmitRequest> ReportStream::ParseRequest() {
  COPPICE_ASSIGN_OR_RETURN(std::string bytes, call_.TakeBytes());
  StatusOr<StreamRequest> request = ParseStreamRequest(std::move(bytes));
  if (!request.ok()) return request.status();
  if (!request->study.empty()) study_ = std::move(request->study);
  if (!request->fingerprint.empty()) fingerprint_ = std::move(request->fingerprint);
  return MakeSubmitRequest(study_, fingerprint_, std::move(request->reports));
}

// Called while reading_ is still set, so the next request cannot overtake this one.
void ReportStream::SubmitReports() {
  StatusOr<SubmitRequest> parsed = ParseRequest();
  Answer* answer = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!parsed.ok()) return AddEnd(parsed.status());
    answer = &answers_.emplace_back();
    answer->bytes = parsed->reports.MemoryBytes() + sizeof(Answer) +
                    parsed->reports.size() * sizeof(curator::ReportOutcome);
    unanswered_bytes_ += answer->bytes;
    load_.Hold(answer->bytes);
  }
  const std::string study = VisibleStudy(guard_, caller_, std::move(parsed->study));
  studies_.Submit(study, parsed->fingerprint, std::move(parsed->reports),
                  [stream = shared_from_this(), answer](auto outcomes) {
                    stream->OnJudged(*answer, std::move(outcomes));
                  });
}

void ReportStream::OnJudged(Answer& answer,
                            StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
  const MutexLock lock(mutex_);
  answer.ready = true;
  if (outcomes.ok()) {
    SetOutcomes(*outcomes, *answer.response.mutable_outcomes());
  } else {
    answer.last = true;
    answer.status = SubmitError(outcomes.status());
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
