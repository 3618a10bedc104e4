// Predictions of one call and of a stream: the model that a name stands for, and its answers to the
// rows of one message. Errors are InvalidArgument and name the field; they never quote a row's
// value.

#ifndef COPPICE_SERVER_SERVING_SERVICE_PREDICTIONS_H_
#define COPPICE_SERVER_SERVING_SERVICE_PREDICTIONS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"
#include "server/serving/calls/resource_guard.h"
#include "server/serving/calls/stream_call.h"
#include "server/store/models/endpoints.h"
#include "server/store/models/models.h"

namespace coppice::service {

inline constexpr int kMaxRowsPerPredict = 10'000;
inline constexpr int kMaxRowsPerExplain = 100;
// Keeps a response of explanations below what any gRPC client accepts by default.
inline constexpr size_t kMaxExplanationBytes = 4'000'000;

// The model of "models/ID" (with version 0) or of "endpoints/ID". A holder gets answers from this
// model even if the endpoint switches meanwhile.
// Reads it from the store if it is not in memory.
StatusOr<std::shared_ptr<const models::ServedModel>> FindModel(const models::Models& models,
                                                               const models::Endpoints& endpoints,
                                                               const std::string& name);
// The same for threads that must not wait; null if FindModel() would read.
StatusOr<std::shared_ptr<const models::ServedModel>> FindModelInMemory(
    const models::Models& models, const models::Endpoints& endpoints, const std::string& name);

using Rows = google::protobuf::RepeatedPtrField<v1::Row>;
using Predictions = google::protobuf::RepeatedPtrField<v1::Prediction>;

// Checks for 1 to `most` rows.
Status CheckRowCount(const Rows& rows, int most);

// Whether predicting the rows takes less time than waking another thread: about 0.1 ms.
bool IsQuick(const Model& model, const Rows& rows);

Status PredictRows(const Model& model, const Rows& rows, Predictions& predictions);

// Sets `model`, `version` and `classes` of a response.
template <typename Response>
void SetAnsweringModel(const models::ServedModel& served, Response& response) {
  response.set_model(MakeName(kModels, served.model.id));
  response.set_version(served.version);
  const std::vector<std::string>& classes = served.model.model->schema().classes();
  response.mutable_classes()->Assign(classes.begin(), classes.end());
}

// Fills in the whole response, with explanations if requested.
Status AnswerPredict(const models::ServedModel& served, const v1::PredictRequest& request,
                     v1::PredictResponse& response);

// Answers each request before reading the next, so a client that sends faster than it reads waits,
// and a stream holds one request and its response. Slow requests run on the method's lane.
//
// Guarantee  The model served at the first request answers the whole stream; after a switch only
//            new streams get the new model. One response per request, in order.
// Errors     The first rejected request ends the stream, after the answers to earlier ones. A
//            request that the lane has no room for is rejected with the time to wait.
// Threads    One message is in progress at a time, so the lock is never contended. It exists for
//            ThreadSanitizer, which does not see how a transport hands the stream from thread to
//            thread.
class PredictionStream final : public StreamHandler {
 public:
  // `models`, `endpoints` and `guard` must outlive it.
  static std::shared_ptr<PredictionStream> Start(const models::Models& models,
                                                 const models::Endpoints& endpoints,
                                                 const ResourceGuard& guard, Caller caller,
                                                 StreamCall& call);

  void OnMessage() override;
  void OnNoMoreMessages() override { call_.End(OkStatus()); }
  void OnWritten(bool sent) override;
  void OnDone() override {
    const MutexLock lock(mutex_);  // waits for the last writing thread
  }

 private:
  PredictionStream(const models::Models& models, const models::Endpoints& endpoints,
                   const ResourceGuard& guard, Caller caller, StreamCall& call)
      : models_(models),
        endpoints_(endpoints),
        guard_(guard),
        caller_(std::move(caller)),
        call_(call) {}

  // Checks the request. Returns whether it is quick: the model is in memory, and the rows are few.
  StatusOr<bool> Begin();
  void AnswerAndGoOn();
  Status Answer();

  const models::Models& models_;
  const models::Endpoints& endpoints_;
  const ResourceGuard& guard_;
  const Caller caller_;
  StreamCall& call_;
  Mutex mutex_;
  v1::StreamPredictionsRequest request_ ABSL_GUARDED_BY(mutex_);
  v1::StreamPredictionsResponse response_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);  // from the first request
  // Null until the first request is answered, or its model was found in memory.
  std::shared_ptr<const models::ServedModel> served_ ABSL_GUARDED_BY(mutex_);
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_PREDICTIONS_H_
