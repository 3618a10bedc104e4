#include "server/datasets/ledger/account_book.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/terms.h"

namespace coppice::ledger {

StatusOr<Cost> AccountBook::ReservedFor(std::string_view job) const {
  const auto it = jobs_.find(job);
  if (it == jobs_.end()) {
    return FailedPreconditionError(
        StrCat("job \"", job, "\" has reserved nothing of dataset \"", dataset_, "\""));
  }
  if (it->second.last == EntryKind::kReserve) return it->second.reserved;
  return FailedPreconditionError(
      StrCat("what job \"", job, "\" reserved of dataset \"", dataset_, "\" is ",
             it->second.last == EntryKind::kSettle ? "settled" : "returned", " already"));
}

const LedgerEntry* AccountBook::ChargeOf(std::string_view job) const {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &entries_[it->second.sequence];
}

Status AccountBook::CheckReserve(const LedgerEntry& entry) const {
  if (!IsValidId(entry.job)) {
    return InvalidArgumentError(
        "job: must be 1 to 63 of a-z 0-9 - _ and start with a letter or digit");
  }
  if (jobs_.contains(entry.job)) {
    return AlreadyExistsError(
        StrCat("job \"", entry.job, "\" has an entry in the ledger of dataset \"", dataset_, "\""));
  }
  for (const Release& release : entry.releases) {
    if (release.epsilon_nanos > 0 && release.times > 0) continue;
    return InvalidArgumentError(
        StrCat("the planned release \"", release.what, "\" costs nothing: no release is free"));
  }
  if (entry.releases.empty()) {
    return InvalidArgumentError("a job that plans no release has nothing to reserve");
  }
  return CheckFits(cap_, spent_, entry.account, entry.cost);
}

// Both accounts are charged, each as far as it has room.
Status AccountBook::CheckWriteOff(const LedgerEntry& entry) const {
  if (!cap_.has_reserve()) return CheckFits(cap_, spent_.training, entry.cost);
  const Spending charged = ClampToRemaining(cap_, spent_, entry.cost);
  if (entry.cost == Max(charged.training, charged.reserve)) return OkStatus();
  return ResourceExhaustedError("what is written off is more than either account has left");
}

Status AccountBook::Check(const LedgerEntry& entry) const {
  if ((entry.kind == EntryKind::kOpen) != entries_.empty()) {
    return FailedPreconditionError("the cap must be the first entry, and set once");
  }
  if (entry.kind == EntryKind::kOpen) return Validate(cap_);
  if (entry.kind == EntryKind::kWriteOff) return CheckWriteOff(entry);
  if (entry.kind != EntryKind::kReturn) {
    COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(entry.releases));
    if (cost != entry.cost) return InternalError("the cost is not that of the releases");
  }
  if (entry.kind == EntryKind::kReserve) return CheckReserve(entry);

  COPPICE_ASSIGN_OR_RETURN(const Cost reserved, ReservedFor(entry.job));
  const LedgerEntry& charge = *ChargeOf(entry.job);
  if (entry.account != charge.account || entry.is_evaluation != charge.is_evaluation) {
    return InternalError(StrCat("job \"", entry.job, "\" was charged to another account"));
  }
  if (entry.kind == EntryKind::kReturn) {
    if (entry.cost == reserved) return OkStatus();
    return InternalError("what is returned is not what was reserved");
  }
  if (Covers(cap_, reserved, entry.cost)) return OkStatus();
  return InternalError(StrCat(
      "job \"", entry.job, "\" made releases of epsilon ", EpsilonText(entry.cost.epsilon_nanos),
      " (rho ", RhoText(entry.cost.rho_pico), "), but reserved epsilon ",
      EpsilonText(reserved.epsilon_nanos), " (rho ", RhoText(reserved.rho_pico), ")"));
}

Spending AccountBook::SpentAfter(const LedgerEntry& entry) const {
  if (entry.kind == EntryKind::kReserve) return PlusCharge(spent_, entry.account, entry.cost);
  if (entry.kind == EntryKind::kWriteOff) {
    return PlusEach(spent_, ClampToRemaining(cap_, spent_, entry.cost));
  }
  if (entry.kind != EntryKind::kReturn) return spent_;
  // Added up anew: a saturated sum cannot be subtracted from.
  Spending spent = written_off_;
  for (const auto& [name, job] : jobs_) {
    if (job.last == EntryKind::kReturn || name == entry.job) continue;
    spent = PlusCharge(spent, job.account, job.reserved);
  }
  return spent;
}

void AccountBook::Append(LedgerEntry entry) {
  if (entry.kind == EntryKind::kWriteOff) {
    written_off_ = PlusEach(written_off_, ClampToRemaining(cap_, spent_, entry.cost));
  }
  spent_ = SpentAfter(entry);
  if (entry.kind == EntryKind::kReserve) {
    jobs_[entry.job] = {
        .reserved = entry.cost, .account = entry.account, .sequence = entries_.size()};
  }
  if (entry.kind == EntryKind::kSettle || entry.kind == EntryKind::kReturn) {
    jobs_[entry.job].last = entry.kind;
  }
  entries_.push_back(std::move(entry));
}

}  // namespace coppice::ledger
