#include "tests/faults/relay/relay_process.h"

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"

namespace coppice::relay_faults {
namespace {

constexpr int kMaxSteps = 200;

}  // namespace

SigningKey RelayKey() {
  SigningKey::Seed seed{};
  seed.fill(7);
  return *SigningKey::FromSeed(seed);
}

// Counts the relay's answers, which come on its own threads.
class RelayProcess::Waiting {
 public:
  void Expect() {
    const std::lock_guard lock(mutex_);
    ++left_;
  }
  void Came() {
    const std::lock_guard lock(mutex_);
    --left_;
    changed_.notify_all();
  }
  bool AllCame() const {
    const std::lock_guard lock(mutex_);
    return left_ == 0;
  }
  void AwaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t left_ = 0;
};

RelayProcess::RelayProcess(Parts parts, std::unique_ptr<testing::SimulatedDisk> disk)
    : parts_(std::move(parts)), disk_(std::move(disk)) {}

void RelayProcess::MakeFolders() {
  std::string folder;
  const std::string path = StrCat(parts_.data_dir, "/studies/", kStudy);
  for (const std::string_view name : StrSplit(path, '/', SkipEmpty())) {
    const std::string parent = folder.empty() ? "/" : folder;
    StrAppend(&folder, "/", name);
    disk_->CreateFolder(folder).IgnoreError();
    disk_->SyncFolder(parent).IgnoreError();
  }
}

Status RelayProcess::Start() {
  MakeFolders();
  const relay::RelayOptions options{.data_dir = parts_.data_dir,
                                    .studies = {std::string(kStudy)},
                                    .curator_key = parts_.curator_key,
                                    .tickets = kTickets,
                                    .deal_for = kDealFor,
                                    .collect_for = kCollectFor};
  const relay::RelaySeams seams{.now = parts_.now,
                                .draw_epoch = parts_.draw_epoch,
                                .log = parts_.log,
                                .disk = disk_.get(),
                                .threads = false};
  COPPICE_ASSIGN_OR_RETURN(relay_, relay::Relay::Open(options, RelayKey(), parts_.link(), seams));
  return OkStatus();
}

void RelayProcess::Kill(bool power_cut) {
  if (!disk_->stopped()) disk_->StopAfter(0);
  disk_->SyncFolder("/").IgnoreError();  // stops the disk at a change that is not the relay's
  relay_.reset();
  dies_.reset();
  if (power_cut) {
    disk_->CutPower();
  } else {
    disk_->Kill();
  }
}

void RelayProcess::DieAfter(uint64_t changes, bool power_cut) {
  dies_ = power_cut;
  disk_->StopAfter(changes);
}

void RelayProcess::FailAfter(uint64_t changes) {
  if (dies_.has_value()) return;
  disk_->StopAfter(changes);
}

void RelayProcess::Heal() {
  disk_->Fill(false);
  if (!dies_.has_value()) disk_->Kill();
}

bool RelayProcess::EndIfDead() {
  if (!is_dead()) return false;
  Kill(*dies_);
  return true;
}

void RelayProcess::ReplaceDisk(std::unique_ptr<testing::SimulatedDisk> disk) {
  Kill(/*power_cut=*/false);
  disk_ = std::move(disk);
}

void RelayProcess::Work() {
  for (int i = 0; i < kMaxSteps && up() && !is_dead(); ++i) {
    if (relay_->Step() > parts_.now()) return;
  }
}

void RelayProcess::Step() {
  if (up()) relay_->Step();
}

StatusOr<v1::GetRelayTermsResponse> RelayProcess::Terms() {
  if (!up() || is_dead()) return UnavailableError("the relay is down");
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> bytes,
                           relay_->Terms(MakeName(kStudies, kStudy)));
  v1::GetRelayTermsResponse answer;
  if (!answer.ParseFromString(*bytes)) return DataLossError("the relay's terms");
  return answer;
}

StatusOr<std::string> RelayProcess::TakeOffer(const std::string& epoch) {
  if (!up() || is_dead()) return UnavailableError("the relay is down");
  const auto admit = [](const EpochId&) { return OkStatus(); };
  StatusOr<std::string> offer = relay_->TakeOffer(MakeName(kStudies, kStudy), epoch, admit);
  if (is_dead()) return UnavailableError("the relay has died");
  return offer;
}

void RelayProcess::SubmitOne(const Sealed& sealed, Outcome& outcome, Waiting& waiting) {
  waiting.Expect();
  relay_->Submit(sealed.epoch,
                 {.ticket = sealed.report.ticket,
                  .claim = sealed.claim,
                  .encapsulated = sealed.report.bytes.substr(0, 32),
                  .ciphertext = sealed.report.bytes.substr(32)},
                 [this, &outcome, &waiting](StatusOr<relay::SubmitOutcome> answer) {
                   if (answer.ok()) {
                     outcome = static_cast<v1::SubmitOutcome>(*answer);
                   } else {
                     outcome = answer.status();
                   }
                   if (dies_.has_value() && disk_->stopped()) outcome = CancelledError("died");
                   waiting.Came();
                 });
}

// Makes the later reports one group: the first is a group by itself, and the others come while the
// disk is held at its sync.
std::vector<RelayProcess::Outcome> RelayProcess::Submit(const std::vector<Sealed>& reports) {
  std::vector<Outcome> outcomes(reports.size(), CancelledError("the relay is down"));
  if (!up() || is_dead() || reports.empty()) return outcomes;
  Waiting first, others;
  const uint64_t before = disk_->changes();
  disk_->HoldSyncs(reports.size() > 1);
  SubmitOne(reports[0], outcomes[0], first);
  while (reports.size() > 1 && !first.AllCame() && !disk_->stopped() &&
         disk_->changes() < before + 2) {
    std::this_thread::yield();
  }
  for (size_t i = 1; i < reports.size(); ++i) SubmitOne(reports[i], outcomes[i], others);
  disk_->HoldSyncs(false);
  first.AwaitAll();
  others.AwaitAll();
  return outcomes;
}

}  // namespace coppice::relay_faults
