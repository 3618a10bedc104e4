#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "server/store/audit_log/audit_log.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/models/model_record.h"

namespace coppice::maintenance {
namespace {

// The key of the model with this id. Looks at keys alone, since the model may be damaged, or too
// large to be read. Empty if there is none.
absl::StatusOr<std::string> FindModel(const storage::Store& store, absl::string_view id) {
  std::string found;
  const std::string ending = absl::StrCat("/", id);
  for (const absl::string_view prefix : {models::kStudyModelsPrefix, models::kJobModelsPrefix}) {
    COPPICE_RETURN_IF_ERROR(
        store.Scan(prefix, [&](absl::string_view key, absl::string_view /*value*/) {
          if (absl::EndsWith(key, ending)) found = std::string(key);
          return absl::OkStatus();
        }));
  }
  return found;
}

// Puts endpoints that serve the model into quarantine: without it the daemon would not start.
absl::Status DropEndpointsOf(const storage::Store& store, const std::string& id,
                             storage::StoreBatch& batch, std::vector<RepairStep>& done) {
  return store.Scan(models::kEndpointPrefix, [&](absl::string_view key, absl::string_view bytes) {
    const absl::StatusOr<models::EndpointInfo> info = models::DecodeEndpoint(key, bytes);
    if (!info.ok() || info->versions.back().model != id) return absl::OkStatus();
    batch.Put(absl::StrCat(kQuarantinePrefix, key), std::string(bytes));
    batch.Delete(key);
    done.push_back({.key = std::string(key),
                    .what = absl::StrCat("endpoint ", info->id,
                                         " served the model and is put into "
                                         "quarantine: make it again with another model")});
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::vector<RepairStep>> DropModel(storage::Store& store, const std::string& id,
                                                  int64_t now) {
  COPPICE_ASSIGN_OR_RETURN(const std::string key, FindModel(store, id));
  if (key.empty()) return absl::NotFoundError(absl::StrCat("there is no model ", id));
  std::vector<RepairStep> done = {
      {.key = key, .what = absl::StrCat("model ", id, " is deleted; what it cost stays spent")}};
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
