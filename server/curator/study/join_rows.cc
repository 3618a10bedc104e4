#include "server/curator/study/join_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/public_values.h"
#include "common/wire/field_error.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

// Encodes all features as reports encode public ones. Any tree will do, as all are public.
std::string EncodeFeatures(const StudyDefinition& definition, RowView row) {
  return EncodePublicValues(*definition.terms->schema, definition.forest->front(), row);
}

StatusOr<Row> DecodeFeatures(const StudyDefinition& definition, std::string_view key,
                             std::string_view bytes) {
  StatusOr<Row> row =
      DecodePublicValues(*definition.terms->schema, definition.forest->front(), bytes);
  if (!row.ok()) return storage::CorruptRecord(key, "does not fit the study's schema");
  return row;
}

Status HasOtherFeatures(size_t i, std::string_view id) {
  return InField(
      ElementName("rows", i),
      InvalidArgumentError(StrCat("id \"", Printable(id),
                                  "\" has other features already, which stay: a report of it may "
                                  "have been counted; nothing of this call was added")));
}

}  // namespace

Status CheckJoinRows(const StudyDefinition& definition, absl::Span<const JoinRow> rows) {
  if (!definition.form->report().ShowsId()) {
    return FailedPreconditionError(
        StrCat("study ", definition.terms->study,
               " is not joined by an id: its devices send their own features"));
  }
  if (rows.empty() || rows.size() > kMaxJoinRowsPerCall) {
    return FieldError("rows",
                      StrCat("must be 1 to ", kMaxJoinRowsPerCall, " a call, are ", rows.size()));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Status status = CheckJoinId(rows[i].id);
    if (status.ok()) status = definition.terms->schema->Validate(rows[i].row);
    if (!status.ok()) return InField(ElementName("rows", i), status);
  }
  return OkStatus();
}

StatusOr<uint64_t> PutJoinRows(const storage::Store& store, const Study& study,
                               absl::Span<const JoinRow> rows, storage::StoreBatch& batch) {
  const StudyDefinition& definition = study.definition();
  StringMap<std::string> added;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string key = JoinKey(study.id(), JoinIdOf(study.id(), rows[i].id));
    std::string features = EncodeFeatures(definition, rows[i].row);
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> stored, store.Get(key));
    if (stored.has_value()) {
      if (*stored != features) return HasOtherFeatures(i, rows[i].id);
      continue;
    }
    const auto [entry, is_new] = added.try_emplace(std::move(key), features);
    if (!is_new && entry->second != features) return HasOtherFeatures(i, rows[i].id);
  }
  const uint64_t count = study.join_rows() + added.size();
  if (added.empty()) return count;
  v1::JoinCountRecord record;
  record.set_rows(count);
  batch.Put(JoinCountKey(study.id()), record.SerializeAsString());
  for (auto& [key, features] : added) batch.Put(key, std::move(features));
  return count;
}

Status StoreJoinRows(storage::Store& store, Study& study, const storage::StoreBatch& batch,
                     uint64_t count) {
  if (study.life().Admission() != ReportOutcome::kAccepted) {
    return FailedPreconditionError(
        StrCat("the study ", study.id(), " is sealed or deleted: no id is added to it"));
  }
  if (!batch.puts().empty()) COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  study.SetJoinRows(count);
  return OkStatus();
}

StatusOr<std::optional<Row>> FindJoinRow(const storage::Store& store,
                                         const StudyDefinition& definition, const JoinId& id) {
  const std::string key = JoinKey(definition.terms->study, id);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> features, store.Get(key));
  if (!features.has_value()) return std::optional<Row>();
  COPPICE_ASSIGN_OR_RETURN(Row row, DecodeFeatures(definition, key, *features));
  return std::make_optional(std::move(row));
}

StatusOr<uint64_t> LoadJoinCount(const storage::Store& store, std::string_view study) {
  const std::string key = JoinCountKey(study);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) return 0;
  COPPICE_ASSIGN_OR_RETURN(const auto record,
                           storage::ParseRecord<v1::JoinCountRecord>(key, *bytes));
  return record.rows();
}

StatusOr<absl::flat_hash_set<JoinId>> LoadAnsweredIds(const storage::Store& store,
                                                      std::string_view study) {
  absl::flat_hash_set<JoinId> answered;
  const auto add = [&](std::string_view key, std::string_view bytes) -> Status {
    COPPICE_ASSIGN_OR_RETURN(const auto record,
                             storage::ParseRecord<v1::LabelReportsRecord>(key, bytes));
    for (const v1::LabelReportsRecord::Report& report : record.reports()) {
      const std::optional<JoinId> id = JoinIdFromBytes(report.public_values());
      if (!id.has_value() || !answered.insert(*id).second) {
        return storage::CorruptRecord(key, "has a report without an id, or an id twice");
      }
    }
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(store.Scan(LabelsPrefix(study), add));
  return answered;
}

Status CheckStoredJoinRows(const storage::Store& store, const Study& study) {
  const std::string count_key = JoinCountKey(study.id());
  uint64_t rows = 0;
  const auto check = [&](std::string_view key, std::string_view bytes) -> Status {
    if (key == count_key) return OkStatus();
    ++rows;
    return DecodeFeatures(study.definition(), key, bytes).status();
  };
  COPPICE_RETURN_IF_ERROR(store.Scan(JoinPrefix(study.id()), check));
  if (rows == study.join_rows()) return OkStatus();
  return storage::CorruptRecord(count_key,
                                StrCat("says ", study.join_rows(), " rows, and there are ", rows));
}

}  // namespace coppice::curator
