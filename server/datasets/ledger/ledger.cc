#include "server/datasets/ledger/ledger.h"

#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/terms.h"

namespace coppice::ledger {
namespace {

// Every dataset has a ledger, so callers are told of the dataset.
Status NoAccount(std::string_view dataset) {
  return NotFoundError(StrCat("there is no dataset ", dataset));
}

// Refuses caller's writes to the ledger's keys: only the ledger writes these.
Status CheckOtherWrites(const storage::StoreBatch& with) {
  bool touches = false;
  for (const std::string_view ours : {kLedgerPrefix, kHoldPrefix}) {
    for (const auto& [key, value] : with.puts()) touches |= StartsWith(key, ours);
    for (const std::string& key : with.deleted_keys()) touches |= StartsWith(key, ours);
    for (const std::string& prefix : with.deleted_prefixes()) {
      touches |= StartsWith(prefix, ours) || StartsWith(ours, prefix);
    }
  }
  return touches ? InternalError("a caller's writes touch keys of the ledger") : OkStatus();
}

// Does not show the head: the admin who confirms must prove to have noted it.
Status HoldError(std::string_view dataset, const LedgerHold& hold) {
  if (hold.reason == HoldReason::kClosed) {
    return FailedPreconditionError(StrCat(
        "the ledger of dataset \"", dataset,
        "\" was damaged and no longer proves that any budget is left: it is closed for good. Open "
        "the dataset anew, under another name, with what is really left"));
  }
  if (hold.lost.has_value()) {
    return FailedPreconditionError(
        StrCat("the ledger of dataset \"", dataset,
               "\" lacks entries that the spending journal knows, which charged epsilon ",
               EpsilonText(hold.lost->epsilon_nanos), ": an admin must write that off"));
  }
  return FailedPreconditionError(StrCat(
      "the ledger of dataset \"", dataset,
      "\" was restored from a backup or mended, and may lack its last entries: an admin must "
      "confirm the head that was noted last, before that, or write off what was lost"));
}

// The text is the same for all heads, so that it does not help to guess one.
Status WrongHeadError(std::string_view dataset) {
  return FailedPreconditionError(
      StrCat("head: the ledger of dataset \"", dataset,
             "\" did not end with this entry when it was put on hold. If it is the last one that "
             "you noted, entries are lost: write off what they charged"));
}

std::vector<LedgerEntry> EntriesIn(absl::Span<const LedgerEntry> all, const EntryRange& range) {
  const absl::Span<const LedgerEntry> in =
      all.subspan(std::min<uint64_t>(range.first, all.size()), range.max);
  return {in.begin(), in.end()};
}

Account WithoutHashes(Account account) {
  account.head = account.hold.head = Sha256Digest{};
  for (LedgerEntry& entry : account.entries) entry.hash = Sha256Digest{};
  return account;
}

// Returns the cost that an admin writes off by naming these amounts, or none.
StatusOr<Cost> LossOf(const BudgetCap& cap, const LedgerHold& hold, uint64_t epsilon_nanos,
                      uint64_t delta_atto) {
  if (epsilon_nanos == 0 && delta_atto == 0) {
    if (hold.lost.has_value()) return *hold.lost;
    return InvalidArgumentError(
        "epsilon: say how much the lost entries charged, since there is no spending journal; if "
        "none is lost, confirm the last head that you noted");
  }
  COPPICE_ASSIGN_OR_RETURN(const Cost lost, CostOfLoss(cap, epsilon_nanos, delta_atto));
  if (!hold.lost.has_value() || Covers(cap, lost, *hold.lost)) return lost;
  return InvalidArgumentError(
      StrCat("epsilon: according to the spending journal more is lost: epsilon ",
             EpsilonText(hold.lost->epsilon_nanos), ", delta ", DeltaText(hold.lost->delta_atto),
             "; leave both out to write off exactly that"));
}

}  // namespace

StatusOr<std::unique_ptr<Ledger>> Ledger::Open(storage::Store& store,
                                               std::function<int64_t()> clock,
                                               SpendingJournal* journal) {
  AccountBooks books;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kLedgerPrefix, [&books](std::string_view key, std::string_view value) {
        return LoadEntry(key, value, books);
      }));
  Holds holds;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kHoldPrefix, [&holds](std::string_view key, std::string_view value) {
        return LoadHold(key, value, holds);
      }));
  // Nothing is left of a closed ledger: its dataset is shown and can be deleted, nothing more.
  for (const auto& [dataset, hold] : holds) {
    if (hold.reason == HoldReason::kClosed) {
      books.try_emplace(dataset, AccountBook(dataset, BudgetCap()));
    }
  }
  std::unique_ptr<Ledger> ledger(
      new Ledger(store, std::move(clock), journal, std::move(books), std::move(holds)));
  COPPICE_RETURN_IF_ERROR(ledger->Reconcile());
  return ledger;
}

Status Ledger::Reconcile() {
  const MutexLock writer(writer_mutex_);
  if (journal_ == nullptr) return OkStatus();
  LinesByDataset lines = ByDataset(journal_->lines());
  const MutexLock lock(books_mutex_);  // nobody reads yet, so waiting for the disk is fine
  for (const auto& [dataset, book] : books_) {
    COPPICE_RETURN_IF_ERROR(Reconcile(book, lines[dataset]));
    lines.erase(dataset);
  }
  for (const auto& [dataset, lost_lines] : lines) {
    const Cost spent = HighestSpent(lost_lines);
    if (spent != Cost()) lost_accounts_[dataset] = spent;
  }
  return OkStatus();
}

Status Ledger::OpenAccount(std::string_view dataset, const BudgetCap& cap,
                           storage::StoreBatch with) {
  if (!IsValidId(dataset)) {
    return InvalidArgumentError(
        "dataset: must be 1 to 63 of a-z 0-9 - _ and start with a letter or digit");
  }
  const MutexLock writer(writer_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedWrite(dataset));
  if (FindBook(dataset) != nullptr) {
    return AlreadyExistsError(
        StrCat("dataset \"", dataset, "\" has a ledger: deleting a dataset does not end it"));
  }
  if (const std::optional<Cost> lost = FindLostAccount(dataset); lost.has_value()) {
    return AlreadyExistsError(
        StrCat("dataset: the spending journal knows a dataset \"", dataset, "\" with epsilon ",
               EpsilonText(lost->epsilon_nanos),
               " spent, whose ledger this store has lost. Choose another name, or, if the rows are "
               "about other people, have an admin free this one"));
  }
  return Write(AccountBook(std::string(dataset), cap), {.kind = EntryKind::kOpen}, std::move(with));
}

Status Ledger::Reserve(std::string_view dataset, const Charge& charge,
                       absl::Span<const Release> planned, storage::StoreBatch with) {
  COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(planned));
  return Add(dataset,
             {.kind = EntryKind::kReserve,
              .job = charge.job,
              .account = charge.account,
              .is_evaluation = charge.is_evaluation,
              .cost = cost,
              .releases = {planned.begin(), planned.end()}},
             std::move(with));
}

Status Ledger::Settle(std::string_view dataset, std::string_view job,
                      absl::Span<const Release> made, storage::StoreBatch with) {
  COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(made));
  return Add(dataset,
             {.kind = EntryKind::kSettle,
              .job = std::string(job),
              .cost = cost,
              .releases = {made.begin(), made.end()}},
             std::move(with));
}

Status Ledger::Return(std::string_view dataset, std::string_view job, storage::StoreBatch with) {
  return Add(dataset, {.kind = EntryKind::kReturn, .job = std::string(job)}, std::move(with));
}

Status Ledger::Confirm(std::string_view dataset, const Sha256Digest& head) {
  const MutexLock writer(writer_mutex_);
  if (FindBook(dataset) == nullptr) return NoAccount(dataset);
  const LedgerHold hold = HoldOf(dataset);
  if (hold.reason == HoldReason::kNone) return OkStatus();
  if (hold.reason == HoldReason::kClosed || hold.lost.has_value()) return HoldError(dataset, hold);
  if (hold.head != head) return WrongHeadError(dataset);
  storage::StoreBatch batch;
  batch.Delete(HoldKey(dataset));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  const MutexLock lock(books_mutex_);
  holds_.erase(holds_.find(dataset));
  return OkStatus();
}

Status Ledger::WriteOff(std::string_view dataset, uint64_t epsilon_nanos, uint64_t delta_atto) {
  const MutexLock writer(writer_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedWrite(dataset));
  const AccountBook* const book = FindBook(dataset);
  if (book == nullptr) return NoAccount(dataset);
  const LedgerHold hold = HoldOf(dataset);
  if (hold.reason == HoldReason::kClosed) return HoldError(dataset, hold);
  if (hold.reason == HoldReason::kNone) {
    return FailedPreconditionError(
        StrCat("the ledger of dataset \"", dataset, "\" is not on hold: none of it is lost"));
  }
  COPPICE_ASSIGN_OR_RETURN(const Cost lost, LossOf(book->cap(), hold, epsilon_nanos, delta_atto));
  const Spending charged = ClampToRemaining(book->cap(), book->spent(), lost);
  return Write(*book,
               {.kind = EntryKind::kWriteOff,
                .account = book->cap().has_reserve() ? AccountKind::kBoth : AccountKind::kTraining,
                .cost = Max(charged.training, charged.reserve)},
               storage::StoreBatch());
}

std::map<std::string, Cost> Ledger::LostAccounts() const {
  const MutexLock lock(books_mutex_);
  return lost_accounts_;
}

Status Ledger::FreeName(std::string_view dataset) {
  const MutexLock writer(writer_mutex_);
  if (!FindLostAccount(dataset).has_value()) {
    return NotFoundError(StrCat("the spending journal does not reserve the name \"", dataset,
                                "\" of a dataset that was lost"));
  }
  COPPICE_RETURN_IF_ERROR(journal_->Append({.dataset = std::string(dataset)}));
  const MutexLock lock(books_mutex_);
  lost_accounts_.erase(std::string(dataset));
  return OkStatus();
}

StatusOr<BudgetCap> Ledger::CapOf(std::string_view dataset) const {
  const MutexLock lock(books_mutex_);
  const auto it = books_.find(dataset);
  if (it == books_.end()) return NoAccount(dataset);
  return it->second.cap();
}

StatusOr<Account> Ledger::Get(std::string_view dataset, const EntryRange& entries) const {
  const MutexLock lock(books_mutex_);
  const auto it = books_.find(dataset);
  if (it == books_.end()) return NoAccount(dataset);
  const AccountBook& book = it->second;
  const LedgerHold hold = HoldIn(dataset);
  const auto left_after = [&](const Cost& spent) {
    return hold.reason == HoldReason::kClosed ? RemainingBudget()
                                              : RemainingAfter(book.cap(), spent);
  };
  Account account{.dataset = book.dataset(),
                  .cap = book.cap(),
                  .spent = book.spent().training,
                  .left = left_after(book.spent().training),
                  .reserve_spent = book.spent().reserve,
                  .reserve_left = book.cap().has_reserve() ? left_after(book.spent().reserve)
                                                           : RemainingBudget(),
                  .num_entries = book.entries().size(),
                  .entries = EntriesIn(book.entries(), entries),
                  .head = book.head(),
                  .hold = hold};
  return hold.reason == HoldReason::kUnconfirmed ? WithoutHashes(std::move(account)) : account;
}

StatusOr<Quote> Ledger::Preview(std::string_view dataset, absl::Span<const Release> planned,
                                AccountKind account) const {
  COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(planned));
  BudgetCap cap;
  Spending all_spent;
  LedgerHold hold;
  {
    const MutexLock lock(books_mutex_);
    const auto it = books_.find(dataset);
    if (it == books_.end()) return NoAccount(dataset);
    cap = it->second.cap();
    all_spent = it->second.spent();
    hold = HoldIn(dataset);
  }
  const Cost& spent = account == AccountKind::kReserve ? all_spent.reserve : all_spent.training;
  if (hold.reason != HoldReason::kNone) {
    return Quote{.cost = cost,
                 .fits = HoldError(dataset, hold),
                 .left = hold.reason == HoldReason::kClosed ? RemainingBudget()
                                                            : RemainingAfter(cap, spent)};
  }
  Status fits = CheckFits(cap, all_spent, account, cost);
  const RemainingBudget left = RemainingAfter(cap, fits.ok() ? Plus(spent, cost) : spent);
  return Quote{.cost = cost, .fits = std::move(fits), .left = left};
}

Status Ledger::Reconcile(const AccountBook& book, absl::Span<const SpendingLine> lines) {
  if (book.entries().empty()) return OkStatus();  // closed, with no entry left
  const JournalFinding found = CompareWithJournal(book, lines);
  if (found.journal_is_behind) return journal_->Append(LineOf(book));
  const auto held = holds_.find(book.dataset());
  if (!found.lost.has_value() ||
      (held != holds_.end() && held->second.reason == HoldReason::kClosed)) {
    return OkStatus();
  }
  LedgerHold hold = held != holds_.end() ? held->second
                                         : LedgerHold{.reason = HoldReason::kUnconfirmed,
                                                      .unix_seconds = clock_(),
                                                      .head = book.head()};
  // An earlier start may have found more: since then the journal has noted this store's entries.
  hold.lost = Max(hold.lost.value_or(Cost()), *found.lost);
  storage::StoreBatch batch;
  batch.Put(HoldKey(book.dataset()), EncodeHold(hold));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  holds_[book.dataset()] = hold;
  return OkStatus();
}

Status Ledger::Add(std::string_view dataset, LedgerEntry entry, storage::StoreBatch with) {
  const MutexLock writer(writer_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedWrite(dataset));
  const AccountBook* const book = FindBook(dataset);
  if (book == nullptr) return NoAccount(dataset);
  const LedgerHold hold = HoldOf(dataset);
  // Settling is always noted. A refund may already have been spent by an entry that is missing.
  if (hold.reason != HoldReason::kNone && entry.kind != EntryKind::kSettle) {
    return HoldError(dataset, hold);
  }
  if (entry.kind == EntryKind::kReturn) {
    COPPICE_ASSIGN_OR_RETURN(entry.cost, book->ReservedFor(entry.job));
  }
  if (const LedgerEntry* const charge = book->ChargeOf(entry.job);
      charge != nullptr && entry.kind != EntryKind::kReserve) {
    entry.account = charge->account;
    entry.is_evaluation = charge->is_evaluation;
  }
  return Write(*book, std::move(entry), std::move(with));
}

const AccountBook* Ledger::FindBook(std::string_view dataset) const {
  const MutexLock lock(books_mutex_);
  const auto it = books_.find(dataset);
  return it == books_.end() ? nullptr : &it->second;
}

std::optional<Cost> Ledger::FindLostAccount(std::string_view dataset) const {
  const MutexLock lock(books_mutex_);
  const auto it = lost_accounts_.find(std::string(dataset));
  if (it == lost_accounts_.end()) return std::nullopt;
  return it->second;
}

LedgerHold Ledger::HoldOf(std::string_view dataset) const {
  const MutexLock lock(books_mutex_);
  return HoldIn(dataset);
}

LedgerHold Ledger::HoldIn(std::string_view dataset) const {
  const auto it = holds_.find(dataset);
  return it == holds_.end() ? LedgerHold() : it->second;
}

Status Ledger::Write(const AccountBook& book, LedgerEntry entry, storage::StoreBatch with) {
  COPPICE_RETURN_IF_ERROR(CheckOtherWrites(with));
  COPPICE_RETURN_IF_ERROR(book.Check(entry));
  entry.unix_seconds = clock_();
  const std::string key = LedgerKey(book.dataset(), book.next_sequence());
  std::string value = EncodeEntry(book, entry);
  // An entry that cannot be read back must not be stored: the ledger would not open again.
  StatusOr<LedgerEntry> stored = DecodeEntry(key, value, book);
  if (!stored.ok()) {
    return InvalidArgumentError("the releases' words must be UTF-8 text");
  }
  with.Put(key, std::move(value));
  if (entry.kind == EntryKind::kWriteOff) with.Delete(HoldKey(book.dataset()));
  Status written = store_.Apply(with);
  if (written.ok()) written = Note(book, *stored);
  if (!written.ok()) {
    unresolved_.emplace(book.dataset());
    return written;
  }
  Show(book, *std::move(stored));
  return OkStatus();
}

Status Ledger::Note(const AccountBook& book, const LedgerEntry& entry) {
  if (journal_ == nullptr) return OkStatus();
  return journal_->Append({.dataset = book.dataset(),
                           .entries = book.entries().size() + 1,
                           .head = entry.hash,
                           .spent = TotalOf(book.SpentAfter(entry))});
}

void Ledger::Show(const AccountBook& book, LedgerEntry entry) {
  const MutexLock lock(books_mutex_);
  if (entry.kind == EntryKind::kWriteOff) holds_.erase(book.dataset());
  const auto it = books_.find(book.dataset());
  AccountBook& shown = it != books_.end() ? it->second : books_[book.dataset()] = book;
  shown.Append(std::move(entry));
}

Status Ledger::NoteAndReplace(AccountBook book) {
  if (journal_ != nullptr) COPPICE_RETURN_IF_ERROR(journal_->Append(LineOf(book)));
  const MutexLock lock(books_mutex_);
  if (book.entries().back().kind == EntryKind::kWriteOff) holds_.erase(book.dataset());
  books_.insert_or_assign(book.dataset(), std::move(book));
  return OkStatus();
}

Status Ledger::ResolveUnresolvedWrite(std::string_view dataset) {
  const auto unresolved = unresolved_.find(dataset);
  if (unresolved == unresolved_.end()) return OkStatus();
  const AccountBook* const book = FindBook(dataset);
  const std::string key = LedgerKey(dataset, book == nullptr ? 0 : book->next_sequence());
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> value, store_.Get(key));
  if (value.has_value()) {
    AccountBooks found;
    if (book != nullptr) found.emplace(book->dataset(), *book);
    COPPICE_RETURN_IF_ERROR(LoadEntry(key, *value, found));
    COPPICE_RETURN_IF_ERROR(NoteAndReplace(std::move(found.begin()->second)));
  }
  unresolved_.erase(unresolved);
  return OkStatus();
}

}  // namespace coppice::ledger
