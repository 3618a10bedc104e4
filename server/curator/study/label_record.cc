#include "server/curator/study/label_record.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/public_values.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/join_rows.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

struct Wanted {
  const StudyDefinition& definition;
  const LocalMechanism& of_label;
  const std::optional<EncodedValue>& where;
  uint64_t fitting = 0;  // reports
};

// The features of the report's row; nothing if they cannot be found.
StatusOr<std::optional<Row>> FeaturesOf(const storage::Store& store,
                                        const StudyDefinition& definition,
                                        std::string_view public_values) {
  if (definition.form->report().ShowsId()) {
    const std::optional<JoinId> id = JoinIdFromBytes(public_values);
    if (!id.has_value()) return std::optional<Row>();
    return FindJoinRow(store, definition, *id);
  }
  StatusOr<Row> row =
      DecodePublicValues(*definition.terms->schema, definition.forest->front(), public_values);
  if (!row.ok()) return std::optional<Row>();
  return std::make_optional(*std::move(row));
}

Status AddStored(const storage::Store& store, std::string_view key,
                 const v1::LabelReportsRecord::Report& report, const Wanted& wanted, bool fits,
                 StoredLabels& labels) {
  const StudyDefinition& definition = wanted.definition;
  const LocalMechanism& mechanism = wanted.of_label;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                           FeaturesOf(store, definition, report.public_values()));
  if (!row.has_value() || !mechanism.Check(report.payload()).ok() ||
      report.column() >= mechanism.columns() || report.tree() >= definition.forest->size()) {
    return storage::CorruptRecord(key, "holds a report that was never accepted");
  }
  if (wanted.where && !wanted.where->Holds(*row)) return OkStatus();
  ++labels.found;
  if (!fits) return OkStatus();
  const Schema& schema = labels.rows.schema();
  if (schema.target().has_value()) {
    labels.rows.AppendTarget(*row, kMissingValue);
  } else {
    labels.rows.Append(*row, kUnlabelled);
  }
  std::vector<double> margins =
      LabelMargins(schema, mechanism, {.payload = report.payload(), .column = report.column()});
  const Tree& tree = (*definition.forest)[report.tree()];
  if (schema.target().has_value()) labels.tree_of.push_back(static_cast<uint16_t>(report.tree()));
  if (tree.centres().has_value()) {
    const NumberRange range = AnswerRange(*definition.terms, tree, tree.FindLeaf(*row));
    margins[0] = MoveMargin(margins[0], range, *definition.terms->rounding);
  }
  for (size_t k = 0; k < margins.size(); ++k) labels.margins[k].push_back(margins[k]);
  return OkStatus();
}

}  // namespace

std::string EncodeLabels(absl::Span<const LabelReport> reports) {
  v1::LabelReportsRecord record;
  for (const LabelReport& report : reports) {
    v1::LabelReportsRecord::Report& stored = *record.add_reports();
    stored.set_public_values(std::string(report.public_values));
    stored.set_payload(std::string(report.payload));
    stored.set_column(report.column);
    stored.set_tree(report.tree);
  }
  return record.SerializeAsString();
}

StatusOr<StoredLabels> LoadLabels(const storage::Store& store, const Study& study, uint64_t reports,
                                  const std::optional<EncodedValue>& where) {
  const std::shared_ptr<const Schema>& schema = study.definition().terms->schema;
  StoredLabels labels = {.rows = Table(schema),
                         .margins = RowColumns(MarginColumns(schema->num_outputs()))};
  const Wanted wanted = {
      .definition = study.definition(),
      .of_label = study.form().mechanism(0),
      .where = where,
      .fitting = std::max<uint64_t>(kMaxLabelValues / schema->num_features(), 1)};
  // All reports with the value are counted, even if they do not fit.
  const uint64_t looked_at = where ? reports : std::min(reports, wanted.fitting);
  if (!where) labels.rows.Reserve(looked_at);
  uint64_t seen = 0;
  const auto add = [&](std::string_view key, std::string_view bytes) -> Status {
    // Skips reports that were counted later or do not fit.
    if (seen >= looked_at) return OkStatus();
    COPPICE_ASSIGN_OR_RETURN(const auto record,
                             storage::ParseRecord<v1::LabelReportsRecord>(key, bytes));
    const bool fits = labels.rows.num_rows() < wanted.fitting;
    for (const v1::LabelReportsRecord::Report& report : record.reports()) {
      COPPICE_RETURN_IF_ERROR(AddStored(store, key, report, wanted, fits, labels));
    }
    seen += static_cast<uint64_t>(record.reports_size());
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(store.Scan(LabelsPrefix(study.id()), add));
  if (seen == reports || (looked_at < reports && seen >= looked_at)) return labels;
  return storage::CorruptRecord(LabelsPrefix(study.id()),
                                "does not have one label a counted report");
}

}  // namespace coppice::curator
