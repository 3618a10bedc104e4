// Holds every handler, by method, in a form that any transport can serve: one for calls of a single
// request and response, and one for streams.
//
// A class of handlers adds its member functions. Their parameters say what they need, and adapters
// bring them into one of the two forms:
//
//   Status Get(const Caller&, const Request&, Response*);
//   Status Build(const Caller&, const Request&, Response*, const CancelCheck&);
//   StatusOr<Later> Predict(const Caller&, const Request&, Response*);
//   void Submit(const Caller&, const Request&, Response*, Done);
//   StatusOr<MessagePieces> GetOffer(const Caller&, const Request&);
//   StatusOr<StreamHandlerPtr> Watch(const Caller&, const Request&, StreamCall&);
//   StatusOr<StreamHandlerPtr> Upload(const Caller&, StreamCall&);
//
// The type of the request determines the method: each method has its own request type.

#ifndef COPPICE_SERVER_SERVING_CALLS_HANDLER_REGISTRY_H_
#define COPPICE_SERVER_SERVING_CALLS_HANDLER_REGISTRY_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "server/serving/access/caller.h"
#include "server/serving/calls/resource_guard.h"
#include "server/serving/calls/stream_call.h"

namespace coppice::service {

class CallAuditor;

// The rest of a handler's work, run on the method's lane; empty if the response is complete.
using Later = std::function<Status()>;

// A serialized response in pieces, so that large parts shared by many answers are not copied.
struct MessagePiece {
  std::string own{};
  std::shared_ptr<const std::string> shared{};  // null: `own` is the piece
};
using MessagePieces = std::vector<MessagePiece>;

// How a handler leaves its call: with a status and, if that is OK, the response that it was given;
// with a response of its own; or with work to do.
using Outcome = std::variant<Status, MessagePieces, Later>;

// Takes the outcome, once, from any thread. Request and response live until then.
using Done = std::function<void(Outcome)>;

// The two forms. Their messages are of any type; the request always has its method's type.
using AnyMessage = google::protobuf::Message;
using UnaryHandler = std::function<void(const Caller&, const AnyMessage& request,
                                        AnyMessage* response, const CancelCheck&, Done)>;
// `request` is null if the client sends a stream.
using StreamStarter = std::function<StatusOr<StreamHandlerPtr>(
    const Caller&, const AnyMessage* request, StreamCall&)>;
using AnyHandler = std::variant<UnaryHandler, StreamStarter>;

// A unary handler that has done everything when it returns. Only calls of such handlers, and
// streams, are recorded in the audit log.
using WholeHandler =
    std::function<Status(const Caller&, const AnyMessage&, AnyMessage*, const CancelCheck&)>;

struct RegisteredMethod {
  std::string path;  // "/package.Service/Method"
  const google::protobuf::MethodDescriptor* descriptor;
  const AnyMessage* request;  // prototype
  const AnyMessage* response;
  size_t max_request_bytes;  // of the method table
  AnyHandler handler;
  bool begins_at_once = false;  // a unary handler: on the transport's thread, not on the lane
};

// Guarantee  No handler of one request runs before the guard admits its caller. Handlers of client
//            streams call the guard themselves, for each message.
// Threads    safe to share once all handlers are added and serving begins.
class HandlerRegistry {
 public:
  // `guard` and `auditor` must outlive all transports of the registry. `auditor` records changes in
  // the audit log; null records none.
  explicit HandlerRegistry(const ResourceGuard& guard, CallAuditor* auditor = nullptr)
      : guard_(guard), auditor_(auditor) {}

  // `handlers` must outlive all transports of the registry.
  template <typename Handlers, typename Result, typename... Args>
  void Add(Handlers& handlers, Result (Handlers::*method)(Args...)) {
    AddFunction(std::function<Result(Args...)>([&handlers, method](Args... args) {
      return (handlers.*method)(std::forward<Args>(args)...);
    }));
  }
  template <typename Handlers, typename Result, typename... Args>
  void Add(const Handlers& handlers, Result (Handlers::*method)(Args...) const) {
    AddFunction(std::function<Result(Args...)>([&handlers, method](Args... args) {
      return (handlers.*method)(std::forward<Args>(args)...);
    }));
  }
  // Adds a method that takes a client's stream of such requests.
  template <typename Request, typename Handlers, typename Start>
  void AddStreamOf(Handlers& handlers, Start start) {
    AddStream(Request::default_instance(),
              [&handlers, start](const Caller& caller, const AnyMessage*, StreamCall& call) {
                return (handlers.*start)(caller, call);
              });
  }

  const std::deque<RegisteredMethod>& methods() const { return methods_; }

 private:
  template <typename Request, typename Response>
  void AddFunction(std::function<Status(const Caller&, const Request&, Response*)> function) {
    AddWhole(Request::default_instance(),
             [function = std::move(function)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage* response, const CancelCheck&) {
               return function(caller, static_cast<const Request&>(request),
                               static_cast<Response*>(response));
             });
  }
  // Long work, which does not begin if nobody waits for it any more.
  template <typename Request, typename Response>
  void AddFunction(
      std::function<Status(const Caller&, const Request&, Response*, const CancelCheck&)>
          function) {
    AddWhole(Request::default_instance(),
             [function = std::move(function)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage* response, const CancelCheck& cancel) {
               const Status wanted = cancel();
               if (!wanted.ok()) return wanted;
               return function(caller, static_cast<const Request&>(request),
                               static_cast<Response*>(response), cancel);
             });
  }
  template <typename Request, typename Response>
  void AddFunction(
      std::function<StatusOr<Later>(const Caller&, const Request&, Response*)> function) {
    AddUnary(Request::default_instance(), kAtOnce,
             [function = std::move(function)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage* response, const CancelCheck&,
                                              const Done& done) {
               done(OutcomeOf(function(caller, static_cast<const Request&>(request),
                                       static_cast<Response*>(response))));
             });
  }
  template <typename Request, typename Response>
  void AddFunction(std::function<void(const Caller&, const Request&, Response*, Done)> function) {
    AddUnary(Request::default_instance(), kOnLane,
             [function = std::move(function)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage* response, const CancelCheck&, Done done) {
               function(caller, static_cast<const Request&>(request),
                        static_cast<Response*>(response), std::move(done));
             });
  }
  template <typename Request>
  void AddFunction(std::function<StatusOr<MessagePieces>(const Caller&, const Request&)> function) {
    AddUnary(Request::default_instance(), kAtOnce,
             [function = std::move(function)](const Caller& caller, const AnyMessage& request,
                                              AnyMessage*, const CancelCheck&, const Done& done) {
               done(OutcomeOf(function(caller, static_cast<const Request&>(request))));
             });
  }
  template <typename Request>
  void AddFunction(
      std::function<StatusOr<StreamHandlerPtr>(const Caller&, const Request&, StreamCall&)>
          function) {
    AddStream(Request::default_instance(),
              [function = std::move(function)](const Caller& caller, const AnyMessage* request,
                                               StreamCall& call) {
                return function(caller, static_cast<const Request&>(*request), call);
              });
  }

  static constexpr bool kAtOnce = true, kOnLane = false;  // where a unary handler begins

  template <typename Value>
  static Outcome OutcomeOf(StatusOr<Value> result) {
    if (!result.ok()) return result.status();
    return *std::move(result);
  }

  void AddWhole(const AnyMessage& request, WholeHandler handler);
  void AddUnary(const AnyMessage& request, bool at_once, UnaryHandler handler);
  void AddStream(const AnyMessage& request, StreamStarter start);
  void AddHandler(const AnyMessage& request, bool at_once, AnyHandler handler);

  const ResourceGuard& guard_;
  CallAuditor* const auditor_;
  std::deque<RegisteredMethod> methods_;  // a deque keeps addresses stable
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_HANDLER_REGISTRY_H_
