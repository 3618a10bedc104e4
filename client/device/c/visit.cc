// coppice_device.h: visits.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "client/device/c/coppice_device.h"
#include "client/device/c/device_handle.h"
#include "client/device/c/handles.h"
#include "client/device/run_session.h"
#include "client/device/session.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/report_form.h"

// A visit, whose session the library writes records for: a caller carries calls and fills rows.
struct coppice_visit {
  coppice_visit(coppice_device& visiting, const coppice::SessionParts& parts,
                coppice::SessionPlan plan)
      : device(&visiting),
        is_to_relay(plan.route == coppice::DeliveryRoute::kThroughRelay),
        session(parts, std::move(plan)) {}

  coppice_device* const device;
  const bool is_to_relay;
  void (*read_row)(void* context, const coppice_terms* terms, coppice_row* row) = nullptr;
  void* context = nullptr;
  coppice::DeviceSession session;
};

namespace coppice {
namespace {

constexpr size_t kTokenBytes = 32;
// As programs know the struct that were built before there were relays.
constexpr size_t kFirstVisitOptionsBytes = offsetof(coppice_visit_options, relay);

// While it lives, a function of the caller's runs, which may not use the visit that calls it.
class CallbackMark {
 public:
  explicit CallbackMark(coppice_device& device) : device_(device) { device_.in_callback = true; }
  ~CallbackMark() { device_.in_callback = false; }
  CallbackMark(const CallbackMark&) = delete;
  CallbackMark& operator=(const CallbackMark&) = delete;

 private:
  coppice_device& device_;
};

// A shorter struct would hide the wait, and which call shows the token.
Status CheckTellsWait(const coppice_call* call) {
  constexpr size_t kLeast = offsetof(coppice_call, takes_ticket) + sizeof(call->takes_ticket);
  if (call != nullptr && call->struct_size >= kLeast) return OkStatus();
  return InvalidArgumentError(
      "in a visit to a relay the call's struct_size must reach past takes_ticket: build the "
      "program with this version's header");
}

Status CheckUsable(const coppice_visit* visit) {
  if (visit == nullptr) return Missing("the visit");
  if (!visit->device->in_callback) return OkStatus();
  return InvalidArgumentError(
      "the visit is used from one of its callbacks; return from that first");
}

bool IsSet(const char* text) { return text != nullptr && *text != '\0'; }

coppice_terms TermsFor(const Terms& terms) {
  return {
      .terms = &terms,
      .schema = {.schema = terms.schema.get(),
                 .joined_by = ReportForm::Of(terms).ShowsId() ? terms.joined_by.c_str() : nullptr}};
}

Status CheckServer(const coppice_device& device, const coppice_visit_options& options) {
  if (!IsSet(options.relay)) {
    return IsSet(options.curator) ? OkStatus() : Missing("curator or relay");
  }
  if (IsSet(options.curator)) {
    return InvalidArgumentError(
        "a visit goes to the curator or to the relay; leave the other one NULL");
  }
  if (!device.knows_relay) {
    return InvalidArgumentError("relay_key must be set in the device's options");
  }
  if (options.submission_token != nullptr) {
    return InvalidArgumentError(
        "no submission_token is shown to a relay: the curator may know whose it is");
  }
  return OkStatus();
}

StatusOr<SessionPlan> ReadPlan(coppice_device& device, const coppice_visit_options& options) {
  const bool is_to_relay = IsSet(options.relay);
  SessionPlan plan{.server = is_to_relay ? options.relay : options.curator,
                   .route = is_to_relay ? DeliveryRoute::kThroughRelay : DeliveryRoute::kDirect,
                   .subjects = {device.subject}};
  if (options.study == nullptr) return plan;
  if (options.read_row == nullptr) return Missing("read_row");
  if (!IsValidId(options.study)) {
    return InvalidArgumentError("a study's id is 1 to 63 of a-z 0-9 - _");
  }
  plan.study = options.study;
  if (options.submission_token != nullptr) {
    plan.submission_tokens = {
        std::string(reinterpret_cast<const char*>(options.submission_token), kTokenBytes)};
  }
  plan.review = [&device, review = options.review, context = options.context](const Terms& terms) {
    const coppice_terms shown = TermsFor(terms);
    const CallbackMark mark(device);
    return review == nullptr || review(context, &shown) != 0;
  };
  return plan;
}

std::unique_ptr<coppice_visit> OpenVisit(coppice_device& device, SessionPlan plan,
                                         const coppice_visit_options& options) {
  const SessionParts parts{.policy = device.policy,
                           .offers = device.offers,
                           .journal = device.journal->journal(),
                           .random = device.random,
                           .relay = device.knows_relay ? &device.relay : nullptr};
  auto visit = std::make_unique<coppice_visit>(device, parts, std::move(plan));
  visit->read_row = options.read_row;
  visit->context = options.context;
  return visit;
}

LabelledRow ReadRowOf(const coppice_visit& visit, const Terms& terms) {
  const coppice_terms shown = TermsFor(terms);
  coppice_row row = EmptyRow(shown.schema);
  const CallbackMark mark(*visit.device);
  try {
    visit.read_row(visit.context, &shown, &row);
  } catch (...) {
    // What was set counts: silence would show whose row throws.
  }
  return std::move(row.values);
}

// Goes on to the next call, or to the end: writes records, and reads the row.
StatusOr<SessionStep> NextCall(coppice_visit& visit) {
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const SessionStep step,
                             NextStep(visit.session, *visit.device->journal, visit.device->Now()));
    const auto* row = std::get_if<ReadRow>(&step);
    if (row == nullptr) return step;
    COPPICE_RETURN_IF_ERROR(visit.session.TakeRow(ReadRowOf(visit, row->terms)));
  }
}

// What went wrong since the visit was looked at last.
Status Goes(coppice_visit& visit) {
  COPPICE_RETURN_IF_ERROR(NextCall(visit).status());
  return visit.session.TakeError();
}

void ShowDeliveries(const Deliveries& from, coppice_outcome& outcome) {
  outcome.delivered = from.delivered();
  outcome.refused = from.refused.size();
  outcome.unknown = from.unknown.size();
  outcome.of_other_curators = from.of_other_curators;
}

void ShowRelayed(const Deliveries& from, coppice_outcome& outcome) {
  outcome.stored = from.delivered();
  outcome.lost = from.refused.size();
  outcome.of_others = from.of_other_curators + from.of_relays;
  if (!from.refused.empty()) {
    Report(FailedPreconditionError(from.refused.back()), &outcome.loss);
  }
}

coppice_outcome OutcomeOf(const coppice_visit& visit) {
  const SessionOutcome& from = visit.session.outcome();
  coppice_outcome outcome{};
  Report(from.answer, &outcome.answer);
  outcome.answered_now = from.answered_now ? 1 : 0;
  outcome.clock_behind_seconds = from.clock_behind_seconds;
  if (visit.is_to_relay) {
    ShowRelayed(from.deliveries, outcome);
  } else {
    ShowDeliveries(from.deliveries, outcome);
  }
  return outcome;
}

coppice_call CallOf(const SessionStep& step) {
  coppice_call call{};
  const auto* carried = std::get_if<CarryCalls>(&step);
  if (carried == nullptr) return call;
  const DeviceCall& from = carried->calls[0];  // one at a time
  call.method = from.method;
  call.request = reinterpret_cast<const uint8_t*>(from.request.data());
  call.request_size = from.request.size();
  call.wait_milliseconds = static_cast<uint64_t>(carried->wait_milliseconds);
  call.takes_ticket = from.shows_token ? 1 : 0;
  return call;
}

Status FailureOf(int32_t code) {
  if (code < 1 || code > 16) {
    return Status(StatusCode::kUnknown, "the call failed without a code of gRPC's");
  }
  return Status(static_cast<StatusCode>(code),
                "the other end could not be asked, or refused the call");
}

}  // namespace
}  // namespace coppice

using namespace coppice;  // NOLINT: below is C, which has no prefixes

const char* coppice_terms_study(const coppice_terms* terms) {
  return terms == nullptr ? nullptr : terms->terms->study.c_str();
}

uint64_t coppice_terms_epsilon_nanos(const coppice_terms* terms) {
  return terms == nullptr ? 0 : terms->terms->epsilon.nanos();
}

const char* coppice_terms_mechanism(const coppice_terms* terms) {
  return terms == nullptr ? nullptr : MechanismName(terms->terms->mechanism).data();
}

const coppice_schema* coppice_terms_schema(const coppice_terms* terms) {
  return terms == nullptr ? nullptr : &terms->schema;
}

void coppice_visit_options_init_sized(coppice_visit_options* options, size_t size) {
  InitSized(coppice_visit_options{}, options, size);
}

// The macro of its name would take its place.
void(coppice_visit_options_init)(coppice_visit_options* options) {
  coppice_visit_options_init_sized(options, kFirstVisitOptionsBytes);
}

int32_t coppice_visit_open(coppice_device* device, const coppice_visit_options* options,
                           coppice_visit** visit, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (visit == nullptr) return Missing("where to put the visit");
    *visit = nullptr;
    if (device == nullptr) return Missing("the device");
    coppice_visit_options read{};
    if (!CopyIn(options, read)) return Missing("options");
    COPPICE_RETURN_IF_ERROR(CheckServer(*device, read));
    COPPICE_ASSIGN_OR_RETURN(SessionPlan plan, ReadPlan(*device, read));
    if (device->has_visit) {
      return InvalidArgumentError("the device has a visit already; close it first");
    }
    COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held journal, device->journal->Hold());
    COPPICE_RETURN_IF_ERROR(journal->CheckOptedIn());
    *visit = OpenVisit(*device, std::move(plan), read).release();
    device->has_visit = true;
    return OkStatus();
  });
}

void coppice_visit_close(coppice_visit* visit) {
  if (visit == nullptr || visit->device->in_callback) return;
  visit->device->has_visit = false;
  delete visit;
}

int32_t coppice_visit_next(coppice_visit* visit, coppice_call* call, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    COPPICE_RETURN_IF_ERROR(CheckUsable(visit));
    if (visit->is_to_relay) COPPICE_RETURN_IF_ERROR(CheckTellsWait(call));
    COPPICE_ASSIGN_OR_RETURN(const SessionStep step, NextCall(*visit));
    COPPICE_RETURN_IF_ERROR(visit->session.TakeError());
    return CopyOut(CallOf(step), call) ? OkStatus() : Missing("the call");
  });
}

int32_t coppice_visit_take(coppice_visit* visit, const uint8_t* response, size_t response_size,
                           coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    COPPICE_RETURN_IF_ERROR(CheckUsable(visit));
    if (response == nullptr && response_size > 0) return Missing("the response");
    if (response_size > COPPICE_MAX_RESPONSE_BYTES) {
      return InvalidArgumentError("the response is longer than COPPICE_MAX_RESPONSE_BYTES");
    }
    COPPICE_RETURN_IF_ERROR(visit->session.TakeResponse(
        0, {reinterpret_cast<const char*>(response), response_size}, visit->device->Now()));
    return Goes(*visit);
  });
}

int32_t coppice_visit_fail(coppice_visit* visit, int32_t code, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    COPPICE_RETURN_IF_ERROR(CheckUsable(visit));
    COPPICE_RETURN_IF_ERROR(visit->session.CallFailed(0, FailureOf(code)));
    (void)visit->session.TakeError();  // the caller's own
    return OkStatus();
  });
}

int32_t coppice_visit_get_outcome(const coppice_visit* visit, coppice_outcome* outcome) {
  return Guarded(nullptr, [&]() -> Status {
    if (visit == nullptr) return Missing("the visit");
    return CopyOut(OutcomeOf(*visit), outcome) ? OkStatus() : Missing("the outcome");
  });
}
