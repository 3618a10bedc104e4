// The privacy budgets of datasets: what each may cost, what its jobs were charged, every release.
//
// Life       a dataset's account is opened with a cap. A job's planned releases are charged in full
//            by Reserve() before it starts, and listed as made by Settle() when it ends; a job that
//            fails, is cancelled or vanishes while running is charged all the same. Only a job that
//            never began may be given back, by Return(): its caller must have made durable that a
//            job begins before it draws noise, or a crash makes one that drew look as if it had
//            not. Nothing closes an account: a deleted dataset keeps its ledger, and its name.
// Guarantee  what is reserved and not returned never passes the cap, whatever runs at the same time
//            and whenever the process or the machine stops. An entry and the caller's puts in
//            `with` are on disk together, or neither, when OK is returned. Entries are only added.
// Planned    costs must not depend on private rows: refusing a job is public. That releases are
//            private for the account's neighbours is for the caller to see to.
// Chain      each entry holds the hash of the one before it, and all are verified by Open(). That
//            finds damage and edits, but not entries missing from the end, nor a ledger rewritten
//            from some entry on: the head hash that Get() shows stands for all entries, so an owner
//            who noted it can tell, by looking for it among the entries' hashes.
// Holds      a store that was restored from a backup, or mended, may lack the last entries of a
//            ledger, and with them what was spent. Whoever does that puts every ledger on hold:
//            nothing is reserved or returned until Confirm(), by somebody who noted the head, or
//            WriteOff(). Until then no answer and no error has the head or any entry's hash. A
//            ledger that was damaged is closed for good: nothing proves that any budget is left.
// Journal    with a SpendingJournal each entry is there, on disk, before it is shown or OK is
//            returned. Open() completes a journal that stands behind the store, as a crash between
//            the two leaves it, and puts a ledger that stands behind the journal on hold. The name
//            of a dataset that spent something and is in the journal alone is taken.
// Errors     as stated; InvalidArgument for bad ids, caps and releases; what the Store returns
//            otherwise. After one of those nothing has changed; but what was to be written may be
//            found, whole, with `with`, once the store works again: an entry then counts, and
//            trying again answers AlreadyExists or FailedPrecondition. Budget may be wasted so,
//            never overspent.
// Threads    safe to share. One write at a time; reading does not wait for the disk.

#ifndef COPPICE_SERVER_LEDGER_LEDGER_H_
#define COPPICE_SERVER_LEDGER_LEDGER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tree/certificate.h"
#include "server/ledger/account.h"
#include "server/ledger/account_book.h"
#include "server/ledger/accounting.h"
#include "server/ledger/spending_journal.h"
#include "server/storage/store.h"

namespace coppice::ledger {

class Ledger {
 public:
  // Loads and verifies every account. DataLoss names the key that does not verify. `clock` returns
  // seconds since 1970 and dates entries, no more. `journal` may be null, and must else outlive it.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(storage::Store& store,
                                                      std::function<int64_t()> clock,
                                                      SpendingJournal* journal = nullptr);
  virtual ~Ledger() = default;

  // `with` holds other writes, none of them to keys of the ledger, that become durable in the same
  // atomic batch.

  // AlreadyExists if the dataset has or had an account, also one that only the journal knows.
  virtual absl::Status OpenAccount(absl::string_view dataset, const BudgetCap& cap,
                                   storage::StoreBatch with) = 0;
  // ResourceExhausted says what is left. AlreadyExists if the job has an entry. NotFound.
  // FailedPrecondition while the ledger is on hold.
  virtual absl::Status Reserve(absl::string_view dataset, absl::string_view job,
                               absl::Span<const Release> planned, storage::StoreBatch with) = 0;
  // The charge stays what was reserved, also if `made` costs less. Internal if it costs more: then
  // nothing is written, the reservation stays, and the job's result must not be shown.
  // FailedPrecondition unless the job has a reservation that is neither settled nor returned.
  virtual absl::Status Settle(absl::string_view dataset, absl::string_view job,
                              absl::Span<const Release> made, storage::StoreBatch with) = 0;
  // Only for a job that never began. FailedPrecondition as above.
  virtual absl::Status Return(absl::string_view dataset, absl::string_view job,
                              storage::StoreBatch with) = 0;

  // Ends a hold, if `head` is the head that the ledger had when it began and no journal knows more:
  // then the caller knows of no entry that is missing. FailedPrecondition otherwise, in the same
  // words for every other head, and for a closed ledger. Not an error if there is no hold.
  virtual absl::Status Confirm(absl::string_view dataset, const Sha256Digest& head) = 0;

  // Charges what lost entries had charged, at most what is left of the cap, and ends the hold, both
  // in one write. Two zeros stand for what the journal says, which is also the least that is taken:
  // InvalidArgument for less, or if no journal says anything. FailedPrecondition without a hold, so
  // that trying again charges nothing, and for a closed ledger.
  virtual absl::Status WriteOff(absl::string_view dataset, uint64_t epsilon_nanos,
                                uint64_t delta_atto) = 0;

  // The datasets that only the journal knows, and what each had spent.
  virtual std::map<std::string, Cost> LostAccounts() const = 0;
  // Lets OpenAccount() take the name of one of them. NotFound if there is none of that name.
  virtual absl::Status FreeName(absl::string_view dataset) = 0;

  virtual absl::StatusOr<Account> Get(absl::string_view dataset) const = 0;
  // What a job would cost. Reserves nothing.
  virtual absl::StatusOr<Quote> Preview(absl::string_view dataset,
                                        absl::Span<const Release> planned) const = 0;
};

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_LEDGER_H_
