#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/models/model_record.h"

namespace coppice::maintenance {
namespace {

// The key of the model with this id. Looks at keys alone, since the model may be damaged, or too
// large to be read. Empty if there is none.
StatusOr<std::string> FindModel(const storage::Store& store, std::string_view id) {
  std::string found;
  const std::string ending = StrCat("/", id);
  for (const std::string_view prefix : {models::kStudyModelsPrefix, models::kJobModelsPrefix}) {
    COPPICE_RETURN_IF_ERROR(
        store.Scan(prefix, [&](std::string_view key, std::string_view /*value*/) {
          if (EndsWith(key, ending)) found = std::string(key);
          return OkStatus();
        }));
  }
  return found;
}

// Puts endpoints that serve the model into quarantine: without it the daemon would not start.
Status DropEndpointsOf(const storage::Store& store, const std::string& id,
                       storage::StoreBatch& batch, std::vector<RepairStep>& done) {
  return store.Scan(models::kEndpointPrefix, [&](std::string_view key, std::string_view bytes) {
    const StatusOr<models::EndpointInfo> info = models::DecodeEndpoint(key, bytes);
    if (!info.ok() || info->versions.back().model != id) return OkStatus();
    batch.Put(StrCat(kQuarantinePrefix, key), std::string(bytes));
    batch.Delete(key);
    done.push_back({.key = std::string(key),
                    .what = StrCat("endpoint ", info->id,
                                   " served the model and is put into "
                                   "quarantine: make it again with another model")});
    return OkStatus();
  });
}

}  // namespace

StatusOr<std::vector<RepairStep>> DropModel(storage::Store& store, const std::string& id,
                                            int64_t now) {
  COPPICE_ASSIGN_OR_RETURN(const std::string key, FindModel(store, id));
  if (key.empty()) return NotFoundError(StrCat("there is no model ", id));
  std::vector<RepairStep> done = {
      {.key = key, .what = StrCat("model ", id, " is deleted; what it cost stays spent")}};
  storage::StoreBatch batch;
  models::DeleteModel(key, batch);
  COPPICE_RETURN_IF_ERROR(DropEndpointsOf(store, id, batch, done));
  COPPICE_ASSIGN_OR_RETURN(const auto log, audit::AuditLog::Open(
                                               store, [now] { return now; }, audit::kOfflineActor));
  COPPICE_RETURN_IF_ERROR(log->Apply(
      std::move(batch),
      {audit::NewAuditEvent(audit::kOfflineActor, "store/drop-model", MakeName(kModels, id))}));
  return done;
}

}  // namespace coppice::maintenance
