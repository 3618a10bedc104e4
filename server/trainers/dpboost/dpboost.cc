// DPBoost: gradient boosting whose trees see different rows, and the two other ways of spending
// epsilon with which its paper compares it.
//
// Each tree is fitted to the residuals of those before it. If all trees saw all rows, each would
// get a small part of epsilon; where they see different rows, each may spend all of it, but sees
// fewer of them. DPBoost balances the two: within an ensemble trees divide the rows, earlier ones
// getting more, and ensembles follow each other. Residuals are held to the largest that the start
// has, which bounds the noise, and leaf values to a bound that falls from tree to tree as residuals
// do: what noise makes of a late tree's leaf cannot undo what earlier trees have learned.
//
// Deviations from the paper: the gain's range is 4 g*^2, because Lemma 1 is false; rows are drawn
// into trees one by one, because fixed sizes cost more; bins, bounds, the start and the depth are
// public, and nothing stops early; leaves spend the leaves' share on half sums.
//
// Source     Li, Wu, Wen, He, "Privacy-Preserving Gradient DpBoosting Decision Trees" (2020),
//            Algorithms 1 and 2; PARA after Zhao and others (2018), SEQ after Liu and others
//            (2018), as described in its section 4.
// Guarantee  epsilon-DP, add or remove one row. A tree costs its levels and its leaves. Each row is
//            in one tree of an ensemble, so an ensemble costs what one tree does; ensembles add up
//            (docs/research/mechanisms.md#dpboost).

#include "server/trainers/dpboost/dpboost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"
#include "server/trainers/dpboost/assignment.h"
#include "server/trainers/dpboost/gradient_tree.h"
#include "server/trainers/dpboost/gradients.h"
#include "server/trainers/dpboost/histograms.h"

namespace coppice::trainers {
namespace {

enum class Scheme : uint8_t { kEnsembles, kSequential, kParallel };

// PARA: each tree sees half of the rows that no tree has seen.
constexpr double kParallelRatio = 0.5;
constexpr uint32_t kLambdaSteps = 1000;
constexpr char kNoFiltering[] = "none";

struct DpBoostConfig {
  Scheme scheme = Scheme::kEnsembles;
  uint32_t trees = 1;
  uint32_t ensembles = 1;
  uint32_t cuts = 1;
  double rate = 1;
  bool clips = true;
  GradientLoss loss = GradientLoss::kLogistic;
  Filtering filtering = Filtering::kClamp;
  SelectionRule selection = SelectionRule::kPermuteAndFlip;
  GradientTreeOptions tree{};
  GradientLeafOptions leaf{};
  std::vector<Release> releases{};

  // The trees of an ensemble: the first ensembles have one more if the number does not divide.
  uint32_t TreesOf(uint32_t ensemble) const {
    return trees / ensembles + (ensemble < trees % ensembles ? 1 : 0);
  }
  bool all_rows() const { return scheme == Scheme::kSequential; }
};

std::vector<Parameter> Parameters() {
  std::vector<Parameter> parameters = {
      IntegerParameter("trees", 1, 1024, "50", "number of trees, of all ensembles together"),
      DepthParameter("6", "levels of each tree"),
      IntegerParameter("ensembles", 1, 1024, "1",
                       "rounds in which all rows are divided among trees anew: each spends an "
                       "equal share of epsilon. Worth it where epsilon is large"),
      ChoiceParameter("scheme", {"dpboost", "seq", "para"}, "dpboost",
                      "dpboost: later trees of an ensemble see fewer rows, and each may spend all "
                      "of the ensemble's share; seq: every tree sees all rows and spends an equal "
                      "share of epsilon; para: each tree sees half of the rows not yet seen"),
      ChoiceParameter("loss", {"square", "logistic"}, "",
                      "what the trees minimize (default: logistic for classes, square for "
                      "numbers); square also works for two classes, as in the paper"),
      RealParameter("learning_rate", 0.001, 1, "0.5",
                    "part of a tree's values that is added. A larger rate gives the first trees "
                    "more rows, and makes later ones count less"),
      RealParameter("lambda", 0, 1000, "0.1", "regularization of gains and leaf values, in rows"),
      ChoiceParameter("clipping", {"geometric", "none"}, "geometric",
                      "leaf values of tree t of an ensemble are cut to (1 - learning_rate)^(t - 1) "
                      "of the largest gradient; seq and para never do"),
      ChoiceParameter("filtering", {"drop", "clamp", kNoFiltering}, "clamp",
                      "rows with a larger gradient than any at the start: left out of the tree, or "
                      "counted with that of the start; none: counted as they are, and no leaf "
                      "is clipped, which only a run without privacy can do"),
      StructureParameter("0.5"),
      IntegerParameter("cuts", 1, 4096, "31",
                       "public cut points of a numeric feature, from its declared bounds")};
  parameters.push_back(ChoiceParameter(
      "selection", {"permute_and_flip", "exponential"}, "permute_and_flip",
      "how a split is chosen; permute_and_flip is never worse at the same epsilon"));
  return parameters;
}

StatusOr<GradientLoss> LossOf(const CheckedSettings& settings, const Schema& schema) {
  const bool square =
      settings.Has("loss") ? settings.Choice("loss") == "square" : schema.target().has_value();
  if (schema.target() && !square) {
    return InvalidArgumentError("loss: logistic is for classes; use square for numbers");
  }
  if (square && schema.num_classes() > 2) {
    return InvalidArgumentError(
        "loss: square is for numbers and for two classes; use logistic for more");
  }
  return square ? GradientLoss::kSquare : GradientLoss::kLogistic;
}

Filtering FilteringOf(const std::string& name) {
  if (name == kNoFiltering) return Filtering::kNone;
  return name == "drop" ? Filtering::kDrop : Filtering::kClamp;
}

StatusOr<DpBoostConfig> Read(const CheckedSettings& settings, const Schema& schema) {
  const std::string& scheme = settings.Choice("scheme");
  DpBoostConfig config{.scheme = scheme == "seq"    ? Scheme::kSequential
                                 : scheme == "para" ? Scheme::kParallel
                                                    : Scheme::kEnsembles,
                       .trees = static_cast<uint32_t>(settings.Integer("trees")),
                       .ensembles = static_cast<uint32_t>(settings.Integer("ensembles")),
                       .cuts = static_cast<uint32_t>(settings.Integer("cuts")),
                       .rate = settings.Real("learning_rate"),
                       .filtering = FilteringOf(settings.Choice("filtering")),
                       .selection = settings.Choice("selection") == "exponential"
                                        ? SelectionRule::kExponential
                                        : SelectionRule::kPermuteAndFlip};
  if (config.ensembles > config.trees) {
    return InvalidArgumentError(
        StrCat("ensembles: at most as many as there are trees, ", config.trees));
  }
  if (config.ensembles > 1 && config.all_rows()) {
    return InvalidArgumentError("ensembles: with scheme=seq there are none; leave it out");
  }
  config.clips = config.scheme == Scheme::kEnsembles && config.filtering != Filtering::kNone &&
                 settings.Choice("clipping") == "geometric";
  COPPICE_ASSIGN_OR_RETURN(config.loss, LossOf(settings, schema));
  const Lambda lambda{
      .numerator = static_cast<uint32_t>(std::lround(settings.Real("lambda") * kLambdaSteps)),
      .denominator = kLambdaSteps};
  config.tree.depth = static_cast<uint32_t>(settings.Integer("depth"));
  config.tree.lambda = config.leaf.lambda = lambda;
  return config;
}

// Describes how trees see rows, for shared helpers: all trees see all rows, or the trees of an
// ensemble see different rows.
EnsembleOptions ViewOf(const DpBoostConfig& config) {
  return {.trees = config.all_rows() ? config.trees : config.TreesOf(0),
          .groups = !config.all_rows(),
          .cuts = config.cuts};
}

std::vector<Release> ReleasesOf(const DpBoostConfig& config) {
  std::vector<Release> releases;
  const uint32_t depth = config.tree.depth;
  const EnsembleOptions view = ViewOf(config);
  const uint64_t times = config.all_rows() ? config.trees : config.ensembles;
  std::string part;
  if (view.groups && view.trees > 1) {
    part = StrCat("each of ", view.trees, " groups of the rows",
                  config.ensembles > 1 ? ", drawn anew for each ensemble" : "");
  }
  if (depth > 0) {
    releases.push_back({.what = "a split at every node of a level",
                        .mechanism = std::string(SelectionName(config.selection)),
                        .epsilon_nanos = config.tree.split.amount(),
                        .times = depth * times,
                        .part = part});
  }
  releases.push_back({.what = "number of rows and sum of residuals in every leaf",
                      .mechanism = kDiscreteLaplace,
                      .epsilon_nanos = config.leaf.share.amount(),
                      .times = times,
                      .part = part});
  return releases;
}

class DpBoosting {
 public:
  DpBoosting(const Schema& schema, const BinnedRows& rows, const DpBoostConfig& config,
             PrivateReleaser& releaser, const TrainProgress& progress)
      : schema_(schema),
        rows_(rows),
        resolved_(config),
        releaser_(releaser),
        progress_(progress),
        histograms_(rows),
        gradients_(rows, config.loss, config.filtering),
        tree_options_(config.tree) {
    tree_options_.squared_norm = gradients_.squared_norm();
  }

  StatusOr<std::vector<TrainedTree>> Train() {
    COPPICE_RETURN_IF_ERROR(progress_(0));
    const std::vector<uint32_t> all = AllRows(rows_.num_rows());
    if (resolved_.all_rows()) {
      for (uint32_t t = 0; t < resolved_.trees; ++t) {
        COPPICE_RETURN_IF_ERROR(AddTree(all, all, 1));
      }
    }
    for (uint32_t e = 0; e < resolved_.ensembles && !resolved_.all_rows(); ++e) {
      const uint32_t trees = resolved_.TreesOf(e);
      COPPICE_ASSIGN_OR_RETURN(const Assignment assignment,
                               AssignRows(rows_.num_rows(), OddsOf(trees), releaser_));
      const bool last = e + 1 == resolved_.ensembles;
      for (uint32_t t = 0; t < trees; ++t) {
        const double clip = resolved_.clips ? std::pow(1 - resolved_.rate, t) : 1;
        COPPICE_RETURN_IF_ERROR(
            AddTree(assignment.Part(t), last ? assignment.After(t) : all, clip));
      }
    }
    return std::move(trees_);
  }

 private:
  std::vector<uint64_t> OddsOf(uint32_t trees) const {
    if (resolved_.scheme == Scheme::kEnsembles) return GeometricOdds(trees, 1 - resolved_.rate);
    return GeometricOdds(trees, kParallelRatio);
  }

  // Grows a tree on `group`; `later` are the rows whose scores are still needed.
  Status AddTree(absl::Span<const uint32_t> group, absl::Span<const uint32_t> later, double clip) {
    COPPICE_RETURN_IF_ERROR(progress_(static_cast<double>(trees_.size()) / resolved_.trees));
    COPPICE_ASSIGN_OR_RETURN(const GradientTree tree,
                             GrowGradientTree(schema_, rows_, histograms_, gradients_.Of(group),
                                              tree_options_, releaser_));
    GradientLeafOptions leaf = resolved_.leaf;
    leaf.clip = clip;
    COPPICE_ASSIGN_OR_RETURN(std::vector<GradientLeaf> leaves,
                             ReleaseGradientLeaves(tree, leaf, releaser_));
    for (GradientLeaf& of_tree : leaves) Shrink(of_tree);
    COPPICE_RETURN_IF_ERROR(AddScores(tree.grown, leaves, later));
    trees_.push_back(ToTrained(tree.grown.tree, leaves));
    return OkStatus();
  }

  // Scales a leaf by the learning rate.
  void Shrink(GradientLeaf& leaf) const {
    for (double& value : leaf.values) value *= resolved_.rate;
    for (OutputNoise& noise : leaf.noise) noise = Scaled(noise, resolved_.rate);
  }

  Status AddScores(const GrownTree& grown, const std::vector<GradientLeaf>& leaves,
                   absl::Span<const uint32_t> rows) {
    if (trees_.size() + 1 == resolved_.trees) return OkStatus();  // no later tree needs them
    // A tree that saw all rows knows their leaves: using that saves time, and adds the same.
    if (grown.rows.size() == rows_.num_rows()) {
      return AddLeaves(grown, leaves);
    }
    COPPICE_ASSIGN_OR_RETURN(const GrownTree filled,
                             FillTree(schema_, grown.tree, rows_, {rows.begin(), rows.end()}));
    return AddLeaves(filled, leaves);
  }

  Status AddLeaves(const GrownTree& filled, const std::vector<GradientLeaf>& leaves) {
    for (uint32_t leaf = 0; leaf < filled.tree.num_leaves(); ++leaf) {
      COPPICE_RETURN_IF_ERROR(gradients_.Add(filled.LeafRows(leaf), leaves[leaf].values));
    }
    return OkStatus();
  }

  TrainedTree ToTrained(Tree tree, const std::vector<GradientLeaf>& leaves) const {
    TrainedTree trained;
    for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
      std::vector<double> outputs = gradients_.ToOutputs(leaves[leaf].values);
      if (rows_.regression() && trees_.empty()) {
        // Scores start in the middle of the range.
        for (double& output : outputs) output += 0.5;
      }
      trained.leaves.push_back(ScoreLeaf(
          std::move(outputs), gradients_.OutputsNoise(leaves[leaf].noise), tree.leaf_node(leaf)));
    }
    trained.tree = std::move(tree);
    return trained;
  }

  const Schema& schema_;
  const BinnedRows& rows_;
  const DpBoostConfig& resolved_;
  PrivateReleaser& releaser_;
  const TrainProgress& progress_;
  HistogramBuilder histograms_;
  Gradients gradients_;
  GradientTreeOptions tree_options_;
  std::vector<TrainedTree> trees_;
};

class DpBoostTrainer final : public TrainerFrame<DpBoostConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<DpBoostConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                    const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(DpBoostConfig config, Read(settings, schema));
    if (options.epsilon && config.filtering == Filtering::kNone) {
      return InvalidArgumentError(
          "filtering=none: noise needs gradients with a bound; use clamp or drop");
    }
    const uint32_t depth = config.tree.depth;
    COPPICE_RETURN_IF_ERROR(CheckSize({.trees = config.trees}, depth));
    COPPICE_ASSIGN_OR_RETURN(const BudgetShare of_tree,
                             EqualShare(BudgetShare::Of(options.epsilon),
                                        config.all_rows() ? config.trees : config.ensembles));
    config.leaf.share = of_tree;
    if (depth > 0) {
      COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(of_tree, settings.Real("structure")));
      COPPICE_ASSIGN_OR_RETURN(config.tree.split, EqualShare(shares.part, depth));
      config.leaf.share = shares.rest;
    }
    if (options.epsilon) config.releases = ReleasesOf(config);
    return config;
  }

  std::vector<Release> PlanOf(const DpBoostConfig& config) const override {
    return config.releases;
  }
  StatusOr<std::vector<std::string>> WarningsOf(const DpBoostConfig& config) const override {
    return WarnOfNoise(ViewOf(config), config.tree.depth, config.leaf.share);
  }
  ModelShape ShapeOf(const DpBoostConfig& config, const Schema& /*schema*/) const override {
    return {.trees = config.trees,
            .leaves = uint64_t{config.trees} << config.tree.depth,
            .scores = true,
            .advice = "use fewer trees or a smaller depth"};
  }

  // Bins column by column, and side by side; scores and residuals of each output; and a row's
  // number in its group and in what grows a tree and fills it with the rows of later ones.
  StatusOr<uint64_t> BytesOfRow(const DpBoostConfig& config, const Schema& schema) const override {
    constexpr uint64_t kNumbers = 12 * sizeof(uint32_t);
    const std::vector<FeatureBins> bins = MostPublicBins(schema, config.cuts);
    uint64_t places = 0;
    for (const FeatureBins& column : bins) places += column.size();
    const uint64_t of_place = places <= uint64_t{1} << 16 ? sizeof(uint16_t) : sizeof(uint32_t);
    const uint64_t outputs = schema.num_classes() > 2 ? schema.num_classes() : 1;
    return BytesOfBinnedRow(bins) + of_place * bins.size() +
           outputs * (sizeof(double) + sizeof(int32_t)) + kNumbers;
  }

  StatusOr<Model> TrainAs(const DpBoostConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override {
    COPPICE_ASSIGN_OR_RETURN(std::vector<FeatureBins> bins, PublicBins(rows.schema(), config.cuts));
    COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned, BinnedRows::Create(rows, std::move(bins)));
    releaser.UseRule(config.selection);
    DpBoosting boosting(rows.schema(), binned, config, releaser, progress);
    COPPICE_ASSIGN_OR_RETURN(std::vector<TrainedTree> trees, boosting.Train());
    return MakeModel(rows.schema(), std::move(trees), LeafKind::kScores, /*derived=*/{}, info_,
                     options, config.releases);
  }

  AlgorithmInfo info_ = {.name = "dpboost",
                         .summary = "gradient boosting whose trees see different rows",
                         .source = "Li, Wu, Wen, He 2020, Algorithms 1 and 2",
                         .regression = true,
                         .parameters = Parameters()};
};

}  // namespace

const Trainer& DpBoost() {
  static const DpBoostTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
