// The stream of an UploadRows call.

#ifndef COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_
#define COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "coppice/v1/dataset.pb.h"
#include "server/central/datasets.h"
#include "server/service/calls/stream_call.h"

namespace coppice::service {

// Each message is judged and stored on the method's lane before the next is read, so a client that
// sends faster than the disk writes has to wait.
//
// Guarantee  messages are stored in the order they arrive.
// Errors     the first message that is refused ends the stream; those before it stay. One that the
//            lane has no room for is refused with the time to wait.
// Threads    as PredictionStream.
class UploadStream final : public StreamHandler {
 public:
  // `datasets` must outlive it.
  static std::shared_ptr<UploadStream> Start(central::Datasets& datasets, central::Caller caller,
                                             StreamCall& call);

  void OnMessage() override;
  void OnNoMoreMessages() override;
  void OnDone() override {
    const MutexLock lock(mutex_);  // whoever ended the call has left
  }

 private:
  UploadStream(central::Datasets& datasets, central::Caller caller, StreamCall& call)
      : datasets_(datasets), caller_(std::move(caller)), call_(call) {}

  void StoreAndGoOn();
  absl::Status StoreRows();

  central::Datasets& datasets_;
  const central::Caller caller_;
  StreamCall& call_;
  Mutex mutex_;
  v1::UploadRowsResponse stored_ ABSL_GUARDED_BY(mutex_);  // as after the last message
  std::string dataset_ ABSL_GUARDED_BY(mutex_);  // the name, as in the last message that set it
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_UPLOAD_STREAM_H_
