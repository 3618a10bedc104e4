#include "tests/faults/relay/world.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "tests/faults/relay/world_impl.h"
#include "tests/support/schemas.h"

namespace coppice::relay_faults {
namespace {

constexpr uint64_t kMinBatch = 1000;
constexpr uint32_t kDishonest = 100'000;  // in millionths
constexpr uint32_t kRows = 32;
constexpr int64_t kHour = 3600;
constexpr int64_t kExpiresAfter = 53 * kHour;  // a deal and a half
constexpr std::array<uint32_t, 3> kCrowds = {40, 600, 1010};
constexpr uint32_t kJunk = 20;
constexpr std::array<int64_t, 4> kTimes = {1, 60, 600, 2 * kHour};
constexpr std::array<int64_t, 5> kJumps = {0, kHour, -kHour, 25 * kHour, -25 * kHour};

// Each value of x has a leaf of its own.
std::shared_ptr<const Table> PublicRows() {
  auto schema = std::make_shared<const Schema>(
      *Schema::Create({testing::Numeric("x", 0, kRows)}, "label", {"no", "yes"}));
  auto table = std::make_shared<Table>(schema);
  for (uint32_t i = 0; i < kRows; ++i) table->Append(Row{i + 0.5}, i % 2);
  return table;
}

curator::StudySpec RelayedStudy(int64_t expires) {
  static const std::shared_ptr<const Table> rows = PublicRows();
  return {
      .id = std::string(kStudy),
      .request_id = "the only one",
      .public_rows = rows,
      .partition = {.max_depth = 5},
      .epsilon = *Budget::FromEpsilon(1),
      .mechanism = MechanismKind::kLaplaceJoint,
      .settings = {.expires_unix_seconds = expires,
                   .relay = curator::RelaySettings{.relay_key = RelayKey().public_key(),
                                                   .min_batch = kMinBatch,
                                                   .dishonest_millionths = kDishonest,
                                                   .delta_atto = curator::kDefaultRelayDeltaAtto}}};
}

}  // namespace

World::World(const std::string& folder, Bug bug)
    : folder_(folder),
      bug_(bug),
      book_(std::string(kStudy), kMinBatch, kDishonest),
      curator_([this] { return now_ + curator_ahead_; }, bug) {}

void World::Expect(const Status& status, std::string_view what) {
  if (!status.ok()) book_.Violation(StrCat(what, ": ", status.ToString()));
}

void World::Begin(absl::Span<const Step> schedule) {
  const bool expires = !schedule.empty() && schedule[0].kind == StepKind::kExpiry;
  expires_ = expires ? now_ + kExpiresAfter : 0;
  StartCurator();
  if (!curator_.up()) return;
  const auto study = curator_.studies().Create(RelayedStudy(expires_));
  Expect(study.status(), "the study is not made");
  if (!study.ok()) return;
  terms_ = study->terms;
  forest_ = study->forest;
  curator_key_ = curator_.studies().SigningKeysInUse().key;
  for (uint32_t gateway = 0; gateway < kGateways; ++gateway) OpenGateway(gateway);
  relay_ = std::make_unique<RelayProcess>(
      PartsOfRelay(StrCat(folder_, "/relay"), /*ahead=*/0, /*is_twin=*/false), NewDisk());
  StartRelay();
}

Tally World::MakeTally() const {
  Tally tally = tally_;
  tally.steps = steps();
  tally.batches = book_.stored_batches();
  tally.counted = book_.due();
  return tally;
}

void World::Do(const Step& step) {
  const auto [a, b] = step.numbers;
  switch (step.kind) {
    case StepKind::kCrowdTake:
      return CrowdTakes(kCrowds[a], /*is_junk=*/false);
    case StepKind::kCrowdSend:
      return CrowdSends(/*half=*/a == 1);
    case StepKind::kCrowdAgain:
      return CrowdSendsAgain();
    case StepKind::kCrowdOther:
      return CrowdSendsOther();
    case StepKind::kCrowdJunk:
      return CrowdTakes(kJunk, /*is_junk=*/true);
    case StepKind::kNoClaim:
      return SendWithoutClaim();
    case StepKind::kAnswer:
      return Answer(a);
    case StepKind::kAnswerAll:
      for (uint32_t device = a; device < kDevices; device += kGateways) Answer(device);
      return;
    case StepKind::kDeliverAll:
      for (uint32_t device = a; device < kDevices; device += kGateways) Deliver(device);
      return;
    case StepKind::kTornAnswer:
      return AnswerTorn(a, b);
    case StepKind::kDeliver:
      return Deliver(a);
    case StepKind::kGateway:
      return OpenGateway(a);
    case StepKind::kLoseCall:
      lose_call_ = a == 1;
      return;
    case StepKind::kLosePart:
      lose_part_ = {.parts = a, .answer = b == 1};
      return;
    case StepKind::kLoseOffer:
      lose_offer_ = a == 1;
      return;
    case StepKind::kTwice:
      twice_ = true;
      return;
    case StepKind::kLate:
      return DeliverLate(a);
    case StepKind::kPass:
      return Pass(kTimes[a]);
    case StepKind::kEnd:
      return Pass(std::max<int64_t>(0, book_.LastEnd() - now_) + 1);
    case StepKind::kForged:
      return Forge(a);
    default:
      DoRelay(step);
      DoCurator(step);
  }
}

void World::DoRelay(const Step& step) {
  const auto [a, b] = step.numbers;
  switch (step.kind) {
    case StepKind::kWork:
      return relay_->Work();
    case StepKind::kStep:
      return relay_->Step();
    case StepKind::kRelayKill:
      return relay_->DieAfter(ChangesOf(a, b), /*power_cut=*/false);
    case StepKind::kRelayCut:
      return relay_->DieAfter(ChangesOf(a, b), /*power_cut=*/true);
    case StepKind::kRelayFails:
      return relay_->FailAfter(ChangesOf(a, b));
    case StepKind::kRelaySync:
      return relay_->disk().ForgetAtNextSync();
    case StepKind::kRelayFull:
      return relay_->disk().Fill(true);
    case StepKind::kRelaySpace:
      return relay_->Heal();
    case StepKind::kRelayStart:
      return StartRelay();
    case StepKind::kRelayStop:
      return relay_->Stop();
    case StepKind::kRelayClock:
      relay_ahead_ = kJumps[a];
      return NoteTime();
    case StepKind::kSnapshot:
      image_ = relay_->disk().Copy(++disks_, /*of_files_alone=*/false);
      return;
    case StepKind::kPutBack:
      return PutBack(/*of_files_alone=*/a == 1);
    case StepKind::kTwin:
      return RunTwin();
    default:
      return;
  }
}

void World::DoCurator(const Step& step) {
  const auto [a, b] = step.numbers;
  if (step.kind == StepKind::kCuratorStart) return StartCurator();
  if (step.kind == StepKind::kCuratorClock) {
    curator_ahead_ = kJumps[a];
    return NoteTime();
  }
  if (!curator_.up()) return;
  switch (step.kind) {
    case StepKind::kCuratorKill:
      return curator_.store().FailAt({.writes = a, .kept = b == 1, .fatal = true});
    case StepKind::kCuratorFails:
      return curator_.store().FailAt({.writes = a, .kept = b == 1});
    case StepKind::kCuratorFull:
      return curator_.store().Fill(true);
    case StepKind::kCuratorSpace:
      return curator_.store().Fill(false);
    case StepKind::kOpenSlow:
      return curator_.store().StallOpening(a);
    case StepKind::kOpenOn:
      return curator_.store().GoOnOpening();
    case StepKind::kCuratorStop:
      curator_.Stop();
      return;
    case StepKind::kRotate:
      return Rotate();
    case StepKind::kSeal:
      return Seal();
    case StepKind::kSweep:
      curator_.studies().Sweep().IgnoreError();
      return;
    case StepKind::kModel:
      return BuildModel(/*is_final=*/false);
    default:
      return;
  }
}

void World::Pass(int64_t seconds) {
  now_ += seconds;
  NoteTime();
}

// After the study's time any request makes the curator seal it.
void World::NoteTime() {
  book_.RelayTime(now_ + relay_ahead_);
  if (expires_ != 0 && now_ + curator_ahead_ >= expires_) book_.Sealed();
}

// Waits for the curator's threads, so that the next step starts from this one's result.
void World::EndStep() {
  EndRelayIfDead();
  NoteDeal();
  CheckKeys();
  Expect(curator_.AwaitIdle(kStudy), "the curator");
  EndCuratorIfDead();
  const uint64_t writes = curator_.up() ? curator_.store().writes() : 0;
  if (!curator_.up() || writes != checked_writes_) {
    checked_writes_ = writes;
    book_.CheckStore(curator_.disk());
  }
  TellBook();
}

void World::TellBook() {
  if (!book_.violation().empty()) Violation(book_.violation());
}

RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder, Bug bug) {
  const std::string run = StrCat(folder, "/run");
  std::filesystem::create_directories(StrCat(run, "/relay"));
  std::filesystem::create_directories(StrCat(run, "/twin"));
  RunResult result;
  {
    World world(run, bug);
    result.violation = world.Play(schedule);
    result.tally = world.MakeTally();
  }
  std::error_code ignored;
  std::filesystem::remove_all(run, ignored);
  return result;
}

}  // namespace coppice::relay_faults
