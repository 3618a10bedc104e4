// A privacy budget that fits in this process share, or in several by way of a file.

#ifndef COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_
#define COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/tree/certificate.h"
#include "server/ledger/account.h"
#include "server/ledger/accounting.h"
#include "server/ledger/ledger.h"
#include "server/storage/memory_store.h"

namespace coppice::python {

// The account is the curator's own (server/ledger): entries are chained by hashes, and a fit is
// charged in full before it draws any noise. In a file it is read, changed and written whole under
// a lock, so that processes take turns; the lock is a file of its own beside it.
//
// Guarantee  what all fits were charged never passes the cap, whatever runs at the same time and
//            whenever a process stops. A charge is on disk before Reserve() returns OK.
// Errors     Open(): InvalidArgument if the file's cap is another one; DataLoss if the file does
//            not verify; Unavailable if it cannot be read or locked. Reserve(): ResourceExhausted,
//            saying what is left. Otherwise as Ledger.
// Threads    safe to share.
class Accountant {
 public:
  // With an empty path the account is in memory.
  static absl::StatusOr<std::unique_ptr<Accountant>> Open(const std::string& path,
                                                          const ledger::BudgetCap& cap);

  const std::string& path() const { return path_; }
  const ledger::BudgetCap& cap() const { return cap_; }

  absl::Status Reserve(const std::string& fit, absl::Span<const Release> planned);
  absl::Status Settle(const std::string& fit, absl::Span<const Release> made);
  absl::StatusOr<ledger::Account> Get();

 private:
  Accountant(std::string path, const ledger::BudgetCap& cap) : path_(std::move(path)), cap_(cap) {}

  // Runs `use` on the ledger as it is now, and keeps what that changed.
  absl::Status WithLedger(absl::FunctionRef<absl::Status(ledger::Ledger&)> use);

  const std::string path_;
  const ledger::BudgetCap cap_;
  Mutex mutex_;
  storage::MemoryStore::Pairs pairs_ ABSL_GUARDED_BY(mutex_);  // of an account in memory
};

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_
