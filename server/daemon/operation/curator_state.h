// The state of a store that a curator holds in memory.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_CURATOR_STATE_H_
#define COPPICE_SERVER_DAEMON_OPERATION_CURATOR_STATE_H_

#include <memory>
#include <optional>

#include "common/base/status.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/studies/studies.h"
#include "server/daemon/config/options.h"
#include "server/daemon/transport/server.h"
#include "server/datasets/datasets.h"
#include "server/datasets/jobs.h"
#include "server/datasets/ledger/ledger.h"
#include "server/datasets/ledger/spending_journal.h"
#include "server/process/log.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/discreet_store.h"
#include "server/store/models/endpoints.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::daemon {

// Studies, models, endpoints, datasets, jobs, the ledger and the audit log of one store.
//
// Guarantee  A store of a newer version stays untouched. Once it is loaded, no part returns an
// error with the
//            words of the store's engine; these are in `log`.
// Errors     Those of each part's Open(). DataLoss names the record.
class CuratorState {
 public:
  // `store` and `log` must outlive it. `journal` may be null.
  static StatusOr<std::unique_ptr<CuratorState>> Load(
      const CuratorOptions& options, const service::BackupSettings& backups,
      const curator::SigningKeys& signing_keys, std::unique_ptr<ledger::SpendingJournal> journal,
      storage::Store& store, const Log& log);

  CuratorState(const CuratorState&) = delete;
  CuratorState& operator=(const CuratorState&) = delete;

  const Curator& parts() const { return *parts_; }
  audit::AuditLog& audit() const { return *audit_; }

 private:
  CuratorState() = default;

  Status OpenStudies(const CuratorOptions& options, const curator::SigningKeys& signing_keys,
                     storage::Store& store);
  Status OpenDatasets(const CuratorOptions& options, storage::Store& store, const Log& log);

  // The owner of the study or job that made a model.
  std::string OwnerOf(const std::string& source) const;

  // Each member uses those above it.
  std::unique_ptr<storage::DiscreetStore> store_;
  std::unique_ptr<ledger::SpendingJournal> journal_;
  std::unique_ptr<audit::AuditLog> audit_;
  models::Models models_;
  std::unique_ptr<curator::Studies> studies_;
  std::unique_ptr<models::Endpoints> endpoints_;
  std::unique_ptr<audit::AuditedStore> audited_store_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<central::Datasets> datasets_;
  std::unique_ptr<central::Jobs> jobs_;
  std::unique_ptr<central::Evaluations> evaluations_;
  std::optional<Curator> parts_;
};

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_CURATOR_STATE_H_
