// coppice_device.h: visits.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/device/c/coppice_device.h"
#include "client/device/c/device_handle.h"
#include "client/device/c/handles.h"
#include "client/device/c/visit.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

struct coppice_visit {
  coppice_device* device;
  std::unique_ptr<coppice::Visit> visit;
  bool is_to_relay;
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

std::unique_ptr<coppice_visit> OpenVisit(coppice_device& device, VisitPlan plan, bool is_to_relay) {
  const VisitParts parts{.respondent = *device.respondent,
                         .relayed = device.relayed.get(),
                         .journal = *device.journal,
                         .trust = *device.trust,
                         .random = device.random,
                         .clock = device.clock};
  std::unique_ptr<Visit> visit;
  if (is_to_relay) {
    visit = std::make_unique<RelayVisit>(parts, std::move(plan));
  } else {
    visit = std::make_unique<CuratorVisit>(parts, std::move(plan));
  }
  return std::unique_ptr<coppice_visit>(new coppice_visit{&device, std::move(visit), is_to_relay});
}

coppice_terms TermsFor(const Terms& terms) {
  return {.terms = &terms,
          .schema = {.schema = terms.schema.get(),
                     .joined_by = terms.joined_by.empty() ? nullptr : terms.joined_by.c_str()}};
}

Status CheckServer(const coppice_device& device, const coppice_visit_options& options) {
  if (!IsSet(options.relay)) {
    return IsSet(options.curator) ? OkStatus() : Missing("curator or relay");
  }
  if (IsSet(options.curator)) {
    return InvalidArgumentError(
        "a visit goes to the curator or to the relay; leave the other one NULL");
  }
  if (device.relayed == nullptr) {
    return InvalidArgumentError("relay_key must be set in the device's options");
  }
  if (options.submission_token != nullptr) {
    return InvalidArgumentError(
        "no submission_token is shown to a relay: the curator may know whose it is");
  }
  return OkStatus();
}

StatusOr<VisitPlan> ReadPlan(coppice_device* device, const coppice_visit_options& options) {
  VisitPlan plan;
  plan.server = IsSet(options.relay) ? options.relay : options.curator;
  if (options.study == nullptr) return plan;
  if (options.read_row == nullptr) return Missing("read_row");
  if (!IsValidId(options.study)) {
    return InvalidArgumentError("a study's id is 1 to 63 of a-z 0-9 - _");
  }
  plan.study = options.study;
  if (options.submission_token != nullptr) {
    plan.submission_token.assign(reinterpret_cast<const char*>(options.submission_token),
                                 kTokenBytes);
  }
  plan.review = [device, review = options.review, context = options.context](const Terms& terms) {
    const coppice_terms shown = TermsFor(terms);
    const CallbackMark mark(*device);
    return review == nullptr || review(context, &shown) != 0;
  };
  plan.read_row = [device, read = options.read_row, context = options.context](const Terms& terms) {
    const coppice_terms shown = TermsFor(terms);
    coppice_row row = EmptyRow(shown.schema);
    const CallbackMark mark(*device);
    try {
      read(context, &shown, &row);
    } catch (...) {
      // What was set counts: silence would show whose row throws.
    }
    return std::move(row.values);
  };
  return plan;
}

void ShowDeliveries(const Deliveries& from, coppice_outcome& outcome) {
  outcome.delivered = from.delivered;
  outcome.refused = from.refused.size();
  outcome.unknown = from.unknown.size();
  outcome.of_other_curators = from.of_other_curators;
}

void ShowRelayed(const Deliveries& from, coppice_outcome& outcome) {
  outcome.stored = from.delivered;
  outcome.lost = from.refused.size();
  outcome.of_others = from.of_other_curators;
  if (!from.refused.empty()) {
    Report(FailedPreconditionError(from.refused.back()), &outcome.loss);
  }
}

coppice_outcome OutcomeOf(const coppice_visit& visit) {
  const VisitOutcome& from = visit.visit->outcome();
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

coppice_call CallOf(const VisitCall& from) {
  coppice_call call{};
  call.method = from.method;
  call.request = reinterpret_cast<const uint8_t*>(from.request.data());
  call.request_size = from.request.size();
  // Rounded up, so that no call is carried early.
  call.wait_milliseconds = static_cast<uint64_t>(
      absl::ToInt64Milliseconds(absl::Ceil(from.wait, absl::Milliseconds(1))));
  call.takes_ticket = from.takes_ticket ? 1 : 0;
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
    COPPICE_ASSIGN_OR_RETURN(VisitPlan plan, ReadPlan(device, read));
    if (device->has_visit) {
      return InvalidArgumentError("the device has a visit already; close it first");
    }
    COPPICE_ASSIGN_OR_RETURN(const bool opted_out, device->journal->OptedOut());
    if (opted_out) {
      return FailedPreconditionError(
          "this device's owner has opted out: nothing is fetched, answered or sent");
    }
    *visit = OpenVisit(*device, std::move(plan), IsSet(read.relay)).release();
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
    COPPICE_ASSIGN_OR_RETURN(const auto next, visit->visit->Next());
    return CopyOut(next.has_value() ? CallOf(*next) : coppice_call{}, call) ? OkStatus()
                                                                            : Missing("the call");
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
    return visit->visit->Take({reinterpret_cast<const char*>(response), response_size});
  });
}

int32_t coppice_visit_fail(coppice_visit* visit, int32_t code, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    COPPICE_RETURN_IF_ERROR(CheckUsable(visit));
    return visit->visit->Fail(FailureOf(code));
  });
}

int32_t coppice_visit_get_outcome(const coppice_visit* visit, coppice_outcome* outcome) {
  return Guarded(nullptr, [&]() -> Status {
    if (visit == nullptr) return Missing("the visit");
    return CopyOut(OutcomeOf(*visit), outcome) ? OkStatus() : Missing("the outcome");
  });
}
