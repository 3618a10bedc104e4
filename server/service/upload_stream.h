// One UploadRows call: each message is judged and stored on the worker pool before the next is
// read, so a client that sends faster than the disk writes has to wait.
//
// Order      messages are stored in the order they arrive. The first that is refused ends the
//            stream; those before it stay. One that the pool has no room for is refused with a hint
//            when to come again (load_limits.h).
// Threads    one message is under way at a time, so nobody waits for the lock: it is there to be
//            seen by ThreadSanitizer, which does not see how gRPC hands the stream from thread to
//            thread.
// Lifetime   gRPC's, until OnDone(). That comes only after Finish(), which nothing follows.

#ifndef COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_
#define COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "coppice/v1/dataset.pb.h"
#include "server/central/datasets.h"
#include "server/service/calls/worker_pool.h"

namespace coppice::service {

class UploadStream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `datasets` and `pool` must outlive the server; the rest is the call's.
  static UploadStream* Start(central::Datasets& datasets, WorkerPool& pool, central::Caller caller,
                             grpc::CallbackServerContext& context, grpc::ByteBuffer& response);

  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  UploadStream(central::Datasets& datasets, WorkerPool& pool, central::Caller caller,
               grpc::CallbackServerContext& context, grpc::ByteBuffer& response)
      : datasets_(datasets),
        pool_(pool),
        caller_(std::move(caller)),
        context_(context),
        response_(response) {}

  void StoreAndGoOn();
  absl::Status StoreRows();
  absl::Status End();  // how a call ends whose client sends no more

  central::Datasets& datasets_;
  WorkerPool& pool_;
  const central::Caller caller_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  grpc::ByteBuffer request_;
  Mutex mutex_;
  v1::UploadRowsResponse stored_ ABSL_GUARDED_BY(mutex_);  // as after the last message
  std::string dataset_ ABSL_GUARDED_BY(mutex_);  // the name, as in the last message that set it
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_
