#include "client/policy.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {

absl::Status Policy::AllowsFetch(uint64_t waiting) const {
  if (opted_out) {
    return absl::FailedPreconditionError(
        "this device's owner has opted out; no offer is fetched and nothing is answered");
  }
  if (max_waiting.has_value() && waiting >= *max_waiting) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting, " answers wait for delivery, and the device keeps at most ",
                     *max_waiting, " waiting; deliver them before it answers another study"));
  }
  return absl::OkStatus();
}

absl::Status Policy::Allows(const Terms& terms, const std::optional<Budget>& spent) const {
  if (own_schema != nullptr) {
    if (const absl::Status agrees = terms.schema->CheckAgreesWith(*own_schema); !agrees.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("study ", terms.study, " is declined: ", agrees.message()));
    }
  }
  COPPICE_RETURN_IF_ERROR(AllowsShowing(terms));
  return AllowsEpsilon(terms.epsilon, spent);
}

absl::Status Policy::AllowsShowing(const Terms& terms) const {
  for (const uint32_t feature : terms.schema->public_features()) {
    const std::string& name = terms.schema->features()[feature].name;
    if (absl::c_linear_search(shows, name)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("study ", terms.study, " is declined: it would have feature \"", name,
                     "\" sent in the clear, which this device does not agree to show "
                     "(Policy::shows; --show at the terminal)"));
  }
  return absl::OkStatus();
}

absl::Status Policy::AllowsEpsilon(const Budget& epsilon,
                                   const std::optional<Budget>& spent) const {
  if (epsilon > max_epsilon) {
    return absl::FailedPreconditionError(
        absl::StrCat("the study asks for epsilon ", epsilon.ToString(),
                     " a report and this device gives at most ", max_epsilon.ToString(),
                     "; raise the device's limit, or decline the study"));
  }
  if (!max_total_epsilon.has_value()) return absl::OkStatus();
  Budget total = epsilon;
  if (spent.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(total, epsilon.Plus(*spent));
  }
  if (total > *max_total_epsilon) {
    return absl::FailedPreconditionError(absl::StrCat(
        "with this study's epsilon ", epsilon.ToString(), " the device would have spent ",
        total.ToString(), " in all, and it gives at most ", max_total_epsilon->ToString(),
        "; raise the total, or decline the study"));
  }
  return absl::OkStatus();
}

}  // namespace coppice
