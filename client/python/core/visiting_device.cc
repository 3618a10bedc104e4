#include "client/python/core/visiting_device.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "client/device/run_session.h"
#include "client/python/core/bindings.h"
#include "client/python/core/device_row.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// Ctrl-C ends a wait before its time, and nothing is sent then: the time would be the owner's, not
// the drawn one.
class InterruptibleClock final : public DeviceClock {
 public:
  DeviceTime Now() override { return DeviceClock::System().Now(); }
  Status WaitUntil(int64_t milliseconds_since_boot) override {
    while (true) {
      COPPICE_RETURN_IF_ERROR(CheckSignals());
      const int64_t left = milliseconds_since_boot - Now().milliseconds_since_boot;
      if (left <= 0) return OkStatus();
      std::this_thread::sleep_for(
          std::min(std::chrono::milliseconds(left), absl::ToChronoMilliseconds(kLook)));
    }
  }
};

}  // namespace

template <typename Call>
auto VisitingDevice::InMyTurn(const Call& call) -> decltype(call()) {
  const WithoutInterpreter without;
  return route_ == DeliveryRoute::kThroughRelay ? InTurn(turn_, call) : call();
}

Status VisitingDevice::Run(SessionPlan plan, const py::object& read, SessionOutcome& outcome) {
  OpenSslRandom random;
  InterruptibleClock clock;
  DeviceSession session({.policy = *policy_,
                         .offers = offers_,
                         .journal = journal_->store().journal(),
                         .random = random,
                         .relay = &relay_},
                        std::move(plan));
  COPPICE_RETURN_IF_ERROR(
      RunSession(session, {.journal = journal_->store(), .carrier = carrier_, .clock = clock},
                 [&read](size_t, const Terms& terms) { return EncodeText(terms, ReadRow(read)); }));
  outcome = session.outcome();
  return OkStatus();
}

void VisitingDevice::Answer(const std::string& study, const py::object& read,
                            const std::string& token) {
  CheckMayRead(read);
  SessionPlan plan = Plan();
  plan.study = study;
  if (!token.empty()) plan.submission_tokens = {token};
  plan.deliver = SessionPlan::Deliver::kNothing;
  const auto answer = [&]() -> Status {
    SessionOutcome outcome;
    COPPICE_RETURN_IF_ERROR(Run(std::move(plan), read, outcome));
    return outcome.answer;
  };
  RaiseIfError(InMyTurn([&] { return InTurn(answering_, answer); }));
}

Deliveries VisitingDevice::Deliver() {
  return ValueOrRaise(InMyTurn([&]() -> StatusOr<Deliveries> {
    SessionOutcome outcome;
    COPPICE_RETURN_IF_ERROR(Run(Plan(), py::object(), outcome));
    COPPICE_RETURN_IF_ERROR(outcome.delivery);
    return outcome.deliveries;
  }));
}

void VisitingDevice::GiveUp(const std::string& study) {
  RaiseIfError(InMyTurn([&] {
    COPPICE_RETURN_IF_ERROR(journal_->store().Change(
        [&](Journal& journal) { return journal.MarkDelivered(study, {subject_}); }));
    const int64_t now = DeviceClock::System().Now().unix_seconds;
    return journal_->store().Change([&](Journal& journal) { return journal.Forget(now); });
  }));
}

}  // namespace coppice::python
