// ReportService and SealedReportService over the curator's Studies: calls and streams of reports,
// and the batches of relays.

#ifndef COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/report.pb.h"
#include "server/curator/studies/studies.h"
#include "server/service/calls/handler_registry.h"
#include "server/service/calls/resource_guard.h"
#include "server/service/calls/stream_call.h"
#include "server/service/reports/load_limits.h"
#include "server/service/reports/submit_request.h"

namespace coppice::service {

// They judge nothing themselves, keep no report, and answer a batch only when Studies says that
// what it accepted is durable.
//
// Errors     InvalidArgument that names the field, for a batch that cannot be judged. Unavailable
//            and ResourceExhausted when it could not be made durable, or there is too much to do:
//            the same bytes may be sent again.
// Guarantee  reports of a study that is hidden from their caller have the outcome of those of none.
// Threads    safe to share. `studies` and `guard` must outlive it.
class ReportHandlers {
 public:
  ReportHandlers(curator::Studies& studies, const ResourceGuard& guard,
                 const LoadLimits& limits = {})
      : studies_(studies), guard_(guard), load_(limits) {}

  void Register(HandlerRegistry& registry);

  void SubmitReports(const Caller& caller, const v1::SubmitReportsRequest& request,
                     v1::SubmitReportsResponse* response, Done done);
  absl::StatusOr<StreamHandlerPtr> StreamReports(const Caller& caller, StreamCall& call);

  const StreamLoad& load() const { return load_; }

 private:
  curator::Studies& studies_;
  const ResourceGuard& guard_;
  StreamLoad load_;
};

// SealedReportService: what relays hand over.
//
// Guarantee  the answer says how far a batch has come and nothing of its reports: the outcome of
//            one, told to whoever asks in turn, would lead back to its device.
// Errors     InvalidArgument that names the field; those of Studies::DeliverBatch().
// Threads    safe to share. `studies` must outlive it.
class BatchHandlers {
 public:
  explicit BatchHandlers(curator::Studies& studies) : studies_(studies) {}

  void Register(HandlerRegistry& registry);

  absl::Status DeliverBatch(const Caller& caller, const v1::DeliverBatchRequest& request,
                            v1::DeliverBatchResponse* response);

 private:
  curator::Studies& studies_;
};

// The stream of a StreamReports call. Reads ahead, submits each batch, and answers in the order of
// the requests.
//
// Guarantee  batches are submitted in the order they arrive, one at a time, and answered in that
//            order. Reading waits while kWindowRequests are unanswered, or requests of
//            kWindowBytes, so a client that does not read its answers is not read from either. The
//            window is this wide because all unanswered requests share one synced write of the
//            store, also single reports. All streams together are bounded by StreamLoad. A message
//            is kept as the bytes that came (submit_request.h), and an idle stream holds none.
// Errors     an error ends the stream after the answers that come before it.
// Threads    events and answers come from any thread. One mutex guards all of the state, and every
//            operation of the call is started under it, never after its end. Studies may answer a
//            batch long after the client has gone, so the call, until OnDone(), and every batch
//            that is not answered share the stream.
class ReportStream final : public StreamHandler, public std::enable_shared_from_this<ReportStream> {
 public:
  static constexpr size_t kWindowRequests = 1024;
  static constexpr size_t kWindowBytes = size_t{8} << 20;

  // `studies` and `guard` must outlive it, and so must `load`, where the stream was opened and is
  // closed when it is done.
  static std::shared_ptr<ReportStream> Start(curator::Studies& studies, const ResourceGuard& guard,
                                             Caller caller, StreamLoad& load, StreamCall& call);

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
    size_t bytes = 0;  // that the request and this hold
    v1::StreamReportsResponse response;
    absl::Status status;  // OK unless last
  };

  ReportStream(curator::Studies& studies, const ResourceGuard& guard, Caller caller,
               StreamLoad& load, StreamCall& call)
      : studies_(studies), guard_(guard), caller_(std::move(caller)), load_(load), call_(call) {}

  // Hands the reports just read to Studies, or ends the stream if it cannot be judged.
  void SubmitReports();
  absl::StatusOr<SubmitRequest> ParseRequest();
  void OnJudged(Answer& answer, absl::StatusOr<std::vector<curator::ReportOutcome>> outcomes);

  bool WindowIsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return answers_.size() >= kWindowRequests || unanswered_bytes_ >= kWindowBytes ||
           (!answers_.empty() && load_.IsFull());
  }
  void AddEnd(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts whatever may be started now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceReading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  curator::Studies& studies_;
  const ResourceGuard& guard_;
  const Caller caller_;
  StreamLoad& load_;
  StreamCall& call_;  // until OnDone(), and so not once it is closed

  // Only one read is under way at a time, and these belong to it.
  std::string study_;        // as in the last request that set it
  std::string fingerprint_;  // likewise

  Mutex mutex_;
  // In order of the requests. Elements stay where they are while others come and go.
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  size_t unanswered_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // the first of answers_
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // the last of answers_ is there; no more reading
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the call was ended
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_REPORTS_REPORT_HANDLERS_H_
