// ReportService and SealedReportService over the curator's Studies: calls and streams of reports,
// and the batches of relays.

#ifndef COPPICE_SERVER_SERVING_REPORTS_REPORT_HANDLERS_H_
#define COPPICE_SERVER_SERVING_REPORTS_REPORT_HANDLERS_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/studies/study_calls.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/resource_guard.h"
#include "server/serving/calls/stream_call.h"
#include "server/serving/reports/load_limits.h"
#include "server/serving/reports/submit_request.h"

namespace coppice::service {

// ReportService. The handlers judge nothing themselves, keep no report, and answer a batch only
// after Studies has made everything that it accepted durable.
//
// Errors     InvalidArgument for a message that does not open, or holds nothing that can be judged;
//            FailedPrecondition for a key that there is not. Unavailable and ResourceExhausted if
//            it could not be made durable or the load is too high: the same reports may be sent
//            again.
// Guarantee  Takes no report that is not sealed for the curator. Answers and errors show whoever
//            passes them on neither the study nor an outcome. Reports of a study hidden from the
//            caller get the outcome of an unknown study.
// Threads    safe to share. `studies` and `guard` must outlive it.
class ReportHandlers {
 public:
  ReportHandlers(curator::StudyCalls& studies, const ResourceGuard& guard,
                 const LoadLimits& limits = {})
      : studies_(studies), guard_(guard), load_(limits) {}

  void Register(HandlerRegistry& registry);

  void SubmitReports(const Caller& caller, const v1::SubmitReportsRequest& request,
                     v1::SubmitReportsResponse* response, Done done);
  StatusOr<StreamHandlerPtr> StreamReports(const Caller& caller, StreamCall& call);

  const StreamLoad& load() const { return load_; }

 private:
  curator::StudyCalls& studies_;
  const ResourceGuard& guard_;
  StreamLoad load_;
};

// SealedReportService: takes relays' batches.
//
// Guarantee  The answer says how far a batch has come and nothing about its reports: telling the
//            outcome of one to those who ask in turn would lead back to its device.
// Errors     InvalidArgument, naming the field; those of Studies::DeliverBatch().
// Threads    safe to share. `studies` must outlive it.
class BatchHandlers {
 public:
  explicit BatchHandlers(curator::StudyCalls& studies) : studies_(studies) {}

  void Register(HandlerRegistry& registry);

  Status DeliverBatch(const Caller& caller, const v1::DeliverBatchRequest& request,
                      v1::DeliverBatchResponse* response);

 private:
  curator::StudyCalls& studies_;
};

// The stream of a StreamReports call. Reads ahead, submits each batch, and answers in the order of
// the requests.
//
// Guarantee  Batches are submitted in the order they arrive, one at a time, and answered in that
//            order. Reading pauses while kWindowRequests or kWindowBytes are unanswered, so a
//            client that does not read its answers is not read from either. The window is wide
//            because all unanswered requests, even single reports, share one synced write of the
//            store. StreamLoad bounds all streams together. An idle stream holds no
//            message, and each opens one at a time, on the method's lane.
// Errors     An error ends the stream after the answers that come before it.
// Threads    Events and answers come from any thread. One mutex guards all state; every operation
//            of the call starts under it, never after its end. Studies may answer a batch long
//            after the client is gone, so the call, until OnDone(), and every unanswered batch
//            share the stream.
class ReportStream final : public StreamHandler, public std::enable_shared_from_this<ReportStream> {
 public:
  static constexpr size_t kWindowRequests = 1024;
  static constexpr size_t kWindowBytes = size_t{8} << 20;

  // `studies`, `guard` and `load` must outlive it. The stream must be opened in `load`, and closes
  // itself there when it is done.
  static std::shared_ptr<ReportStream> Start(curator::StudyCalls& studies,
                                             const ResourceGuard& guard, Caller caller,
                                             StreamLoad& load, StreamCall& call);

  void OnMessage() override;
  void OnNoMoreMessages() override;
  void OnWritten(bool sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // The answer to one request, or the end of the stream.
  struct Answer {
    bool ready = false;
    bool last = false;
    size_t bytes = 0;  // held by the request and this answer
    v1::StreamReportsResponse response;
    Status status;  // OK unless `last`
  };

  ReportStream(curator::StudyCalls& studies, const ResourceGuard& guard, Caller caller,
               StreamLoad& load, StreamCall& call)
      : studies_(studies), guard_(guard), caller_(std::move(caller)), load_(load), call_(call) {}

  // What an answer holds besides its message, for a thousand reports.
  static constexpr size_t kAnswerBytes = 1024;

  // Makes room for the answer to the message just read.
  Answer& AddAnswer(const v1::StreamReportsRequest& request);
  void AllowReading();
  // Opens the message and submits its reports to Studies. Runs on the lane.
  void Judge(const v1::StreamReportsRequest& request, Answer& answer);
  void OnJudged(Answer& answer, StatusOr<std::string> sealed_outcomes);

  bool WindowIsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return answers_.size() >= kWindowRequests || unanswered_bytes_ >= kWindowBytes ||
           (!answers_.empty() && load_.IsFull());
  }
  void AddEnd(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts every operation that may start now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceReading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  curator::StudyCalls& studies_;
  const ResourceGuard& guard_;
  const Caller caller_;
  StreamLoad& load_;
  StreamCall& call_;  // until OnDone(); not used once closed_

  Mutex mutex_;
  // In the order of the requests. Elements keep their addresses while others come and go.
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  size_t unanswered_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // of the first of answers_
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // answers_ has its last element; no more reading
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_REPORTS_REPORT_HANDLERS_H_
