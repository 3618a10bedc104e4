// Predictions, of one call and of a stream: which model a name stands for, and its answers to the
// rows of one message. An error is InvalidArgument that names the field; it never quotes a value of
// a row.

#ifndef COPPICE_SERVER_SERVICE_PREDICTIONS_H_
#define COPPICE_SERVER_SERVICE_PREDICTIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.pb.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/service/calls/resource_guard.h"
#include "server/service/calls/stream_call.h"

namespace coppice::service {

inline constexpr int kMaxRowsPerPredict = 10'000;
inline constexpr int kMaxRowsPerExplain = 100;
// A response of explanations stays below what any gRPC client takes by default.
inline constexpr size_t kMaxExplanationBytes = 4'000'000;

// Of "models/ID", with version 0, or "endpoints/ID". Whoever holds it is answered by this model,
// whatever is switched meanwhile.
absl::StatusOr<std::shared_ptr<const models::ServedModel>> FindModel(
    const models::Models& models, const models::Endpoints& endpoints, const std::string& name);

using Rows = google::protobuf::RepeatedPtrField<v1::Row>;
using Predictions = google::protobuf::RepeatedPtrField<v1::Prediction>;

// 1 to `most` rows.
absl::Status CheckRowCount(const Rows& rows, int most);

// Whether the rows are answered sooner than another thread would have begun: some 0.1 ms.
bool IsQuick(const Model& model, const Rows& rows);

absl::Status PredictRows(const Model& model, const Rows& rows, Predictions& predictions);

// `model`, `version` and `classes` of a response.
template <typename Response>
void SetAnsweringModel(const models::ServedModel& served, Response& response) {
  response.set_model(MakeName(kModels, served.model.id));
  response.set_version(served.version);
  const std::vector<std::string>& classes = served.model.model->schema().classes();
  response.mutable_classes()->Assign(classes.begin(), classes.end());
}

// The whole answer to `request`, explanations included.
absl::Status AnswerPredict(const models::ServedModel& served, const v1::PredictRequest& request,
                           v1::PredictResponse& response);

// Each request is answered before the next is read, so a client that sends faster than it reads
// waits, and a stream holds one request and its response. What takes long runs on the method's
// lane.
//
// Guarantee  the model that is served when the first request comes answers all of the stream; after
//            a switch the next stream is answered by the new one. One response per request, in
//            order.
// Errors     the first request that is refused ends the stream, after the answers to those before
//            it. One that the lane has no room for is refused with the time to wait.
// Threads    one message is under way at a time, so nobody waits for the lock: it is there to be
//            seen by ThreadSanitizer, which does not see how a transport hands the stream from
//            thread to thread.
class PredictionStream final : public StreamHandler {
 public:
  // `models`, `endpoints` and `guard` must outlive it.
  static std::shared_ptr<PredictionStream> Start(const models::Models& models,
                                                 const models::Endpoints& endpoints,
                                                 const ResourceGuard& guard, Caller caller,
                                                 StreamCall& call);

  void OnMessage() override;
  void OnNoMoreMessages() override { call_.End(absl::OkStatus()); }
  void OnWritten(bool sent) override;
  void OnDone() override {
    const MutexLock lock(mutex_);  // whoever wrote last has left
  }

 private:
  PredictionStream(const models::Models& models, const models::Endpoints& endpoints,
                   const ResourceGuard& guard, Caller caller, StreamCall& call)
      : models_(models),
        endpoints_(endpoints),
        guard_(guard),
        caller_(std::move(caller)),
        call_(call) {}

  // Checks the request, and finds the model at the first one. Whether it is quickly answered.
  absl::StatusOr<bool> Begin();
  void AnswerAndGoOn();

  const models::Models& models_;
  const models::Endpoints& endpoints_;
  const ResourceGuard& guard_;
  const Caller caller_;
  StreamCall& call_;
  Mutex mutex_;
  v1::StreamPredictionsRequest request_ ABSL_GUARDED_BY(mutex_);
  v1::StreamPredictionsResponse response_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);  // as in the first request
  std::shared_ptr<const models::ServedModel> served_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_PREDICTIONS_H_
