#include "server/curator/studies/models_with_lost_reports.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/store_record.h"

namespace coppice::curator {

std::string EncodeOutlived(const ModelReports& model, uint64_t left_in_study,
                           int64_t unix_seconds) {
  v1::OutlivedModelRecord record;
  record.set_unix_seconds(unix_seconds);
  record.set_model_reports(model.reports);
  record.set_study_reports(left_in_study);
  return record.SerializeAsString();
}

Status ModelsWithLostReports::Load(const storage::Store& store) {
  return store.Scan(kOutlivedPrefix, [this](std::string_view key, std::string_view bytes) {
    return Add(key, bytes);
  });
}

Status ModelsWithLostReports::Add(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::OutlivedModelRecord record,
                           storage::ParseRecord<v1::OutlivedModelRecord>(key, bytes));
  reports_[std::string(key)] = record.model_reports();
  return OkStatus();
}

bool ModelsWithLostReports::Has(const ModelReports& model) const {
  const auto found = reports_.find(OutlivedKey(model.study, model.model));
  return found != reports_.end() && found->second == model.reports;
}

}  // namespace coppice::curator
