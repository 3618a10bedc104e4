#include "tests/faults/known_backups.h"

#include <utility>

#include "common/base/text.h"

namespace coppice::testing {
namespace {

Done Between(Done before, Done after) { return before == after ? before : Done::kUnclear; }

StudyTruth CopiedBetween(const StudyTruth& before, const StudyTruth& after) {
  StudyTruth copied = before;
  copied.made = Between(before.made, after.made);
  copied.sealed = Between(before.sealed, after.sealed);
  copied.deleted = Between(before.deleted, after.deleted);
  for (const auto& [device, claim] : after.claims) {
    Claim& ours = copied.claims[device];
    ours.cell = claim.cell;
    ours.ticket = claim.ticket;
    ours.submitted = claim.submitted;
    ours.refused = claim.refused;
  }
  return copied;
}

}  // namespace

Known CopiedBetween(const Known& before, const Known& after) {
  Known copied = before;
  for (const auto& [id, truth] : after.truths) {
    copied.truths[id] = CopiedBetween(copied.truths[id], truth);
  }
  return copied;
}

void KnownBackups::Made(uint32_t id, Known known) {
  known_[id] = std::move(known);
  tried_.reset();
  newest_ = id;
}

std::string KnownBackups::Look(const std::vector<storage::StoreBackup>& there) {
  bool newest_is_there = newest_ == 0;
  for (const storage::StoreBackup& backup : there) {
    newest_is_there |= backup.id == newest_;
    if (known_.contains(backup.id)) continue;
    if (!tried_.has_value()) return StrCat("nobody asked for backup ", backup.id);
    known_[backup.id] = *std::exchange(tried_, std::nullopt);
  }
  tried_.reset();
  return newest_is_there ? "" : StrCat("the acknowledged backup ", newest_, " is not there");
}

}  // namespace coppice::testing
