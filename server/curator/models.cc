#include "server/curator/models.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tree/collapse.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.pb.h"
#include "server/curator/catalog.h"
#include "server/curator/smooth.h"
#include "server/curator/store_keys.h"
#include "server/curator/study_record.h"

namespace coppice {
namespace {

constexpr absl::string_view kAllModels = "model/";

Certificate MakeCertificate(const StudyFacts& facts, const EstimatorOptions& options,
                            uint64_t reports) {
  const std::string mechanism(MechanismName(facts.terms->mechanism));
  const uint64_t epsilon_nanos = facts.terms->epsilon.nanos();
  return {.epsilon_nanos = epsilon_nanos,
          .releases = {{.what = "a device's one report: its leaf and label in one tree",
                        .mechanism = mechanism,
                        .epsilon_nanos = epsilon_nanos,
                        .times = 1,
                        .part = ""}},
          .mechanism = mechanism,
          .neighbouring = "any value of one device's row for any other (local)",
          .public_inputs = {"the schema: bounds, vocabularies and classes",
                            absl::StrCat("the ", facts.public_rows,
                                         " public rows, and the partition grown from them"),
                            "the number of reports"},
          .estimator = options.ToString(),
          .reports = reports,
          .public_rows = facts.public_rows,
          .fingerprint = ToHex(facts.fingerprint),
          .code_version = COPPICE_VERSION,
          .diagnosis = ""};
}

std::string EncodeModel(const ModelInfo& info) {
  v1::Model proto = ToProto(*info.model);
  proto.set_name(MakeName(kModels, info.id));
  proto.set_study(MakeName(kStudies, info.study));
  proto.set_created_unix_seconds(info.created_unix_seconds);
  return proto.SerializeAsString();
}

absl::StatusOr<ModelInfo> DecodeModel(absl::string_view key, absl::string_view bytes) {
  v1::Model proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return CorruptRecord(key, "does not parse");
  }
  const absl::StatusOr<std::string> id = ParseName(kModels, proto.name());
  const absl::StatusOr<std::string> study = ParseName(kStudies, proto.study());
  if (!id.ok() || !study.ok() || key != ModelKey(*study, *id)) {
    return CorruptRecord(key, "has the model of another key");
  }
  absl::StatusOr<Model> model = FromProto(proto);
  if (!model.ok()) return CorruptRecord(key, model.status().message());
  return ModelInfo{.id = *id,
                   .study = *study,
                   .created_unix_seconds = proto.created_unix_seconds(),
                   .model = std::make_shared<const Model>(*std::move(model))};
}

// Each tree on its own sums, drawn together where pruning left equal leaves.
absl::StatusOr<Model> EstimateTrees(const StudyFacts& facts, const StudyProgress& progress,
                                    const Table& public_rows, const EstimatorOptions& options,
                                    Certificate certificate) {
  EstimatorOptions of_partition = options;
  of_partition.max_depth = facts.partition.max_depth;
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (size_t t = 0; t < facts.mechanisms.size(); ++t) {
    const Tree& tree = (*facts.forest)[t];
    COPPICE_ASSIGN_OR_RETURN(std::vector<LeafPrediction> of_tree,
                             EstimateTree(tree, *facts.mechanisms[t], *progress.sums[t],
                                          CountPublicRows(tree, public_rows), of_partition));
    COPPICE_ASSIGN_OR_RETURN(CollapsedTree pruned, Collapse(tree, of_tree, *facts.terms->schema));
    forest.push_back(std::move(pruned.tree));
    leaves.push_back(std::move(pruned.leaves));
  }
  return Model::Create(*facts.terms->schema, std::move(forest), std::move(leaves),
                       std::move(certificate));
}

// The forest as one.
absl::StatusOr<Model> EstimateForest(const StudyFacts& facts, const StudyProgress& progress,
                                     const Table& public_rows, const SmoothBasis& basis,
                                     const EstimatorOptions& options, Certificate certificate) {
  std::vector<PrivateCounts> counts;
  for (size_t t = 0; t < facts.mechanisms.size(); ++t) {
    COPPICE_ASSIGN_OR_RETURN(counts.emplace_back(),
                             CountReports(*facts.mechanisms[t], *progress.sums[t],
                                          CountPublicRows((*facts.forest)[t], public_rows)));
  }
  const Forest& forest = *facts.forest;
  COPPICE_ASSIGN_OR_RETURN(SmoothFit fit, EstimateSmooth(basis, forest, counts, options.evidence));
  if (options.evidence == Evidence::kBoth) certificate.diagnosis = fit.diagnosis.InWords();
  return Model::Create(*facts.terms->schema, forest, std::move(fit.leaves), std::move(certificate),
                       LeafKind::kAdditive);
}

}  // namespace

absl::StatusOr<Model> EstimateModel(const Study& study, const Table& public_rows,
                                    const SmoothBasis* basis, const EstimatorOptions& options) {
  const StudyFacts& facts = study.facts();
  const StudyProgress progress = study.Progress();
  uint64_t reports = 0;
  for (const SharedSums& sums : progress.sums) reports += sums->reports;
  Certificate certificate = MakeCertificate(facts, options, reports);
  if (options.kind == EstimatorKind::kSmooth) {
    return EstimateForest(facts, progress, public_rows, *basis, options, std::move(certificate));
  }
  return EstimateTrees(facts, progress, public_rows, options, std::move(certificate));
}

absl::Status Models::Load(const Store& store) {
  return store.Scan(kAllModels, [&](absl::string_view key, absl::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(ModelInfo info, DecodeModel(key, bytes));
    const std::lock_guard lock(mutex_);
    models_[info.id] = std::move(info);
    return absl::OkStatus();
  });
}

absl::Status Models::Save(Store& store, ModelInfo info) {
  StoreBatch batch;
  batch.Put(ModelKey(info.study, info.id), EncodeModel(info));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  const std::lock_guard lock(mutex_);
  models_[info.id] = std::move(info);
  return absl::OkStatus();
}

void Models::RemoveOf(absl::string_view study) {
  const std::lock_guard lock(mutex_);
  for (auto it = models_.begin(); it != models_.end();) {
    it = it->second.study == study ? models_.erase(it) : std::next(it);
  }
}

absl::StatusOr<ModelInfo> Models::Get(absl::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(id);
  if (it == models_.end()) return absl::NotFoundError(absl::StrCat("there is no model ", id));
  return it->second;
}

std::vector<ModelInfo> Models::List(absl::string_view study, const Page& page) const {
  std::vector<ModelInfo> infos;
  const std::lock_guard lock(mutex_);
  for (auto it = models_.upper_bound(page.after);
       it != models_.end() && infos.size() < PageSize(page); ++it) {
    if (study.empty() || it->second.study == study) infos.push_back(it->second);
  }
  return infos;
}

}  // namespace coppice
