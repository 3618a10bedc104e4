#include "server/serving/service/messages.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/study/partition_message.h"
#include "server/curator/study/study_settings.h"
#include "server/store/models/ids.h"
#include "server/store/models/model_record.h"

namespace coppice::service {
namespace {

constexpr uint32_t kDefaultPageSize = 100;
constexpr uint32_t kMaxPageSize = 1000;

StatusOr<curator::Evidence> ParseEvidence(std::string_view field, v1::Evidence proto) {
  switch (proto) {
    case v1::EVIDENCE_UNSPECIFIED:
      return curator::Evidence::kBoth;
    case v1::EVIDENCE_REPORTS:
      return curator::Evidence::kReports;
    case v1::EVIDENCE_PUBLIC:
      return curator::Evidence::kPublic;
    default:
      return FieldError(field, "must be one that this version knows");
  }
}

StatusOr<curator::FeatureValue> ParseFeatureValue(const v1::FeatureValue& proto) {
  using Kind = curator::FeatureValue::Kind;
  curator::FeatureValue value = {.feature = proto.feature()};
  switch (proto.value_case()) {
    case v1::FeatureValue::kCategory:
      value.category = proto.category();
      return value;
    case v1::FeatureValue::kMissing:
      value.kind = Kind::kMissing;
      if (!proto.missing()) return FieldError("where.missing", "must be true, if it is set");
      return value;
    case v1::FeatureValue::kOther:
      value.kind = Kind::kOther;
      if (!proto.other()) return FieldError("where.other", "must be true, if it is set");
      return value;
    case v1::FeatureValue::VALUE_NOT_SET:
      break;
  }
  return FieldError("where", "must have a category, other or missing");
}

uint64_t SeedOf(const v1::CreateStudyRequest& request) {
  curator::PartitionRequest asked;
  if (request.partition().has_seed()) asked.seed = request.partition().seed();
  return curator::ChoosePartition(asked).options.seed;
}

StatusOr<std::shared_ptr<const Table>> RowsFromSchemaOf(
    const v1::CreateStudyRequest& request, const std::shared_ptr<const Schema>& schema) {
  if (request.public_rows_size() != 0) {
    return FieldError("public_rows", "must be empty with partition.from_schema");
  }
  if (!request.partition().ignore_labels()) {
    return FieldError("partition.ignore_labels", "must be set with from_schema");
  }
  StatusOr<Table> rows = curator::RowsFromSchema(schema, SeedOf(request));
  if (!rows.ok()) return InField("schema", rows.status());
  return std::make_shared<const Table>(*std::move(rows));
}

// Checks that each row has one label: a number if there is a target, else a class.
Status CheckLabelCounts(const v1::CreateStudyRequest& request, bool numbers) {
  const std::string_view field = numbers ? "public_numbers" : "public_labels";
  const std::string_view other = numbers ? "public_labels" : "public_numbers";
  const int given = numbers ? request.public_numbers_size() : request.public_labels_size();
  const int others = numbers ? request.public_labels_size() : request.public_numbers_size();
  if (others > 0) {
    return FieldError(other, StrCat("must be empty: the schema has ",
                                    numbers ? "a target" : "classes", ", so take ", field));
  }
  if (given == request.public_rows_size()) return OkStatus();
  return FieldError(
      field, StrCat("must be one a public row (", request.public_rows_size(), "), are ", given));
}

Status AppendLabelled(const v1::CreateStudyRequest& request, int i, const Row& row, Table& table) {
  if (const std::optional<Target>& target = table.schema().target()) {
    const double number = request.public_numbers(i);
    if (!(number >= target->min && number <= target->max)) {
      return FieldError(ElementName("public_numbers", i),
                        StrCat("must be from ", target->min, " to ", target->max));
    }
    table.AppendTarget(row, number);
    return OkStatus();
  }
  const uint32_t classes = table.schema().num_classes();
  if (request.public_labels(i) >= classes) {
    return FieldError(ElementName("public_labels", i), StrCat("must be below ", classes));
  }
  table.Append(row, request.public_labels(i));
  return OkStatus();
}

StatusOr<std::shared_ptr<const Table>> PublicRowsOf(const v1::CreateStudyRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(Schema parsed, ParseSchema(request.schema()));
  const auto schema = std::make_shared<const Schema>(std::move(parsed));
  COPPICE_RETURN_IF_ERROR(CheckLabelCounts(request, schema->target().has_value()));
  if (request.partition().from_schema()) return RowsFromSchemaOf(request, schema);
  auto table = std::make_shared<Table>(schema);
  table->Reserve(request.public_rows_size());
  for (int i = 0; i < request.public_rows_size(); ++i) {
    const StatusOr<Row> row = ParseRow(request.public_rows(i), *schema);
    if (!row.ok()) return InField(ElementName("public_rows", i), row.status());
    COPPICE_RETURN_IF_ERROR(AppendLabelled(request, i, *row, *table));
  }
  return table;
}

std::optional<NumberRange> RoundingOf(const v1::CreateStudyRequest& request) {
  if (!request.has_rounding()) return std::nullopt;
  return ParseNumberRange(request.rounding());
}

// Adds the outcomes that have occurred to a study, a batch or a step.
template <typename WithCounts>
void AddCounts(const std::array<uint64_t, curator::kNumReportOutcomes>& outcomes,
               WithCounts& proto) {
  for (size_t outcome = 1; outcome < curator::kNumReportOutcomes; ++outcome) {
    if (outcomes[outcome] == 0) continue;
    v1::ReportCount* count = proto.add_counts();
    count->set_outcome(static_cast<v1::ReportOutcome>(outcome));
    count->set_reports(outcomes[outcome]);
  }
}

void SetAlarms(const curator::StudyInfo& info, v1::Study& proto) {
  for (const curator::Alarm& alarm : info.alarms) {
    v1::Alarm* added = proto.add_alarms();
    added->set_name(alarm.name);
    added->set_value(alarm.value);
    added->set_text(alarm.text);
    added->set_raised(alarm.raised);
  }
}

void AddBatch(const curator::BatchInfo& batch, v1::StudyRelay& relay) {
  v1::Batch& proto = *relay.add_newest();
  proto.mutable_id()->assign(batch.id.begin(), batch.id.end());
  proto.set_state(static_cast<v1::BatchState>(batch.state));
  proto.set_reports(batch.reports);
  proto.set_created_unix_seconds(batch.created_unix_seconds);
  if (batch.state == curator::BatchState::kCounted) AddCounts(batch.outcomes, proto);
}

void SetRelay(const curator::StudyRelayInfo& info, v1::StudyRelay& proto) {
  if (info.sealing_key.has_value()) {
    proto.set_sealing_key_id(std::string(info.sealing_key->begin(), info.sealing_key->end()));
  }
  proto.set_earlier_keys(info.earlier_keys);
  proto.set_keys_erased(info.keys_erased);
  proto.set_waiting(info.batches.waiting);
  proto.set_batches(info.batches.batches);
  proto.set_least_accepted(info.batches.least_accepted);
  for (const curator::BatchInfo& batch : info.batches.newest) AddBatch(batch, proto);
}

// The numbers of both enumerations are stable and the same.
constexpr bool SameOutcome(curator::ReportOutcome ours, v1::ReportOutcome theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(SameOutcome(curator::ReportOutcome::kAccepted, v1::REPORT_OUTCOME_ACCEPTED));
static_assert(SameOutcome(curator::ReportOutcome::kDuplicate, v1::REPORT_OUTCOME_DUPLICATE));
static_assert(SameOutcome(curator::ReportOutcome::kUnknownStudy, v1::REPORT_OUTCOME_UNKNOWN_STUDY));
static_assert(SameOutcome(curator::ReportOutcome::kStudySealed, v1::REPORT_OUTCOME_STUDY_SEALED));
static_assert(SameOutcome(curator::ReportOutcome::kStaleFingerprint,
                          v1::REPORT_OUTCOME_STALE_FINGERPRINT));
static_assert(SameOutcome(curator::ReportOutcome::kBadTicket, v1::REPORT_OUTCOME_BAD_TICKET));
static_assert(SameOutcome(curator::ReportOutcome::kBadPayload, v1::REPORT_OUTCOME_BAD_PAYLOAD));
static_assert(SameOutcome(curator::ReportOutcome::kStudyExpired, v1::REPORT_OUTCOME_STUDY_EXPIRED));
static_assert(SameOutcome(curator::ReportOutcome::kBadSeal, v1::REPORT_OUTCOME_BAD_SEAL));
static_assert(SameOutcome(curator::ReportOutcome::kUnknownId, v1::REPORT_OUTCOME_UNKNOWN_ID));
static_assert(SameOutcome(curator::ReportOutcome::kStudyDeleted, v1::REPORT_OUTCOME_STUDY_DELETED));

// The same holds for the states.
static_assert(static_cast<int>(curator::StudyState::kOpen) == v1::STUDY_STATE_OPEN);
static_assert(static_cast<int>(curator::StudyState::kSealed) == v1::STUDY_STATE_SEALED);
static_assert(static_cast<int>(curator::StudyState::kBuilt) == v1::STUDY_STATE_BUILT);

// The mechanism that the request asks for; none if the curator chooses.
StatusOr<std::optional<MechanismKind>> MechanismOf(const v1::CreateStudyRequest& request) {
  if (request.how_case() != v1::CreateStudyRequest::kMechanism) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(request.mechanism()));
  return std::make_optional(kind);
}

}  // namespace

v1::Study SummaryOf(const curator::StudyInfo& info) {
  v1::Study proto;
  proto.set_name(MakeName(kStudies, info.id));
  proto.set_state(static_cast<v1::StudyState>(info.state));
  proto.set_created_unix_seconds(info.created_unix_seconds);
  proto.mutable_fingerprint()->assign(info.fingerprint.begin(), info.fingerprint.end());
  *proto.mutable_partition() = ToProto(info.partition);
  proto.set_public_rows(info.public_rows);
  proto.set_choice(info.choice);
  *proto.mutable_settings() = ToProto(info.settings);
  proto.set_sealed_unix_seconds(info.sealed_unix_seconds);
  proto.set_expired(info.expired);
  proto.set_retired(info.retired);
  proto.set_seen_early(info.seen_early);
  if (!info.final_model.empty()) proto.set_final_model(MakeName(kModels, info.final_model));
  AddCounts(info.outcomes, proto);
  proto.set_received(info.received);
  proto.set_failed(info.failed);
  proto.set_in_sums(info.in_sums);
  proto.set_join_rows(info.join_rows);
  proto.set_owner(info.owner);
  if (info.relay.has_value()) SetRelay(*info.relay, *proto.mutable_relay());
  return proto;
}

v1::Study ToProto(const curator::StudyInfo& info) {
  v1::Study proto = SummaryOf(info);
  *proto.mutable_terms() = ToProto(*info.terms);
  *proto.mutable_forest() = ToProto(*info.forest);
  proto.set_neighbouring(info.neighbouring);
  SetAlarms(info, proto);
  return proto;
}

v1::Model SummaryOf(const models::ModelSummary& summary) {
  v1::Model proto;
  models::SetModelRecord(summary, proto);
  *proto.mutable_certificate() = ToProto(*summary.certificate);
  return proto;
}

v1::GetReportHistoryResponse ToProto(const curator::ReportSteps& steps) {
  v1::GetReportHistoryResponse proto;
  proto.set_step_seconds(steps.step_seconds);
  for (const curator::ReportSteps::Step& step : steps.steps) {
    v1::ReportStep& added = *proto.add_steps();
    added.set_begin_unix_seconds(step.begin_unix_seconds);
    AddCounts(step.outcomes, added);
  }
  return proto;
}

StatusOr<curator::StudySpec> ParseStudySpec(const v1::CreateStudyRequest& request) {
  COPPICE_RETURN_IF_ERROR(models::CheckRequestId(request.request_id()));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("study_id", request.study_id()));
  COPPICE_ASSIGN_OR_RETURN(curator::PartitionRequest asked,
                           curator::ParsePartitionRequest(request.partition()));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<MechanismKind> mechanism, MechanismOf(request));
  const StatusOr<Budget> epsilon = Budget::FromNanos(request.epsilon_nanos());
  if (!epsilon.ok()) return InField("epsilon_nanos", epsilon.status());
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<const Table> public_rows, PublicRowsOf(request));
  const curator::PartitionChoice partition = curator::ChoosePartition(asked);
  COPPICE_ASSIGN_OR_RETURN(const curator::StudySettings settings,
                           curator::ParseStudySettings(request.settings()));
  return curator::StudySpec{.id = request.study_id(),
                            .request_id = request.request_id(),
                            .public_rows = std::move(public_rows),
                            .partition = partition.options,
                            .choose_size = partition.choose_size,
                            .epsilon = *epsilon,
                            .mechanism = mechanism,
                            .max_payload_bytes = request.choose_mechanism().max_payload_bytes(),
                            .expected_devices = request.expected_devices(),
                            .settings = settings,
                            .rounding = RoundingOf(request),
                            .joined_by = request.joined_by(),
                            .accept_leak = request.accept_leak()};
}

StatusOr<curator::StudySpec> PreviewSpec(const v1::CreateStudyRequest& request,
                                         const Budget& epsilon) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<MechanismKind> mechanism, MechanismOf(request));
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<const Table> public_rows, PublicRowsOf(request));
  const v1::PartitionOptions& options = request.partition();
  curator::PartitionRequest asked = {.use_labels = !options.ignore_labels(),
                                     .from_schema = options.from_schema()};
  if (options.has_seed()) asked.seed = options.seed();
  const curator::PartitionChoice partition = curator::ChoosePartition(asked);
  return curator::StudySpec{.id = "",
                            .request_id = "",
                            .public_rows = std::move(public_rows),
                            .partition = partition.options,
                            .choose_size = partition.choose_size,
                            .epsilon = epsilon,
                            .mechanism = mechanism,
                            .max_payload_bytes = request.choose_mechanism().max_payload_bytes(),
                            .expected_devices = 0,
                            .rounding = RoundingOf(request)};
}

StatusOr<curator::EstimatorOptions> EstimatorOf(const v1::BuildModelRequest& request) {
  std::optional<curator::FeatureValue> where;
  if (request.evidence() != v1::EVIDENCE_UNSPECIFIED &&
      request.estimator_case() != v1::BuildModelRequest::ESTIMATOR_NOT_SET) {
    return FieldError("evidence", "is for the curator's choice; set it in the named estimator");
  }
  if (request.has_where()) {
    if (request.has_weighted() || request.has_prune()) {
      return FieldError("where", "is for the pooled and the smooth estimator alone");
    }
    COPPICE_ASSIGN_OR_RETURN(where, ParseFeatureValue(request.where()));
  }
  switch (request.estimator_case()) {
    case v1::BuildModelRequest::kWeighted: {
      curator::EstimatorOptions options = {.kind = curator::EstimatorKind::kWeighted};
      if (request.weighted().has_lambda()) options.lambda = request.weighted().lambda();
      // This form rejects NaN, too.
      if (options.lambda >= 0) return options;
      return FieldError("weighted.lambda", "must be at least 0, or infinity");
    }
    case v1::BuildModelRequest::kPrune:
      return curator::EstimatorOptions{.kind = curator::EstimatorKind::kPrune};
    case v1::BuildModelRequest::ESTIMATOR_NOT_SET: {
      COPPICE_ASSIGN_OR_RETURN(const curator::Evidence evidence,
                               ParseEvidence("evidence", request.evidence()));
      return curator::EstimatorOptions{.kind = curator::EstimatorKind::kPooled,
                                       .choose_kind = true,
                                       .evidence = evidence,
                                       .where = std::move(where)};
    }
    case v1::BuildModelRequest::kPooled: {
      COPPICE_ASSIGN_OR_RETURN(const curator::Evidence evidence,
                               ParseEvidence("pooled.evidence", request.pooled().evidence()));
      return curator::EstimatorOptions{
          .kind = curator::EstimatorKind::kPooled, .evidence = evidence, .where = std::move(where)};
    }
    case v1::BuildModelRequest::kSmooth: {
      COPPICE_ASSIGN_OR_RETURN(const curator::Evidence evidence,
                               ParseEvidence("smooth.evidence", request.smooth().evidence()));
      return curator::EstimatorOptions{
          .kind = curator::EstimatorKind::kSmooth, .evidence = evidence, .where = std::move(where)};
    }
  }
  return FieldError("estimator", "must be weighted, prune, pooled or smooth");
}

StatusOr<Page> PageOf(uint32_t page_size, const std::string& page_token) {
  if (page_size > kMaxPageSize) {
    return FieldError("page_size", StrCat("must be at most ", kMaxPageSize, ", is ", page_size));
  }
  if (!page_token.empty() && !IsValidId(page_token)) {
    return FieldError("page_token", "must be empty or as returned by the page before");
  }
  return Page{.size = page_size == 0 ? kDefaultPageSize : page_size, .after = page_token};
}

}  // namespace coppice::service
