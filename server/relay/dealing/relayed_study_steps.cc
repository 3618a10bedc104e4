// The work of a study's thread: it freezes the deal, delivers batches, and opens the next pool.

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "client/device/grpc/server_call.h"
#include "common/base/remote_error.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "server/relay/dealing/batch_delivery.h"
#include "server/relay/dealing/pool_builder.h"
#include "server/relay/dealing/relayed_study.h"

namespace coppice::relay {
namespace {

using Severity = RelayEvent::Severity;

// The interval at which a deal is checked: its last report ends it before its time.
constexpr absl::Duration kLook = absl::Seconds(1);

// A batch must reach the curator before the study expires, so collecting ends earlier: by a day, or
// by the length of a shorter deal.
absl::Duration DeliveryReserve(absl::Duration collect_for) {
  return std::min(absl::Hours(24), collect_for);
}

StatusOr<EpochId> DrawEpoch() {
  EpochId epoch{};
  COPPICE_ASSIGN_OR_RETURN(const std::string hex, RandomHex(epoch.size()));
  const std::string bytes = HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), epoch.begin());
  return epoch;
}

// Returns the curator's words without the request id, which differs in each call.
std::string_view WithoutRequestId(std::string_view message) {
  return message.substr(0, message.find(" (request id "));
}

}  // namespace

absl::Time RelayedStudy::Step() {
  const absl::Time now = seams_.now();
  const absl::Time reopen = StepReopening(now);
  const absl::Time freeze = StepDeal(now);
  const absl::Time deliver = StepDelivery(now);
  return std::min({reopen, freeze, deliver, StepOpening(now)});
}

void RelayedStudy::Say(Severity severity, std::string text) {
  if (text == last_said_) return;
  last_said_ = text;
  seams_.log({.severity = severity, .study = study_, .text = std::move(text)});
}

absl::Time RelayedStudy::StepReopening(absl::Time now) {
  if (closed_ == nullptr && !CloseIfFailed()) return absl::InfiniteFuture();
  if (now < reopening_.next()) return reopening_.next();
  // A call that uses it at this moment will release it soon.
  if (closing_ != nullptr && (closing_.use_count() > 1 || closing_->epoch.use_count() > 1)) {
    return now + absl::Milliseconds(10);
  }
  closing_.reset();
  const Status reopened = ReopenDeal();
  reopening_.Lengthen(now);
  if (reopened.ok()) return now;
  if (IsDataLoss(reopened) && SetAside(FolderOf(closed_->promise().epoch), reopened).ok()) {
    closed_.reset();
    reopening_.Clear();
    freezing_.Clear();
    return now;
  }
  Say(Severity::kError, StrCat("the open deal cannot be opened again yet: ", reopened.message()));
  return reopening_.next();
}

// If the disk has failed under the open deal, nobody can get its epoch from now on.
bool RelayedStudy::CloseIfFailed() {
  const std::shared_ptr<const Deal> deal = OpenDeal();
  if (deal == nullptr) return false;
  const Status health = deal->epoch->health();
  const bool froze_in_vain = freezing_.next() != absl::InfinitePast();  // it needs the disk too
  if (health.ok() && !froze_in_vain) return false;
  if (!health.ok()) {
    Say(Severity::kError, StrCat("the disk has failed under the open deal: ", health.message()));
  }
  MutexLock lock(mutex_);
  closing_ = std::move(deal_);
  closed_ = closing_->documents;
  why_no_deal_ = "the disk of the relay has failed";
  for (KnownEpoch& known : known_) {
    if (known.epoch != closing_->epoch) continue;
    known.reopens = true;
    known.epoch.reset();
  }
  return true;
}

Status RelayedStudy::ReopenDeal() {
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Epoch> epoch,
                           Epoch::Open(FolderOf(closed_->promise().epoch), *seams_.disk));
  Say(Severity::kWarning, "the deal whose disk had failed goes on");
  MutexLock lock(mutex_);
  BeginDeal(std::move(epoch), std::move(closed_));
  closed_ = nullptr;
  freezing_.Clear();
  return OkStatus();
}

absl::Time RelayedStudy::StepDeal(absl::Time now) {
  const std::shared_ptr<const Deal> deal = OpenDeal();
  if (deal == nullptr) return absl::InfiniteFuture();
  if (now < freezing_.next()) return freezing_.next();
  const absl::Time freeze_at =
      absl::FromUnixSeconds(deal->documents->promise().freeze_at_unix_seconds);
  // The size of the batch never ends a deal: that would leave out late devices.
  if (!deal->epoch->IsOver(now)) return std::min(freeze_at, now + kLook);
  const Status frozen = Freeze(now, *deal);
  if (frozen.ok()) return now;
  freezing_.Lengthen(now);
  Say(Severity::kError,
      StrCat("the deal cannot be closed yet; the relay tries again: ", frozen.message()));
  return freezing_.next();
}

Status RelayedStudy::Freeze(absl::Time now, const Deal& deal) {
  COPPICE_ASSIGN_OR_RETURN(const Frozen frozen, deal.epoch->Freeze(now));
  const RelayTerms& promise = deal.documents->promise();
  if (const uint64_t lost = deal.epoch->totals().lost; lost > 0) {
    Say(Severity::kError, StrCat(lost,
                                 " reports that were stored cannot be read any more, and "
                                 "are left out: check the disk"));
  }
  if (frozen.dropped) {
    SayTooSmall(promise.min_batch);
    Erase(deal.epoch);
  } else {
    COPPICE_ASSIGN_OR_RETURN(BatchDelivery delivery,
                             BatchDelivery::Create(deal.epoch, promise, frozen, key_));
    waiting_.push_back({.epoch = deal.epoch,
                        .delivery = std::move(delivery),
                        .expires_unix_seconds = deal.documents->manifest().expires_unix_seconds});
    ++counts_.waiting;
    Say(Severity::kInfo, StrCat("a batch of ", frozen.reports, " reports is closed"));
  }
  freezing_.Clear();
  reopening_.Clear();
  MutexLock lock(mutex_);
  deal_.reset();  // the caller holds it: destroying an epoch here would wait for this lock
  why_no_deal_ = "the next one is not open yet";
  return OkStatus();
}

void RelayedStudy::SayTooSmall(uint64_t min_batch) {
  ++counts_.dropped;
  Say(Severity::kWarning, StrCat("a deal had fewer than ", min_batch,
                                 " reports at its end: they are erased, and nobody has seen them"));
}

void RelayedStudy::Erase(const std::shared_ptr<Epoch>& epoch) {
  const Status erased = epoch->Erase();
  if (!erased.ok()) {
    Say(Severity::kError, StrCat("a deal that is over stays on the disk until the next "
                                 "start: ",
                                 erased.message()));
  }
  MutexLock lock(mutex_);
  for (KnownEpoch& known : known_) {
    if (known.epoch == epoch) known.epoch.reset();
  }
}

absl::Time RelayedStudy::StepDelivery(absl::Time now) {
  if (waiting_.empty()) return absl::InfiniteFuture();
  if (now < delivering_.next()) return delivering_.next();
  const StatusOr<BatchDelivery::Progress> progress = waiting_.front().delivery.SendNext(curator_);
  if (!progress.ok()) {
    return waiting_.front().delivery.cannot_read() ? ReadingFailed(now, progress.status())
                                                   : DeliveryFailed(now, progress.status());
  }
  if (*progress == BatchDelivery::Progress::kStands) {
    return DeliveryFailed(now, UnavailableError("the curator took no report"));
  }
  if (*progress == BatchDelivery::Progress::kAsked) return now;  // an answer that proves little
  delivering_.Clear();
  waiting_.front().refusals = 0;
  if (*progress != BatchDelivery::Progress::kMoves) FinishDelivery(*progress);
  return now;
}

void RelayedStudy::FinishDelivery(BatchDelivery::Progress progress) {
  const WaitingBatch& batch = waiting_.front();
  if (progress == BatchDelivery::Progress::kBroken) {
    ++counts_.refused;
    Say(Severity::kError,
        StrCat("the curator says that the ", batch.delivery.reports(),
               " reports of a batch are not those that this relay signed: they are lost. "
               "Check the disks and the memory of both"));
  } else {
    ++counts_.delivered;
    Say(Severity::kInfo,
        StrCat("the curator has a batch of ", batch.delivery.reports(), " reports"));
    const Status marked = batch.epoch->MarkDelivered();
    if (!marked.ok()) Say(Severity::kError, std::string(marked.message()));
  }
  DropFirstWaiting();
}

void RelayedStudy::DropFirstWaiting() {
  Erase(waiting_.front().epoch);
  waiting_.pop_front();
  --counts_.waiting;
}

// NotFound says nothing about the study: a curator also answers it to a relay without a grant.
bool RelayedStudy::IsRefusedForGood(WaitingBatch& batch, const Status& error) {
  const bool refuses = IsFailedPrecondition(error);
  const std::string_view words = WithoutRequestId(error.message());
  const bool again = refuses && batch.refusal == words;
  batch.refusal = refuses ? std::string(words) : "";
  batch.refusals = again ? batch.refusals + 1 : refuses ? 1 : 0;
  return batch.refusals >= kRefusalsForGood;
}

absl::Time RelayedStudy::DeliveryFailed(absl::Time now, const Status& error) {
  if (IsDraining()) return absl::InfiniteFuture();  // its calls were cancelled
  WaitingBatch& batch = waiting_.front();
  const bool has_expired =
      batch.expires_unix_seconds != 0 && absl::ToUnixSeconds(now) >= batch.expires_unix_seconds;
  const bool is_answer = !IsRetryable(error) && !IsCancelled(error) && !IsDataLoss(error);
  if (IsRefusedForGood(batch, error) || (has_expired && is_answer)) {
    ++counts_.refused;
    Say(Severity::kWarning,
        StrCat("a batch of ", batch.delivery.reports(),
               " reports is erased, since the curator takes it no more: ", error.message()));
    DropFirstWaiting();
    delivering_.Clear();
    return now;
  }
  delivering_.Lengthen(now, AskedToWait(error));
  Say(is_answer ? Severity::kError : Severity::kWarning,
      StrCat("a batch waits for the curator: ", error.message()));
  return delivering_.next();
}

// An unreadable batch blocks no other batch. The next start sets a damaged one aside; so that
// operators see it, it counts as waiting until they remove it.
absl::Time RelayedStudy::ReadingFailed(absl::Time now, const Status& error) {
  Say(Severity::kError, StrCat("a batch of ", waiting_.front().delivery.reports(),
                               " reports cannot be read, and waits: ", error.message()));
  if (IsDataLoss(error)) {
    waiting_.pop_front();
    return now;
  }
  std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
  delivering_.Lengthen(now);
  return delivering_.next();
}

absl::Time RelayedStudy::StepOpening(absl::Time now) {
  if (OpenDeal() != nullptr || closed_ != nullptr || waiting_.size() >= kMaxWaitingBatches) {
    return absl::InfiniteFuture();
  }
  if (now < opening_.next()) return opening_.next();
  Status status = Collect(now);
  if (status.ok() && builder_->IsComplete()) status = OpenPool(now);
  if (!status.ok()) return OpeningFailed(now, status);
  opening_.Clear();
  return now;
}

// Makes one call. Everything that can fail is checked before more tickets are requested.
Status RelayedStudy::Collect(absl::Time now) {
  if (!builder_.has_value()) {
    builder_.emplace(study_, options_.tickets, options_.min_batch, trust_);
  }
  COPPICE_RETURN_IF_ERROR(RemoveUnopened());
  COPPICE_RETURN_IF_ERROR(CheckRoom());
  const StatusOr<v1::GetOfferResponse> offer = curator_.GetOffer(builder_->NextRequest());
  // A relay that never saw the study may only be misconfigured.
  refused_ = IsFailedPrecondition(offer.status()) && trust_.has_admitted();
  COPPICE_RETURN_IF_ERROR(offer.status());
  Status added = builder_->Add(*offer, absl::ToUnixSeconds(now));
  if (added.ok()) {
    added = FreezeAt(builder_->expires_unix_seconds(), now).status();
    refused_ = !added.ok();
  }
  if (!added.ok()) builder_.reset();
  return Status(added.code(), SanitizeRemoteText(added.message()));
}

// The folder may be complete if the disk failed only after that. Next to the following deal it
// would look like a restored backup.
Status RelayedStudy::RemoveUnopened() {
  if (unopened_.empty()) return OkStatus();
  COPPICE_RETURN_IF_ERROR(Epoch::Remove(unopened_, *seams_.disk));
  unopened_.clear();
  return OkStatus();
}

Status RelayedStudy::CheckRoom() const {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(options_.data_dir, unknown);
  if (unknown || space.available >= builder_->BytesNeeded()) return OkStatus();
  return UnavailableError(StrCat(options_.data_dir, " has ", space.available >> 20,
                                 " MB left, and a pool of ", options_.tickets, " tickets takes ",
                                 (builder_->BytesNeeded() >> 20) + 1,
                                 " MB: make room, or give the pool fewer tickets"));
}

// `expires` is the study's, in seconds since 1970; 0: never.
StatusOr<absl::Time> RelayedStudy::FreezeAt(int64_t expires, absl::Time now) const {
  const absl::Time wanted = now + options_.collect_for;
  if (expires == 0) return wanted;
  const absl::Time latest = absl::FromUnixSeconds(expires) - DeliveryReserve(options_.collect_for);
  if (latest - now >= options_.collect_for / 2) return std::min(wanted, latest);
  return FailedPreconditionError(
      StrCat("the study expires at ", TimeText(expires), ", too soon for another deal"));
}

StatusOr<RelayTerms> RelayedStudy::PromiseFor(const TicketPool& pool, absl::Time now) const {
  COPPICE_ASSIGN_OR_RETURN(const absl::Time freeze_at,
                           FreezeAt(pool.documents.manifest().expires_unix_seconds, now));
  COPPICE_ASSIGN_OR_RETURN(const EpochId epoch,
                           seams_.draw_epoch ? seams_.draw_epoch() : DrawEpoch());
  return RelayTerms{
      .study = study_,
      .fingerprint = pool.fingerprint,
      .sealing_key = pool.sealing_key,
      .epoch = epoch,
      .min_batch = pool.min_batch,
      .tickets = pool.tickets.size(),
      .deal_until_unix_seconds = absl::ToUnixSeconds(std::min(now + options_.deal_for, freeze_at)),
      .freeze_at_unix_seconds = absl::ToUnixSeconds(freeze_at),
      .relay_key = KeyIdOf(key_.public_key()),
      .offer_bytes = pool.documents.offer_bytes()};
}

Status RelayedStudy::OpenPool(absl::Time now) {
  StatusOr<TicketPool> pool = (*std::move(builder_)).Finish();
  builder_.reset();
  COPPICE_RETURN_IF_ERROR(pool.status());
  COPPICE_ASSIGN_OR_RETURN(const RelayTerms promise, PromiseFor(*pool, now));
  COPPICE_RETURN_IF_ERROR(pool->documents.Promise(promise, key_));
  EpochSpec spec{.rules = {.epoch = promise.epoch,
                           .min_batch = promise.min_batch,
                           .deal_until_unix_seconds = promise.deal_until_unix_seconds,
                           .freeze_at_unix_seconds = promise.freeze_at_unix_seconds,
                           .ciphertext_bytes = pool->ciphertext_bytes},
                 .tickets = std::move(pool->tickets),
                 .documents = pool->documents.Pack()};
  unopened_ = FolderOf(promise.epoch);
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Epoch> epoch,
                           Epoch::Create(unopened_, std::move(spec), *seams_.disk));
  unopened_.clear();
  Say(Severity::kInfo, StrCat("a deal of ", promise.tickets, " tickets is open until ",
                              TimeText(promise.freeze_at_unix_seconds)));
  MutexLock lock(mutex_);
  BeginDeal(std::move(epoch), std::make_shared<const DealDocuments>(std::move(pool->documents)));
  ended_ = false;
  return OkStatus();
}

absl::Time RelayedStudy::OpeningFailed(absl::Time now, const Status& error) {
  if (IsDraining()) return absl::InfiniteFuture();  // its calls were cancelled
  // Keeps the received tickets while the curator is only slow: the next call shows whether the
  // study is still the same.
  if (!IsRetryable(error) && !IsCancelled(error)) builder_.reset();
  opening_.Lengthen(now, AskedToWait(error));
  Say(Severity::kWarning, StrCat("no deal is open: ", error.message()));
  MutexLock lock(mutex_);
  why_no_deal_ = std::string(error.message());
  ended_ = refused_;
  return opening_.next();
}

}  // namespace coppice::relay
