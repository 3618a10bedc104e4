#include "tests/fleet/world.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/faults/books.h"
#include "tests/fleet/curators.h"
#include "tests/fleet/traffic.h"
#include "tests/fleet/witness.h"
#include "tests/integration/daemon.h"

namespace coppice::fleet_faults {
namespace {

constexpr absl::Duration kAfterCurators = absl::Seconds(75);
constexpr absl::Duration kLongGap = absl::Seconds(30);
constexpr absl::Duration kAfterDatabase = absl::Minutes(5);
constexpr absl::Duration kSettling =
    absl::Minutes(3);  // each step before the first fault and after the last
constexpr absl::Duration kSkews[] = {-absl::Minutes(20), -absl::Minutes(2), absl::Minutes(2),
                                     absl::Minutes(20)};

std::atomic<bool> interrupted{false};

class World final : public faults::World<Step> {
 public:
  World(Database& database, const RunOptions& options)
      : options_(options),
        database_(database),
        curators_({.curators = options.fleet ? options.curators : 1,
                   .fleet = options.fleet,
                   .database = database.Sockets(),
                   .database_name = database.Make(),
                   .clock_library = options.clock_library,
                   .folder = options.folder}),
        traffic_(curators_, witness_,
                 {.study = "busy",
                  .rows = options.rows,
                  .bug = options.bug,
                  .racing_jobs = options.racing_jobs}),
        quiet_(curators_, quiet_witness_,
               {.study = "quiet", .rows = options.rows, .bug = options.bug, .busy = false}),
        log_(options.folder + "/steps.log") {}

  RunResult Result() { return {.violation = "", .tally = MakeTally(), .note = LongGap()}; }

 private:
  void Begin(absl::Span<const Step>) override {
    curators_.StartAll();
    Status ready;
    for (Traffic* traffic : {&traffic_, &quiet_}) {
      ready.Update(traffic->SetUp(kSettling, [this] { curators_.Supervise(); }));
    }
    if (!ready.ok()) {
      Violation(StrCat("no study could be made: ", ready.ToString()));
      return;
    }
    if (const std::string sql = SqlOf(options_.bug); !sql.empty() && !database_.Execute(sql)) {
      Violation("the bug could not be planted");
      return;
    }
    traffic_.Start(options_.seed);
    quiet_.Start(options_.seed + 1'000'000);
    Pass(absl::Milliseconds(300));
    TellWitnesses();
  }

  void EndStep() override {
    Pass(pause_);
    TellWitnesses();
  }

  void TellWitnesses() {
    if (const std::string wrong = Witnessed(); !wrong.empty()) Violation(wrong);
  }

  void Do(const Step& step) override {
    Note(ToText(step));
    pause_ = PauseOf(step) * kTick;
    const auto& numbers = step.numbers;
    if (IsOfDatabase(step.kind)) met_database_fault_ = true;
    // A curator that is just loading the store may fail to start.
    if (met_database_fault_ || step.kind == StepKind::kEndSession) curators_.ExcuseFailedStarts();
    switch (step.kind) {
      case StepKind::kRest:
        return;
      case StepKind::kKill:
        return curators_.Kill(Target(numbers[0]), absl::Milliseconds(100) + numbers[1] * kTick);
      case StepKind::kPause:
        return Pause(Target(numbers[0]), (1 + numbers[1]) * kTick);
      case StepKind::kDrain:
        return curators_.Drain(Target(numbers[0]));
      case StepKind::kSkew:
        curators_.SetSkew(Target(numbers[0]), kSkews[numbers[1]]);
        return curators_.Kill(Target(numbers[0]), absl::Milliseconds(100));
      case StepKind::kCutStore:
        return CutStore(Target(numbers[0]), numbers[1], (1 + numbers[2]) * kTick);
      case StepKind::kCutBalancer:
        return CutBalancer(Target(numbers[0]), numbers[1], (1 + numbers[2]) * kTick);
      case StepKind::kEndSession:
        return database_.End(static_cast<Sessions>(numbers[0]));
      case StepKind::kHangDatabase:
        database_.Hang();
        return Later((1 + numbers[0]) * kTick, [this] { database_.GoOn(); });
      case StepKind::kStopDatabase:
        database_.Stop();
        return Later(numbers[0] * kTick, [this] { database_.Start(); });
      case StepKind::kFailover:
        return FailOver(numbers[0], (1 + numbers[1]) * kTick);
      case StepKind::kHangReplica:
        database_.HangReplica();
        return Later((1 + numbers[0]) * kTick, [this] { database_.WakeReplica(); });
    }
  }

  void FailOver(uint32_t how, absl::Duration length) {
    database_.FailOver(how == 0 ? Loss::kStopped : Loss::kHung);
    if (how == 2) Later(length, [this] { database_.WakeFormer(); });
    Later(2 * length, [this] { database_.EndFormer(); });
  }
  void Pause(size_t curator, absl::Duration length) {
    Freeze(curator, length);
    curators_.Pause(curator);
    Later(length, [this, curator] { curators_.Resume(curator); });
  }
  void CutStore(size_t curator, uint32_t how, absl::Duration length) {
    Freeze(curator, length);
    for (size_t node = 0; node < curators_.nodes(); ++node) {
      curators_.database(curator, node).Set(static_cast<LinkState>(how + 1));
    }
    cut_until_[curator] = absl::Now() + length;
    Later(length, [this, curator] {
      if (absl::Now() < cut_until_[curator]) return;
      for (size_t node = 0; node < curators_.nodes(); ++node) {
        curators_.database(curator, node).Set(LinkState::kWhole);
      }
    });
  }
  void CutBalancer(size_t curator, uint32_t how, absl::Duration length) {
    curators_.link(curator).Set(static_cast<LinkState>(how + 1));
    Later(length, [this, curator] { curators_.link(curator).Set(LinkState::kWhole); });
  }
  // Only the leader's: a standby whose clock stands still takes no lease, and nobody would notice.
  void Freeze(size_t curator, absl::Duration length) {
    if (!FreezesClock(options_.bug) || curator != Target(kLeading)) return;
    curators_.FreezeClock(curator, true);
    Later(length + absl::Seconds(1), [this, curator] { curators_.FreezeClock(curator, false); });
  }

  size_t Target(uint32_t number) {
    if (number < kLeading) return number % curators_.size();
    return curators_.CuratorAt(database_.Leader()).value_or(0);
  }

  // Ends all faults; from then on everything must work.
  void Finish() override {
    At("the end, when everything works again");
    Heal();
    StopTraffic();
    if (!IsOver()) Settle();
    TellWitnesses();
  }

  void Heal() {
    Note("heal");
    for (auto& [at, action] : std::exchange(later_, {})) action();
    database_.Start();
    database_.GoOn();
    database_.WakeReplica();
    database_.EndFormer();
    for (size_t i = 0; i < curators_.size(); ++i) {
      for (size_t node = 0; node < curators_.nodes(); ++node) {
        curators_.database(i, node).Set(LinkState::kWhole);
      }
      curators_.link(i).Set(LinkState::kWhole);
      curators_.Resume(i);
    }
    const absl::Time healed = absl::Now();
    const absl::Duration patience = met_database_fault_ ? kAfterDatabase : kAfterCurators;
    while (witness_.LastAcceptance() < healed && absl::Now() < healed + patience && !IsOver()) {
      Pass(absl::Milliseconds(20));
    }
    if (witness_.LastAcceptance() < healed) {
      witness_.Blame(StrCat("no report is accepted ", absl::FormatDuration(patience),
                            " after the last fault is over"));
    }
    Pass(absl::Milliseconds(200));
  }

  void Settle() {
    Note("settle");
    const auto meanwhile = [this] { Tend(); };
    for (const Status& status :
         {traffic_.SendAll(kSettling, meanwhile), quiet_.SendAll(kSettling, meanwhile),
          traffic_.jobs().Check(kSettling, meanwhile), traffic_.ReadAll(kSettling, meanwhile)}) {
      if (!status.ok()) witness_.Blame(StrCat("at the end: ", status.ToString()));
    }
    if (IsOver()) return;
    Note("stop");
    if (!curators_.StopAll()) Note("not all ended with 0");
    if (const std::string complaint = curators_.TakeComplaint(); !complaint.empty()) {
      witness_.Blame(complaint);
    }
    CheckBooks();
  }

  void CheckBooks() {
    tally_.leaders = static_cast<uint64_t>(std::max<int64_t>(
        0, testing::PostgresServer::Number(
               database_.uri(), "SELECT count(DISTINCT epoch) FROM coppice.coppice_batches")));
    const auto store = storage::OpenPostgresStore(database_.uri());
    if (!store.ok()) {
      return witness_.Blame(StrCat("the store does not open: ", store.status().ToString()));
    }
    for (const Traffic* traffic : {&traffic_, &quiet_}) {
      const auto books = testing::ReadBooks(**store, traffic->study());
      const std::string wrong =
          books.ok() ? traffic->CompareWith(*books) : books.status().ToString();
      if (!wrong.empty()) witness_.Blame(StrCat("study ", traffic->study(), ": ", wrong));
    }
  }

  void StopTraffic() {
    traffic_.Stop();
    quiet_.Stop();
  }
  std::string Witnessed() const {
    const std::string of_quiet = quiet_witness_.violation();
    return of_quiet.empty() ? witness_.violation() : "the quiet study: " + of_quiet;
  }
  bool IsOver() const { return !Witnessed().empty(); }
  // Longer than any fault: worth a look even though nothing was violated.
  std::string LongGap() const {
    const absl::Duration gap = witness_.totals().longest_gap;
    return gap <= kLongGap ? "" : StrCat("no report for ", absl::FormatDuration(gap));
  }

  void Later(absl::Duration length, std::function<void()> action) {
    later_.emplace(absl::Now() + length, std::move(action));
  }
  void Tend() {
    while (!later_.empty() && later_.begin()->first <= absl::Now()) {
      const auto action = later_.begin()->second;
      later_.erase(later_.begin());
      action();
    }
    const bool cut = std::any_of(cut_until_.begin(), cut_until_.end(),
                                 [](const auto& link) { return link.second > absl::Now(); });
    if (cut || !database_.IsUp() || database_.HasFormer()) curators_.ExcuseFailedStarts();
    curators_.Supervise();
    if (const std::string complaint = curators_.TakeComplaint(); !complaint.empty()) {
      witness_.Blame(complaint);
    }
    if (interrupted) witness_.Blame("interrupted");
  }
  void Pass(absl::Duration length) {
    const absl::Time until = absl::Now() + length;
    do {
      Tend();
      absl::SleepFor(absl::Milliseconds(10));
    } while (absl::Now() < until && !IsOver());
  }

  void Note(const std::string& what) {
    log_ << absl::FormatTime("%H:%M:%E3S ", absl::Now(), absl::UTCTimeZone()) << what << std::endl;
  }

  Tally MakeTally() {
    const Witness::Totals totals = witness_.totals();
    const ExitTally exits = curators_.tally();
    tally_.runs = 1;
    tally_.steps = steps();
    tally_.calls = totals.calls;
    tally_.accepted = totals.accepted;
    tally_.duplicates = totals.duplicates;
    tally_.failed = totals.failed;
    tally_.reads = totals.reads + quiet_witness_.totals().reads;
    tally_.jobs = static_cast<uint64_t>(traffic_.jobs().submitted());
    tally_.jobs_done = traffic_.jobs().done();
    tally_.lost_leases = exits.lost_lease;
    tally_.drained = exits.drained;
    tally_.failed_starts = exits.failed_starts;
    return tally_;
  }

  const RunOptions options_;
  Database& database_;
  Witness witness_, quiet_witness_;
  Curators curators_;
  Traffic traffic_, quiet_;
  std::ofstream log_;
  std::multimap<absl::Time, std::function<void()>> later_;
  std::map<size_t, absl::Time> cut_until_;
  bool met_database_fault_ = false;
  absl::Duration pause_;
  Tally tally_;
};

}  // namespace

void Interrupt() { interrupted = true; }
bool IsInterrupted() { return interrupted; }

RunResult RunSchedule(absl::Span<const Step> schedule, Database& database,
                      const RunOptions& options) {
  std::filesystem::create_directories(options.folder);
  World world(database, options);
  const std::string violation = world.Play(schedule);
  RunResult result = world.Result();
  if (!violation.empty()) result.violation = StrCat(violation, "; logs in ", options.folder);
  return result;
}

Schedule FleetCast::MakeFor(Bug bug, uint64_t seed) {
  if (NeedsReplica(bug)) return *ParseSchedule("hang_replica 11 3, kill 3 3 0, failover 0 0 3");
  // Few sessions end between a batch and its answer, so all steps end one.
  if (bug == Bug::kHopefulOutcome) {
    return Schedule(15, {.kind = StepKind::kEndSession, .numbers = {1, 0}});
  }
  if (!NeedsFleet(bug)) return MakeSchedule(seed);
  return *ParseSchedule("cut_db 3 0 13 5, rest 5, rest 5, cut_db 3 0 13 5, rest 5, rest 5");
}

std::string FleetCast::ReplayFlags() const {
  return StrCat(single_ ? " --single" : "", failover_ ? " --failover" : "");
}

RunResult FleetCast::Run(absl::Span<const Step> steps, uint64_t seed, const std::string& folder,
                         Bug bug) {
  // A failover uses up its servers.
  const bool fails_over = failover_ || NeedsReplica(bug);
  if (database_ == nullptr || fails_over) {
    database_ = fails_over ? std::make_unique<Database>(/*synchronous=*/!NeedsReplica(bug))
                           : std::make_unique<Database>();
  }
  const std::string rows = folder + "/rows";
  if (!std::filesystem::exists(rows)) {
    testing::Synthesize(rows, "private=400,public=100,test=1");
  }
  return RunSchedule(steps, *database_,
                     {.bug = bug,
                      .seed = seed,
                      .fleet = !single_,
                      .rows = rows,
                      .folder = StrCat(folder, "/seed", seed),
                      .clock_library = testing::BinaryPath("../tests/libcoppice_test_clock.so")});
}

}  // namespace coppice::fleet_faults
