// A device in Python, with all that it stands on, so that Python keeps one thing alive.

#ifndef COPPICE_CLIENT_PYTHON_CORE_VISITING_DEVICE_H_
#define COPPICE_CLIENT_PYTHON_CORE_VISITING_DEVICE_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "client/device/grpc/grpc_carrier.h"
#include "client/device/policy.h"
#include "client/device/session.h"
#include "client/python/core/journal.h"
#include "client/python/core/turn.h"

namespace coppice::python {

// Answers and delivers by sessions, each carried to its end.
//
// Threads    safe to share. Devices of a subject and a journal answer one after the other; a
// relayed
//            device does one thing at a time. Ctrl-C ends the wait for a turn, and the wait before
//            something is sent. A call within another one of its thread raises CoppiceError.
class VisitingDevice {
 public:
  VisitingDevice(GrpcCarrier carrier, OfferPolicy offers, std::string subject,
                 std::shared_ptr<Policy> policy, std::shared_ptr<JournalInPython> journal)
      : carrier_(std::move(carrier)),
        offers_(std::move(offers)),
        subject_(std::move(subject)),
        policy_(std::move(policy)),
        journal_(std::move(journal)),
        answering_(journal_->TurnOf(subject_)) {}
  // Through a relay.
  VisitingDevice(GrpcCarrier carrier, OfferPolicy offers, const RelayPolicy& relay,
                 std::string subject, std::shared_ptr<Policy> policy,
                 std::shared_ptr<JournalInPython> journal)
      : VisitingDevice(std::move(carrier), std::move(offers), std::move(subject), std::move(policy),
                       std::move(journal)) {
    route_ = DeliveryRoute::kThroughRelay;
    relay_.policy = relay;
  }

  // `read` is a mapping, or what returns one. It is called once the policy has agreed, and whatever
  // it does there is an answer: of what it fails to say all is missing.
  void Answer(const std::string& study, const pybind11::object& read, const std::string& token);
  // Raises what kept the device from sending what waits.
  Deliveries Deliver();
  void GiveUp(const std::string& study);

 private:
  SessionPlan Plan() const {
    return {.server = carrier_.server(), .route = route_, .subjects = {subject_}};
  }
  Status Run(SessionPlan plan, const pybind11::object& read, SessionOutcome& outcome);
  template <typename Call>
  auto InMyTurn(const Call& call) -> decltype(call());

  GrpcCarrier carrier_;
  const OfferPolicy offers_;
  const std::string subject_;
  const std::shared_ptr<Policy> policy_;
  const std::shared_ptr<JournalInPython> journal_;
  DeliveryRoute route_ = DeliveryRoute::kDirect;
  KnownRelay relay_;
  Turn& answering_;
  Turn turn_;  // of a relayed device
};

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_VISITING_DEVICE_H_
