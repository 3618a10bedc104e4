#include <algorithm>

#include "common/base/text.h"
#include "tests/faults/relay/world_impl.h"

namespace coppice::relay_faults {
namespace {

constexpr int64_t kLookEvery = 360;  // longer than the longest pause of a relay
constexpr int kLooks = 100;          // less than a deal takes

}  // namespace

void World::Heal() {
  EndRelayIfDead();
  relay_ahead_ = 0;
  curator_ahead_ = 0;
  lose_call_.reset();
  lose_part_.reset();
  lose_offer_.reset();
  twice_ = false;
  // Clears an order to die that was not met.
  relay_->Kill(/*power_cut=*/false);
  relay_->Heal();
  curator_.Kill();
  StartCurator();
  StartRelay();
  StartRelay();  // the sync that was told to fail has failed by now
  if (!relay_->up()) book_.Violation("the relay does not start though its disk works");
  for (uint32_t gateway = 0; gateway < kGateways; ++gateway) OpenGateway(gateway);
}

void World::Finish() {
  At("the end, when everything works again");
  Heal();
  EndStep();
  if (!book_.violation().empty()) return;
  LetRelayFinish();
  if (book_.violation().empty()) CheckFinished();
  if (book_.violation().empty()) FinishStudy();
  TellBook();
}

// Devices and the crowd send what they still have, the deals end, and what waits is delivered.
void World::LetRelayFinish() {
  relay_->Work();
  EndStep();
  for (uint32_t device = 0; device < kDevices; ++device) Deliver(device);
  CrowdSends(/*half=*/false);
  Pass(std::max<int64_t>(0, book_.LastEnd() - now_) + 1);
  for (int looks = 0; looks < kLooks; ++looks) {
    relay_->Work();
    EndStep();
    if (!book_.violation().empty()) return;
    if (relay_->relay().totals()[0].waiting == 0) return;
    Pass(kLookEvery);
  }
  if (!was_copied_) book_.Violation("a batch waits for ever");
}

void World::CheckFinished() {
  book_.CheckEnd();
  book_.CheckSpent(curator_.disk());
  Expect(curator_.studies().Reconcile(), "reconciling");
  tally_.short_deals = book_.DealsWithoutBatch(now_);
  tally_.deals = book_.deals();
  if (said_short_ < tally_.short_deals) {
    book_.Violation(StrCat("of ", tally_.short_deals,
                           " deals without a batch the relay's log tells of ", said_short_));
  }
}

// A final model rests on what was counted, also after a restart.
void World::FinishStudy() {
  At("the end of the study");
  Seal();
  Expect(curator_.studies().Sweep(), "a sweep");
  EndStep();
  if (book_.due() > 0) BuildModel(/*is_final=*/true);
  const auto study = curator_.studies().Get(kStudy);
  Expect(study.status(), "the study");
  if (study.ok() && !study->relay->keys_erased) book_.Violation("the sealing keys stay");
  curator_.Stop();
  StartCurator();
  if (!curator_.up()) return;
  book_.CheckStore(curator_.disk());
  book_.CheckSpent(curator_.disk());
  Expect(curator_.studies().Reconcile(), "reconciling");
}

}  // namespace coppice::relay_faults
