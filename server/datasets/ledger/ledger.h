// The privacy budgets of datasets: each dataset's cap, its jobs' charges, and every release.
// docs/storage.md has the format, docs/research/mechanisms.md#ledger the accounting.

#ifndef COPPICE_SERVER_DATASETS_LEDGER_LEDGER_H_
#define COPPICE_SERVER_DATASETS_LEDGER_LEDGER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/certificate.h"
#include "server/datasets/ledger/account.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/datasets/ledger/spending_journal.h"
#include "server/store/store.h"

namespace coppice::ledger {

// Charges jobs for their releases, and keeps every charge.
//
// An account is opened with a cap. Reserve() charges a job's planned releases in full before it
// starts; Settle() lists the releases that it made when it ends. A job that fails, is cancelled or
// vanishes while it runs stays charged. Return() refunds a job that never began: the caller must
// make a job's begin durable before the job draws noise, or a crash makes a job that drew look as
// if it had not. Nothing closes an account: a deleted dataset keeps its ledger and its name.
//
// Planned costs must not depend on private rows, because refusing a job is public. The caller
// ensures that releases are private for the account's neighbours.
//
// Each entry holds the hash of the one before it, and Open() verifies them all. That finds damage
// and edits, but neither entries missing from the end nor a ledger rewritten from some entry on:
// the head hash that Get() shows stands for all entries, and an owner who noted it can look for it.
//
// A store that was restored or repaired may lack the last entries of a ledger, and with them some
// of the spent budget. Such a ledger is on hold: nothing is reserved or returned until Confirm(),
// by somebody who noted the head, or WriteOff(). Until then no answer and no error shows the head
// or any entry's hash. A damaged ledger is closed for good: nothing proves that any budget is left.
//
// With a SpendingJournal, each entry is in the journal, on disk, before it is shown or OK is
// returned. Open() completes a journal that is behind the store, as a crash between the two leaves
// it, and puts a ledger that is behind the journal on hold. If only the journal knows a dataset,
// and it spent something, its name stays taken.
//
// Guarantee  what is reserved and not returned never passes the cap, whatever runs concurrently and
//            whenever the process or the machine stops. An entry and the caller's puts in `with`
//            are on disk together, or neither is, when OK is returned. Entries are only added.
// Errors     as stated; InvalidArgument for bad ids, caps and releases; what the Store returns
//            otherwise. After an error of the Store nothing has changed, but the whole write, with
//            `with`, may turn up once the store works again: the entry then counts, and trying
//            again answers AlreadyExists or FailedPrecondition. This may waste budget but never
//            overspends it.
// Threads    safe to share. One write at a time; reading does not wait for the disk.
class Ledger {
 public:
  // Loads and verifies every account. DataLoss names the key that does not verify. `clock` returns
  // seconds since 1970 and only dates entries. `journal` is null or must outlive the ledger.
  static StatusOr<std::unique_ptr<Ledger>> Open(storage::Store& store,
                                                std::function<int64_t()> clock,
                                                SpendingJournal* journal = nullptr);

  // In these calls `with` holds other writes, none of them to keys of the ledger, that become
  // durable in the same atomic batch.

  // AlreadyExists if the dataset has or had an account, even one that only the journal knows.
  Status OpenAccount(std::string_view dataset, const BudgetCap& cap, storage::StoreBatch with);
  // ResourceExhausted says what is left. AlreadyExists if the job has an entry. NotFound if the
  // dataset has no account. FailedPrecondition while the ledger is on hold.
  Status Reserve(std::string_view dataset, std::string_view job, absl::Span<const Release> planned,
                 storage::StoreBatch with) {
    return Reserve(dataset, Charge{.job = std::string(job)}, planned, std::move(with));
  }
  // The same for a charge to another account, or of an evaluation. InvalidArgument also for a
  // charge to a reserve that there is not.
  Status Reserve(std::string_view dataset, const Charge& charge, absl::Span<const Release> planned,
                 storage::StoreBatch with);
  // The reserved amount stays charged even if `made` costs less. Internal if `made` costs more:
  // nothing is written, the reservation stays, and the job's result must not be shown.
  // FailedPrecondition unless the job has a reservation that is neither settled nor returned.
  Status Settle(std::string_view dataset, std::string_view job, absl::Span<const Release> made,
                storage::StoreBatch with);
  // Only for a job that never began. FailedPrecondition as for Settle().
  Status Return(std::string_view dataset, std::string_view job, storage::StoreBatch with);

  // Ends a hold if `head` is the ledger's head at the time the hold began and no journal knows
  // more: then the caller knows of no missing entry. FailedPrecondition otherwise, with the same
  // message for every wrong head, and for a closed ledger. Not an error if there is no hold.
  Status Confirm(std::string_view dataset, const Sha256Digest& head);

  // Charges what lost entries had charged, at most what is left of the cap, and ends the hold in
  // the same write. With a reserve, both accounts are charged. Two zeros mean the journal's amount,
  // which is also the minimum: InvalidArgument for less, or if no journal has an amount.
  // FailedPrecondition for a closed ledger, and without a hold, so that a repeated call charges
  // nothing.
  Status WriteOff(std::string_view dataset, uint64_t epsilon_nanos, uint64_t delta_atto);

  // The datasets that only the journal knows, and the amount that each had spent.
  std::map<std::string, Cost> LostAccounts() const;
  // Lets OpenAccount() take the name of one of these datasets. NotFound if none has that name.
  Status FreeName(std::string_view dataset);

  // A ledger grows without end: callers that need few entries should ask for these.
  StatusOr<Account> Get(std::string_view dataset, const EntryRange& entries = kAllEntries) const;
  // Returns the cap alone.
  StatusOr<BudgetCap> CapOf(std::string_view dataset) const;
  // Returns what a job would cost. Reserves nothing.
  StatusOr<Quote> Preview(std::string_view dataset, absl::Span<const Release> planned,
                          AccountKind account = AccountKind::kTraining) const;

 private:
  Ledger(storage::Store& store, std::function<int64_t()> clock, SpendingJournal* journal,
         AccountBooks books, Holds holds)
      : store_(store),
        clock_(std::move(clock)),
        journal_(journal),
        books_(std::move(books)),
        holds_(std::move(holds)) {}

  // Compares every book with the journal before anything is charged.
  Status Reconcile();
  Status Reconcile(const AccountBook& book, absl::Span<const SpendingLine> lines)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_, books_mutex_);

  Status Add(std::string_view dataset, LedgerEntry entry, storage::StoreBatch with);

  // Null if there is none. Only a writer changes a book, so it is stable under writer_mutex_.
  const AccountBook* FindBook(std::string_view dataset) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  std::optional<Cost> FindLostAccount(std::string_view dataset) const;
  LedgerHold HoldOf(std::string_view dataset) const;
  LedgerHold HoldIn(std::string_view dataset) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(books_mutex_);

  // Makes `entry` the next one of `book`, which is one of ours or a new one: checks it, stores it
  // with the caller's writes, and shows it.
  Status Write(const AccountBook& book, LedgerEntry entry, storage::StoreBatch with)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Notes a stored entry in the journal; the entry is shown only once the journal has it.
  Status Note(const AccountBook& book, const LedgerEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  void Show(const AccountBook& book, LedgerEntry entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // Does the same as Note() and Show(), for a book that already contains its last entry.
  Status NoteAndReplace(AccountBook book) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);
  // A failed write may turn up in the store once the store works again, with the caller's part.
  // Writing another entry in its place would leave that part without a charge, so it counts.
  Status ResolveUnresolvedWrite(std::string_view dataset)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mutex_);

  storage::Store& store_;
  const std::function<int64_t()> clock_;
  SpendingJournal* const journal_ ABSL_PT_GUARDED_BY(writer_mutex_);  // null: none

  Mutex writer_mutex_;  // held through every write; taken before books_mutex_
  // Datasets whose last write failed.
  StringSet unresolved_ ABSL_GUARDED_BY(writer_mutex_);
  // Never held while waiting for the disk, so that reading does not wait for it. What it guards
  // changes only under both mutexes.
  mutable Mutex books_mutex_;
  AccountBooks books_ ABSL_GUARDED_BY(books_mutex_);
  Holds holds_ ABSL_GUARDED_BY(books_mutex_);
  std::map<std::string, Cost> lost_accounts_ ABSL_GUARDED_BY(books_mutex_);
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_LEDGER_H_
