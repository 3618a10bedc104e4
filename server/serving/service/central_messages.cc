#include "server/serving/service/central_messages.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/datasets/job_record.h"

namespace coppice::service {
namespace {

// Our enums have the same numbers as the wire's.
static_assert(static_cast<int>(Neighbours::kAddOrRemoveRow) == v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
static_assert(static_cast<int>(Neighbours::kChangeLabel) == v1::NEIGHBOURS_CHANGE_LABEL);
static_assert(static_cast<int>(ledger::Composition::kBasic) == v1::COMPOSITION_BASIC);
static_assert(static_cast<int>(ledger::Composition::kZeroConcentrated) ==
              v1::COMPOSITION_ZERO_CONCENTRATED);
static_assert(static_cast<int>(ledger::EntryKind::kOpen) == v1::LEDGER_ENTRY_KIND_OPENED);
static_assert(static_cast<int>(ledger::EntryKind::kReserve) == v1::LEDGER_ENTRY_KIND_RESERVED);
static_assert(static_cast<int>(ledger::EntryKind::kSettle) == v1::LEDGER_ENTRY_KIND_SETTLED);
static_assert(static_cast<int>(ledger::EntryKind::kReturn) == v1::LEDGER_ENTRY_KIND_RETURNED);
static_assert(static_cast<int>(ledger::EntryKind::kWriteOff) == v1::LEDGER_ENTRY_KIND_WRITTEN_OFF);
static_assert(static_cast<int>(trainers::ParameterType::kInteger) == v1::PARAMETER_TYPE_INTEGER);
static_assert(static_cast<int>(trainers::ParameterType::kReal) == v1::PARAMETER_TYPE_REAL);
static_assert(static_cast<int>(trainers::ParameterType::kChoice) == v1::PARAMETER_TYPE_CHOICE);

// What comes beside public rows and is kept for good.
constexpr size_t kMaxSchemaBytes = size_t{16} << 20;   // 65,536 features with names of 200 bytes
constexpr size_t kMaxSettingsBytes = size_t{1} << 20;  // of a job: every feature may be listed

// A record has them as they came, but for fields that no check knows.
central::PublicRowBlock ToKeep(const v1::RowBlock& public_rows) {
  auto kept = std::make_shared<v1::RowBlock>(public_rows);
  kept->DiscardUnknownFields();
  return kept;
}

v1::LedgerEntry EntryToProto(const ledger::LedgerEntry& entry) {
  v1::LedgerEntry proto;
  proto.set_kind(static_cast<v1::LedgerEntryKind>(entry.kind));
  proto.set_unix_seconds(entry.unix_seconds);
  if (!entry.job.empty()) {
    proto.set_job(MakeName(entry.is_evaluation ? kEvaluations : kJobs, entry.job));
  }
  if (entry.kind != ledger::EntryKind::kOpen) {
    proto.set_account(static_cast<v1::AccountKind>(entry.account));
  }
  *proto.mutable_cost() = central::ToProto(entry.cost);
  for (const Release& release : entry.releases) *proto.add_releases() = ToProto(release);
  // While the ledger is on hold no hash is shown.
  if (entry.hash != Sha256Digest{})
    proto.mutable_hash()->assign(entry.hash.begin(), entry.hash.end());
  return proto;
}

// What is unset is the curator's choice: costs that simply add up, and the relation that protects
// more.
StatusOr<ledger::BudgetCap> ParseBudgetCap(const v1::BudgetCap& proto) {
  ledger::BudgetCap cap{.epsilon_nanos = proto.epsilon_nanos(),
                        .delta_atto = proto.delta_atto(),
                        .reserve_millionths = proto.reserve_millionths()};
  if (proto.composition() != v1::COMPOSITION_UNSPECIFIED) {
    if (!v1::Composition_IsValid(proto.composition())) {
      return FieldError("cap.composition", "must be one that this version knows");
    }
    cap.composition = static_cast<ledger::Composition>(proto.composition());
  }
  if (proto.neighbours() != v1::NEIGHBOURS_UNSPECIFIED) {
    if (!v1::Neighbours_IsValid(proto.neighbours())) {
      return FieldError("cap.neighbours", "must be one that this version knows");
    }
    cap.neighbours = static_cast<Neighbours>(proto.neighbours());
  }
  COPPICE_RETURN_IF_ERROR(InField("cap", ledger::Validate(cap)));
  return cap;
}

}  // namespace

v1::Dataset SummaryOf(const central::DatasetInfo& info) {
  v1::Dataset proto;
  proto.set_name(MakeName(kDatasets, info.id));
  proto.set_state(static_cast<v1::DatasetState>(info.state));
  proto.set_created_unix_seconds(info.created_unix_seconds);
  proto.set_rows(info.rows);
  const ledger::BudgetCap& cap = info.account.cap;
  proto.mutable_cap()->set_epsilon_nanos(cap.epsilon_nanos);
  proto.mutable_cap()->set_delta_atto(cap.delta_atto);
  proto.mutable_cap()->set_composition(static_cast<v1::Composition>(cap.composition));
  proto.mutable_cap()->set_neighbours(static_cast<v1::Neighbours>(cap.neighbours));
  proto.mutable_cap()->set_reserve_millionths(cap.reserve_millionths);
  *proto.mutable_spent() = central::ToProto(info.account.spent);
  if (cap.has_reserve()) {
    proto.set_reserve_rows(info.reserve_rows);
    *proto.mutable_reserve_spent() = central::ToProto(info.account.reserve_spent);
    proto.set_reserve_epsilon_left_nanos(info.account.reserve_left.epsilon_nanos);
  }
  proto.set_epsilon_left_nanos(info.account.left.epsilon_nanos);
  proto.set_hold(static_cast<v1::LedgerHold>(info.account.hold.reason));
  proto.set_owner(info.owner);
  proto.set_public_rows(info.public_rows.rows);
  proto.set_public_rows_sha256(info.public_rows.sha256);
  const std::optional<ledger::Cost>& lost = info.account.hold.lost;
  if (lost.has_value()) *proto.mutable_hold_lost() = central::ToProto(*lost);
  return proto;
}

v1::Dataset ToProto(const central::DatasetInfo& info) {
  v1::Dataset proto = SummaryOf(info);
  proto.set_epsilon_left_at_delta_nanos(
      ledger::EpsilonLeftAtDelta(info.account.cap, info.account.left));
  if (info.schema != nullptr) *proto.mutable_schema() = ToProto(*info.schema);
  return proto;
}

v1::Dataset WithLedger(const central::DatasetInfo& info,
                       absl::FunctionRef<std::string(const ledger::LedgerEntry&)> submitter_of) {
  v1::Dataset proto = ToProto(info);
  proto.set_ledger_entries(info.account.num_entries);
  for (const ledger::LedgerEntry& entry : info.account.entries) {
    v1::LedgerEntry& added = *proto.add_ledger();
    added = EntryToProto(entry);
    if (!entry.job.empty()) added.set_submitter(submitter_of(entry));
  }
  return proto;
}

StatusOr<central::DatasetSpec> ParseDatasetSpec(const v1::CreateDatasetRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const ledger::BudgetCap cap, ParseBudgetCap(request.cap()));
  if (request.schema().ByteSizeLong() > kMaxSchemaBytes) {
    return FieldError("schema", StrCat("must take at most ", kMaxSchemaBytes, " bytes"));
  }
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(request.schema()));
  return central::DatasetSpec{
      .id = request.dataset_id(),
      .request_id = request.request_id(),
      .schema = std::make_shared<const Schema>(std::move(schema)),
      .cap = cap,
      .accept_leak = request.accept_leak(),
      .public_rows = request.has_public_rows() ? ToKeep(request.public_rows()) : nullptr};
}

v1::Algorithm ToProto(const trainers::AlgorithmInfo& info) {
  v1::Algorithm proto;
  proto.set_name(info.name);
  proto.set_summary(info.summary);
  proto.set_source(info.source);
  proto.set_neighbours(static_cast<v1::Neighbours>(info.neighbours));
  proto.set_classification(info.classification);
  proto.set_regression(info.regression);
  proto.set_delta(info.delta);
  proto.set_public_rows(info.public_rows);
  for (const trainers::Parameter& parameter : info.parameters) {
    v1::Parameter& added = *proto.add_parameters();
    added.set_name(parameter.name);
    added.set_type(static_cast<v1::ParameterType>(parameter.type));
    added.set_min(parameter.min);
    added.set_max(parameter.max);
    added.mutable_choices()->Assign(parameter.choices.begin(), parameter.choices.end());
    added.set_default_value(parameter.default_value);
    added.set_description(parameter.description);
  }
  return proto;
}

StatusOr<central::JobSpec> ParseJobSpec(const v1::JobSpec& spec) {
  StatusOr<std::string> dataset = ParseName(kDatasets, spec.dataset());
  if (!dataset.ok()) return InField("spec.dataset", dataset.status());
  central::JobSpec parsed{.dataset = *std::move(dataset),
                          .algorithm = spec.algorithm(),
                          .epsilon_nanos = spec.epsilon_nanos(),
                          .delta_atto = spec.delta_atto(),
                          .max_model_bytes = spec.max_model_bytes(),
                          .without_public_rows = spec.without_public_rows()};
  if (spec.has_public_rows()) {
    parsed.public_rows = ToKeep(spec.public_rows());
  }
  size_t bytes = 0;
  for (const auto& [name, value] : spec.settings()) {
    bytes += name.size() + value.size();
    parsed.settings[name] = value;
  }
  if (bytes <= kMaxSettingsBytes) return parsed;
  return FieldError("spec.settings", StrCat("must take at most ", kMaxSettingsBytes, " bytes"));
}

StatusOr<central::JobRequest> ParseJobRequest(const v1::SubmitJobRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(central::JobSpec spec, ParseJobSpec(request.spec()));
  return central::JobRequest{.request_id = request.request_id(),
                             .id = request.job_id(),
                             .model = request.model_id(),
                             .spec = std::move(spec)};
}

v1::PreviewJobResponse ToProto(const central::JobPreview& preview) {
  v1::PreviewJobResponse proto;
  *proto.mutable_cost() = central::ToProto(preview.cost);
  for (const Release& release : preview.releases) *proto.add_releases() = ToProto(release);
  proto.set_fits(preview.fits.ok());
  proto.set_reason(std::string(preview.fits.message()));
  proto.mutable_warnings()->Assign(preview.warnings.begin(), preview.warnings.end());
  proto.set_most_model_bytes(preview.model_bytes);
  return proto;
}

StatusOr<central::EvaluationSpec> ParseEvaluationSpec(const v1::EvaluationSpec& spec) {
  StatusOr<std::string> model = ParseName(kModels, spec.model());
  if (!model.ok()) return InField("spec.model", model.status());
  StatusOr<std::string> dataset = ParseName(kDatasets, spec.dataset());
  if (!dataset.ok()) return InField("spec.dataset", dataset.status());
  return central::EvaluationSpec{.model = *std::move(model),
                                 .dataset = *std::move(dataset),
                                 .epsilon_nanos = spec.epsilon_nanos(),
                                 .by = spec.by(),
                                 .reach = spec.reach()};
}

v1::PreviewEvaluationResponse ToProto(const central::EvaluationPreview& preview) {
  v1::PreviewEvaluationResponse proto;
  *proto.mutable_cost() = central::ToProto(preview.cost);
  proto.set_account(static_cast<v1::AccountKind>(preview.account));
  for (const Release& release : preview.releases) *proto.add_releases() = ToProto(release);
  proto.set_fits(preview.fits.ok());
  proto.set_reason(std::string(preview.fits.message()));
  proto.set_half_width(preview.half_width);
  return proto;
}

}  // namespace coppice::service
