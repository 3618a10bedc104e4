#include "tests/faults/invariants.h"

#include <set>

#include "common/base/text.h"

namespace coppice::testing {
namespace {

void Settle(bool found, Done& asked) {
  if (asked == Done::kUnclear) asked = found ? Done::kYes : Done::kNo;
}

std::string CheckState(const Books& books, const StudyTruth& truth) {
  if (truth.deleted == Done::kYes) {
    if (books.keys == 0) return "";
    return StrCat("the deleted study has ", books.keys, " keys");
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
      return StrCat("device ", device, " is counted ", counted, " times");
    }
    if (claim.promised && counted == 0) {
      return StrCat("device ", device, " was told that it is counted, and is not");
    }
    if (counted == 1 && claim.submitted == claim.refused) {
      return StrCat("device ", device, " is counted, and every copy was refused");
    }
  }
  int64_t all = 0;
  for (const int64_t sum : books.sums) all += sum < 0 ? -sum : sum;
  if (all != of_devices) return StrCat("cells of no device hold ", all - of_devices);
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
      return StrCat("device ", device, " is counted, and its ticket is not spent");
    }
  }
  if (books.accepted != counted || books.reports != counted || spent.size() != counted) {
    return StrCat(counted, " devices are in the sums, which say ", books.reports, "; accepted are ",
                  books.accepted, ", spent tickets ", spent.size());
  }
  if (books.duplicates < truth.duplicates) {
    return StrCat(truth.duplicates, " duplicates were answered, the store says ", books.duplicates);
  }
  return "";
}

// A retired study keeps only the number of what it counted.
std::string CheckRetired(const Books& books, const StudyTruth& truth) {
  if (!books.retired) return truth.retired ? "the study is no longer retired" : "";
  const std::optional<int64_t> at = RetiresAt(books, truth);
  if (!at.has_value() || truth.latest < *at) return "the study is retired before its time";
  if (books.has_rows || !books.sums.empty() || !books.spent.empty()) {
    return "the retired study has kept rows, sums or tickets";
  }
  uint64_t least = 0, most = 0;
  for (const auto& [device, claim] : truth.claims) {
    if (claim.promised) ++least;
    if (claim.submitted > claim.refused) ++most;
  }
  if (least <= books.accepted && books.accepted <= most) return "";
  return StrCat("the retired study has counted ", books.accepted, " reports, not ", least, " to ",
                most);
}

std::string CheckUnchanged(const Books& books, StudyTruth& truth) {
  if (!truth.sealed_as.has_value()) truth.sealed_as = books;
  const Books& before = *truth.sealed_as;
  const bool same = books.accepted == before.accepted && books.duplicates == before.duplicates &&
                    books.sealed_at == before.sealed_at &&
                    (books.retired || books.counted == before.counted);
  return same ? "" : "what a sealed study has counted has changed";
}

}  // namespace

void Settle(const Books& books, StudyTruth& truth) {
  Settle(books.exists, truth.made);
  Settle(!books.exists, truth.deleted);
  if (books.exists) Settle(books.sealed, truth.sealed);
}

std::optional<int64_t> RetiresAt(const Books& books, const StudyTruth& truth) {
  constexpr int64_t kDay = 24 * 60 * 60;
  if (!books.sealed || truth.retention_days == 0) return std::nullopt;
  return books.sealed_at + kDay * truth.retention_days;
}

std::string FindViolation(const Books& books, StudyTruth& truth) {
  if (std::string violation = CheckState(books, truth); !violation.empty()) return violation;
  if (truth.deleted == Done::kYes) return "";
  for (const auto& check : {CheckRetired, CheckDevices, CheckCounts}) {
    if (books.retired && check != CheckRetired) continue;
    if (std::string violation = check(books, truth); !violation.empty()) return violation;
  }
  truth.retired = books.retired;
  return truth.sealed == Done::kYes ? CheckUnchanged(books, truth) : "";
}

}  // namespace coppice::testing
