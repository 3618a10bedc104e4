#include "server/ledger/ledger.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/study/terms.h"
#include "server/ledger/ledger_record.h"

namespace coppice {
namespace {

absl::Status NoAccount(absl::string_view dataset) {
  return absl::NotFoundError(absl::StrCat("dataset \"", dataset, "\" has no ledger"));
}

// The ledger is only added to, and by nobody else.
absl::Status CheckOtherWrites(const StoreBatch& with) {
  bool touches = false;
  for (const absl::string_view ours : {kLedgerPrefix, kHoldPrefix}) {
    for (const auto& [key, value] : with.puts()) touches |= absl::StartsWith(key, ours);
    for (const std::string& key : with.deleted_keys()) touches |= absl::StartsWith(key, ours);
    for (const std::string& prefix : with.deleted_prefixes()) {
      touches |= absl::StartsWith(prefix, ours) || absl::StartsWith(ours, prefix);
    }
  }
  return touches ? absl::InternalError("a caller's writes touch keys of the ledger")
                 : absl::OkStatus();
}

std::string HeadText(const Sha256Digest& head) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(head.data()), head.size()});
}

absl::Status OnHold(absl::string_view dataset, const Hold& hold) {
  if (hold.reason == LedgerHold::kClosed) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the ledger of dataset \"", dataset,
        "\" was damaged and no longer proves that any budget is left: it is closed for good. Open "
        "the dataset anew, under another name, with what is really left"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the ledger of dataset \"", dataset,
      "\" was restored from a backup or mended, and may lack its last entries: compare its head ",
      HeadText(hold.head),
      " with the last one that you noted, and confirm it if they are the same"));
}

// Why `head`, which is not that of the hold, does not end it.
absl::Status NotTheHead(const AccountBook& book, const Hold& hold, const Sha256Digest& head) {
  for (const LedgerEntry& entry : book.entries()) {
    if (entry.hash != head) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("head: is that of entry ", entry.sequence, ", and the ledger went on to ",
                     HeadText(hold.head),
                     " before it was put on hold: confirm that one, if you know of no "
                     "entry after it"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("head: no entry of the ledger of dataset \"", book.dataset(),
                   "\" has it: entries are lost, "
                   "and with them what was spent. Delete the dataset, and open it anew, under "
                   "another name, with "
                   "what is really left"));
}

class StoredLedger final : public Ledger {
 public:
  StoredLedger(Store& store, std::function<int64_t()> clock, AccountBooks books, Holds holds)
      : store_(store),
        clock_(std::move(clock)),
        books_(std::move(books)),
        holds_(std::move(holds)) {}

  absl::Status OpenAccount(absl::string_view dataset, const BudgetCap& cap,
                           StoreBatch with) override {
    if (!IsValidId(dataset)) {
      return absl::InvalidArgumentError(
          "dataset: must be 1 to 63 of a-z 0-9 - _ and start with a letter or digit");
    }
    const std::lock_guard writer(writer_mutex_);
    COPPICE_RETURN_IF_ERROR(SettleDoubt(dataset));
    if (books_.contains(dataset)) {
      return absl::AlreadyExistsError(absl::StrCat(
          "dataset \"", dataset, "\" has a ledger: deleting a dataset does not end it"));
    }
    return Write(AccountBook(std::string(dataset), cap), {.kind = EntryKind::kOpen},
                 std::move(with));
  }

  absl::Status Reserve(absl::string_view dataset, absl::string_view job,
                       absl::Span<const Release> planned, StoreBatch with) override {
    COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(planned));
    return Add(dataset,
               {.kind = EntryKind::kReserve,
                .job = std::string(job),
                .cost = cost,
                .releases = {planned.begin(), planned.end()}},
               std::move(with));
  }

  absl::Status Settle(absl::string_view dataset, absl::string_view job,
                      absl::Span<const Release> made, StoreBatch with) override {
    COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(made));
    return Add(dataset,
               {.kind = EntryKind::kSettle,
                .job = std::string(job),
                .cost = cost,
                .releases = {made.begin(), made.end()}},
               std::move(with));
  }

  absl::Status Return(absl::string_view dataset, absl::string_view job, StoreBatch with) override {
    return Add(dataset, {.kind = EntryKind::kReturn, .job = std::string(job)}, std::move(with));
  }

  absl::Status Confirm(absl::string_view dataset, const Sha256Digest& head) override {
    const std::lock_guard writer(writer_mutex_);
    const auto it = books_.find(dataset);
    if (it == books_.end()) return NoAccount(dataset);
    const auto held = holds_.find(dataset);
    if (held == holds_.end()) return absl::OkStatus();
    if (held->second.reason == LedgerHold::kClosed) return OnHold(dataset, held->second);
    if (held->second.head != head) return NotTheHead(it->second, held->second, head);
    StoreBatch batch;
    batch.Delete(HoldKey(dataset));
    COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
    const std::lock_guard lock(books_mutex_);
    holds_.erase(held);
    return absl::OkStatus();
  }

  absl::StatusOr<Account> Get(absl::string_view dataset) const override {
    const std::lock_guard lock(books_mutex_);
    const auto it = books_.find(dataset);
    if (it == books_.end()) return NoAccount(dataset);
    const AccountBook& book = it->second;
    const Hold hold = HoldOf(dataset);
    return Account{
        .dataset = book.dataset(),
        .cap = book.cap(),
        .spent = book.spent(),
        .left = hold.reason == LedgerHold::kClosed ? Left() : LeftOf(book.cap(), book.spent()),
        .entries = book.entries(),
        .head = book.head(),
        .hold = hold};
  }

  absl::StatusOr<Quote> Preview(absl::string_view dataset,
                                absl::Span<const Release> planned) const override {
    COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(planned));
    BudgetCap cap;
    Cost spent;
    Hold hold;
    {
      const std::lock_guard lock(books_mutex_);
      const auto it = books_.find(dataset);
      if (it == books_.end()) return NoAccount(dataset);
      cap = it->second.cap();
      spent = it->second.spent();
      hold = HoldOf(dataset);
    }
    if (hold.reason != LedgerHold::kNone) {
      return Quote{.cost = cost,
                   .fits = OnHold(dataset, hold),
                   .left = hold.reason == LedgerHold::kClosed ? Left() : LeftOf(cap, spent)};
    }
    absl::Status fits = CheckFits(cap, spent, cost);
    const Left left = LeftOf(cap, fits.ok() ? Plus(spent, cost) : spent);
    return Quote{.cost = cost, .fits = std::move(fits), .left = left};
  }

 private:
  absl::Status Add(absl::string_view dataset, LedgerEntry entry, StoreBatch with) {
    const std::lock_guard writer(writer_mutex_);
    COPPICE_RETURN_IF_ERROR(SettleDoubt(dataset));
    const auto it = books_.find(dataset);
    if (it == books_.end()) return NoAccount(dataset);
    const Hold hold = HoldOf(dataset);
    // What ends is noted as ever. What is given back may have been spent in what is missing.
    if (hold.reason != LedgerHold::kNone && entry.kind != EntryKind::kSettle) {
      return OnHold(dataset, hold);
    }
    if (entry.kind == EntryKind::kReturn) {
      COPPICE_ASSIGN_OR_RETURN(entry.cost, it->second.ReservedFor(entry.job));
    }
    return Write(it->second, std::move(entry), std::move(with));
  }

  // Under either mutex.
  Hold HoldOf(absl::string_view dataset) const {
    const auto it = holds_.find(dataset);
    return it == holds_.end() ? Hold() : it->second;
  }

  // Makes `entry` the next of `book`, one of ours or a new one: checks it, stores it with the
  // caller's writes, and shows it.
  absl::Status Write(const AccountBook& book, LedgerEntry entry, StoreBatch with) {
    COPPICE_RETURN_IF_ERROR(CheckOtherWrites(with));
    COPPICE_RETURN_IF_ERROR(book.Check(entry));
    entry.unix_seconds = clock_();
    const std::string key = LedgerKey(book.dataset(), book.next_sequence());
    std::string value = EncodeEntry(book, entry);
    // What cannot be read back must not be stored: the ledger would not open again.
    absl::StatusOr<LedgerEntry> stored = DecodeEntry(key, value, book);
    if (!stored.ok()) {
      return absl::InvalidArgumentError("the releases' words must be UTF-8 text");
    }
    with.Put(key, std::move(value));
    const absl::Status written = store_.Apply(with);
    if (!written.ok()) {
      in_doubt_.emplace(book.dataset());
      return written;
    }
    Show(book, *std::move(stored));
    return absl::OkStatus();
  }

  void Show(const AccountBook& book, LedgerEntry entry) {
    const std::lock_guard lock(books_mutex_);
    const auto it = books_.find(book.dataset());
    AccountBook& shown = it != books_.end() ? it->second : books_[book.dataset()] = book;
    shown.Append(std::move(entry));
  }

  // A write that failed may be found in the store once that works again, with the caller's part of
  // it. To write another entry in its place would leave that part without its charge: so it counts.
  absl::Status SettleDoubt(absl::string_view dataset) {
    const auto doubt = in_doubt_.find(dataset);
    if (doubt == in_doubt_.end()) return absl::OkStatus();
    const auto it = books_.find(dataset);
    const std::string key = LedgerKey(dataset, it == books_.end() ? 0 : it->second.next_sequence());
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> value, store_.Get(key));
    if (value.has_value()) {
      const std::lock_guard lock(books_mutex_);
      COPPICE_RETURN_IF_ERROR(LoadEntry(key, *value, books_));
    }
    in_doubt_.erase(doubt);
    return absl::OkStatus();
  }

  Store& store_;
  const std::function<int64_t()> clock_;

  std::mutex writer_mutex_;                // held through a write; taken before books_mutex_
  absl::btree_set<std::string> in_doubt_;  // datasets whose last write failed; by writer_mutex_
  // Never held while the disk is waited for. Whoever holds writer_mutex_ may read without it, and
  // nobody else changes books_ and holds_.
  mutable std::mutex books_mutex_;
  AccountBooks books_;
  Holds holds_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(Store& store, std::function<int64_t()> clock) {
  AccountBooks books;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kLedgerPrefix, [&books](absl::string_view key, absl::string_view value) {
        return LoadEntry(key, value, books);
      }));
  Holds holds;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kHoldPrefix, [&holds](absl::string_view key, absl::string_view value) {
        return LoadHold(key, value, holds);
      }));
  // A ledger of which nothing is left: its dataset is shown, can be deleted, and no more.
  for (const auto& [dataset, hold] : holds) {
    if (hold.reason == LedgerHold::kClosed) {
      books.try_emplace(dataset, AccountBook(dataset, BudgetCap()));
    }
  }
  return std::make_unique<StoredLedger>(store, std::move(clock), std::move(books),
                                        std::move(holds));
}

}  // namespace coppice
