#include "tests/faults/invariants.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace coppice::testing {
namespace {

void Settle(bool found, Done& asked) {
  if (asked == Done::kUnclear) asked = found ? Done::kYes : Done::kNo;
}

std::string CheckState(const Books& books, const StudyTruth& truth) {
  if (truth.deleted == Done::kYes) {
    if (books.keys == 0) return "";
    return absl::StrCat("the deleted study has ", books.keys, " keys");
  }
  if (truth.made == Done::kYes && !books.exists) return "the study is gone";
  if (books.exists && books.sealed != (truth.sealed == Done::kYes)) {
    return books.sealed ? "the study is sealed, and nobody sealed it" : "the study is open again";
  }
  return "";
}

std::string CheckDevices(const Books& books, const StudyTruth& truth) {
  int64_t of_devices = 0;
  for (const auto& [device, claim] : truth.claims) {
    const int64_t counted = books.sum(claim.cell);
    of_devices += counted;
    if (counted != 0 && counted != 1) {
      return absl::StrCat("device ", device, " is counted ", counted, " times");
    }
    if (claim.promised && counted == 0) {
      return absl::StrCat("device ", device, " was told that it is counted, and is not");
    }
    if (counted == 1 && claim.submitted == claim.refused) {
      return absl::StrCat("device ", device, " is counted, and every copy was refused");
    }
  }
  int64_t all = 0;
  for (const int64_t sum : books.sums) all += sum < 0 ? -sum : sum;
  if (all != of_devices) return absl::StrCat("cells of no device hold ", all - of_devices);
  return "";
}

std::string CheckCounts(const Books& books, const StudyTruth& truth) {
  std::set<std::string> spent(books.spent.begin(), books.spent.end());
  if (spent.size() != books.spent.size()) return "a ticket was spent twice";
  uint64_t counted = 0;
  for (const auto& [device, claim] : truth.claims) {
    if (books.sum(claim.cell) != 1) continue;
    ++counted;
    if (!spent.contains(claim.ticket)) {
      return absl::StrCat("device ", device, " is counted, and its ticket is not spent");
    }
  }
  if (books.accepted != counted || books.reports != counted || spent.size() != counted) {
    return absl::StrCat(counted, " devices are in the sums, which say ", books.reports,
                        "; accepted are ", books.accepted, ", spent tickets ", spent.size());
  }
  if (books.duplicates < truth.duplicates) {
    return absl::StrCat(truth.duplicates, " duplicates were answered, the store says ",
                        books.duplicates);
  }
  return "";
}

}  // namespace

void Settle(const Books& books, StudyTruth& truth) {
  Settle(books.exists, truth.made);
  Settle(!books.exists, truth.deleted);
  if (books.exists) Settle(books.sealed, truth.sealed);
}

std::string FindViolation(const Books& books, StudyTruth& truth) {
  for (const auto& check : {CheckState, CheckDevices, CheckCounts}) {
    if (truth.deleted == Done::kYes && check != CheckState) continue;
    if (std::string violation = check(books, truth); !violation.empty()) return violation;
  }
  if (truth.deleted != Done::kYes && truth.sealed == Done::kYes) {
    if (!truth.counted.has_value()) truth.counted = books.counted;
    if (*truth.counted != books.counted) return "a sealed study's counts have changed";
  }
  return "";
}

}  // namespace coppice::testing
