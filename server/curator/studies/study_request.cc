#include "server/curator/studies/study_request.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"
#include "common/terms/sha256.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/planning/mechanism_choice.h"
#include "server/curator/partition/by_value.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/number_labels.h"
#include "server/curator/partition/partition.h"
#include "server/curator/study/study_record.h"
#include "server/curator/study/study_sealing.h"
#include "server/curator/study/study_settings.h"
#include "server/store/models/ids.h"

namespace coppice::curator {

Status ValidateRequest(const StudySpec& spec) {
  COPPICE_RETURN_IF_ERROR(models::CheckRequestId(spec.request_id));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("study_id", spec.id));
  if (spec.public_rows == nullptr || spec.public_rows->num_rows() == 0) {
    return InvalidArgumentError(
        "public_rows: needs at least one row; if there are none, set partition.from_schema");
  }
  if (spec.accept_leak) return OkStatus();
  return InField("schema", spec.public_rows->schema().CheckNothingFromPrivateRows());
}

Status CheckCount(std::string_view field, uint32_t count, uint32_t most) {
  if (count >= 1 && count <= most) return OkStatus();
  return InvalidArgumentError(StrCat(field, ": must be 1 to ", most, ", is ", count));
}

std::string HashRequest(const StudySpec& spec) {
  const PartitionOptions& partition = spec.partition;
  const std::string schema = ToProto(spec.public_rows->schema()).SerializeAsString();
  const std::string rows = EncodeRows(*spec.public_rows);
  // The sizes separate the parts, so the end of one cannot pass for the start of the next.
  const std::string rest =
      StrCat(schema.size(), " ", rows.size(), " ", spec.id, " ", spec.epsilon.nanos(), " ",
             spec.mechanism.has_value() ? static_cast<int>(*spec.mechanism) : 0, " ",
             spec.max_payload_bytes, " ", spec.expected_devices, " ", SplitRuleName(partition.rule),
             " ", CriterionName(partition.criterion), " ", partition.max_depth, " ",
             partition.min_leaf, " ", partition.trees, " ", partition.seed, " ",
             partition.max_leaves, " ", partition.use_labels, " ", spec.choose_size, " ",
             CanonicalText(spec.settings), partition.from_schema ? " from_schema" : "",
             spec.rounding
                 ? absl::StrFormat(" rounding %.17g %.17g", spec.rounding->low, spec.rounding->high)
                 : "",
             partition.by_feature.empty()
                 ? ""
                 : StrCat(" by_feature ", partition.by_feature.size(), " ", partition.by_feature),
             spec.joined_by.empty() ? "" : " joined_by ", spec.joined_by);
  const Sha256Digest digest = Sha256({schema, rows, rest});
  return std::string(digest.begin(), digest.end());
}

namespace {

// The range that devices round their numbers within; none for classes.
StatusOr<std::optional<NumberRange>> ResolveRounding(const StudySpec& spec) {
  const std::optional<Target>& target = spec.public_rows->schema().target();
  if (!target.has_value()) {
    if (!spec.rounding.has_value()) return std::nullopt;
    return InvalidArgumentError("rounding: is for numbers; the schema has classes");
  }
  const NumberRange rounding =
      spec.rounding.value_or(ChooseRounding(*spec.public_rows, spec.partition.use_labels));
  COPPICE_RETURN_IF_ERROR(CheckRounding(rounding, *target));
  return std::optional<NumberRange>(rounding);
}

StatusOr<PartitionOptions> ResolvePartition(const StudySpec& spec, const Table& public_rows,
                                            const CancelCheck& cancel) {
  if (!spec.choose_size) return spec.partition;
  if (spec.partition.rule != SplitRule::kHybrid && spec.partition.rule != SplitRule::kRandomCut) {
    return InvalidArgumentError(
        "partition.choose_size: is for the rules hybrid and random_cut; state max_depth and "
        "min_leaf for another");
  }
  const double devices =
      spec.expected_devices > 0 ? static_cast<double>(spec.expected_devices) : kDefaultReports;
  return ChooseForestSize(public_rows, spec.partition, ExpectedInformation(devices, spec.epsilon),
                          cancel);
}

// A study's mechanism, and why it and the forest's size were chosen: "local_hashing: ...; 64 trees
// of about 41 leaves, ...". The reason covers only what the request left open.
struct MechanismDecision {
  MechanismKind mechanism;
  std::string reason;
};

StatusOr<MechanismDecision> DecideMechanism(const StudySpec& spec,
                                            const PartitionOptions& partition,
                                            const Forest& forest) {
  size_t leaves = 0;
  for (const Tree& tree : forest) leaves += tree.num_leaves();
  std::string size;
  if (spec.choose_size) {
    size = StrCat(forest.size(), " trees of about ", leaves / forest.size(), " leaves, ");
    if (partition.from_schema) {
      StrAppend(&size, "spread evenly over the schema's bounds");
    } else {
      StrAppend(&size, "at least ", partition.min_leaf, " of ", spec.public_rows->num_rows(),
                " public rows in each");
    }
  }
  if (spec.mechanism.has_value())
    return MechanismDecision{.mechanism = *spec.mechanism, .reason = size};
  const Schema& schema = spec.public_rows->schema();
  const ReportForm& form = ReportForm::For(schema);
  COPPICE_ASSIGN_OR_RETURN(
      const MechanismChoice choice,
      ChooseMechanism(spec.epsilon, ReportSubject::Of(form, schema, forest), spec.max_payload_bytes,
                      PurposeOf(partition.rule, form.IsAboutLabelAlone())));
  return MechanismDecision{.mechanism = choice.cost.kind,
                           .reason = size.empty() ? choice.why : StrCat(choice.why, "; ", size)};
}

// The window that suits the epsilon best, for a mechanism that has one.
StatusOr<std::optional<Window>> WindowFor(MechanismKind mechanism, const StudySpec& spec) {
  const Domain of_label = {.leaves = 1, .classes = spec.public_rows->schema().num_outputs()};
  COPPICE_ASSIGN_OR_RETURN(const auto made, MakeLocalMechanism(mechanism, spec.epsilon, of_label));
  return made->window();
}

// Whether devices place their numbers around centres of leaves. They do not look at features if the
// curator has these by ids, and a range that the request states is kept.
bool HasCentres(const StudySpec& spec, const PartitionOptions& partition) {
  return spec.joined_by.empty() && !spec.rounding.has_value() &&
         CanHaveCentres(spec.public_rows->schema(), partition);
}

// The forest as devices receive it. `rows` have their numbers cut to the range.
StatusOr<Forest> OfferedForest(const Forest& grown, const StudySpec& spec,
                               const PartitionOptions& partition, const Table& rows) {
  Forest forest = grown;
  if (!partition.by_feature.empty()) {
    const Schema& schema = spec.public_rows->schema();
    COPPICE_ASSIGN_OR_RETURN(const uint32_t feature, FindByFeature(schema, partition.by_feature));
    COPPICE_ASSIGN_OR_RETURN(forest, PutValuesInFront(grown, schema, feature));
  }
  if (!HasCentres(spec, partition)) return forest;
  return CentreOnNumbers(forest, rows, partition);
}

}  // namespace

StatusOr<StudyDefinition> MakeStudyDefinition(const StudySpec& spec, const std::string& id,
                                              int64_t created_unix_seconds,
                                              const CancelCheck& cancel) {
  const Schema& schema = spec.public_rows->schema();
  if (!spec.partition.by_feature.empty()) {
    COPPICE_RETURN_IF_ERROR(FindByFeature(schema, spec.partition.by_feature).status());
  }
  COPPICE_ASSIGN_OR_RETURN(const std::optional<NumberRange> rounding, ResolveRounding(spec));
  std::shared_ptr<const Table> rows = spec.public_rows;
  if (rounding.has_value()) {
    COPPICE_ASSIGN_OR_RETURN(Table cut, CutNumbers(*rows, *rounding));
    rows = std::make_shared<const Table>(std::move(cut));
  }
  COPPICE_ASSIGN_OR_RETURN(const PartitionOptions partition, ResolvePartition(spec, *rows, cancel));
  COPPICE_ASSIGN_OR_RETURN(const Forest grown, GrowPartition(*rows, partition, cancel));
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(const MechanismDecision decision,
                           DecideMechanism(spec, partition, grown));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowFor(decision.mechanism, spec));
  COPPICE_ASSIGN_OR_RETURN(const Forest forest, OfferedForest(grown, spec, partition, *rows));
  PackedForest packed = PackForest(forest);
  const Terms terms{.study = id,
                    .schema = spec.public_rows->shared_schema(),
                    .trees = static_cast<uint32_t>(forest.size()),
                    .forest_root = packed.merkle.root,
                    .epsilon = spec.epsilon,
                    .mechanism = decision.mechanism,
                    .rounding = rounding,
                    .joined_by = spec.joined_by,
                    .window = window};
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  COPPICE_ASSIGN_OR_RETURN(
      StudyDefinition definition,
      DefinitionFromTerms(SerializeTerms(terms), std::move(packed), partition));
  definition.created_unix_seconds = created_unix_seconds;
  definition.choice = decision.reason;
  definition.public_rows = partition.from_schema ? 0 : spec.public_rows->num_rows();
  definition.settings = spec.settings;
  COPPICE_RETURN_IF_ERROR(CheckSealable(definition));
  definition.request_id = spec.request_id;
  definition.request_hash = HashRequest(spec);
  definition.owner = spec.owner;
  return definition;
}

}  // namespace coppice::curator
