#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/books.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {

void World::Start() {
  if (up()) return;
  const bool would_fail_log = disk_.will_fail_log();
  const Status started = curator_.Start(data_, keys_);
  disk_.AwaitIdle();
  if (disk_.stopped()) return EndByCrash();
  if (started.ok()) return AfterStart();
  ++tally_.failed_starts;
  const bool log_failed = would_fail_log && !disk_.will_fail_log();  // a new key is written
  if (!IsExcused(started) || (!full_ && !low_ && !log_failed)) {
    Violation(StrCat("the curator does not start: ", started.ToString()));
  }
  EndProcess();
}

void World::AfterStart() {
  const PublicKey signer = studies().SigningKeysInUse().key;
  if (!std::exchange(knows_first_key_, true)) {
    keys_.LearnFirst(signer);
    // The other gateways trust the first key that they see.
    Pin(0);
    Pin(1);
  }
  signer_ = keys_.size() - 1;
  if (signer != keys_.key(signer_)) Violation("the curator signs with another key than its own");
  for (auto& [id, truth] : truths_) {
    const StatusOr<Books> books = ReadBooks(curator_.disk_store(), id);
    if (books.ok()) Settle(*books, truth);
    if (truth.deleted == Done::kYes) NextGeneration(id);
  }
  const bool put_back = std::exchange(put_back_now_, false);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    // A study that was made after the copy is not made again under its name: devices remember what
    // was promised of it.
    if (put_back && truths_[StudyOf(slot)].made == Done::kNo) NextGeneration(slot);
    MakeStudy(slot);
  }
}

// Ends the process; what it still wanted to do is not done.
void World::EndProcess() {
  curator_.End();
  slow_ = false;
  TakeAnswers();
}

void World::EndByCrash() {
  ++tally_.crashes;
  EndProcess();
  if (crash_.power_cut) {
    disk_.CutPower(crash_.unsynced, crash_.seed);
  } else {
    disk_.Kill();
  }
}

void World::CrashAfter(uint32_t changes, const Crash& crash) {
  if (!up() && changes == 0) return;
  crash_ = crash;
  if (changes == 0) return disk_.Stop();
  disk_.StopAfter(changes);
}

void World::Stop() {
  if (!up()) return;
  Flow();
  studies().Drain();
  traffic_.AwaitAnswers();
  EndProcess();
}

void World::Flow() {
  if (!up() || !slow_) return;
  curator_.gate().Hold(false);
  traffic_.AwaitAnswers();
  slow_ = false;
  TakeAnswers();
}

void World::ChangeKey(bool endorsed, bool now) {
  constexpr size_t kKeysOfOperator = 200;  // a key is made from a number of one byte
  if (keys_.size() > kKeysOfOperator) return;
  ++tally_.key_changes;
  endorsed ? keys_.Rotate() : keys_.Break();
  if (!now || !up()) return;
  Stop();
  if (!disk_.stopped()) Start();
}

void World::StartAsStranger() {
  Stop();
  if (disk_.stopped()) return;
  const Status started = curator_.StartWith(data_, {.key = StrangersKey(), .next = {}});
  disk_.AwaitIdle();
  if (disk_.stopped()) return EndByCrash();
  if (started.ok()) Violation("the curator starts with a key that is not its own");
  if (!IsFailedPrecondition(started) && !IsExcused(started)) Expect(started);
  EndProcess();
}

void World::Pin(uint32_t gateway) {
  if (!knows_first_key_) return;
  followers_[gateway].Pin(signer_);
  fleet_.Pin(gateway, keys_.key(signer_));
}

}  // namespace coppice::testing
