#include "server/relay/epoch/epoch.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "server/relay/epoch/bytes.h"
#include "server/relay/epoch/deal.h"
#include "server/relay/epoch/folder.h"
#include "server/relay/epoch/pool.h"

namespace coppice::relay {
namespace {

EpochState StateOf(const Pool& pool) {
  if (!pool.frozen().has_value()) return EpochState::kOpen;
  if (pool.frozen()->dropped) return EpochState::kDropped;
  return pool.delivered() ? EpochState::kDelivered : EpochState::kFrozen;
}

// What the slots of a pool contain, and the batch that they would make if it were frozen now.
struct ScannedPool {
  Frozen batch;
  SlotSet full;
};

StatusOr<ScannedPool> ScanPool(const Pool& pool, const EpochContents& contents) {
  ScannedPool scanned{.batch = {}, .full = SlotSet(contents.tickets.size())};
  MerkleRootStream root;
  COPPICE_RETURN_IF_ERROR(
      pool.Scan(0, contents.tickets, [&](uint64_t slot, const SlotReport& report) {
        scanned.full.Add(slot);
        root.Add({contents.tickets[slot].ToBytes(), report.encapsulated, report.ciphertext});
        return OkStatus();
      }));
  scanned.batch.reports = scanned.full.size();
  scanned.batch.dropped = scanned.full.size() < contents.rules.min_batch;
  if (!scanned.batch.dropped) scanned.batch.root = root.Root();
  return scanned;
}

// After a failed sync every later one may take the bytes in memory for written (Linux does). So
// everything found is written again, whoever wrote it first.
Status WriteAgain(Pool& pool, const EpochContents& contents) {
  if (pool.frozen().has_value()) return pool.MarkFrozen(*pool.frozen());
  COPPICE_RETURN_IF_ERROR(
      pool.Scan(0, contents.tickets, [&](uint64_t slot, const SlotReport& report) {
        return pool.Write(slot, contents.tickets[slot], report);
      }));
  return pool.Sync();
}

Status EraseKey(const std::string& folder, Disk& disk) {
  COPPICE_RETURN_IF_ERROR(EraseDealFile(DealPath(folder), disk));
  return disk.SyncFolder(folder);
}

}  // namespace

Epoch::Epoch(std::string folder, Disk& disk, EpochContents contents, Parts parts)
    : folder_(std::move(folder)),
      disk_(disk),
      contents_(std::move(contents)),
      pool_(std::move(parts.pool)),
      state_(StateOf(*pool_)),
      taking_(parts.dealer != nullptr),
      dealer_(std::move(parts.dealer)),
      batch_(std::move(parts.full)) {
  if (taking_) committer_.emplace(*pool_, contents_.tickets, batch_);
}

EpochState Epoch::state() const {
  ReaderLock lock(mutex_);
  return state_;
}

EpochTotals Epoch::totals() const {
  ReaderLock lock(mutex_);
  return {.tickets = contents_.tickets.size(),
          .dealt = dealer_ == nullptr ? 0 : dealer_->dealt(),
          .stored = committer_.has_value() ? committer_->stored() : batch_.size(),
          .lost = lost_};
}

Status Epoch::health() const {
  ReaderLock lock(mutex_);
  if (committer_.has_value()) COPPICE_RETURN_IF_ERROR(committer_->health());
  return dealer_ == nullptr ? OkStatus() : dealer_->health();
}

StatusOr<std::string> Epoch::ReadDocuments() const {
  ReaderLock lock(mutex_);
  if (erased_) return FailedPreconditionError("the deal is erased");
  return ReadEpochDocuments(folder_, disk_);
}

StatusOr<Dealt> Epoch::Deal(absl::Time now) {
  ReaderLock lock(mutex_);
  if (!taking_ || late_ || now >= absl::FromUnixSeconds(rules().deal_until_unix_seconds)) {
    return FailedPreconditionError("this deal is over; ask for the terms of the next one");
  }
  const StatusOr<uint32_t> slot = dealer_->DealSlot();
  if (!committer_->health().ok() || !dealer_->health().ok()) {
    return UnavailableError("the relay's disk has failed; come again later");
  }
  COPPICE_RETURN_IF_ERROR(slot.status());
  Dealt dealt{.ticket = contents_.tickets[*slot]};
  COPPICE_ASSIGN_OR_RETURN(dealt.claim, dealer_->ClaimOf(dealt.ticket.ToBytes()));
  return dealt;
}

bool Epoch::HasLengths(const SealedReport& report) const {
  return report.ticket.size() == kTicketBytes && report.claim.size() == kClaimBytes &&
         report.encapsulated.size() == kEncapsulatedBytes &&
         report.ciphertext.size() == rules().ciphertext_bytes;
}

// Checks the claim first, in the same time for every ticket: the curator knows all tickets, and
// answers could show it which ones are dealt, and so whose each is.
StatusOr<std::optional<uint64_t>> Epoch::SlotOfHolder(const SealedReport& report) const {
  COPPICE_ASSIGN_OR_RETURN(const Claim claim, dealer_->ClaimOf(report.ticket));
  if (CRYPTO_memcmp(claim.data(), report.claim.data(), claim.size()) != 0) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const Ticket ticket, Ticket::FromBytes(report.ticket));
  const std::vector<Ticket>& tickets = contents_.tickets;
  const auto found = std::lower_bound(tickets.begin(), tickets.end(), ticket, &IsBefore);
  if (found == tickets.end() || *found != ticket) return std::nullopt;
  return static_cast<uint64_t>(found - tickets.begin());
}

std::optional<StatusOr<SubmitOutcome>> Epoch::Take(SealedReport& report, absl::Time now,
                                                   SubmitDone& done) {
  if (!HasLengths(report)) return SubmitOutcome::kBadLength;
  if (now >= absl::FromUnixSeconds(rules().freeze_at_unix_seconds)) late_ = true;
  ReaderLock lock(mutex_);
  if (!taking_ || late_) return SubmitOutcome::kClosed;
  const StatusOr<std::optional<uint64_t>> slot = SlotOfHolder(report);
  if (!slot.ok()) return slot.status();
  if (!slot->has_value()) return SubmitOutcome::kUnknown;
  const Status added = committer_->Add(**slot, report, done);
  if (!added.ok()) return added;
  return std::nullopt;
}

void Epoch::Submit(SealedReport report, absl::Time now, SubmitDone done) {
  const std::optional<StatusOr<SubmitOutcome>> answer = Take(report, now, done);
  if (answer.has_value()) done(*answer);
}

// A clock that is set back reopens nothing.
bool Epoch::EndsBy(absl::Time now) const {
  return !taking_ || late_ || now >= absl::FromUnixSeconds(rules().freeze_at_unix_seconds) ||
         committer_->stored() == contents_.tickets.size();
}

bool Epoch::IsOver(absl::Time now) const {
  ReaderLock lock(mutex_);
  return EndsBy(now);
}

Status Epoch::StopTaking(absl::Time now) {
  WriterLock lock(mutex_);
  if (erased_) return FailedPreconditionError("the deal is erased");
  if (!EndsBy(now)) {
    return FailedPreconditionError("reports may still come: the deal is frozen later");
  }
  taking_ = false;
  return OkStatus();
}

StatusOr<Frozen> Epoch::Freeze(absl::Time now) {
  COPPICE_RETURN_IF_ERROR(StopTaking(now));
  if (state() != EpochState::kOpen) return *pool_->frozen();
  // Runs without the lock: waiting reports, and those that come meanwhile, are answered first.
  committer_->Stop();
  COPPICE_RETURN_IF_ERROR(committer_->health());
  return MakeBatch();
}

StatusOr<Frozen> Epoch::MakeBatch() {
  COPPICE_ASSIGN_OR_RETURN(ScannedPool scanned, ScanPool(*pool_, contents_));
  if (!pool_->frozen().has_value()) {
    COPPICE_RETURN_IF_ERROR(pool_->MarkFrozen(scanned.batch));
  }
  {
    WriterLock lock(mutex_);
    dealer_.reset();
  }
  COPPICE_RETURN_IF_ERROR(EraseKey(folder_, disk_));
  WriterLock lock(mutex_);
  lost_ = committer_->stored() - std::min(committer_->stored(), scanned.full.size());
  batch_ = std::move(scanned.full);
  committer_.reset();
  state_ = StateOf(*pool_);
  return *pool_->frozen();
}

StatusOr<SealedColumns> Epoch::Read(uint64_t first, uint64_t count) const {
  ReaderLock lock(mutex_);
  if (erased_ || (state_ != EpochState::kFrozen && state_ != EpochState::kDelivered)) {
    return FailedPreconditionError("the deal has no batch");
  }
  SealedColumns columns;
  count = first < batch_.size() ? std::min(count, batch_.size() - first) : 0;
  if (count == 0) return columns;
  const uint64_t begin = batch_.Find(first);
  const uint64_t end = batch_.Find(first + count - 1) + 1;
  COPPICE_RETURN_IF_ERROR(
      pool_->Scan(begin, absl::MakeConstSpan(contents_.tickets).subspan(begin, end - begin),
                  [&](uint64_t slot, const SlotReport& report) {
                    ++columns.reports;
                    columns.tickets.append(contents_.tickets[slot].ToBytes());
                    StrAppend(&columns.encapsulated, report.encapsulated);
                    StrAppend(&columns.ciphertexts, report.ciphertext);
                    return OkStatus();
                  }));
  if (columns.reports == count) return columns;
  return DataLossError(StrCat(PoolPath(folder_), ": reports of the batch are damaged"));
}

Status Epoch::MarkDelivered() {
  WriterLock lock(mutex_);
  if (!erased_ && state_ == EpochState::kDelivered) return OkStatus();
  if (erased_ || state_ != EpochState::kFrozen) {
    return FailedPreconditionError("the deal has no batch");
  }
  COPPICE_RETURN_IF_ERROR(pool_->MarkDelivered());
  state_ = EpochState::kDelivered;
  return OkStatus();
}

Status Epoch::Erase() {
  {
    WriterLock lock(mutex_);
    taking_ = false;
    erased_ = true;
  }
  if (committer_.has_value()) committer_->Stop();
  {
    WriterLock lock(mutex_);
    dealer_.reset();
    committer_.reset();
    if (state_ == EpochState::kOpen) state_ = EpochState::kDropped;
  }
  return Remove(folder_, disk_);
}

namespace {

// The reports of a frozen epoch are fixed. If their root differs, the disk changed them.
Status CheckBatch(const std::string& folder, const Pool& pool, const Frozen& scanned) {
  if (StateOf(pool) != EpochState::kFrozen || scanned == *pool.frozen()) return OkStatus();
  return DataLossError(
      StrCat(PoolPath(folder), ": reports of the batch are damaged: ", scanned.reports, " of ",
             pool.frozen()->reports, " can be read; the curator would refuse them"));
}

StatusOr<std::unique_ptr<Dealer>> OpenDealer(const std::string& folder, uint64_t slots,
                                             const Pool& pool, Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(const std::string identity, pool.Identity());
  StatusOr<std::unique_ptr<Dealer>> dealer = Dealer::Open(DealPath(folder), slots, disk, identity);
  if (!IsNotFound(dealer.status())) return dealer;
  return DataLossError(
      StrCat(DealPath(folder), ": the key of the deal is missing, and the deal is not frozen"));
}

}  // namespace

StatusOr<std::unique_ptr<Epoch>> Epoch::Open(const std::string& folder, Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(EpochContents contents, ReadContents(folder, disk));
  const PoolShape shape{.slots = contents.tickets.size(),
                        .ciphertext_bytes = contents.rules.ciphertext_bytes,
                        .terms = contents.terms};
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool, Pool::Open(PoolPath(folder), shape, disk));
  // Nobody may build on a name that a power cut could take back.
  COPPICE_RETURN_IF_ERROR(disk.SyncFolder(ParentOf(folder)));
  COPPICE_RETURN_IF_ERROR(WriteAgain(*pool, contents));
  COPPICE_ASSIGN_OR_RETURN(ScannedPool scanned, ScanPool(*pool, contents));
  std::unique_ptr<Dealer> dealer;
  if (pool->frozen().has_value()) {
    COPPICE_RETURN_IF_ERROR(CheckBatch(folder, *pool, scanned.batch));
    COPPICE_RETURN_IF_ERROR(EraseKey(folder, disk));
  } else {
    COPPICE_ASSIGN_OR_RETURN(dealer, OpenDealer(folder, contents.tickets.size(), *pool, disk));
  }
  return std::unique_ptr<Epoch>(
      new Epoch(folder, disk, std::move(contents),
                {.pool = std::move(pool), .dealer = std::move(dealer), .full = scanned.full}));
}

}  // namespace coppice::relay
