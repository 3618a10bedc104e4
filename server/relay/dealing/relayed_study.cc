#include "server/relay/dealing/relayed_study.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::relay {
namespace {

// For this many erased epochs, late reports are told that they are late.
constexpr size_t kMaxErasedEpochs = 16;

// Names the folder of a deal that is set aside.
constexpr std::string_view kDamagedSuffix = ".damaged";

std::string EpochBytes(const EpochId& epoch) { return {epoch.begin(), epoch.end()}; }

bool HasLengths(const SealedReport& report, const EpochRules& rules) {
  return report.ticket.size() == kTicketIdBytes + kTicketMacBytes &&
         report.claim.size() == kClaimBytes && report.encapsulated.size() == kEncapsulatedBytes &&
         report.ciphertext.size() == rules.ciphertext_bytes;
}

Status MakeFolder(Disk& disk, const std::string& parent, std::string_view name) {
  const Status made = disk.CreateFolder(StrCat(parent, "/", name));
  if (IsAlreadyExists(made)) return OkStatus();
  COPPICE_RETURN_IF_ERROR(made);
  return disk.SyncFolder(parent);
}

}  // namespace

void GrowingPause::Lengthen(absl::Time now, absl::Duration asked) {
  next_ = now + pause_ + asked;
  pause_ = std::min(2 * pause_, kLongest);
}

RelayedStudy::RelayedStudy(const RelayOptions& options, std::string study, const SigningKey& key,
                           CuratorCalls& curator, const RelaySeams& seams, CuratorTrust trust)
    : options_(options),
      study_(std::move(study)),
      key_(key),
      curator_(curator),
      seams_(seams),
      trust_(std::move(trust)) {}

StatusOr<std::unique_ptr<RelayedStudy>> RelayedStudy::Open(const RelayOptions& options,
                                                           const std::string& study,
                                                           const SigningKey& key,
                                                           CuratorCalls& curator,
                                                           const RelaySeams& seams) {
  const std::string studies = StrCat(options.data_dir, "/studies");
  const std::string folder = StrCat(studies, "/", study);
  COPPICE_RETURN_IF_ERROR(MakeFolder(RealDisk(), options.data_dir, "studies"));
  COPPICE_RETURN_IF_ERROR(MakeFolder(RealDisk(), studies, study));
  COPPICE_ASSIGN_OR_RETURN(CuratorTrust trust, CuratorTrust::Load(StrCat(folder, "/manifest"),
                                                                  study, options.curator_key));
  std::unique_ptr<RelayedStudy> opened(
      new RelayedStudy(options, study, key, curator, seams, std::move(trust)));
  COPPICE_RETURN_IF_ERROR(MakeFolder(*seams.disk, folder, "epochs"));
  COPPICE_RETURN_IF_ERROR(opened->Restore());
  return opened;
}

RelayedStudy::~RelayedStudy() { Drain(); }

std::string RelayedStudy::EpochsFolder() const {
  return StrCat(options_.data_dir, "/studies/", study_, "/epochs");
}

std::string RelayedStudy::FolderOf(const EpochId& epoch) const {
  return StrCat(EpochsFolder(), "/", BytesToHexString(EpochBytes(epoch)));
}

Status RelayedStudy::Restore() {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                           Epoch::List(EpochsFolder(), *seams_.disk));
  for (const std::string& folder : folders) {
    if (EndsWith(folder, kDamagedSuffix)) {
      Say(RelayEvent::Severity::kError, StrCat(folder, " is set aside since an earlier start"));
      KnowDamaged(folder);
    } else {
      COPPICE_RETURN_IF_ERROR(RestoreEpoch(folder));
    }
  }
  return OkStatus();
}

Status RelayedStudy::SetAside(const std::string& folder, const Status& why) {
  const std::string damaged = StrCat(folder, kDamagedSuffix);
  COPPICE_RETURN_IF_ERROR(seams_.disk->RenameFolder(folder, damaged));
  COPPICE_RETURN_IF_ERROR(seams_.disk->SyncFolder(EpochsFolder()));
  Say(RelayEvent::Severity::kError,
      StrCat("a deal is damaged: ", why.message(), ". It is set aside as ", damaged,
             ", and none of its reports is sent. Remove that folder, and its reports are "
             "lost: it may hold the key of the deal"));
  KnowDamaged(damaged);
  return OkStatus();
}

// Takes the epoch from the folder's name. Its devices keep their reports until it is removed.
void RelayedStudy::KnowDamaged(const std::string& folder) {
  const std::string_view name = std::string_view(folder).substr(folder.rfind('/') + 1);
  const std::string epoch = HexStringToBytes(name.substr(0, name.size() - kDamagedSuffix.size()));
  EpochRules rules;
  if (epoch.size() != rules.epoch.size()) return;
  std::copy(epoch.begin(), epoch.end(), rules.epoch.begin());
  ++counts_.waiting;
  MutexLock lock(mutex_);
  if (Find(epoch) == nullptr) known_.push_back({.rules = rules, .epoch = {}, .reopens = true});
}

Status RelayedStudy::RestoreEpoch(const std::string& folder) {
  StatusOr<std::shared_ptr<Epoch>> opened = Epoch::Open(folder, *seams_.disk);
  if (IsDataLoss(opened.status())) return SetAside(folder, opened.status());
  COPPICE_RETURN_IF_ERROR(opened.status());
  std::shared_ptr<Epoch> epoch = *std::move(opened);
  // The process may have ended before it logged this.
  if (epoch->state() == EpochState::kDropped) SayTooSmall(epoch->rules().min_batch);
  if (epoch->state() == EpochState::kDropped || epoch->state() == EpochState::kDelivered) {
    return epoch->Erase();
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string packed, epoch->ReadDocuments());
  StatusOr<DealDocuments> documents = DealDocuments::Unpack(packed);
  if (!documents.ok()) {
    return DataLossError(StrCat(folder, ": ", documents.status().message()));
  }
  const RelayTerms& promise = documents->promise();
  if (promise.relay_key != KeyIdOf(key_.public_key())) {
    return FailedPreconditionError(
        StrCat(folder,
               " is a deal of another relay's key: devices and the curator accept it "
               "under that key alone. Put the key back, or remove the folder, and "
               "its reports are lost"));
  }
  MutexLock lock(mutex_);
  if (epoch->state() == EpochState::kOpen) {
    if (deal_ != nullptr) {
      return DataLossError(
          StrCat(folder,
                 " is open besides another deal of its study: a backup was put back. "
                 "Remove both, and their reports are lost"));
    }
    BeginDeal(std::move(epoch), std::make_shared<const DealDocuments>(*std::move(documents)));
    return OkStatus();
  }
  // Frozen, but not delivered. Freezing again returns the same batch, and the curator says which
  // parts it has.
  COPPICE_ASSIGN_OR_RETURN(const Frozen frozen, epoch->Freeze(seams_.now()));
  COPPICE_ASSIGN_OR_RETURN(BatchDelivery delivery,
                           BatchDelivery::Create(epoch, promise, frozen, key_));
  Know(epoch);
  waiting_.push_back({.epoch = std::move(epoch),
                      .delivery = std::move(delivery),
                      .expires_unix_seconds = documents->manifest().expires_unix_seconds});
  ++counts_.waiting;
  return OkStatus();
}

void RelayedStudy::BeginDeal(std::shared_ptr<Epoch> epoch,
                             std::shared_ptr<const DealDocuments> documents) {
  Know(epoch);
  deal_ = std::make_shared<const Deal>(
      Deal{.epoch = std::move(epoch), .documents = std::move(documents)});
}

void RelayedStudy::Know(std::shared_ptr<Epoch> epoch) {
  const EpochRules rules = epoch->rules();
  if (KnownEpoch* known = Find(EpochBytes(rules.epoch))) {
    *known = {.rules = rules, .epoch = std::move(epoch)};
    return;
  }
  known_.push_back({.rules = rules, .epoch = std::move(epoch)});
  // Erased epochs are known so that a late device learns that its report is too late, and not that
  // its epoch never was. The oldest are forgotten.
  const auto is_erased = [](const KnownEpoch& known) {
    return known.epoch == nullptr && !known.reopens;
  };
  if (std::count_if(known_.begin(), known_.end(), is_erased) >
      static_cast<ptrdiff_t>(kMaxErasedEpochs)) {
    known_.erase(std::find_if(known_.begin(), known_.end(), is_erased));
  }
}

RelayedStudy::KnownEpoch* RelayedStudy::Find(std::string_view epoch) {
  for (KnownEpoch& known : known_) {
    if (EpochBytes(known.rules.epoch) == epoch) return &known;
  }
  return nullptr;
}

std::shared_ptr<const RelayedStudy::Deal> RelayedStudy::OpenDeal() const {
  MutexLock lock(mutex_);
  return deal_;
}

// The message is for devices, to whom the reason would reveal the state of the relay's machine.
Status RelayedStudy::NoDeal() const {
  return UnavailableError(StrCat("no deal of study ", study_, " is open now; come again"));
}

StatusOr<std::shared_ptr<const std::string>> RelayedStudy::Terms() const {
  MutexLock lock(mutex_);
  if (deal_ == nullptr) return NoDeal();
  return deal_->documents->terms_answer();
}

StatusOr<std::shared_ptr<const RelayedStudy::Deal>> RelayedStudy::DealFor(
    std::string_view epoch) const {
  std::shared_ptr<const Deal> deal;
  {
    MutexLock lock(mutex_);
    if (draining_) return UnavailableError("the relay is stopping; come again");
    if (deal_ == nullptr) return NoDeal();
    deal = deal_;
  }
  const RelayTerms& promise = deal->documents->promise();
  if (EpochBytes(promise.epoch) != epoch) {
    return FailedPreconditionError(
        StrCat("study ", study_, " has another deal by now; ask for its terms again"));
  }
  if (absl::ToUnixSeconds(seams_.now()) >= promise.deal_until_unix_seconds) {
    return FailedPreconditionError(
        StrCat("the time to take an offer of study ", study_, " is over; come again"));
  }
  const EpochTotals totals = deal->epoch->totals();
  if (totals.dealt >= totals.tickets) {
    return ResourceExhaustedError(
        StrCat("every ticket of study ", study_, " is dealt; come again"));
  }
  return deal;
}

StatusOr<std::string> RelayedStudy::TakeOffer(std::string_view epoch, Relay::Admit admit) {
  // First what refuses everybody, so that no caller's count of tickets grows for it.
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Deal> deal, DealFor(epoch));
  COPPICE_RETURN_IF_ERROR(admit(deal->documents->promise().epoch));
  COPPICE_ASSIGN_OR_RETURN(const Dealt dealt, deal->epoch->Deal(seams_.now()));
  ++counts_.dealt;
  return deal->documents->Envelope(dealt);
}

void RelayedStudy::CountAnswer(const StatusOr<SubmitOutcome>& outcome) {
  if (outcome.ok()) ++counts_.outcomes[static_cast<size_t>(*outcome)];
}

bool RelayedStudy::Submit(std::string_view epoch, SealedReport& report, SubmitDone& done) {
  std::shared_ptr<Epoch> found;
  EpochRules rules;
  bool reopens = false;
  {
    MutexLock lock(mutex_);
    const KnownEpoch* known = Find(epoch);
    if (known == nullptr) return false;
    rules = known->rules;
    found = known->epoch;
    reopens = known->reopens;
    ++in_flight_;
  }
  // The callback must not hold the epoch: the last owner that releases it waits for its thread.
  SubmitDone counted = [this, done = std::move(done)](StatusOr<SubmitOutcome> outcome) {
    CountAnswer(outcome);
    done(std::move(outcome));
    MutexLock lock(mutex_);
    if (--in_flight_ == 0) changed_.NotifyAll();
  };
  if (found != nullptr) {
    found->Submit(std::move(report), seams_.now(), std::move(counted));
  } else if (reopens) {
    counted(UnavailableError("the disk of the relay has failed; send the report again"));
  } else {
    counted(HasLengths(report, rules) ? SubmitOutcome::kClosed : SubmitOutcome::kBadLength);
  }
  return true;
}

StudyTotals RelayedStudy::totals() const {
  const auto outcome = [&](SubmitOutcome which) {
    return counts_.outcomes[static_cast<size_t>(which)].load();
  };
  StudyTotals totals{.study = study_,
                     .dealt = counts_.dealt,
                     .stored = outcome(SubmitOutcome::kStored),
                     .conflict = outcome(SubmitOutcome::kConflict),
                     .closed = outcome(SubmitOutcome::kClosed),
                     .unknown = outcome(SubmitOutcome::kUnknown),
                     .bad_length = outcome(SubmitOutcome::kBadLength),
                     .waiting = counts_.waiting,
                     .delivered = counts_.delivered,
                     .dropped = counts_.dropped,
                     .refused = counts_.refused};
  MutexLock lock(mutex_);
  using Phase = StudyTotals::Phase;
  if (deal_ != nullptr) {
    const int64_t until = deal_->documents->promise().deal_until_unix_seconds;
    const bool deals = absl::ToUnixSeconds(seams_.now()) < until;
    totals.phase = deals ? Phase::kDealing : Phase::kCollecting;
  } else if (ended_) {
    totals.phase = Phase::kEnded;
  }
  return totals;
}

Status RelayedStudy::Ready() const {
  MutexLock lock(mutex_);
  if (deal_ != nullptr || ended_) return OkStatus();
  return UnavailableError(StrCat("no deal of study ", study_, " is open: ", why_no_deal_));
}

void RelayedStudy::Start() {
  thread_ = std::thread([this] { Run(); });
}

void RelayedStudy::Run() {
  while (true) {
    const absl::Time next = Step();
    const absl::Duration wait = next - seams_.now();
    MutexLock lock(mutex_);
    const auto until = After(wait);
    while (!draining_ && wait > absl::ZeroDuration()) {
      if (!changed_.WaitUntil(mutex_, until)) break;
    }
    if (draining_) return;
  }
}

bool RelayedStudy::IsDraining() const {
  MutexLock lock(mutex_);
  return draining_;
}

void RelayedStudy::BeginDrain() {
  MutexLock lock(mutex_);
  draining_ = true;
  changed_.NotifyAll();
}

void RelayedStudy::Drain() {
  BeginDrain();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  while (in_flight_ > 0) changed_.Wait(mutex_);
}

}  // namespace coppice::relay
