#include "common/describe/shuffled_promise.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/text.h"
#include "common/ldp/amplification.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/certificate.h"
#include "common/privacy/budget.h"
#include "common/terms/relay_promise.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

using Json = nlohmann::ordered_json;

// What the two promises have in common.
struct Promise {
  std::string_view towards;
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;
  uint64_t honest_reports = 0;
  uint32_t dishonest_millionths = 0;
  uint64_t reports = 0;  // among which one hides
};

Status PromiseError(const Promise& promise, std::string_view problem) {
  return InvalidArgumentError(
      StrCat("the certificate's promise towards ", promise.towards, ": ", problem));
}

Status CheckNumbers(const Model& model, const Promise& promise) {
  if (!EndsWith(model.certificate().neighbouring, "(local)") ||
      ReportForm::For(model.schema()).ShowsSomething()) {
    return PromiseError(
        promise, "none can be made where rows, or features of them, are shown to the curator");
  }
  const uint64_t max_delta = LargestBatchDelta(promise.reports);
  if (promise.delta_atto > max_delta) {
    return PromiseError(
        promise,
        absl::StrFormat("it may fail with delta %g, and among %d reports that must be at "
                        "most %g, a tenth of one in them",
                        DeltaNumber(promise.delta_atto), promise.reports, DeltaNumber(max_delta)));
  }
  const uint64_t honest = HonestReports(promise.reports, promise.dishonest_millionths);
  if (promise.honest_reports <= honest) return OkStatus();
  return PromiseError(
      promise, StrCat("of ", promise.reports, " reports ", honest,
                      " are assumed to be honest, and it rests on ", promise.honest_reports));
}

// The least epsilon that can be promised. The model's trees may have been pruned: the curator
// promises what holds for the larger mass of both.
StatusOr<Budget> LeastEpsilon(const Model& model, const Promise& promise) {
  const Certificate& certificate = model.certificate();
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(certificate.mechanism));
  COPPICE_ASSIGN_OR_RETURN(const Budget local, Budget::FromNanos(certificate.epsilon_nanos));
  std::vector<uint32_t> leaves;
  for (size_t t = 0; t < model.forest().size(); ++t) {
    // Nobody reports about trees that were made from public rows alone.
    if (!model.is_public(t)) leaves.push_back(model.forest()[t].num_leaves());
  }
  COPPICE_ASSIGN_OR_RETURN(const double mass,
                           LargestTwoSidedMass(kind, local, leaves, model.schema().num_outputs()));
  return EpsilonBound({promise.honest_reports, local, mass}, promise.delta_atto);
}

Json Describe(const Promise& promise) {
  return {{"epsilon", EpsilonNumber(promise.epsilon_nanos)},
          {"delta", DeltaNumber(promise.delta_atto)},
          {"honest_reports", promise.honest_reports},
          {"dishonest", promise.dishonest_millionths / 1e6}};
}

// Adds the epsilon that the numbers come to.
Status CheckPromise(const Model& model, const Promise& promise, Json& json) {
  COPPICE_RETURN_IF_ERROR(CheckNumbers(model, promise));
  const StatusOr<Budget> epsilon = LeastEpsilon(model, promise);
  if (!epsilon.ok()) return PromiseError(promise, Printable(epsilon.status().message()));
  json["epsilon_recomputed"] = epsilon->epsilon();
  const Certificate& certificate = model.certificate();
  if (epsilon->nanos() <= promise.epsilon_nanos &&
      promise.epsilon_nanos < certificate.epsilon_nanos) {
    return OkStatus();
  }
  return PromiseError(
      promise,
      absl::StrFormat(
          "it says epsilon %.9f, and %d honest reports of epsilon %.9f by %s give %s at delta %g",
          EpsilonNumber(promise.epsilon_nanos), promise.honest_reports,
          EpsilonNumber(certificate.epsilon_nanos), certificate.mechanism, epsilon->ToString(),
          DeltaNumber(promise.delta_atto)));
}

Status CheckReaders(const Model& model, Json& json) {
  const ReadersBound& readers = model.certificate().readers;
  if (readers.epsilon_nanos == 0) return OkStatus();
  const Promise promise = {.towards = "readers of models",
                           .epsilon_nanos = readers.epsilon_nanos,
                           .delta_atto = readers.delta_atto,
                           .honest_reports = readers.honest_reports,
                           .dishonest_millionths = readers.dishonest_millionths,
                           .reports = model.certificate().reports};
  json["readers"] = Describe(promise);
  return CheckPromise(model, promise, json["readers"]);
}

Status CheckRelay(const Model& model, Json& json) {
  const Certificate& certificate = model.certificate();
  const RelayBound& relay = certificate.relay;
  if (relay.epsilon_nanos == 0) return OkStatus();
  const Promise promise = {.towards = "the curator",
                           .epsilon_nanos = relay.epsilon_nanos,
                           .delta_atto = relay.delta_atto,
                           .honest_reports = relay.honest_reports,
                           .dishonest_millionths = relay.dishonest_millionths,
                           .reports = relay.least_accepted};
  Json& described = json["relay"] = Describe(promise);
  described["batches"] = relay.batches;
  described["least_accepted"] = relay.least_accepted;
  described["relay_key_id"] = BytesToHexString(relay.relay_key);
  if (relay.relay_key.size() != std::tuple_size_v<KeyId>) {
    return PromiseError(promise, "it does not say which relay it is about");
  }
  if (relay.batches == 0 || relay.least_accepted > kMaxEpochTickets ||
      relay.least_accepted > certificate.reports / relay.batches) {
    return PromiseError(
        promise, StrCat(relay.batches, " batches of ", relay.least_accepted,
                        " reports or more are not what ", certificate.reports, " reports came in"));
  }
  return CheckPromise(model, promise, described);
}

}  // namespace

Status CheckShuffledPromises(const Model& model, Json& json) {
  COPPICE_RETURN_IF_ERROR(CheckReaders(model, json));
  return CheckRelay(model, json);
}

}  // namespace coppice
