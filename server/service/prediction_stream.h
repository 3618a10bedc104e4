// One StreamPredictions call: each request is answered before the next is read, so a client that
// sends faster than it reads waits, and a stream holds one request and its response.
//
// Model      the one that is served when the first request comes answers all of the stream; after a
//            switch the next stream is answered by the new one.
// Order      one response a request, in order. The first request that is refused ends the stream,
//            after the answers to those before it. One that the pool has no room for is refused
//            with a hint when to come again (load_limits.h).
// Threads    one message is under way at a time, so nobody waits for the lock: it is there to be
//            seen by ThreadSanitizer, which does not see how gRPC hands the stream from thread to
//            thread. What takes long runs on the worker pool.
// Lifetime   gRPC's, until OnDone(). That comes only after Finish(), which nothing follows.

#ifndef COPPICE_SERVER_SERVICE_PREDICTION_STREAM_H_
#define COPPICE_SERVER_SERVICE_PREDICTION_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "coppice/v1/model.pb.h"
#include "server/models/endpoints.h"
#include "server/models/models.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::service {

class PredictionStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // All must outlive the server; the context is the call's.
  static PredictionStream* Start(const models::Models& models, const models::Endpoints& endpoints,
                                 WorkerPool& pool, grpc::CallbackServerContext& context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  PredictionStream(const models::Models& models, const models::Endpoints& endpoints,
                   WorkerPool& pool, grpc::CallbackServerContext& context)
      : models_(models), endpoints_(endpoints), pool_(pool), context_(context) {}

  // Checks the request, and finds the model at the first one. Whether it is quickly answered.
  absl::StatusOr<bool> Begin();
  void AnswerAndGoOn();

  const models::Models& models_;
  const models::Endpoints& endpoints_;
  WorkerPool& pool_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer request_bytes_;
  grpc::ByteBuffer response_bytes_;
  Mutex mutex_;
  v1::StreamPredictionsRequest request_ ABSL_GUARDED_BY(mutex_);
  v1::StreamPredictionsResponse response_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);  // as in the first request
  std::shared_ptr<const models::ServedModel> served_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_PREDICTION_STREAM_H_
