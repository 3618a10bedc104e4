#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/books.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {
namespace {

uint64_t CountOf(const curator::StudyInfo& study, curator::ReportOutcome outcome) {
  return study.outcomes[static_cast<size_t>(outcome)];
}

}  // namespace

void World::EndStep() {
  if (disk_.stopped()) return EndByCrash();
  if (!up() || slow_) return;
  traffic_.AwaitAnswers();
  disk_.AwaitIdle();
  if (disk_.stopped()) return EndByCrash();
  TakeAnswers();
  Check();
  if (disk_.stopped()) EndByCrash();  // the check may have opened the store again, which writes
}

void World::Check() {
  const std::vector<curator::StudyInfo> shown = studies().List({});
  for (auto& [id, truth] : truths_) {
    const StatusOr<Books> books = ReadBooks(curator_.disk_store(), id);
    if (!books.ok()) {
      if (!IsExcused(books.status())) Expect(books.status());
      continue;
    }
    // A change that is still unclear is looked at again after the next start.
    if (truth.made == Done::kUnclear && !books->exists) continue;
    if (books->sealed && MayHaveExpired(truth)) truth.sealed = Done::kYes;
    if (!books->sealed) truth.latest = now_;
    if (std::string wrong = FindViolation(*books, truth); !wrong.empty()) {
      Violation(StrCat(id, ": ", wrong));
    }
    for (const curator::StudyInfo& info : shown) {
      if (info.id == id) CheckShown(info, *books);
    }
  }
  const Status agrees = studies().Reconcile();
  if (!agrees.ok() && !IsExcused(agrees)) Expect(agrees);
}

// What the curator shows must be what is on disk.
void World::CheckShown(const curator::StudyInfo& info, const Books& books) {
  const uint64_t accepted = CountOf(info, curator::ReportOutcome::kAccepted);
  const uint64_t duplicates = CountOf(info, curator::ReportOutcome::kDuplicate);
  if (accepted == books.accepted && duplicates == books.duplicates) return;
  Violation(StrCat(info.id, ": the curator shows ", accepted, " accepted and ", duplicates,
                   " duplicates, the store holds ", books.accepted, " and ", books.duplicates));
}

void World::Finish() {
  At("the end, when everything works again");
  disk_.Heal();
  SetSpace(false, false);
  Flow();
  Start();
  EndStep();
  if (!up()) return Violation("the curator is not up");
  for (uint32_t gateway = 0; gateway < kGateways; ++gateway) {
    if (!AcceptsNow(gateway)) Pin(gateway);  // as its owner does when told of a broken chain
  }
  while (!network_.empty()) {
    Arrive(0);
    EndStep();
  }
  for (int round = 0; round < 2; ++round) {
    for (uint32_t device = 0; device < kDevices; ++device) {
      Offer(device);
      Send(device, /*heard=*/true);
      EndStep();
    }
  }
  if (restored_) SendAllAgain();
  CheckAllCounted();
  At("the end, after a restart");
  Stop();
  Start();
  EndStep();
  At("the end, after a power cut");
  CrashAfter(0, {.power_cut = true, .unsynced = Unsynced::kLost, .seed = 1});
  EndStep();
  Start();
  EndStep();
  CheckAllCounted();
  EndWithRestore();
}

void World::EndWithRestore() {
  At("the end, after a backup and a restore");
  const uint64_t backups = tally_.backups;
  Backup();
  if (violation().empty() && tally_.backups == backups) Violation("no backup can be made");
  Restore(/*oldest=*/false);
  EndStep();
  CheckAllCounted();
  At("the end, where everything is sent once more");
  SendAllAgain();
  CheckAllCounted();
}

// Checks each device of an open study.
void World::CheckAllCounted() {
  for (uint32_t device = 0; device < kDevices && violation().empty(); ++device) {
    const std::string study = StudyOf(SlotOf(device));
    const StudyTruth& truth = truths_[study];
    if (!up() || truth.made != Done::kYes) return Violation("the curator is not up");
    if (truth.sealed == Done::kYes) continue;
    const StatusOr<Books> books = ReadBooks(curator_.disk_store(), study);
    if (!books.ok()) return Expect(books.status());
    if (books->sum(Fleet::CellOf(device)) != 1) {
      Violation(StrCat(study, ": device ", device, " is counted ",
                       books->sum(Fleet::CellOf(device)), " times"));
    }
  }
}

void World::SendAllAgain() {
  for (uint32_t gateway = 0; gateway < kGateways; ++gateway) {
    for (uint32_t slot = 0; slot < kSlots && up(); ++slot) {
      Resend(gateway, slot);
      EndStep();
    }
  }
}

}  // namespace coppice::testing
