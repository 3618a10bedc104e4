#include "client/device/policy.h"

#include "absl/algorithm/container.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

// Whether a column of a device's rows is about what its schema names, and so is no id.
bool HasColumn(const Schema& own, std::string_view name) {
  const auto is_named = [&](const Feature& feature) { return feature.name == name; };
  return own.label() == name || absl::c_any_of(own.features(), is_named);
}

}  // namespace

Status Policy::CheckLists() const {
  for (const std::string& name : join_ids) {
    if (!absl::c_linear_search(allowed_in_clear, name)) continue;
    return InvalidArgumentError(StrCat(
        "\"", Printable(name),
        "\" is listed as a feature to be sent in the clear and as an id to join by: an id is "
        "sent as it is, however coarse the feature is; leave it out of one of the lists"));
  }
  return OkStatus();
}

Status Policy::AllowsFetch(uint64_t waiting) const {
  if (opted_out) {
    return FailedPreconditionError(
        "this device's owner has opted out; no offer is fetched and nothing is answered");
  }
  if (max_waiting.has_value() && waiting >= *max_waiting) {
    return ResourceExhaustedError(
        StrCat(waiting, " answers wait for delivery, and the device keeps at most ", *max_waiting,
               " waiting; deliver them before it answers another study"));
  }
  return OkStatus();
}

Status Policy::Allows(const Terms& terms, const std::optional<Budget>& spent,
                      DeliveryRoute route) const {
  const ReportForm& form = ReportForm::Of(terms);
  if (own_schema != nullptr) {
    if (const Status agrees = form.CheckAgrees(*terms.schema, *own_schema); !agrees.ok()) {
      return FailedPreconditionError(
          StrCat("study ", terms.study, " is declined: ", agrees.message()));
    }
  }
  COPPICE_RETURN_IF_ERROR(AllowsInClear(terms));
  return AllowsEpsilon(terms.epsilon, spent, route);
}

Status Policy::AllowsInClear(const Terms& terms) const {
  const ReportForm& form = ReportForm::Of(terms);
  const std::vector<std::string>& allowed = form.ShowsId() ? join_ids : allowed_in_clear;
  for (const std::string& name : form.NamesInClear(terms)) {
    if (form.ShowsId() && own_schema != nullptr && HasColumn(*own_schema, name)) {
      return FailedPreconditionError(
          StrCat("study ", terms.study, " is declined: it would have \"", Printable(name),
                 "\" sent as an id, in the clear and as it is, and this device's own schema has "
                 "it as a feature or the label"));
    }
    if (absl::c_linear_search(allowed, name)) continue;
    return FailedPreconditionError(
        StrCat("study ", terms.study, " is declined: it would have ",
               form.ShowsId() ? "the id" : "feature", " \"", Printable(name),
               "\" sent in the clear, which this device does not allow (",
               form.ShowsId() ? "Policy::join_ids; --allow-join-id"
                              : "Policy::allowed_in_clear; --allow-in-clear",
               " at the terminal)"));
  }
  return OkStatus();
}

Status Policy::AllowsEpsilon(const Budget& epsilon, const std::optional<Budget>& spent,
                             DeliveryRoute route) const {
  if (epsilon > max_epsilon) {
    return FailedPreconditionError(StrCat("the study asks for epsilon ", epsilon.ToString(),
                                          " a report and this device gives at most ",
                                          max_epsilon.ToString(),
                                          "; raise the device's limit, or decline the study"));
  }
  if (route == DeliveryRoute::kDirect && max_epsilon_direct.has_value() &&
      epsilon > *max_epsilon_direct) {
    return FailedPreconditionError(
        StrCat("the study asks for epsilon ", epsilon.ToString(),
               " a report, and this device gives more than ", max_epsilon_direct->ToString(),
               " only through a relay; raise the limit for direct answers, or decline the study"));
  }
  if (!max_total_epsilon.has_value()) return OkStatus();
  Budget total = epsilon;
  if (spent.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(total, epsilon.Plus(*spent));
  }
  if (total > *max_total_epsilon) {
    return FailedPreconditionError(
        StrCat("with this study's epsilon ", epsilon.ToString(), " the device would have spent ",
               total.ToString(), " in all, and it gives at most ", max_total_epsilon->ToString(),
               "; raise the total, or decline the study"));
  }
  return OkStatus();
}

}  // namespace coppice
