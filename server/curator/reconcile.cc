#include "server/curator/reconcile.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

absl::Status Differ(const std::string& study, absl::string_view one, uint64_t count,
                    absl::string_view other, uint64_t other_count) {
  return absl::InternalError(absl::StrCat("the counts of study ", study, " do not reconcile: ", one,
                                          " ", count, ", ", other, " ", other_count));
}

}  // namespace

absl::Status ReconcileTotals(const StudyTotals& totals) {
  if (totals.accepted != totals.in_sums) {
    return Differ(totals.study, "accepted", totals.accepted, "in the sums", totals.in_sums);
  }
  if (totals.open && totals.accepted != totals.spent_tickets) {
    return Differ(totals.study, "accepted", totals.accepted, "spent tickets", totals.spent_tickets);
  }
  return absl::OkStatus();
}

}  // namespace coppice
