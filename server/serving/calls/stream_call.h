// A call whose messages come or go one after another, between its handler and the transport.

#ifndef COPPICE_SERVER_SERVING_CALLS_STREAM_CALL_H_
#define COPPICE_SERVER_SERVING_CALLS_STREAM_CALL_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace coppice::service {

// The transport's side. One Read() and one Write() may be in progress at a time, and nothing may
// follow the end. None of these runs an event of the handler before it returns.
//
// Threads    safe to call from any thread, one at a time. Lives until StreamHandler::OnDone().
class StreamCall {
 public:
  // OnMessage() or OnNoMoreMessages() follows.
  virtual void Read() = 0;

  // Takes the message that OnMessage() announced, once and before the next Read(). InvalidArgument
  // if it does not parse; ResourceExhausted if it has no room (MessageIntake), which lasts until
  // the next call or the stream's end.
  virtual Status ParseTo(google::protobuf::Message& message) = 0;

  // OnWritten() follows, unless the message is too large: Internal. `message` may go afterwards.
  virtual Status Write(const google::protobuf::Message& message) = 0;

  // Ends the call. OnDone() follows.
  virtual void End(const Status& status) = 0;
  // Ends a call of one response successfully.
  virtual void EndWith(const google::protobuf::Message& response) = 0;

  // As NoteUnchanged() (unchanged.h), for the whole call. Call it before EndWith().
  virtual void NoteUnchanged() {}

  // Runs `work` on the method's lane. ResourceExhausted, with the time to wait, if too much waits
  // there.
  virtual Status RunOnLane(std::function<void()> work) = 0;

 protected:
  ~StreamCall() = default;
};

// The handler's side: events, on any thread, one event of a kind at a time.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;

  virtual void OnMessage() {}
  // The client has sent its last message or is gone.
  virtual void OnNoMoreMessages() {}
  // `sent` is false if the client is gone.
  virtual void OnWritten(bool /*sent*/) {}
  // Nobody waits for this call any more. It must still be ended.
  virtual void OnCancel() {}
  // The last event: the StreamCall is gone when this returns.
  virtual void OnDone() {}
};
using StreamHandlerPtr = std::shared_ptr<StreamHandler>;

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_STREAM_CALL_H_
