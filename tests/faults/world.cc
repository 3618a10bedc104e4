#include "tests/faults/world.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "common/base/text.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array<int64_t, 7> kClockSteps = {-86400 * 3650, -3600, -1,          1,
                                                3600,          86400, 86400 * 3650};

std::string MadeFolder(const std::string& path) {
  fs::create_directory(path);
  return path;
}

}  // namespace

World::World(const std::string& folder, const RunOptions& options)
    : folder_(folder),
      bug_(options.bug),
      fleet_(MadeFolder(folder + "/fleet"), bug_ == Bug::kTrustingDevice),
      curator_(disk_, options, [this] { return now_.load(); }),
      traffic_(disk_),
      data_(folder + "/data"),
      keys_(bug_ == Bug::kBrokenChain) {
  if (bug_ == Bug::kLyingDisk) disk_.LieAboutSyncs();
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    generation_[slot] = newest_generation_[slot] = 0;
  }
}

Tally World::MakeTally() const {
  Tally tally = tally_;
  tally.steps = steps();
  return tally;
}

void World::Do(const Step& step) {
  const auto [a, b, c] = step.numbers;
  switch (step.kind) {
    case StepKind::kOffer:
      return Offer(a);
    case StepKind::kSend:
      return Send(a, /*heard=*/true);
    case StepKind::kSendLost:
      return static_cast<void>(Pending(a, /*heard=*/false));
    case StepKind::kSendUnheard:
      return Send(a, /*heard=*/false);
    case StepKind::kSendLate:
      if (std::optional<Message> message = Pending(a, /*heard=*/false)) {
        network_.push_back(*std::move(message));
      }
      return;
    case StepKind::kSendTwice:
      if (const std::optional<Message> message = Pending(a, /*heard=*/true)) {
        SendTogether({*message, *message});
      }
      return;
    case StepKind::kBatch:
      return SendBatch(a, b);
    case StepKind::kGroup:
      return SendTogether(GroupOf(a, b));
    case StepKind::kArrive:
      return Arrive(a);
    case StepKind::kSlow:
      if (!up()) return;
      slow_ = true;
      return curator_.gate().Hold(true);
    case StepKind::kFlow:
      return Flow();
    case StepKind::kKill:
      return CrashAfter(a, {});
    case StepKind::kCut:
      return CrashAfter(a, {.power_cut = true, .unsynced = static_cast<Unsynced>(b), .seed = c});
    case StepKind::kStart:
      return Start();
    case StepKind::kStop:
      return Stop();
    case StepKind::kLow:
      return SetSpace(/*low=*/true, full_);
    case StepKind::kFull:
      return SetSpace(low_, /*full=*/true);
    case StepKind::kSpace:
      return SetSpace(/*low=*/false, /*full=*/false);
    case StepKind::kShortWrite:
      return disk_.FailLogWrite(LogFault::kShortWrite, a);
    case StepKind::kFailedSync:
      return disk_.FailLogWrite(LogFault::kFailedSync, a);
    case StepKind::kClock:
      return StepClock(kClockSteps[a]);
    case StepKind::kSeal:
      return Seal(a);
    case StepKind::kRemake:
      return Remake(a);
    case StepKind::kModel:
      return BuildModel(a);
    case StepKind::kGateway:
      return Expect(fleet_.RestartGateway(a));
    case StepKind::kSnapshot:
      return TakeSnapshot();
    case StepKind::kPutBack:
      return PutBack();
    case StepKind::kBackup:
      return Backup();
    case StepKind::kBackupBusy:
      return Backup(GroupOf(a, b), c);
    case StepKind::kRestore:
      return Restore(/*oldest=*/a == 1);
    case StepKind::kResend:
      return Resend(a, b);
    case StepKind::kAnew:
      return AnswerAnew(TokenDevice(a));
    case StepKind::kForged:
      return SendForged(a, static_cast<ReportForgery>(b));
    case StepKind::kBadToken:
      return AskWithBadToken(TokenDevice(a), static_cast<TokenMistake>(b));
    case StepKind::kImpostor:
      return MeetImpostor(a, static_cast<ManifestForgery>(b));
    case StepKind::kRotate:
      return ChangeKey(/*endorsed=*/true, /*now=*/a == 1);
    case StepKind::kBreak:
      return ChangeKey(/*endorsed=*/false, /*now=*/a == 1);
    case StepKind::kStranger:
      return StartAsStranger();
    case StepKind::kPin:
      return Pin(a);
  }
}

void World::StepClock(int64_t seconds) {
  now_ += seconds;
  latest_ = std::max<int64_t>(latest_, now_);
  for (auto& [id, truth] : truths_) truth.latest = std::max<int64_t>(truth.latest, now_);
  if (!up()) return;
  Flow();
  Sweep();
}

void World::SetSpace(bool low, bool full) {
  low_ = low;
  full_ = full;
  disk_.SayNearlyFull(low);
  disk_.Fill(full);
}

RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder,
                      const RunOptions& options) {
  const std::string place = folder + "/world";
  fs::remove_all(place);
  fs::create_directory(place);
  RunResult result;
  {
    World world(place, options);
    result.violation = world.Play(schedule);
    result.tally = world.MakeTally();
  }
  fs::remove_all(place);
  return result;
}

}  // namespace coppice::testing
