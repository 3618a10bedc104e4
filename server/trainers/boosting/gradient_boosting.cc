// gradient_boosting: how good the rows allow a model to be if nothing is kept private.
//
// A private learner without its noise is no such reference: what it gives up for the sake of noise
// (few rounds, coarse public cuts, clipped residuals) it gives up without it too. This is gradient
// boosting as everybody runs it: cuts at the rows' quantiles, Newton steps at a small rate, and as
// many of them as lower the loss of rows that were held out.
//
// Every seventh row is held out, and rounds are counted until twenty of them have brought nothing.
// One such part of a small table would stop by chance, so small tables have several: each part is
// held out from a fit of its own, and their losses are added up. Then all rows are fitted with the
// number of rounds that was best.
//
// A round is a tree for each class where the trees of a model are enough for that, and otherwise
// one tree for all classes, which needs more rounds.
//
// Guarantee  none: it takes no epsilon, and the daemon does not offer it. It draws nothing: the
//            same rows in the same order give the same model.
// Source     Friedman, "Greedy function approximation: a gradient boosting machine" (2001); tree
//            sizes and rates are those of scikit-learn's HistGradientBoosting.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boost_scores.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/boosting/newton_tree.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/trainer_frame.h"

namespace coppice::trainers {
namespace {

constexpr uint32_t kMostCuts = 255, kLeastCuts = 15;
constexpr size_t kMostSums = size_t{1} << 22;  // of one leaf by bin: 32 MiB, with more cuts than 15
constexpr uint32_t kMostRounds = 500;
// A model may have 1,024 trees. With more than twelve classes fewer than 85 rounds of a tree each
// would be left, and at ten classes the search ends near 80.
constexpr size_t kMostTrees = 1023, kMostClassesApart = 12;
constexpr uint32_t kPatience = 20;  // rounds without a gain that end a search
constexpr size_t kParts = 7;        // one of these is held out
// Held-out rows of all fits together, if the table has them: their mean loss is then known to about
// a fiftieth of its deviation.
constexpr size_t kHeldOut = 2000;
// Numbers in the leaves of a model, which limits the rounds of very many classes: 32 MiB.
constexpr size_t kMostNumbers = size_t{1} << 22;
constexpr double kLeastCurvature = 1e-6;
// Of fewer than 80 rows a leaf may hold a quarter. A twentieth of fewer than 400 was worse on
// german and rice at 76 to 380 rows.
constexpr size_t kLeastShare = 4;
constexpr double kSearch = 0.8;  // the part of the time that finding the number of rounds takes

// The losses of rows whose scores are given.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual size_t scores() const = 0;
  // The scores of least loss that are the same for all these rows.
  virtual std::vector<double> Start(absl::Span<const uint32_t> rows) const = 0;
  virtual void Slopes(uint32_t row, const double* score, Slope* slopes) const = 0;
  virtual double LossOf(uint32_t row, const double* score) const = 0;
  // The model's outputs of a leaf that adds these scores (LeafKind::kScores).
  virtual std::vector<double> Outputs(std::vector<double> scores) const = 0;
};

// Squared error of the place in the target's range.
class SquaredError final : public Loss {
 public:
  explicit SquaredError(const Table& rows) {
    const Target& target = *rows.schema().target();
    for (const double value : rows.targets())
      places_.push_back((value - target.min) / target.span());
  }

  size_t scores() const override { return 1; }
  std::vector<double> Start(absl::Span<const uint32_t> rows) const override {
    double sum = 0;
    for (const uint32_t row : rows) sum += places_[row];
    return {rows.empty() ? 0.5 : sum / static_cast<double>(rows.size())};
  }
  void Slopes(uint32_t row, const double* score, Slope* slopes) const override {
    *slopes = {.gradient = static_cast<float>(places_[row] - *score), .curvature = 1};
  }
  double LossOf(uint32_t row, const double* score) const override {
    const double error = places_[row] - *score;
    return error * error;
  }
  std::vector<double> Outputs(std::vector<double> scores) const override {
    return {-scores[0], scores[0]};
  }

 private:
  std::vector<double> places_;
};

// What losses of classes share: labels, and how many rows have each.
class LogLoss : public Loss {
 public:
  explicit LogLoss(const Table& rows)
      : labels_(rows.labels().begin(), rows.labels().end()),
        classes_(rows.schema().num_classes()) {}

 protected:
  // Logarithms of the classes' counts, each with one row more, or what is rare could not be.
  std::vector<double> LogCounts(absl::Span<const uint32_t> rows) const {
    std::vector<double> counts(classes_, 1.0);
    for (const uint32_t row : rows) counts[labels_[row]] += 1;
    for (double& count : counts) count = std::log(count);
    return counts;
  }

  std::vector<uint32_t> labels_;
  uint32_t classes_;
};

// One score, the log-odds of the second class.
class TwoClassLoss final : public LogLoss {
 public:
  using LogLoss::LogLoss;

  size_t scores() const override { return 1; }
  std::vector<double> Start(absl::Span<const uint32_t> rows) const override {
    const std::vector<double> logs = LogCounts(rows);
    return {logs[1] - logs[0]};
  }
  void Slopes(uint32_t row, const double* score, Slope* slopes) const override {
    const double p = 1 / (1 + std::exp(-*score));
    *slopes = {.gradient = static_cast<float>(labels_[row] - p),
               .curvature = static_cast<float>(std::max(p * (1 - p), kLeastCurvature))};
  }
  double LossOf(uint32_t row, const double* score) const override {
    const double lead = labels_[row] == 1 ? *score : -*score;
    return std::max(-lead, 0.0) + std::log1p(std::exp(-std::abs(lead)));
  }
  std::vector<double> Outputs(std::vector<double> scores) const override {
    return {-scores[0] / 2, scores[0] / 2};
  }
};

// A score a class.
class ManyClassLoss final : public LogLoss {
 public:
  using LogLoss::LogLoss;

  size_t scores() const override { return classes_; }
  std::vector<double> Start(absl::Span<const uint32_t> rows) const override {
    return LogCounts(rows);
  }
  void Slopes(uint32_t row, const double* score, Slope* slopes) const override {
    const double total = LogTotal(score);
    for (uint32_t k = 0; k < classes_; ++k) {
      const double p = std::exp(score[k] - total);
      slopes[k] = {.gradient = static_cast<float>((labels_[row] == k ? 1 : 0) - p),
                   .curvature = static_cast<float>(std::max(p * (1 - p), kLeastCurvature))};
    }
  }
  double LossOf(uint32_t row, const double* score) const override {
    return LogTotal(score) - score[labels_[row]];
  }
  std::vector<double> Outputs(std::vector<double> scores) const override { return scores; }

 private:
  // The logarithm of the sum of exp(score) over the classes.
  double LogTotal(const double* score) const {
    const double most = *std::max_element(score, score + classes_);
    double total = 0;
    for (uint32_t k = 0; k < classes_; ++k) total += std::exp(score[k] - most);
    return most + std::log(total);
  }
};

std::unique_ptr<Loss> LossOf(const Table& rows) {
  if (rows.schema().target()) return std::make_unique<SquaredError>(rows);
  if (rows.schema().num_classes() == 2) return std::make_unique<TwoClassLoss>(rows);
  return std::make_unique<ManyClassLoss>(rows);
}

// The rows whose label is known, as a table: cuts are quantiles of them, and losses are of exact
// numbers. No job of a daemon trains without privacy.
StatusOr<Table> Labelled(const RowBlocks& rows) {
  Table labelled(rows.shared_schema());
  COPPICE_RETURN_IF_ERROR(rows.ForEach([&](const Table& block) {
    std::vector<size_t> known;
    for (size_t row = 0; row < block.num_rows(); ++row) {
      if (block.schema().target() || block.label(row) != kUnlabelled) known.push_back(row);
    }
    labelled.Append(block.Select(known));
    return OkStatus();
  }));
  return labelled;
}

// Leaves of 20 rows leave a table of 30 with no split at all.
NewtonOptions OptionsFor(size_t rows) {
  NewtonOptions options;
  const size_t least = std::max<size_t>(rows / kLeastShare, 1);
  options.least_rows = static_cast<uint32_t>(std::min<size_t>(options.least_rows, least));
  return options;
}

// What the schema decides.
struct GradientBoostingConfig {
  size_t scores = 1;
  size_t scores_of_tree = 1;  // how many a tree is for: one, or all
  uint32_t most_cuts = kMostCuts;
  uint32_t most_rounds = kMostRounds;

  size_t trees_of_round() const { return scores / scores_of_tree; }
};

GradientBoostingConfig ConfigFor(const Schema& schema) {
  GradientBoostingConfig config;
  if (schema.num_classes() > 2) config.scores = schema.num_classes();
  config.scores_of_tree = config.scores <= kMostClassesApart ? 1 : config.scores;
  const size_t sums = schema.num_features() * (1 + 2 * config.scores_of_tree);
  config.most_cuts =
      static_cast<uint32_t>(std::clamp<size_t>(kMostSums / sums, kLeastCuts, kMostCuts));
  const size_t numbers = NewtonOptions().most_leaves * config.scores * config.trees_of_round();
  const size_t rounds = std::clamp<size_t>(kMostNumbers / numbers, kPatience, kMostRounds);
  config.most_rounds =
      static_cast<uint32_t>(std::min(rounds, kMostTrees / config.trees_of_round()));
  return config;
}

// One fit, round by round.
class Fit {
 public:
  Fit(const BinnedRows& rows, const Loss& loss, size_t scores_of_tree, std::vector<uint32_t> fitted,
      std::vector<uint32_t> held_out)
      : rows_(rows),
        loss_(loss),
        scores_of_tree_(scores_of_tree),
        fitted_(std::move(fitted)),
        held_out_(std::move(held_out)),
        options_(OptionsFor(fitted_.size())),
        start_(loss.Start(fitted_)),
        slopes_(rows.num_rows() * start_.size()) {
    for (size_t row = 0; row < rows.num_rows(); ++row) {
      scores_.insert(scores_.end(), start_.begin(), start_.end());
    }
  }

  const std::vector<double>& start() const { return start_; }

  // Adds a tree for each part of the scores, and returns them.
  std::vector<BinTree> Round() {
    const size_t scores = start_.size();
    for (const uint32_t row : fitted_) {
      loss_.Slopes(row, &scores_[row * scores], &slopes_[row * scores]);
    }
    std::vector<BinTree> trees;
    for (size_t first = 0; first < scores; first += scores_of_tree_) {
      trees.push_back(GrowNewtonTree(
          rows_, fitted_,
          {.all = slopes_, .scores = scores, .first = first, .count = scores_of_tree_}, options_));
      Add(trees.back(), first);
    }
    return trees;
  }

  // Summed over the rows that are held out.
  double HeldOutLoss() const {
    double sum = 0;
    for (const uint32_t row : held_out_) sum += loss_.LossOf(row, &scores_[row * start_.size()]);
    return sum;
  }

 private:
  void Add(const BinTree& tree, size_t first) {
    for (const auto* part : {&fitted_, &held_out_}) {
      for (const uint32_t row : *part) {
        double* score = &scores_[row * start_.size() + first];
        for (const double value : tree.ValueOf(rows_, row)) *score++ += value;
      }
    }
  }

  const BinnedRows& rows_;
  const Loss& loss_;
  const size_t scores_of_tree_;
  const std::vector<uint32_t> fitted_, held_out_;
  const NewtonOptions options_;
  const std::vector<double> start_;
  std::vector<double> scores_;  // scores_[row * scores + score]
  std::vector<Slope> slopes_;
};

// The number of rounds with the least loss of rows that are held out; 0: the start is best.
StatusOr<uint32_t> BestRounds(const BinnedRows& rows, const Loss& loss,
                              absl::Span<const uint32_t> all, const GradientBoostingConfig& config,
                              const TrainProgress& progress) {
  const size_t of_part = std::max<size_t>(all.size() / kParts, 1);
  const size_t parts = std::clamp<size_t>((kHeldOut + of_part - 1) / of_part, 1, kParts);
  std::vector<Fit> fits;
  for (size_t part = 0; part < parts; ++part) {
    std::vector<uint32_t> fitted, held_out;
    for (size_t i = 0; i < all.size(); ++i) {
      (i % kParts == part ? held_out : fitted).push_back(all[i]);
    }
    fits.emplace_back(rows, loss, config.scores_of_tree, std::move(fitted), std::move(held_out));
  }
  const auto loss_of_fits = [&] {
    double sum = 0;
    for (const Fit& fit : fits) sum += fit.HeldOutLoss();
    return sum;
  };
  double least = loss_of_fits();
  uint32_t best = 0;
  for (uint32_t round = 1; round <= config.most_rounds && round - best <= kPatience; ++round) {
    COPPICE_RETURN_IF_ERROR(progress(kSearch * round / config.most_rounds));
    for (Fit& fit : fits) fit.Round();
    if (const double now = loss_of_fits(); now < least) {
      least = now;
      best = round;
    }
  }
  return best;
}

// The tree's values belong to the scores from `first` on.
TrainedTree ToTrained(NewtonTree tree, const Loss& loss, size_t first) {
  TrainedTree trained;
  for (uint32_t leaf = 0; leaf < tree.values.size(); ++leaf) {
    std::vector<double> scores(loss.scores());
    std::copy(tree.values[leaf].begin(), tree.values[leaf].end(), scores.begin() + first);
    std::vector<double> outputs = loss.Outputs(std::move(scores));
    std::vector<OutputNoise> none(outputs.size());
    trained.leaves.push_back(
        ScoreLeaf(std::move(outputs), std::move(none), tree.tree.leaf_node(leaf)));
  }
  trained.tree = std::move(tree.tree);
  return trained;
}

class GradientBoostingTrainer final : public TrainerFrame<GradientBoostingConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  using Config = GradientBoostingConfig;

  StatusOr<Config> Configure(const Schema& schema, const CheckedSettings&,
                             const TrainOptions& options) const override {
    COPPICE_RETURN_IF_ERROR(CheckHasNoEpsilon(info_, options));
    return ConfigFor(schema);
  }

  std::vector<Release> PlanOf(const Config&) const override { return {}; }

  StatusOr<std::vector<std::string>> WarningsOf(const Config&) const override {
    return std::vector<std::string>();
  }

  ModelShape ShapeOf(const Config&, const Schema& schema) const override {
    return MostOfGradientBoosting(schema);
  }

  StatusOr<Model> TrainAs(const Config& config, const RowBlocks& rows, const TrainOptions& options,
                          PrivateReleaser&, const TrainProgress& progress) const override {
    const Schema& schema = rows.schema();
    COPPICE_ASSIGN_OR_RETURN(const Table known, Labelled(rows));
    COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned,
                             BinnedRows::Create(known, QuantileBins(known, config.most_cuts)));
    const std::unique_ptr<Loss> loss = LossOf(known);
    const std::vector<uint32_t> all = AllRows(known.num_rows());
    COPPICE_ASSIGN_OR_RETURN(const uint32_t rounds,
                             BestRounds(binned, *loss, all, config, progress));
    Fit fit(binned, *loss, config.scores_of_tree, all, {});
    std::vector<TrainedTree> trees;
    trees.push_back(ToTrained({.tree = Tree::SingleLeaf(), .values = {fit.start()}}, *loss, 0));
    for (uint32_t round = 0; round < rounds; ++round) {
      COPPICE_RETURN_IF_ERROR(progress(kSearch + (1 - kSearch) * round / rounds));
      size_t first = 0;
      for (const BinTree& grown : fit.Round()) {
        COPPICE_ASSIGN_OR_RETURN(NewtonTree tree, ToNewtonTree(grown, schema, binned.bins()));
        trees.push_back(ToTrained(std::move(tree), *loss, first));
        first += config.scores_of_tree;
      }
    }
    return MakeModel(schema, std::move(trees), LeafKind::kScores, /*derived=*/{}, info_, options,
                     /*releases=*/{}, StrCat(rounds, rounds == 1 ? " round" : " rounds"));
  }

  AlgorithmInfo info_ = {.name = "gradient_boosting",
                         .summary = "not private: gradient boosting with early stopping",
                         .source = "Friedman 2001",
                         .is_private = false,
                         .regression = true,
                         .parameters = {}};
};

}  // namespace

ModelShape MostOfGradientBoosting(const Schema& schema) {
  const GradientBoostingConfig config = ConfigFor(schema);
  const uint64_t trees = uint64_t{config.most_rounds} * config.trees_of_round();
  return {.trees = trees + 1,
          .leaves = trees * NewtonOptions().most_leaves + 1,
          .scores = true,
          .advice = "leave out classes"};
}

const Trainer& GradientBoosting() {
  static const GradientBoostingTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
