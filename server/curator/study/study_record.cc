#include "server/curator/study/study_record.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/study/join_rows.h"
#include "server/curator/study/partition_message.h"
#include "server/curator/study/study_settings.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

// Records store a state by its number on the wire.
static_assert(static_cast<int>(StudyState::kOpen) == v1::STUDY_STATE_OPEN);
static_assert(static_cast<int>(StudyState::kSealed) == v1::STUDY_STATE_SEALED);
static_assert(static_cast<int>(StudyState::kBuilt) == v1::STUDY_STATE_BUILT);

StatusOr<StudyDefinition> DecodeDefinition(std::string_view id, v1::StudyRecord& record) {
  const std::string key = StudyKey(id);
  const StatusOr<PartitionOptions> partition = ParsePartitionOptions(record.partition());
  if (!partition.ok()) return storage::CorruptRecord(key, "has an unknown split rule or criterion");
  StatusOr<StudyDefinition> definition =
      DefinitionFromTerms(std::move(*record.mutable_terms()),
                          PackTrees({record.trees().begin(), record.trees().end()}), *partition);
  if (!definition.ok()) return storage::CorruptRecord(key, definition.status().message());
  if (definition->terms->study != id)
    return storage::CorruptRecord(key, "has the terms of another study");
  definition->created_unix_seconds = record.created_unix_seconds();
  definition->public_rows = record.public_rows();
  definition->request_id = record.request_id();
  definition->request_hash = record.request_hash();
  definition->owner = record.owner();
  definition->choice = record.choice();
  const StatusOr<StudySettings> settings = ParseStudySettings(record.settings());
  if (!settings.ok()) return storage::CorruptRecord(key, settings.status().message());
  definition->settings = *settings;
  return definition;
}

StatusOr<StudyLife> DecodeLife(std::string_view key, const v1::StudyRecord& record) {
  if (record.state() < v1::STUDY_STATE_OPEN || record.state() > v1::STUDY_STATE_BUILT) {
    return storage::CorruptRecord(key, "has an unknown state");
  }
  if (record.expired() && record.state() == v1::STUDY_STATE_OPEN) {
    return storage::CorruptRecord(key, "is open although its time was over");
  }
  if (record.retired() && record.state() == v1::STUDY_STATE_OPEN) {
    return storage::CorruptRecord(key, "is open although it is retired");
  }
  if (record.final_model().empty() != (record.state() != v1::STUDY_STATE_BUILT)) {
    return storage::CorruptRecord(key, "is built without a final model, or has one and is not");
  }
  return StudyLife{.state = static_cast<StudyState>(record.state()),
                   .sealed_unix_seconds = record.sealed_unix_seconds(),
                   .expired = record.expired(),
                   .final_model = record.final_model(),
                   .retired = record.retired(),
                   .seen_early = !record.unseen()};
}

// The last part of the key of a tree's sums is the tree's number.
StatusOr<uint32_t> TreeOfKey(std::string_view id, std::string_view key, size_t num_trees) {
  uint32_t tree = 0;
  if (!SimpleAtoi(StripPrefix(key, SumsPrefix(id)), &tree) || tree >= num_trees) {
    return storage::CorruptRecord(key, "is of a tree that the study does not have");
  }
  return tree;
}

// Replaces the sums that have a record; trees without reports have none.
Status LoadSums(const storage::Store& store, std::string_view id, std::vector<SharedSums>& sums) {
  return store.Scan(SumsPrefix(id), [&](std::string_view key, std::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(const uint32_t tree, TreeOfKey(id, key, sums.size()));
    COPPICE_ASSIGN_OR_RETURN(const v1::SumsRecord record,
                             storage::ParseRecord<v1::SumsRecord>(key, bytes));
    if (static_cast<size_t>(record.sums_size()) != sums[tree]->sums.size()) {
      return storage::CorruptRecord(key, "has the wrong number of sums");
    }
    sums[tree] = std::make_shared<const TreeSums>(TreeSums{
        .sums = {record.sums().begin(), record.sums().end()}, .reports = record.reports()});
    return OkStatus();
  });
}

bool IsRejection(int outcome) {
  return outcome >= v1::REPORT_OUTCOME_UNKNOWN_STUDY && outcome <= v1::REPORT_OUTCOME_UNKNOWN_ID;
}

StatusOr<Counts> CountsOf(std::string_view key, const v1::CountsRecord& record) {
  Counts counts;
  counts.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)] = record.accepted();
  counts.outcomes[static_cast<size_t>(ReportOutcome::kDuplicate)] = record.duplicate();
  for (const v1::ReportCount& rejected : record.rejected()) {
    if (!IsRejection(rejected.outcome()) || counts.outcomes[rejected.outcome()] != 0) {
      return storage::CorruptRecord(key, "has a reason that there is not, or one twice");
    }
    counts.outcomes[rejected.outcome()] = rejected.reports();
  }
  counts.answered = record.received();
  if (counts.answered != counts.Sum()) {
    return storage::CorruptRecord(
        key, "does not add up: accepted, duplicate and rejected are not received");
  }
  return counts;
}

StatusOr<StudyProgress> LoadProgress(const storage::Store& store, std::string_view id,
                                     const StudyDefinition& definition, StudyLife life) {
  StudyProgress progress = NoProgress(definition);
  progress.life = std::move(life);
  COPPICE_RETURN_IF_ERROR(LoadSums(store, id, progress.sums));
  const std::string key = CountsKey(id);
  COPPICE_ASSIGN_OR_RETURN(const v1::CountsRecord record,
                           storage::ReadRecord<v1::CountsRecord>(store, key));
  COPPICE_ASSIGN_OR_RETURN(progress.counts, CountsOf(key, record));
  uint64_t reports = 0;
  for (const SharedSums& sums : progress.sums) reports += sums->reports;
  if (progress.life.retired) {
    progress.sums.clear();
  } else if (record.accepted() != reports) {
    return storage::CorruptRecord(key, "does not add up with the reports in the sums");
  }
  return progress;
}

Status SpendStored(std::string_view key, TicketSerial ticket, SpentTickets& spent) {
  return spent.Insert(ticket) ? OkStatus() : storage::CorruptRecord(key, "counts a ticket twice");
}

Status DecodeSpent(std::string_view key, std::string_view bytes, SpentTickets& spent) {
  COPPICE_ASSIGN_OR_RETURN(const v1::SpentRecord record,
                           storage::ParseRecord<v1::SpentRecord>(key, bytes));
  for (const v1::SpentRecord::Run& run : record.runs()) {
    uint64_t low = 0;
    for (const int64_t step : run.steps()) {
      low += static_cast<uint64_t>(step);
      COPPICE_RETURN_IF_ERROR(SpendStored(key, absl::MakeUint128(run.run(), low), spent));
    }
  }
  return OkStatus();
}

StatusOr<SpentTickets> LoadSpentTickets(const storage::Store& store, std::string_view id) {
  SpentTickets spent;
  const auto add = [&](std::string_view key, std::string_view bytes) {
    return DecodeSpent(key, bytes, spent);
  };
  COPPICE_RETURN_IF_ERROR(store.Scan(SpentPrefix(id), add));
  return spent;
}

// Loads the spent tickets of a study that still looks tickets up.
Status LoadSpent(const storage::Store& store, Study& study) {
  if (study.life().Get().state != StudyState::kOpen && !study.batches().has_stored()) {
    return OkStatus();
  }
  COPPICE_ASSIGN_OR_RETURN(study.committer().spent, LoadSpentTickets(store, study.id()));
  if (study.committer().spent.size() == study.sums().counts().of(ReportOutcome::kAccepted)) {
    return OkStatus();
  }
  return storage::CorruptRecord(SpentPrefix(study.id()),
                                "does not have one ticket a counted report");
}

Status LoadSealingKeys(const storage::Store& store, Study& study) {
  const StudyLife life = study.life().Get();
  if (!study.definition().settings.relay.has_value() || life.retired) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(SealingKeys keys, SealingKeys::Load(store, study.id()));
  if (keys.erased() && life.state == StudyState::kOpen) {
    return storage::CorruptRecord(SealingPrefix(study.id()), "is erased, and the study is open");
  }
  study.keys().Set(std::move(keys));
  return OkStatus();
}

// Loads the number of joined rows and, while the study is open, the counted ids.
Status LoadJoined(const storage::Store& store, Study& study) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t rows, LoadJoinCount(store, study.id()));
  study.SetJoinRows(rows);
  if (study.life().Get().state != StudyState::kOpen) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(study.committer().answered_ids, LoadAnsweredIds(store, study.id()));
  if (study.committer().answered_ids.size() == study.sums().counts().of(ReportOutcome::kAccepted)) {
    return OkStatus();
  }
  return storage::CorruptRecord(LabelsPrefix(study.id()), "does not have one id a counted report");
}

}  // namespace

std::string EncodeStudy(const StudyDefinition& definition, const StudyLife& life) {
  v1::StudyRecord record;
  record.set_terms(*definition.terms_bytes);
  for (const std::string& tree : definition.packed_forest->trees) record.add_trees(tree);
  record.set_state(static_cast<v1::StudyState>(life.state));
  record.set_created_unix_seconds(definition.created_unix_seconds);
  *record.mutable_partition() = ToProto(definition.partition);
  record.set_public_rows(definition.public_rows);
  record.set_request_id(definition.request_id);
  record.set_request_hash(definition.request_hash);
  record.set_owner(definition.owner);
  record.set_choice(definition.choice);
  *record.mutable_settings() = ToProto(definition.settings);
  record.set_sealed_unix_seconds(life.sealed_unix_seconds);
  record.set_expired(life.expired);
  record.set_final_model(life.final_model);
  record.set_retired(life.retired);
  record.set_unseen(!life.seen_early);
  return record.SerializeAsString();
}

std::string EncodeRows(const Table& rows) {
  v1::PublicRowsRecord record;
  const size_t features = rows.schema().num_features();
  record.mutable_values()->Reserve(static_cast<int>(rows.num_rows() * features));
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    for (size_t feature = 0; feature < features; ++feature) {
      record.add_values(rows.value(row, feature));
    }
    if (rows.schema().target()) {
      record.add_numbers(rows.target(row));
    } else {
      record.add_labels(rows.label(row));
    }
  }
  return record.SerializeAsString();
}

std::string EncodeCounts(const Counts& counts) {
  v1::CountsRecord record;
  record.set_accepted(counts.of(ReportOutcome::kAccepted));
  record.set_duplicate(counts.of(ReportOutcome::kDuplicate));
  record.set_received(counts.answered);
  for (size_t outcome = 0; outcome < counts.outcomes.size(); ++outcome) {
    if (!IsRejection(static_cast<int>(outcome)) || counts.outcomes[outcome] == 0) continue;
    v1::ReportCount& rejected = *record.add_rejected();
    rejected.set_outcome(static_cast<v1::ReportOutcome>(outcome));
    rejected.set_reports(counts.outcomes[outcome]);
  }
  return record.SerializeAsString();
}

StatusOr<Counts> DecodeCounts(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::CountsRecord record,
                           storage::ParseRecord<v1::CountsRecord>(key, bytes));
  return CountsOf(key, record);
}

std::string EncodeSums(const TreeSums& sums) {
  v1::SumsRecord record;
  record.mutable_sums()->Assign(sums.sums.begin(), sums.sums.end());
  record.set_reports(sums.reports);
  return record.SerializeAsString();
}

std::string EncodeSpent(absl::Span<const TicketSerial> tickets) {
  v1::SpentRecord record;
  v1::SpentRecord::Run* run = nullptr;
  uint64_t before = 0;
  for (const TicketSerial ticket : tickets) {
    const uint64_t low = absl::Uint128Low64(ticket);
    if (run == nullptr || run->run() != absl::Uint128High64(ticket)) {
      run = record.add_runs();
      run->set_run(absl::Uint128High64(ticket));
      before = 0;
    }
    run->add_steps(static_cast<int64_t>(low - before));
    before = low;
  }
  return record.SerializeAsString();
}

storage::StoreBatch FirstRecordsOf(const StudyDefinition& definition, const StudyProgress& progress,
                                   const Table& rows) {
  const std::string& id = definition.terms->study;
  storage::StoreBatch batch;
  batch.Put(StudyKey(id), EncodeStudy(definition, progress.life));
  batch.Put(CountsKey(id), EncodeCounts(progress.counts));
  batch.Put(RowsKey(id), EncodeRows(rows));
  return batch;
}

StudyOrigin OriginOf(const Study& study) {
  return {.owner = study.definition().owner, .request_id = study.definition().request_id};
}

std::string EncodeTombstone(const StudyOrigin& origin, int64_t deleted_unix_seconds) {
  v1::TombstoneRecord record;
  record.set_request_id(origin.request_id);
  record.set_owner(origin.owner);
  record.set_deleted_unix_seconds(deleted_unix_seconds);
  return record.SerializeAsString();
}

StatusOr<std::shared_ptr<Study>> LoadStudy(const storage::Store& store, std::string_view id,
                                           std::string_view bytes) {
  const std::string key = StudyKey(id);
  COPPICE_ASSIGN_OR_RETURN(v1::StudyRecord record,
                           storage::ParseRecord<v1::StudyRecord>(key, bytes));
  COPPICE_ASSIGN_OR_RETURN(StudyLife life, DecodeLife(key, record));
  COPPICE_ASSIGN_OR_RETURN(StudyDefinition definition, DecodeDefinition(id, record));
  COPPICE_ASSIGN_OR_RETURN(StudyProgress progress,
                           LoadProgress(store, id, definition, std::move(life)));
  auto study = std::make_shared<Study>(std::move(definition), std::move(progress));
  COPPICE_RETURN_IF_ERROR(LoadSealingKeys(store, *study));
  COPPICE_RETURN_IF_ERROR(study->batches().Load(store, id));
  COPPICE_RETURN_IF_ERROR(LoadSpent(store, *study));
  if (study->form().report().ShowsId()) {
    COPPICE_RETURN_IF_ERROR(LoadJoined(store, *study));
  }
  return study;
}

namespace {

// Appends the row. Returns false if its label is not valid.
bool AppendLabelled(const v1::PublicRowsRecord& record, size_t row, RowView values, Table& table) {
  const auto at = static_cast<int>(row);
  if (const std::optional<Target>& target = table.schema().target()) {
    const double number = record.numbers(at);
    if (!(number >= target->min && number <= target->max)) return false;
    table.AppendTarget(values, number);
    return true;
  }
  if (record.labels(at) >= table.schema().num_classes()) return false;
  table.Append(values, record.labels(at));
  return true;
}

}  // namespace

StatusOr<Table> LoadRows(const storage::Store& store, const Study& study) {
  const std::string key = RowsKey(study.id());
  COPPICE_ASSIGN_OR_RETURN(const v1::PublicRowsRecord record,
                           storage::ReadRecord<v1::PublicRowsRecord>(store, key));
  const std::shared_ptr<const Schema>& schema = study.definition().terms->schema;
  const size_t features = schema->num_features();
  const StudyDefinition& definition = study.definition();
  const auto rows = static_cast<size_t>(study.form().AnswersNumbers() ? record.numbers_size()
                                                                      : record.labels_size());
  if (rows != (definition.partition.from_schema ? kSchemaRows : definition.public_rows) ||
      static_cast<size_t>(record.values_size()) != rows * features) {
    return storage::CorruptRecord(key, "has the wrong number of values");
  }
  Table table(schema);
  table.Reserve(rows);
  for (size_t row = 0; row < rows; ++row) {
    const RowView values(record.values().data() + row * features, features);
    if (!schema->Validate(values).ok() || !AppendLabelled(record, row, values, table)) {
      return storage::CorruptRecord(key, StrCat("has a bad row ", row));
    }
  }
  return table;
}

StatusOr<StudyOrigin> DecodeTombstone(std::string_view id, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(v1::TombstoneRecord record,
                           storage::ParseRecord<v1::TombstoneRecord>(TombstoneKey(id), bytes));
  return StudyOrigin{.owner = std::move(*record.mutable_owner()),
                     .request_id = std::move(*record.mutable_request_id())};
}

}  // namespace coppice::curator
