#include "server/ledger/ledger.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
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
  for (const auto& [key, value] : with.puts()) touches |= absl::StartsWith(key, kLedgerPrefix);
  for (const std::string& prefix : with.deleted_prefixes()) {
    touches |= absl::StartsWith(prefix, kLedgerPrefix) || absl::StartsWith(kLedgerPrefix, prefix);
  }
  return touches ? absl::InternalError("a caller's writes touch keys of the ledger")
                 : absl::OkStatus();
}

class StoredLedger final : public Ledger {
 public:
  StoredLedger(Store& store, std::function<int64_t()> clock, AccountBooks books)
      : store_(store), clock_(std::move(clock)), books_(std::move(books)) {}

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

  absl::StatusOr<Account> Get(absl::string_view dataset) const override {
    const std::lock_guard lock(books_mutex_);
    const auto it = books_.find(dataset);
    if (it == books_.end()) return NoAccount(dataset);
    const AccountBook& book = it->second;
    return Account{.dataset = book.dataset(),
                   .cap = book.cap(),
                   .spent = book.spent(),
                   .left = LeftOf(book.cap(), book.spent()),
                   .entries = book.entries(),
                   .head = book.head()};
  }

  absl::StatusOr<Quote> Preview(absl::string_view dataset,
                                absl::Span<const Release> planned) const override {
    COPPICE_ASSIGN_OR_RETURN(const Cost cost, CostOf(planned));
    BudgetCap cap;
    Cost spent;
    {
      const std::lock_guard lock(books_mutex_);
      const auto it = books_.find(dataset);
      if (it == books_.end()) return NoAccount(dataset);
      cap = it->second.cap();
      spent = it->second.spent();
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
    if (entry.kind == EntryKind::kReturn) {
      COPPICE_ASSIGN_OR_RETURN(entry.cost, it->second.ReservedFor(entry.job));
    }
    return Write(it->second, std::move(entry), std::move(with));
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
  // nobody else changes books_.
  mutable std::mutex books_mutex_;
  AccountBooks books_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(Store& store, std::function<int64_t()> clock) {
  AccountBooks books;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kLedgerPrefix, [&books](absl::string_view key, absl::string_view value) {
        return LoadEntry(key, value, books);
      }));
  return std::make_unique<StoredLedger>(store, std::move(clock), std::move(books));
}

}  // namespace coppice
