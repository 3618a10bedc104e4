#include "tests/faults/world.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/curator/estimator.h"
#include "server/storage/rocksdb_store.h"
#include "tests/faults/books.h"

namespace coppice::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array<int64_t, 6> kClockSteps = {-86400 * 3650, -3600, -1, 1, 3600, 86400 * 3650};

constexpr int64_t kLifetime = 5400;  // of the studies of slot 1, in seconds

std::string BytesOf(const Fingerprint& fingerprint) {
  return {fingerprint.begin(), fingerprint.end()};
}

uint64_t CountOf(const StudyInfo& study, ReportOutcome outcome) {
  return study.outcomes[static_cast<size_t>(outcome)];
}

// One message on its way to the curator.
struct Message {
  std::string study;
  Fingerprint fingerprint{};
  std::vector<uint32_t> devices{};
  std::vector<PrivateReport> reports{};
  bool heard = true;  // whether the devices hear the answer
};

// How the process ends when the disk stops.
struct Crash {
  bool power_cut = false;
  Unsynced unsynced = Unsynced::kKept;
  uint64_t seed = 0;
};

class World {
 public:
  World(const std::string& folder, Bug bug)
      : folder_(folder),
        bug_(bug),
        fleet_((fs::create_directory(folder + "/fleet"), folder + "/fleet")) {
    if (bug == Bug::kLyingDisk) disk_.LieAboutSyncs();
    for (uint32_t slot = 0; slot < kSlots; ++slot) generation_[slot] = 0;
  }
  ~World() { EndProcess(); }

  RunResult Run(absl::Span<const Step> schedule) {
    Start();
    for (size_t i = 0; i < schedule.size() && violation_.empty(); ++i) {
      where_ = absl::StrCat("step ", i, " (", ToText(schedule[i]), ")");
      ++tally_.steps;
      Do(schedule[i]);
      EndStep();
    }
    if (violation_.empty()) Finish();
    return {.violation = violation_, .tally = tally_};
  }

 private:
  // ---- what is wrong -------------------------------------------------------------------------

  void Violation(absl::string_view what) {
    if (violation_.empty()) violation_ = absl::StrCat("at ", where_, ": ", what);
  }
  // Whether an error is one that the faults of now explain.
  bool IsExcused(const absl::Status& status) const {
    return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  }

  // ---- the process ---------------------------------------------------------------------------

  bool up() const { return studies_ != nullptr; }

  void Start() {
    if (up()) return;
    const absl::Status opened = Open();
    disk_.AwaitIdle();
    if (disk_.stopped()) return EndByCrash();
    if (opened.ok()) return AfterStart();
    ++tally_.failed_starts;
    if (!IsExcused(opened) || (!full_ && !low_)) {
      Violation(absl::StrCat("the curator does not start: ", opened.ToString()));
    }
    EndProcess();
  }

  absl::Status Open() {
    const std::string data = folder_ + "/data";
    COPPICE_ASSIGN_OR_RETURN(disk_store_, OpenRocksDbStore(data, disk_.env()));
    twin_ = std::make_unique<TwinStore>(*disk_store_, bug_);
    gate_ = std::make_unique<GatedStore>(*twin_);
    models_.emplace();
    COPPICE_ASSIGN_OR_RETURN(studies_,
                             Studies::Open(*gate_, *models_, [this] { return now_.load(); }));
    return models_->Load(*gate_);
  }

  void AfterStart() {
    for (auto& [id, truth] : truths_) {
      const absl::StatusOr<Books> books = ReadBooks(*disk_store_, id);
      if (books.ok()) Settle(*books, truth);
      if (truth.deleted == Done::kYes) NextGeneration(id);
    }
    for (uint32_t slot = 0; slot < kSlots; ++slot) MakeStudy(slot);
  }

  // Whatever the process still wanted to do is not done.
  void EndProcess() {
    if (gate_ != nullptr) gate_->Hold(false);
    slow_ = false;
    studies_.reset();
    models_.reset();
    gate_.reset();
    twin_.reset();
    disk_store_.reset();
    disk_.AwaitIdle();
    TakeAnswers();
  }

  void EndByCrash() {
    ++tally_.crashes;
    EndProcess();
    if (crash_.power_cut) {
      disk_.CutPower(crash_.unsynced, crash_.seed);
    } else {
      disk_.Kill();
    }
  }

  void CrashAfter(uint32_t changes, const Crash& crash) {
    crash_ = crash;
    if (changes == 0) return disk_.Stop();
    disk_.StopAfter(changes);
  }

  void Stop() {
    if (!up()) return;
    Flow();
    studies_->Drain();
    AwaitAnswers();
    EndProcess();
  }

  // ---- studies -------------------------------------------------------------------------------

  std::string StudyOf(uint32_t slot) const {
    return absl::StrCat("slot", slot, "-", generation_.at(slot));
  }
  // A study seals itself once its time is over, whatever the clock says afterwards.
  bool MayHaveExpired(const StudyTruth& truth) const {
    return truth.expires > 0 && latest_ >= truth.expires;
  }
  void NextGeneration(const std::string& gone) {
    for (auto& [slot, generation] : generation_) {
      if (StudyOf(slot) == gone) ++generation;
    }
  }

  void MakeStudy(uint32_t slot) {
    if (!up() || slow_) return;
    const std::string id = StudyOf(slot);
    StudyTruth& truth = truths_[id];
    if (truth.made == Done::kYes) return;
    // One slot's studies end some time after they are made.
    if (slot == 1 && truth.expires == 0) truth.expires = now_ + kLifetime;
    StudySpec spec = FleetStudy(id);
    spec.expires_unix_seconds = truth.expires;
    const absl::StatusOr<StudyInfo> made = studies_->Create(spec);
    if (absl::IsInvalidArgument(made.status()) && truth.expires > 0 && truth.expires <= now_) {
      return NextGeneration(id);  // the time was over before the study was made
    }
    if (made.ok() && !disk_.stopped()) {
      truth.made = Done::kYes;
    } else if (made.ok() || IsExcused(made.status())) {
      truth.made = Done::kUnclear;
    } else {
      Violation(absl::StrCat("making ", id, ": ", made.status().ToString()));
    }
  }

  void Seal(uint32_t slot) {
    if (!up()) return;
    Flow();
    StudyTruth& truth = truths_[StudyOf(slot)];
    const absl::Status sealed = studies_->Seal(StudyOf(slot)).status();
    if (truth.made != Done::kYes || truth.sealed == Done::kYes) return;
    if (sealed.ok() && !disk_.stopped()) {
      truth.sealed = Done::kYes;
    } else if (sealed.ok() || IsExcused(sealed)) {
      truth.sealed = Done::kUnclear;
    } else {
      Violation(absl::StrCat("sealing: ", sealed.ToString()));
    }
  }

  void Remake(uint32_t slot) {
    if (!up()) return;
    Flow();
    const std::string id = StudyOf(slot);
    StudyTruth& truth = truths_[id];
    const absl::Status gone = studies_->Delete(id);
    if (truth.made != Done::kYes) return;
    if (gone.ok() && !disk_.stopped()) {
      truth.deleted = Done::kYes;
      NextGeneration(id);
      MakeStudy(slot);
    } else if (gone.ok() || IsExcused(gone)) {
      truth.deleted = Done::kUnclear;
    } else {
      Violation(absl::StrCat("deleting: ", gone.ToString()));
    }
  }

  // A model rests on what was accepted, neither more nor less.
  void BuildModel(uint32_t slot) {
    if (!up()) return;
    Flow();
    const std::string id = StudyOf(slot);
    const absl::StatusOr<Books> books = ReadBooks(*disk_store_, id);
    const EstimatorOptions options{.kind = EstimatorKind::kWeighted, .lambda = 0};
    const absl::StatusOr<ModelInfo> built =
        studies_->BuildModel(id, absl::StrCat("model", models_built_++), options);
    if (disk_.stopped() || !books.ok() || !built.ok()) {
      const bool known = IsExcused(built.status()) || absl::IsNotFound(built.status());
      if (!built.ok() && !known) Violation(built.status().ToString());
      return;
    }
    const Model& model = *built->model;
    if (model.certificate().reports != books->accepted) {
      Violation(absl::StrCat("a model rests on ", model.certificate().reports,
                             " reports, accepted are ", books->accepted));
    }
    if (books->accepted > 0 && model.leaves()[0] != LeavesOf(*studies_->Get(id), *books, options)) {
      Violation("a model's leaves are not those of the sums");
    }
  }

  static std::vector<LeafPrediction> LeavesOf(const StudyInfo& study, const Books& books,
                                              const EstimatorOptions& options) {
    const Tree& tree = (*study.forest)[0];
    const auto mechanisms = *MakeMechanisms(*study.terms, *study.forest);
    const PublicCounts none{.classes = 2,
                            .leaf = std::vector<uint64_t>(tree.num_leaves()),
                            .label = std::vector<uint64_t>(2 * tree.num_leaves())};
    return *EstimateTree(tree, *mechanisms[0], {.sums = books.sums, .reports = books.reports}, none,
                         options);
  }

  // ---- devices and the network ---------------------------------------------------------------

  std::optional<Studies::Offered> FetchOffer(const std::string& study) {
    if (!up() || disk_.stopped()) return std::nullopt;
    if (MayHaveExpired(truths_[study])) Flow();  // the offer that finds it so seals the study
    absl::StatusOr<Studies::Offered> offer = studies_->MakeOffer(study, 1);
    if (offer.ok()) return *std::move(offer);
    const StudyTruth& truth = truths_[study];
    if (absl::IsNotFound(offer.status()) && truth.made != Done::kYes) return std::nullopt;
    if (IsExcused(offer.status())) return std::nullopt;  // sealing what has expired is a write
    const bool over = truth.sealed == Done::kYes || MayHaveExpired(truth);
    if (absl::IsFailedPrecondition(offer.status()) && over) return std::nullopt;
    Violation(absl::StrCat("an offer of ", study, ": ", offer.status().ToString()));
    return std::nullopt;
  }

  void Offer(uint32_t device) {
    const std::string study = StudyOf(SlotOf(device));
    MakeStudy(SlotOf(device));
    const std::optional<Studies::Offered> offer = FetchOffer(study);
    if (!offer.has_value()) return;
    if (const absl::Status answered = fleet_.Answer(device, *offer); !answered.ok()) {
      Violation(answered.ToString());
    }
  }

  // What the device has in its journal for the study of its slot and has not delivered; if it has
  // no answer yet it fetches an offer first.
  std::optional<Message> Pending(uint32_t device, bool heard) {
    const std::string study = StudyOf(SlotOf(device));
    if (!fleet_.Find(device, study).has_value()) Offer(device);
    const std::optional<JournalEntry> entry = fleet_.Find(device, study);
    if (!entry.has_value() || entry->delivered) return std::nullopt;
    Message message{.study = study,
                    .fingerprint = entry->report.fingerprint,
                    .devices = {device},
                    .reports = {entry->report},
                    .heard = heard};
    if (bug_ == Bug::kFreshAnswer && truths_[study].claims[device].submitted > 0) {
      const std::optional<Studies::Offered> offer = FetchOffer(study);
      if (offer.has_value()) message.reports = {*fleet_.AnswerAnew(device, *offer)};
    }
    return message;
  }

  void Send(uint32_t device, bool heard) {
    if (const std::optional<Message> message = Pending(device, heard)) Submit(*message);
    if (!heard && bug_ == Bug::kForgetfulDevice) {
      const std::string study = StudyOf(SlotOf(device));
      if (fleet_.Find(device, study).has_value()) {
        static_cast<void>(fleet_.MarkDelivered(device, study));
      }
    }
  }

  void SendBatch(uint32_t gateway, uint32_t slot) {
    const std::string study = StudyOf(slot);
    Message message{.study = study};
    for (const uint32_t device : fleet_.Undelivered(gateway, study)) {
      const std::optional<Message> one = Pending(device, /*heard=*/true);
      if (!one.has_value()) continue;
      message.fingerprint = one->fingerprint;
      message.devices.push_back(device);
      message.reports.push_back(one->reports[0]);
    }
    if (!message.devices.empty()) Submit(message);
  }

  // The messages become one group: the first is held at the disk until the others are queued.
  void SendTogether(const std::vector<Message>& messages) {
    if (!up() || messages.empty()) return;
    const bool was_slow = slow_;
    gate_->Hold(true);
    for (const Message& message : messages) {
      Submit(message);
      while (!was_slow && !gate_->HasWaiting() && Unanswered() > 0) std::this_thread::yield();
    }
    if (!was_slow) gate_->Hold(false);
  }

  void Submit(const Message& message) {
    if (!up() || disk_.stopped()) return;  // nobody answers there
    ReportBatch batch;
    for (const PrivateReport& report : message.reports) {
      batch.Add(report.ticket.ToBytes(), report.payload);
    }
    for (size_t i = 0; i < message.devices.size(); ++i) {
      Claim& claim = truths_[message.study].claims[message.devices[i]];
      const Ticket& ticket = message.reports[i].ticket;
      claim.cell = Fleet::CellOf(message.devices[i]);
      claim.ticket.assign(ticket.id.begin(), ticket.id.end());
      ++claim.submitted;
      ++tally_.submitted;
    }
    {
      const std::lock_guard lock(mutex_);
      ++unanswered_;
    }
    auto sent = std::make_shared<Message>(message);
    if (slow_) sent->heard = false;
    studies_->Submit(message.study, BytesOf(message.fingerprint), std::move(batch),
                     [this, sent](absl::StatusOr<std::vector<ReportOutcome>> outcomes) {
                       // A process that has died says nothing, whatever it still thinks.
                       if (disk_.stopped()) outcomes = absl::CancelledError("died");
                       const std::lock_guard lock(mutex_);
                       answers_.push_back({std::move(*sent), std::move(outcomes)});
                       --unanswered_;
                       answered_.notify_all();
                     });
  }

  size_t Unanswered() const {
    const std::lock_guard lock(mutex_);
    return unanswered_;
  }
  void AwaitAnswers() {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return unanswered_ == 0; });
  }

  void TakeAnswers() {
    std::vector<Answer> answers;
    {
      const std::lock_guard lock(mutex_);
      answers.swap(answers_);
    }
    for (const Answer& answer : answers) Take(answer);
  }

  struct Answer {
    Message message;
    absl::StatusOr<std::vector<ReportOutcome>> outcomes;
  };

  void Take(const Answer& answer) {
    const Message& message = answer.message;
    if (!answer.outcomes.ok()) {
      const absl::Status& status = answer.outcomes.status();
      ++(absl::IsCancelled(status) ? tally_.lost : tally_.failed);
      if (!IsExcused(status) && !absl::IsCancelled(status)) Violation(status.ToString());
      return;
    }
    for (size_t i = 0; i < message.devices.size(); ++i) {
      const ReportOutcome outcome = (*answer.outcomes)[i];
      Note(message.study, message.devices[i], outcome);
      if (!message.heard) continue;
      const absl::Status marked = fleet_.MarkDelivered(message.devices[i], message.study);
      if (!marked.ok()) Violation(marked.ToString());
    }
  }

  void Note(const std::string& study, uint32_t device, ReportOutcome outcome) {
    StudyTruth& truth = truths_[study];
    Claim& claim = truth.claims[device];
    switch (outcome) {
      case ReportOutcome::kAccepted:
        ++tally_.accepted;
        if (claim.accepted && bug_ != Bug::kFreshAnswer) {
          Violation(absl::StrCat("device ", device, " is accepted twice"));
        }
        claim.accepted = claim.promised = true;
        return;
      case ReportOutcome::kDuplicate:
        ++tally_.duplicates;
        ++truth.duplicates;
        claim.promised = true;
        return;
      default:
        ++tally_.refused;
        ++claim.refused;
        if (outcome == ReportOutcome::kStudySealed && truth.sealed == Done::kYes) return;
        if (outcome == ReportOutcome::kStudyExpired && MayHaveExpired(truth)) return;
        if (outcome == ReportOutcome::kUnknownStudy &&
            (truth.deleted == Done::kYes || truth.made != Done::kYes)) {
          return;
        }
        Violation(absl::StrCat("device ", device, " is refused with outcome ",
                               static_cast<int>(outcome)));
    }
  }

  // ---- steps ---------------------------------------------------------------------------------

  void Flow() {
    if (!up() || !slow_) return;
    gate_->Hold(false);
    AwaitAnswers();
    slow_ = false;
    TakeAnswers();
  }

  void Do(const Step& step) {
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
        return SendGroup(a, b);
      case StepKind::kArrive:
        return Arrive(a);
      case StepKind::kSlow:
        if (!up()) return;
        slow_ = true;
        return gate_->Hold(true);
      case StepKind::kFlow:
        return Flow();
      case StepKind::kKill:
        return CrashIfUp(a, {});
      case StepKind::kCut:
        return CrashIfUp(a, {.power_cut = true, .unsynced = static_cast<Unsynced>(b), .seed = c});
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
        if (const absl::Status opened = fleet_.RestartGateway(a); !opened.ok()) {
          Violation(opened.ToString());
        }
        return;
      case StepKind::kBackup:
        return Backup();
      case StepKind::kRestore:
        return Restore();
    }
  }

  void StepClock(int64_t seconds) {
    now_ += seconds;
    latest_ = std::max<int64_t>(latest_, now_);
    if (!up()) return;
    Flow();
    const absl::Status swept = studies_->Sweep();
    if (!swept.ok() && !IsExcused(swept)) Violation(swept.ToString());
  }

  void SendGroup(uint32_t first, uint32_t count) {
    std::vector<Message> messages;
    for (uint32_t i = 0; i <= count; ++i) {
      if (std::optional<Message> message = Pending((first + i) % kDevices, /*heard=*/true)) {
        messages.push_back(*std::move(message));
      }
    }
    SendTogether(messages);
  }

  void Arrive(uint32_t which) {
    if (network_.empty()) return;
    const auto at = network_.begin() + which % network_.size();
    const Message message = *at;
    network_.erase(at);
    Submit(message);
  }

  void CrashIfUp(uint32_t changes, const Crash& crash) {
    if (up() || changes > 0) CrashAfter(changes, crash);
  }

  void SetSpace(bool low, bool full) {
    low_ = low;
    full_ = full;
    disk_.SayNearlyFull(low);
    disk_.Fill(full);
  }

  void Backup() {
    if (!up() || disk_.stopped()) return;
    Flow();
    const fs::path copy = folder_ + "/copy";
    fs::remove_all(copy);
    fs::copy(folder_ + "/data", copy, fs::copy_options::recursive);
    saved_ = Saved{truths_, generation_};
  }

  void Restore() {
    if (!saved_.has_value()) return;
    Stop();
    fs::remove_all(folder_ + "/data");
    fs::copy(folder_ + "/copy", folder_ + "/data", fs::copy_options::recursive);
    disk_.FilesReplaced();
    truths_ = saved_->truths;
    generation_ = saved_->generation;
    restored_ = true;
    Start();
  }

  // ---- after every step ----------------------------------------------------------------------

  void EndStep() {
    if (disk_.stopped()) {
      EndByCrash();
      return;
    }
    if (!up() || slow_) return;
    AwaitAnswers();
    disk_.AwaitIdle();
    if (disk_.stopped()) return EndByCrash();
    TakeAnswers();
    Check();
    if (disk_.stopped()) EndByCrash();  // looking may open the store again, which writes
  }

  void Check() {
    if (!up()) return;
    for (auto& [id, truth] : truths_) {
      const absl::StatusOr<Books> books = ReadBooks(*disk_store_, id);
      if (!books.ok()) {
        if (!IsExcused(books.status())) Violation(books.status().ToString());
        continue;
      }
      // What is unclear is looked at again after the next start.
      if (truth.made == Done::kUnclear && !books->exists) continue;
      if (books->sealed && MayHaveExpired(truth)) truth.sealed = Done::kYes;
      if (std::string wrong = FindViolation(*books, truth); !wrong.empty()) {
        Violation(absl::StrCat(id, ": ", wrong));
      }
      CheckShown(id, *books);
    }
    const absl::Status agrees = studies_->Reconcile();
    if (!agrees.ok() && !IsExcused(agrees)) Violation(agrees.ToString());
  }

  // What the curator shows is what is on disk.
  void CheckShown(const std::string& id, const Books& books) {
    for (const StudyInfo& info : studies_->List({})) {
      if (info.id != id) continue;
      if (CountOf(info, ReportOutcome::kAccepted) != books.accepted ||
          CountOf(info, ReportOutcome::kDuplicate) != books.duplicates) {
        Violation(absl::StrCat(id, ": the curator shows ", CountOf(info, ReportOutcome::kAccepted),
                               " accepted and ", CountOf(info, ReportOutcome::kDuplicate),
                               " duplicates, the store holds ", books.accepted, " and ",
                               books.duplicates));
      }
    }
  }

  // ---- the end -------------------------------------------------------------------------------

  void Finish() {
    where_ = "the end, when everything works again";
    disk_.Heal();
    SetSpace(false, false);
    Flow();
    Start();
    EndStep();
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
    CheckAllCounted();
    where_ = "the end, after a restart";
    Stop();
    Start();
    EndStep();
    where_ = "the end, after a power cut";
    CrashAfter(0, {.power_cut = true, .unsynced = Unsynced::kLost, .seed = 1});
    EndStep();
    Start();
    EndStep();
    CheckAllCounted();
    if (up()) SendAllAgain();
  }

  // Each device of a study that is open, unless its report went with what a restore forgot.
  void CheckAllCounted() {
    for (uint32_t device = 0; device < kDevices && violation_.empty(); ++device) {
      const std::string study = StudyOf(SlotOf(device));
      const StudyTruth& truth = truths_[study];
      if (!up() || truth.made != Done::kYes) return Violation("the curator is not up");
      if (truth.sealed == Done::kYes || restored_) continue;
      const absl::StatusOr<Books> books = ReadBooks(*disk_store_, study);
      if (!books.ok()) return Violation(books.status().ToString());
      if (books->sum(Fleet::CellOf(device)) != 1) {
        Violation(absl::StrCat(study, ": device ", device, " is counted ",
                               books->sum(Fleet::CellOf(device)), " times"));
      }
    }
  }

  void SendAllAgain() {
    where_ = "the end, where everything is sent once more";
    for (uint32_t device = 0; device < kDevices; ++device) {
      const std::string study = StudyOf(SlotOf(device));
      const std::optional<JournalEntry> entry = fleet_.Find(device, study);
      if (!entry.has_value()) continue;
      Submit({.study = study,
              .fingerprint = entry->report.fingerprint,
              .devices = {device},
              .reports = {entry->report},
              .heard = false});
      EndStep();
    }
  }

  // ---- state ---------------------------------------------------------------------------------

  struct Saved {
    std::map<std::string, StudyTruth> truths;
    std::map<uint32_t, uint32_t> generation;
  };

  const std::string folder_;
  const Bug bug_;
  FaultyDisk disk_;
  Fleet fleet_;
  std::atomic<int64_t> now_{1'700'000'000};
  int64_t latest_ = 1'700'000'000;  // that the clock has ever said
  Crash crash_;
  bool slow_ = false;
  bool low_ = false;
  bool full_ = false;
  bool restored_ = false;

  mutable std::mutex mutex_;
  std::condition_variable answered_;
  size_t unanswered_ = 0;        // guarded by mutex_
  std::vector<Answer> answers_;  // guarded by mutex_

  std::map<std::string, StudyTruth> truths_;  // by the study's id
  std::map<uint32_t, uint32_t> generation_;   // of the study of each slot
  std::deque<Message> network_;
  std::optional<Saved> saved_;
  size_t models_built_ = 0;
  std::string where_ = "the beginning";
  std::string violation_;
  Tally tally_;

  // The process: made by Open(), ended by EndProcess().
  std::unique_ptr<Store> disk_store_;
  std::unique_ptr<TwinStore> twin_;
  std::unique_ptr<GatedStore> gate_;
  std::optional<Models> models_;
  std::unique_ptr<Studies> studies_;
};

}  // namespace

void Tally::Add(const Tally& other) {
  steps += other.steps;
  crashes += other.crashes;
  failed_starts += other.failed_starts;
  submitted += other.submitted;
  accepted += other.accepted;
  duplicates += other.duplicates;
  refused += other.refused;
  failed += other.failed;
  lost += other.lost;
}

RunResult RunSchedule(absl::Span<const Step> schedule, const std::string& folder, Bug bug) {
  const std::string place = folder + "/world";
  fs::remove_all(place);
  fs::create_directory(place);
  RunResult result = World(place, bug).Run(schedule);
  fs::remove_all(place);
  return result;
}

}  // namespace coppice::testing
