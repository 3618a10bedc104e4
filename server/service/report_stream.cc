#include "server/service/report_stream.h"

#include <utility>

#include "server/service/status_conversion.h"
#include "server/service/submit_request.h"

namespace coppice {

ReportStream* ReportStream::Start(Studies& studies) {
  // The constructor is private, out of make_shared's reach.
  const std::shared_ptr<ReportStream> stream(new ReportStream(studies));
  stream->held_by_grpc_ = stream;
  const std::lock_guard lock(stream->mutex_);
  stream->Advance();
  return stream.get();
}

void ReportStream::OnReadDone(bool ok) {
  if (ok) SubmitReports();
  const std::lock_guard lock(mutex_);
  reading_ = false;
  if (!ok) AddEnd(absl::OkStatus());
  Advance();
}

void ReportStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  unanswered_bytes_ -= answers_.front().request_bytes;
  answers_.pop_front();
  if (!ok) cancelled_ = true;
  Advance();
}

void ReportStream::OnCancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  Advance();
}

void ReportStream::OnDone() {
  std::shared_ptr<ReportStream> until_return;
  const std::lock_guard lock(mutex_);  // Whatever any thread did here happened before.
  until_return = std::move(held_by_grpc_);
}

// Called while reading_ is still set: the next request cannot overtake this one.
void ReportStream::SubmitReports() {
  if (!request_.study().empty()) study_ = request_.study();
  if (!request_.fingerprint().empty()) fingerprint_ = request_.fingerprint();
  absl::StatusOr<SubmitRequest> parsed =
      ParseSubmitRequest(study_, fingerprint_, request_.reports());
  Answer* answer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!parsed.ok()) return AddEnd(parsed.status());
    answer = &answers_.emplace_back();
    answer->request_bytes = parsed->reports.MemoryBytes();
    unanswered_bytes_ += answer->request_bytes;
  }
  studies_.Submit(parsed->study, parsed->fingerprint, std::move(parsed->reports),
                  [stream = shared_from_this(), answer](auto outcomes) {
                    stream->OnJudged(*answer, std::move(outcomes));
                  });
}

void ReportStream::OnJudged(Answer& answer, absl::StatusOr<std::vector<ReportOutcome>> outcomes) {
  const std::lock_guard lock(mutex_);
  answer.ready = true;
  if (outcomes.ok()) {
    SetOutcomes(*outcomes, *answer.response.mutable_outcomes());
  } else {
    answer.last = true;
    answer.status = ToGrpcStatus(SubmitError(outcomes.status()));
    ended_ = true;
  }
  Advance();
}

void ReportStream::AddEnd(const absl::Status& status) {
  Answer& end = answers_.emplace_back();
  end.ready = true;
  end.last = true;
  end.status = ToGrpcStatus(status);
  ended_ = true;
}

void ReportStream::Advance() {
  AdvanceWriting();
  AdvanceReading();
}

void ReportStream::AdvanceWriting() {
  if (writing_ || closed_) return;
  if (cancelled_) return Close(grpc::Status::CANCELLED);
  if (answers_.empty() || !answers_.front().ready) return;
  if (answers_.front().last) return Close(answers_.front().status);
  writing_ = true;
  StartWrite(&answers_.front().response);
}

void ReportStream::AdvanceReading() {
  if (reading_ || ended_ || closed_ || WindowIsFull()) return;
  reading_ = true;
  StartRead(&request_);
}

void ReportStream::Close(const grpc::Status& status) {
  closed_ = true;
  Finish(status);
}

}  // namespace coppice
