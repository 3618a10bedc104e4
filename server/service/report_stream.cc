#include "server/service/report_stream.h"

#include <utility>

#include "server/service/status_conversion.h"
#include "server/service/stream_request.h"
#include "server/service/submit_request.h"

namespace coppice::service {

ReportStream* ReportStream::Start(curator::Studies& studies, StreamLoad& load,
                                  grpc::CallbackServerContext& context) {
  // The constructor is private, out of make_shared's reach.
  const std::shared_ptr<ReportStream> stream(new ReportStream(studies, load, context));
  stream->held_by_grpc_ = stream;
  const MutexLock lock(stream->mutex_);
  stream->Advance();
  return stream.get();
}

void ReportStream::OnReadDone(bool ok) {
  if (ok) SubmitReports();
  const MutexLock lock(mutex_);
  reading_ = false;
  if (!ok) AddEnd(absl::OkStatus());
  Advance();
}

void ReportStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  unanswered_bytes_ -= answers_.front().bytes;
  load_.Release(answers_.front().bytes);
  answers_.pop_front();
  if (!ok) cancelled_ = true;
  Advance();
}

void ReportStream::OnCancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  Advance();
}

void ReportStream::OnDone() {
  std::shared_ptr<ReportStream> until_return;
  const MutexLock lock(mutex_);  // Whatever any thread did here happened before.
  until_return = std::move(held_by_grpc_);
  // What is not answered yet is the curator's to bound.
  load_.Release(unanswered_bytes_);
  load_.Close();
}

absl::StatusOr<SubmitRequest> ReportStream::ParseRequest() {
  absl::StatusOr<StreamRequest> request = ParseStreamRequest(request_);
  request_.Clear();
  if (!request.ok()) return request.status();
  if (!request->study.empty()) study_ = std::move(request->study);
  if (!request->fingerprint.empty()) fingerprint_ = std::move(request->fingerprint);
  return MakeSubmitRequest(study_, fingerprint_, std::move(request->reports));
}

// Called while reading_ is still set: the next request cannot overtake this one.
void ReportStream::SubmitReports() {
  absl::StatusOr<SubmitRequest> parsed = ParseRequest();
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
  studies_.Submit(parsed->study, parsed->fingerprint, std::move(parsed->reports),
                  [stream = shared_from_this(), answer](auto outcomes) {
                    stream->OnJudged(*answer, std::move(outcomes));
                  });
}

void ReportStream::OnJudged(Answer& answer,
                            absl::StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
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

void ReportStream::AddEnd(const absl::Status& status) {
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
  if (cancelled_) return Close(grpc::Status::CANCELLED);
  if (answers_.empty() || !answers_.front().ready) return;
  if (answers_.front().last) return Close(ToLoadStatus(context_, answers_.front().status));
  response_.Clear();  // gRPC has taken the last one, but leaves its bytes here
  bool own = false;
  const grpc::Status written = grpc::SerializationTraits<v1::StreamReportsResponse>::Serialize(
      answers_.front().response, &response_, &own);
  if (!written.ok()) return Close(written);
  writing_ = true;
  StartWrite(&response_);
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

}  // namespace coppice::service
