// auto: boosted trees with nothing to tune.
//
// Source     docs/mechanisms.md#boosting has the recipe, its proof and where it comes from.
// Guarantee  epsilon-DP, add or remove one row. A hundredth of epsilon goes to a noisy number of
//            rows, from which (with epsilon, the schema and the task) everything else is decided:
//            how many trees, how deep. A tree is grown on residuals that each row computes from
//            itself and what was released; levels and trees add up. Numbers to predict are centred
//            and scaled by two private quantiles first.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/privacy/selection.h"
#include "server/trainers/algorithms.h"
#include "server/trainers/boost_columns.h"
#include "server/trainers/boost_tree.h"
#include "server/trainers/ensemble.h"
#include "server/trainers/shares.h"

namespace coppice {
namespace {

constexpr double kCountShare = 0.01;
constexpr double kSelectShare = 0.65;  // of a level; the rest measures
constexpr double kInformation = 140;   // of n * epsilon, for each further round
constexpr double kMostRounds = 200;
constexpr double kMostDepth = 4;
constexpr double kSmoothing = 1.5 * 1.4142135623730951;  // noise scales: 1.5 standard deviations
constexpr double kMostStep = 10;
constexpr double kRegressionStep = 0.4;
constexpr int64_t kHalf = kResidualUnit / 2;

struct Budgets {
  Share count = Share::WithoutPrivacy();
  Share forest = Share::WithoutPrivacy();
};

// How many trees of how many levels, from the number of rows as released.
struct Size {
  uint32_t trees = 1;
  uint32_t depth = 1;
};

Size SizeOf(double rows, const Share& forest) {
  // Without privacy as with an epsilon that noise can no longer be seen at.
  const double epsilon = forest.is_private() ? forest.budget().epsilon() : 1000;
  const double rounds =
      std::clamp(std::sqrt(std::max(rows, 0.0) * epsilon / kInformation), 1.0, kMostRounds);
  const double depth = std::clamp(std::round(rounds), 1.0, kMostDepth);
  return {.trees = static_cast<uint32_t>(std::max(1.0, std::round(rounds / depth))),
          .depth = static_cast<uint32_t>(depth)};
}

// Shares of the levels of one tree, each a quarter larger than the one above.
absl::StatusOr<std::vector<LevelShares>> SharesOf(const Share& tree, uint32_t depth) {
  std::vector<LevelShares> levels;
  uint64_t all = 0;
  const auto weight = [depth](uint32_t level) {
    uint64_t w = 1;
    for (uint32_t i = 0; i < depth - 1; ++i) w *= i < level ? 5 : 4;
    return w;
  };
  for (uint32_t level = 0; level < depth; ++level) all += weight(level);
  for (uint32_t level = 0; level < depth; ++level) {
    Share of_level = tree;
    if (tree.is_private()) {
      const absl::StatusOr<Budget> budget = Budget::FromNanos(tree.nanos() / all * weight(level));
      if (!budget.ok()) {
        return absl::InvalidArgumentError("epsilon is too small to be divided among the trees");
      }
      of_level = Share(*budget);
    }
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(of_level, kSelectShare));
    levels.push_back({.select = shares.part, .measure = shares.rest});
  }
  return levels;
}

// Rows' scores and residuals, for one kind of task. Everything a row asks for follows from its
// label and its released scores.
class Task {
 public:
  virtual ~Task() = default;
  virtual ResidualKind kind() const = 0;
  virtual void Fill(Residuals& residuals) const = 0;
  virtual void Value(const Measured& measured, absl::Span<double> value) const = 0;
  // The model's outputs of a leaf whose scores are these.
  virtual std::vector<double> Outputs(absl::Span<const double> scores) const = 0;

  void Add(absl::Span<const uint32_t> child_of_row,
           const std::vector<std::vector<double>>& values) {
    for (size_t output = 0; output < scores_.size(); ++output) {
      for (size_t row = 0; row < child_of_row.size(); ++row) {
        scores_[output][row] += values[child_of_row[row]][output];
      }
    }
  }

 protected:
  Task(size_t outputs, size_t rows) : scores_(outputs, std::vector<double>(rows, 0.0)) {}

  std::vector<std::vector<double>> scores_;  // scores_[output][row]
};

int32_t OnGrid(double x, int64_t most) {
  if (!(x > 0)) return 0;  // and not a number
  return static_cast<int32_t>(std::min<int64_t>(std::llround(x * kResidualUnit), most));
}

double LogRatio(double positive, double negative, double smoothing) {
  return std::clamp(
      std::log((std::max(positive, 0.0) + smoothing) / (std::max(negative, 0.0) + smoothing)),
      -kMostStep, kMostStep);
}

// Without noise a little is added all the same, or an empty side would be infinitely sure.
double Smoothing(const Measured& measured) {
  return kSmoothing * measured.scale + static_cast<double>(kHalf);
}

// One score, the log-odds of the second class. |y - p|, at most 1/2.
class TwoClasses final : public Task {
 public:
  explicit TwoClasses(absl::Span<const uint32_t> labels)
      : Task(1, labels.size()), labels_(labels) {}

  ResidualKind kind() const override {
    return {.outputs = 1, .whole = 0, .range = 2 * kHalf, .sensitivity = kHalf, .multiway = 1};
  }
  void Fill(Residuals& residuals) const override {
    for (size_t row = 0; row < labels_.size(); ++row) {
      const double p = 1 / (1 + std::exp(-scores_[0][row]));
      residuals[0][row] = labels_[row] == kUnlabelled ? 0
                          : labels_[row] == 1         ? OnGrid(1 - p, kHalf)
                                                      : -OnGrid(p, kHalf);
    }
  }
  void Value(const Measured& measured, absl::Span<double> value) const override {
    const double smoothing = measured.scale > 0 ? kSmoothing * measured.scale : Smoothing(measured);
    value[0] = LogRatio(static_cast<double>(measured.positive[0]),
                        static_cast<double>(measured.negative[0]), smoothing);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return {-scores[0] / 2, scores[0] / 2};
  }

 private:
  absl::Span<const uint32_t> labels_;
};

// One score a class. The residuals' L1 norm is at most 1.
class SeveralClasses final : public Task {
 public:
  SeveralClasses(absl::Span<const uint32_t> labels, uint32_t classes)
      : Task(classes, labels.size()), labels_(labels), classes_(classes) {}

  ResidualKind kind() const override {
    return {.outputs = classes_,
            .whole = 0,
            .range = 4 * kHalf,
            .sensitivity = 2 * kHalf,
            .multiway = 2};
  }
  void Fill(Residuals& residuals) const override {
    std::vector<double> p(classes_);
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] == kUnlabelled) {
        for (auto& of_class : residuals) of_class[row] = 0;
        continue;
      }
      Softmax(row, p);
      const double others = 1 - p[labels_[row]];
      const double scale = others > 0 ? std::min(1.0, 0.5 / others) : 1;
      FillRow(row, p, scale, residuals);
    }
  }
  void Value(const Measured& measured, absl::Span<double> value) const override {
    const double smoothing = measured.scale > 0 ? kSmoothing * measured.scale : Smoothing(measured);
    for (uint32_t k = 0; k < classes_; ++k) {
      value[k] = (classes_ - 1.0) / classes_ *
                 LogRatio(static_cast<double>(measured.positive[k]),
                          static_cast<double>(measured.negative[k]), smoothing);
    }
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    return {scores.begin(), scores.end()};
  }

 private:
  void Softmax(size_t row, std::vector<double>& p) const {
    double most = scores_[0][row];
    for (uint32_t k = 1; k < classes_; ++k) most = std::max(most, scores_[k][row]);
    double total = 0;
    for (uint32_t k = 0; k < classes_; ++k) total += p[k] = std::exp(scores_[k][row] - most);
    for (double& x : p) x /= total;
  }

  // The other classes' shares are rounded down and add up to half a unit at most; the row's own
  // class gets their sum: the norm is a unit at most, whatever floating point did.
  void FillRow(size_t row, const std::vector<double>& p, double scale, Residuals& residuals) const {
    const uint32_t label = labels_[row];
    int64_t sum = 0, largest = -1;
    uint32_t place = 0;
    for (uint32_t k = 0; k < classes_; ++k) {
      if (k == label) continue;
      const auto share =
          static_cast<int64_t>(std::floor(std::clamp(scale * p[k], 0.0, 0.5) * kResidualUnit));
      residuals[k][row] = static_cast<int32_t>(-share);
      sum += share;
      if (share > largest) {
        largest = share;
        place = k;
      }
    }
    if (sum > kHalf) {
      const int64_t excess = std::min(sum - kHalf, largest);
      residuals[place][row] += static_cast<int32_t>(excess);
      sum -= excess;
    }
    residuals[label][row] = static_cast<int32_t>(std::min(sum, kHalf));
  }

  absl::Span<const uint32_t> labels_;
  uint32_t classes_;
};

// A number, centred and scaled by released values: the score is in [-1, 1] of the scale.
class Regression final : public Task {
 public:
  // `middle` and `reach` in steps of the target's range.
  Regression(absl::Span<const uint32_t> targets, double middle, double reach)
      : Task(1, targets.size()), targets_(targets), middle_(middle), reach_(reach) {}

  ResidualKind kind() const override {
    return {.outputs = 1,
            .whole = kResidualUnit,
            .range = 2 * kResidualUnit,
            .sensitivity = kResidualUnit,
            .multiway = 1};
  }
  void Fill(Residuals& residuals) const override {
    for (size_t row = 0; row < targets_.size(); ++row) {
      const double wanted = std::clamp((targets_[row] - middle_) / reach_, -1.0, 1.0);
      const double q = std::clamp((wanted - scores_[0][row]) / kRegressionStep, -1.0, 1.0);
      residuals[0][row] = q < 0 ? -OnGrid(-q, kResidualUnit) : OnGrid(q, kResidualUnit);
    }
  }
  void Value(const Measured& measured, absl::Span<double> value) const override {
    const auto positive = static_cast<double>(measured.positive[0]);
    const auto negative = static_cast<double>(measured.negative[0]);
    const double smoothing = 2 * kSmoothing * measured.scale + 1;
    value[0] = kRegressionStep *
               std::clamp((positive - negative) / (std::max(positive + negative, 0.0) + smoothing),
                          -1.0, 1.0);
  }
  std::vector<double> Outputs(absl::Span<const double> scores) const override {
    const double place = scores[0] * reach_ / kTargetSteps;
    return {-place, place};
  }

 private:
  absl::Span<const uint32_t> targets_;
  double middle_, reach_;
};

// ---- the private quantiles of regression

constexpr uint32_t kMiddles = 512;  // steps of the grid of medians
constexpr uint32_t kReaches = 64;   // of the geometric grid of distances
constexpr double kLeastReach = 1.0 / 512;

absl::StatusOr<size_t> Quantile(std::vector<double> values, absl::Span<const double> grid,
                                uint64_t part, uint64_t whole, const Share& share,
                                Releaser& releaser) {
  std::sort(values.begin(), values.end());
  std::vector<int64_t> scores;
  const auto count = static_cast<int64_t>(values.size());
  for (const double cut : grid) {
    const auto rank = std::upper_bound(values.begin(), values.end(), cut) - values.begin();
    scores.push_back(
        -std::abs(static_cast<int64_t>(whole) * rank - static_cast<int64_t>(part) * count));
  }
  return releaser.Select(scores, share, 2 * std::max(part, whole - part));
}

// ---- the trainer

class AutoTrainer final : public Trainer {
 public:
  const AlgorithmInfo& info() const override { return info_; }

  absl::StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                            const TrainOptions& options) const override {
    COPPICE_ASSIGN_OR_RETURN(const Budgets budgets, Resolve(schema, options));
    return ReleasesOf(budgets, "the forest, at most: how many trees follows from the noisy number");
  }

  absl::StatusOr<std::vector<std::string>> Warnings(const Schema&,
                                                    const TrainOptions&) const override {
    return std::vector<std::string>();
  }

  absl::StatusOr<Model> Train(const Table& rows, const TrainOptions& options, PrivateRandom& random,
                              const TrainProgress& progress) const override;

 private:
  absl::StatusOr<Budgets> Resolve(const Schema& schema, const TrainOptions& options) const {
    COPPICE_RETURN_IF_ERROR(CheckTask(info_, schema));
    COPPICE_RETURN_IF_ERROR(CheckedSettings::Create(info_.parameters, options.settings).status());
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares,
                             Divide(Share::Of(options.epsilon), kCountShare));
    return Budgets{.count = shares.part, .forest = shares.rest};
  }

  static std::vector<Release> ReleasesOf(const Budgets& budgets, std::string forest) {
    Releases releases(EnsembleOptions{.trees = 1, .groups = false});
    releases.Add("the number of rows", kDiscreteLaplace, budgets.count);
    releases.Add(std::move(forest), "permute_and_flip, discrete_laplace", budgets.forest);
    return std::move(releases).Take();
  }

  AlgorithmInfo info_ = {.name = "auto",
                         .summary = "boosted trees with nothing to tune: the most accurate",
                         .source = "docs/mechanisms.md, boosting",
                         .regression = true,
                         .parameters = {}};
};

// What regression spends before its trees, of the forest's share.
struct RegressionShares {
  Share middle, reach, last, first, trees;
};

absl::StatusOr<RegressionShares> DivideForRegression(const Share& forest) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares middle, Divide(forest, 0.05));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares reach, Divide(middle.rest, 0.05 / 0.95));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares last, Divide(reach.rest, 0.03 / 0.90));
  COPPICE_ASSIGN_OR_RETURN(const TwoShares first, Divide(last.rest, 0.01));
  return RegressionShares{middle.part, reach.part, last.part, first.part, first.rest};
}

std::vector<double> MiddleGrid() {
  std::vector<double> grid;
  for (uint32_t i = 0; i <= kMiddles; ++i) {
    grid.push_back(static_cast<double>(kTargetSteps) * i / kMiddles);
  }
  return grid;
}

std::vector<double> ReachGrid() {
  std::vector<double> grid;
  for (uint32_t i = 0; i < kReaches; ++i) {
    grid.push_back(kTargetSteps * std::pow(kLeastReach, 1 - i / (kReaches - 1.0)));
  }
  return grid;
}

struct Centred {
  double middle = 0;
  double reach = 1;
};

absl::StatusOr<Centred> Centre(absl::Span<const uint32_t> targets, const RegressionShares& shares,
                               Releaser& releaser) {
  Centred centred;
  std::vector<double> values(targets.begin(), targets.end());
  const std::vector<double> middles = MiddleGrid(), reaches = ReachGrid();
  COPPICE_ASSIGN_OR_RETURN(const size_t middle,
                           Quantile(values, middles, 1, 2, shares.middle, releaser));
  centred.middle = middles[middle];
  for (double& value : values) value = std::abs(value - centred.middle);
  COPPICE_ASSIGN_OR_RETURN(const size_t reach,
                           Quantile(std::move(values), reaches, 49, 50, shares.reach, releaser));
  centred.reach = std::max(reaches[reach], 2 * kLeastReach * kTargetSteps);
  return centred;
}

// A tree that adds the same to every row.
TrainedTree Constant(std::vector<double> outputs) {
  TrainedTree tree;
  const auto largest = std::max_element(outputs.begin(), outputs.end());
  tree.leaves.push_back({.probabilities = outputs,
                         .standard_error = 0,
                         .label = static_cast<uint32_t>(largest - outputs.begin())});
  return tree;
}

TrainedTree ToTrained(BoostTree tree, const Task& task) {
  TrainedTree trained;
  for (uint32_t leaf = 0; leaf < tree.scores.size(); ++leaf) {
    std::vector<double> outputs = task.Outputs(tree.scores[leaf]);
    const auto largest = std::max_element(outputs.begin(), outputs.end());
    const auto label = static_cast<uint32_t>(largest - outputs.begin());
    trained.leaves.push_back({.probabilities = std::move(outputs),
                              .standard_error = 0,
                              .label = label,
                              .source_node = tree.tree.leaf_node(leaf)});
  }
  trained.tree = std::move(tree.tree);
  return trained;
}

absl::StatusOr<Model> AutoTrainer::Train(const Table& rows, const TrainOptions& options,
                                         PrivateRandom& random,
                                         const TrainProgress& progress) const {
  COPPICE_ASSIGN_OR_RETURN(const Budgets budgets, Resolve(rows.schema(), options));
  const bool regression = rows.schema().target().has_value();
  Releaser releaser(SelectionRule::kPermuteAndFlip, random);
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<int64_t> counted,
      releaser.Sums({static_cast<int64_t>(rows.num_rows())}, 1, budgets.count));
  const Size size = SizeOf(static_cast<double>(counted[0]), budgets.forest);
  COPPICE_ASSIGN_OR_RETURN(BoostColumns columns, PublicBoostColumns(rows.schema()));
  COPPICE_ASSIGN_OR_RETURN(const Schema tree_schema, ExtendSchema(rows.schema(), columns.derived));
  COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned,
                           BinnedRows::Create(rows, std::move(columns.bins), columns.derived));

  std::vector<TrainedTree> trees;
  std::unique_ptr<Task> task;
  Share of_trees = budgets.forest;
  if (regression) {
    COPPICE_ASSIGN_OR_RETURN(const RegressionShares shares, DivideForRegression(budgets.forest));
    COPPICE_ASSIGN_OR_RETURN(const Centred centred, Centre(binned.targets(), shares, releaser));
    task = std::make_unique<Regression>(binned.targets(), centred.middle, centred.reach);
    const double middle = centred.middle / kTargetSteps;
    trees.push_back(Constant({-middle, middle}));
    of_trees = shares.trees;
  } else if (binned.num_classes() == 2) {
    task = std::make_unique<TwoClasses>(binned.labels());
  } else {
    task = std::make_unique<SeveralClasses>(binned.labels(), binned.num_classes());
  }
  COPPICE_ASSIGN_OR_RETURN(const Share of_tree, EqualShare(of_trees, size.trees));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<LevelShares> levels, SharesOf(of_tree, size.depth));
  const ResidualKind kind = task->kind();
  const auto fill = [&](Residuals& residuals) { task->Fill(residuals); };
  const auto value = [&](const Measured& measured, absl::Span<double> values) {
    task->Value(measured, values);
  };
  const auto add = [&](absl::Span<const uint32_t> child_of_row,
                       const std::vector<std::vector<double>>& values) {
    task->Add(child_of_row, values);
  };
  for (uint32_t t = 0; t < size.trees; ++t) {
    COPPICE_RETURN_IF_ERROR(progress(t / static_cast<double>(size.trees)));
    COPPICE_ASSIGN_OR_RETURN(
        BoostTree tree, GrowBoostTree(tree_schema, binned, kind, levels,
                                      {.residuals = fill, .value = value, .add = add}, releaser));
    trees.push_back(ToTrained(std::move(tree), *task));
  }
  return MakeModel(rows.schema(), std::move(trees), LeafKind::kScores, std::move(columns.derived),
                   info_, options,
                   ReleasesOf(budgets, absl::StrCat("the forest: ", size.trees, " trees of ",
                                                    size.depth, " levels")));
}

}  // namespace

const Trainer& Auto() {
  static const AutoTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice
