// A privacy budget that fits in this process share, or in several by way of a file.

#ifndef COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_
#define COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/model/certificate.h"
#include "server/datasets/ledger/account.h"
#include "server/datasets/ledger/accounting.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/memory_store.h"

namespace coppice::python {

// The account is the curator's own (server/datasets/ledger): entries are chained by hashes, and a
// fit is charged in full before it draws any noise. In a file it is read, changed and written whole
// under its lock, so that processes take turns. A file is made by Open() alone: one that is gone,
// or that lacks what this object saw, is refused.
//
// Guarantee  what all fits were charged never passes the cap, whatever runs at the same time and
//            whenever a process stops. A charge is on disk before Reserve() returns OK. A file that
//            is replaced by an older copy goes unnoticed by whoever opens it anew.
// Errors     Open(): InvalidArgument if the file's cap is another one, or it has several names;
//            DataLoss if the file does not verify; Unavailable if it cannot be read or locked.
//            Reserve(): ResourceExhausted, saying what is left. FailedPrecondition in another
//            process than Open()'s, as after a fork. Otherwise as Ledger, and what `interrupted`
//            returns while the lock is waited for.
// Threads    safe to share.
class Accountant {
 public:
  // With an empty path the account is in memory. Unless `may_create`, a file must be there.
  static StatusOr<std::unique_ptr<Accountant>> Open(const std::string& path,
                                                    const ledger::BudgetCap& cap, bool may_create,
                                                    CancelCheck interrupted);

  const std::string& path() const { return path_; }
  const ledger::BudgetCap& cap() const { return cap_; }

  Status Reserve(const std::string& fit, absl::Span<const Release> planned);
  Status Settle(const std::string& fit, absl::Span<const Release> made);
  StatusOr<ledger::Account> Get();

 private:
  Accountant(std::string path, const ledger::BudgetCap& cap, CancelCheck interrupted);

  // Runs `use` on the ledger as it is now, and keeps what that changed.
  Status WithLedger(absl::FunctionRef<Status(ledger::Ledger&)> use, bool may_create = false);
  // Makes `pairs_` what the file holds.
  Status ReadFileAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const ledger::BudgetCap cap_;
  const CancelCheck interrupted_;
  const pid_t process_;
  Mutex mutex_;
  storage::MemoryStore::Pairs pairs_ ABSL_GUARDED_BY(mutex_);  // as this object saw them last
};

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_ACCOUNTANT_H_
