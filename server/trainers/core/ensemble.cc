#include "server/trainers/core/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/tree.h"
#include "common/table/rows_digest.h"
#include "server/trainers/core/leaves.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kMean = "mean";
constexpr std::string_view kExponential = "exponential";

std::string InWords(Neighbours neighbours) {
  return neighbours == Neighbours::kAddOrRemoveRow ? "one row more or less"
                                                   : "the label of one row; features are public";
}

}  // namespace

std::vector<Parameter> EnsembleParameters(const EnsembleDefaults& defaults) {
  std::vector<Parameter> parameters = {
      IntegerParameter("trees", 1, 1024, defaults.trees,
                       "number of trees. With rows=groups more trees see fewer rows each"),
      ChoiceParameter("rows", {"groups", std::string(kAll)}, defaults.rows,
                      "groups: each row is in one tree, so every tree may spend all of epsilon; "
                      "all: every tree sees all rows and spends an equal share of it"),
      ChoiceParameter("vote", {"pooled", std::string(kMean)}, defaults.vote,
                      "pooled: noisy counts are summed over the trees; mean: each tree's own "
                      "probabilities are averaged"),
      IntegerParameter(
          "cuts", 1, 4096, defaults.cuts,
          "public cut points of a numeric feature, from its declared bounds. More of them find "
          "narrow peaks, but make each selection a little noisier and slower")};
  if (defaults.selects) {
    parameters.push_back(ChoiceParameter(
        "selection", {"permute_and_flip", std::string(kExponential)}, "permute_and_flip",
        "how a split is chosen; permute_and_flip is never worse at the same epsilon"));
  }
  return parameters;
}

EnsembleOptions ReadEnsemble(const CheckedSettings& settings) {
  EnsembleOptions options{.trees = static_cast<uint32_t>(settings.Integer("trees")),
                          .groups = settings.Choice("rows") != kAll,
                          .average = settings.Choice("vote") == kMean,
                          .cuts = static_cast<uint32_t>(settings.Integer("cuts"))};
  if (settings.HasParameter("selection") && settings.Choice("selection") == kExponential) {
    options.selection = SelectionRule::kExponential;
  }
  return options;
}

Parameter DepthParameter(std::string default_value, std::string description) {
  return IntegerParameter("depth", 0, kMaxTrainedDepth, std::move(default_value),
                          std::move(description));
}

uint32_t DepthOf(const CheckedSettings& settings, const Schema& schema, uint32_t trees) {
  if (settings.Has("depth")) return static_cast<uint32_t>(settings.Integer("depth"));
  auto depth = static_cast<uint32_t>(std::min<size_t>(schema.num_features(), kMaxTrainedDepth));
  const auto fits = [&] {
    const ModelShape shape{.trees = trees, .leaves = uint64_t{trees} << depth};
    return MostModelBytes(shape, schema) <= kUsualModelBytes;
  };
  while (depth > 1 && !fits()) --depth;
  return depth;
}

Parameter StructureParameter(std::string default_value) {
  return RealParameter("structure", 0.01, 0.99, std::move(default_value),
                       "part of a tree's epsilon that goes to its splits; the rest goes to the "
                       "leaves");
}

Parameter ScoreParameter(std::string default_value) {
  return ChoiceParameter("score", {"gini", "miscount"}, std::move(default_value),
                         "what a split minimizes. For classes: Gini impurity, or the rows outside "
                         "their side's largest class. For numbers: squared error");
}

StatusOr<SplitScore> ScoreOf(const CheckedSettings& settings, const Schema& schema) {
  if (schema.target()) return SplitScore::kSquaredError;
  return settings.Choice("score") == "gini" ? SplitScore::kGini : SplitScore::kMiscount;
}

Status CheckTask(const AlgorithmInfo& info, const Schema& schema) {
  if (schema.target() ? !info.regression : !info.classification) {
    return InvalidArgumentError(StrCat(
        info.name, schema.target() ? " predicts classes, and the schema has a number to predict"
                                   : " predicts numbers, and the schema has classes"));
  }
  return PublicBins(schema, /*cuts=*/1).status();
}

Status CheckTakesPublicRows(const AlgorithmInfo& info, const TrainOptions& options) {
  if (!options.public_rows) return OkStatus();
  if (!info.public_rows) {
    return InvalidArgumentError(
        StrCat(info.name, " cannot start from public rows: use auto, or leave them out"));
  }
  if (options.epsilon) return OkStatus();
  return InvalidArgumentError(
      "public rows spare private rows, which are free without an epsilon: give one, or leave the "
      "public rows out");
}

Status CheckHasNoEpsilon(const AlgorithmInfo& info, const TrainOptions& options) {
  if (!options.epsilon) return OkStatus();
  return InvalidArgumentError(StrCat(info.name, " is not private: its epsilon can only be inf"));
}

Status CheckSize(const EnsembleOptions& options, uint32_t depth) {
  constexpr uint64_t kMaxLeaves = uint64_t{1} << 22;
  if (uint64_t{options.trees} << depth <= kMaxLeaves) return OkStatus();
  return InvalidArgumentError(StrCat(options.trees, " trees of ", depth,
                                     " levels would have up to ", uint64_t{options.trees} << depth,
                                     " leaves; at most ", kMaxLeaves,
                                     " are allowed: use fewer trees or a smaller depth"));
}

std::vector<std::string> WarnOfNoise(const EnsembleOptions& options, uint32_t depth,
                                     const BudgetShare& leaves) {
  constexpr double kFew = 300;
  if (!leaves.is_private()) return {};
  // One leaf of each tree answers a row. With groups these leaves together saw as many rows as one
  // leaf of a tree that sees all rows; trees that see all rows count the same rows again.
  const double noise = std::sqrt(2.0 * options.trees) / leaves.budget().epsilon() /
                       (options.groups ? 1 : options.trees);
  const double rows = std::ldexp(noise, static_cast<int>(depth)) / 6;
  if (rows < kFew) return {};
  return {StrCat("below about ", std::llround(rows),
                 " rows, noise hides what the leaves say: expect little better than always giving "
                 "the most frequent answer. A larger epsilon or fewer levels help")};
}

StatusOr<BudgetShare> ShareOfTree(const EnsembleOptions& options, const BudgetShare& whole) {
  return options.groups ? whole : EqualShare(whole, options.trees);
}

Releases::Releases(const EnsembleOptions& options) : Releases(options, "rows") {}

Releases::Releases(const EnsembleOptions& options, std::string_view rows)
    : trees_(options.groups ? 1 : options.trees) {
  if (options.groups && options.trees > 1) {
    part_ = StrCat("each of ", options.trees, " groups of the ", rows);
  } else if (rows != "rows") {
    part_ = StrCat("the ", rows);
  }
}

void Releases::Add(std::string what, std::string_view mechanism, const BudgetShare& share,
                   uint64_t times, uint64_t delta_atto, uint64_t rho_pico) {
  if (!share.is_private()) return;
  releases_.push_back({.what = std::move(what),
                       .mechanism = std::string(mechanism),
                       .epsilon_nanos = share.amount(),
                       .delta_atto = delta_atto,
                       .times = times * trees_,
                       .part = part_,
                       .rho_pico = rho_pico});
}

std::string_view SelectionName(SelectionRule rule) {
  return rule == SelectionRule::kExponential ? "exponential" : "permute_and_flip";
}

void AddMedians(const std::vector<BudgetShare>& levels, SelectionRule rule, Releases& releases) {
  for (size_t level = 0; level < levels.size(); ++level) {
    releases.Add(StrCat("a median at every node of level ", level), SelectionName(rule),
                 levels[level]);
  }
}

StatusOr<std::vector<std::vector<uint32_t>>> DrawGroups(const std::vector<uint32_t>& rows,
                                                        const EnsembleOptions& options,
                                                        PrivateReleaser& releaser) {
  if (!options.groups) return std::vector<std::vector<uint32_t>>(options.trees, rows);
  std::vector<std::vector<uint32_t>> groups(options.trees);
  for (const uint32_t row : rows) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t group, releaser.Below(options.trees));
    groups[group].push_back(row);
  }
  return groups;
}

std::vector<uint32_t> AllRows(size_t count) {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

LeafPrediction ScoreLeaf(std::vector<double> outputs, std::vector<OutputNoise> noise,
                         uint32_t node) {
  const auto largest = std::max_element(outputs.begin(), outputs.end());
  const auto label = static_cast<uint32_t>(largest - outputs.begin());
  const double error = noise.empty() ? std::numeric_limits<double>::infinity()
                                     : std::sqrt(std::max(noise[label].variance, 0.0));
  return {.probabilities = std::move(outputs),
          .standard_error = error,
          .label = label,
          .source_node = node,
          .noise = std::move(noise)};
}

StatusOr<TrainedTree> TrainLeaves(const BinnedRows& rows, const GrownTree& grown,
                                  Neighbours neighbours, const BudgetShare& share,
                                  PrivateReleaser& releaser) {
  const int64_t unit = LeafUnit(rows);
  COPPICE_ASSIGN_OR_RETURN(const LeafSums sums, ReleaseLeaves(SumLeaves(rows, grown), unit,
                                                              neighbours, share, releaser));
  return TrainedTree{.tree = grown.tree,
                     .leaves = ToWeights(grown.tree, sums, unit,
                                         WeightError(unit, NumOutputs(rows), neighbours, share))};
}

StatusOr<Model> TrainEnsemble(const RowBlocks& rows, const EnsembleOptions& ensemble,
                              const AlgorithmInfo& info, const TrainOptions& options,
                              const BudgetShare& leaves, std::vector<Release> releases,
                              const GrowOne& grow, PrivateReleaser& releaser,
                              const TrainProgress& progress) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<FeatureBins> bins, PublicBins(rows.schema(), ensemble.cuts));
  COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned, BinnedRows::Create(rows, std::move(bins)));
  releaser.UseRule(ensemble.selection);
  COPPICE_ASSIGN_OR_RETURN(const auto groups,
                           DrawGroups(AllRows(binned.num_rows()), ensemble, releaser));
  std::vector<TrainedTree> trees;
  for (const std::vector<uint32_t>& group : groups) {
    COPPICE_RETURN_IF_ERROR(
        progress(static_cast<double>(trees.size()) / static_cast<double>(groups.size())));
    // Copies a group's rows next to each other; a tree that sees all rows needs no copy.
    const bool apart = ensemble.groups && ensemble.trees > 1;
    const BinnedRows own = apart ? binned.Select(group) : BinnedRows();
    const BinnedRows& seen = apart ? own : binned;
    COPPICE_ASSIGN_OR_RETURN(const GrownTree grown, grow(seen, AllRows(seen.num_rows()), releaser));
    COPPICE_ASSIGN_OR_RETURN(trees.emplace_back(),
                             TrainLeaves(seen, grown, info.neighbours, leaves, releaser));
  }
  return MakeModel(rows.schema(), std::move(trees), ensemble.average, info, options,
                   std::move(releases));
}

StatusOr<Model> MakeModel(const Schema& schema, std::vector<TrainedTree> trees, bool average,
                          const AlgorithmInfo& info, const TrainOptions& options,
                          std::vector<Release> releases) {
  if (average) {
    for (TrainedTree& tree : trees) tree.leaves = ToProbabilities(std::move(tree.leaves));
  }
  return MakeModel(schema, std::move(trees),
                   average ? LeafKind::kProbabilities : LeafKind::kWeights, /*derived=*/{}, info,
                   options, std::move(releases), /*chosen=*/"");
}

StatusOr<Model> MakeModel(const Schema& schema, std::vector<TrainedTree> trees, LeafKind leaf_kind,
                          std::vector<DerivedFeature> derived, const AlgorithmInfo& info,
                          const TrainOptions& options, std::vector<Release> releases,
                          std::string chosen, SharedNoise shared_noise) {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (TrainedTree& tree : trees) {
    forest.push_back(std::move(tree.tree));
    leaves.push_back(std::move(tree.leaves));
  }
  Certificate certificate;
  certificate.releases = std::move(releases);
  certificate.mechanism = info.name;
  certificate.neighbouring =
      options.epsilon ? InWords(info.neighbours) : "none: trained without privacy";
  certificate.public_inputs = {"the schema: bounds, vocabularies and classes",
                               "the algorithm and its settings"};
  if (options.public_rows) {
    certificate.public_rows = options.public_rows->num_rows();
    certificate.public_rows_sha256 = RowsDigest(*options.public_rows);
    certificate.public_inputs.push_back(StrCat("public rows: ", certificate.public_rows,
                                               ", sha256 ", certificate.public_rows_sha256,
                                               ", not protected: the model may contain them"));
  }
  certificate.estimator =
      StrCat(info.name, options.settings.empty() ? "" : " ",
             StrJoin(options.settings, " ", [](std::string* out, const auto& setting) {
               StrAppend(out, setting.first, "=", setting.second);
             }));
  certificate.diagnosis = std::move(chosen);
  certificate.code_version = COPPICE_VERSION;
  if (info.neighbours == Neighbours::kChangeLabel) {
    certificate.public_inputs.push_back("the features of all rows, and which rows have a label");
  }
  const std::string uncovered = UncoveredColumns(schema);
  if (!uncovered.empty()) certificate.public_inputs.push_back(uncovered);
  COPPICE_ASSIGN_OR_RETURN(certificate.epsilon_nanos, TotalCost(certificate.releases));
  COPPICE_ASSIGN_OR_RETURN(certificate.delta_atto, TotalDelta(certificate.releases));
  return Model::Create(schema, std::move(forest), std::move(leaves), std::move(certificate),
                       leaf_kind, std::move(derived), std::move(shared_noise));
}

namespace {

// A model of this size still loads in a second, and its file is read by any editor.
constexpr uint64_t kLarge = uint64_t{16} << 20;
// A file of a model is JSON, whose numbers have up to 17 digits and names.
constexpr uint64_t kTextPerByte = 6;
// Names and certificate.
constexpr uint64_t kRest = 16 * 1024;

uint64_t VarintBytes(uint64_t value) {
  uint64_t bytes = 1;
  for (; value >= 128; value /= 128) ++bytes;
  return bytes;
}

// The size of a field with this many bytes, its tag and length included.
uint64_t FieldBytes(uint64_t bytes) { return 1 + VarintBytes(bytes) + bytes; }

// The names and bounds of a schema, with room for the tags of each.
uint64_t SchemaBytes(const Schema& schema) {
  constexpr uint64_t kTags = 8, kBounds = 40;
  uint64_t bytes = kRest;
  for (const Feature& feature : schema.features()) {
    bytes += feature.name.size() + feature.unit.size() + kBounds;
    for (const std::string& category : feature.values) bytes += category.size() + kTags;
  }
  for (const std::string& name : schema.classes()) bytes += name.size() + kTags;
  return bytes;
}

}  // namespace

uint64_t MostModelBytes(const ModelShape& shape, const Schema& schema) {
  if (shape.leaves == 0) return 0;
  constexpr uint64_t kDouble = 9;  // with its tag
  const uint64_t outputs = schema.target() ? 2 : schema.num_classes();
  // A leaf: numbers per output, error, label, node and, for scores, the means and variances of
  // noise and a term.
  uint64_t leaf = (shape.scores ? 3 : 1) * FieldBytes(8 * outputs) + kDouble + 1 +
                  VarintBytes(outputs) + 1 + VarintBytes(kMaxNodes);
  if (shape.scores) leaf += kDouble;
  // For each leaf two nodes' kinds, and a split: feature, cut or category, and where missing
  // values go.
  const uint64_t split = 2 + VarintBytes(schema.num_features()) + 8 + 1;
  constexpr uint64_t kTree = 64;  // lengths and tags
  return shape.leaves * (FieldBytes(leaf) + split) + shape.trees * kTree + SchemaBytes(schema);
}

std::vector<std::string> WarnOfSize(const ModelShape& shape, const Schema& schema) {
  const uint64_t bytes = MostModelBytes(shape, schema);
  if (bytes < kLarge) return {};
  return {StrCat("the model may have ", shape.leaves, " leaves and take ", bytes >> 20,
                 " MiB, about ", bytes * kTextPerByte >> 20,
                 " MiB as a file of text. To make it smaller, ", shape.advice)};
}

}  // namespace coppice::trainers
