// Without epsilon each algorithm is its textbook self: every split of its trees is one of the best
// by its rule, found here row by row, and leaves hold exact sums.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "common/base/status.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

constexpr uint32_t kCuts = 9;

// A node of a grown tree: the rows that reach it, and the splits that its place still allows.
struct Reached {
  std::vector<uint32_t> rows;
  std::map<uint32_t, std::vector<Node>> candidates{};  // by feature, if it has any
  uint32_t depth = 0;
};

std::vector<uint32_t> RowsWhere(const Table& table, const std::function<bool(uint32_t)>& is_in) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < table.num_rows(); ++row) {
    if (is_in(row)) rows.push_back(row);
  }
  return rows;
}
std::vector<uint32_t> AllOf(const Table& table) {
  return RowsWhere(table, [](uint32_t) { return true; });
}

size_t CountLeft(const Table& table, const std::vector<uint32_t>& rows, const Node& split) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [&](uint32_t row) {
    return GoesLeft(split, table.value(row, split.feature));
  }));
}

// Walks a tree with the rows that it was grown on; `visit(node, reached)` sees every node.
class TreeWalk {
 public:
  using Visit = std::function<void(const Node&, const Reached&)>;
  TreeWalk(const Table& table, const Tree& tree, Visit visit)
      : table_(table), tree_(tree), bins_(*PublicBins(table.schema(), kCuts)), visit_(visit) {}

  void From(std::vector<uint32_t> rows) {
    std::vector<std::set<uint32_t>> possible(bins_.size());
    for (size_t f = 0; f < bins_.size(); ++f) {
      for (uint32_t bin = 0; bin < bins_[f].size(); ++bin) possible[f].insert(bin);
    }
    Go(0, 0, std::move(rows), possible);
  }

 private:
  using Possible = std::vector<std::set<uint32_t>>;

  // A raw value that falls into the feature's bin.
  double ValueOf(size_t feature, uint32_t bin) const {
    const FeatureBins& bins = bins_[feature];
    if (bin == bins.missing()) return kMissingValue;
    if (bins.type == FeatureType::kCategorical) return bin;
    return bin == 0 ? table_.schema().features()[feature].min : bins.cuts[bin - 1];
  }

  // The splits that send some of the possible bins to either side, with known ones on both;
  // categories and "missing" need two possible known values.
  std::vector<Node> CandidatesOf(uint32_t feature, const std::set<uint32_t>& possible) const {
    const FeatureBins& bins = bins_[feature];
    const auto known = std::count_if(possible.begin(), possible.end(),
                                     [&](uint32_t bin) { return bin < bins.known; });
    std::vector<Node> candidates;
    if (known < 2) return candidates;
    for (uint32_t cut = 0; cut < bins.cuts.size(); ++cut) {
      if (*possible.begin() > cut) continue;
      const auto above = possible.upper_bound(cut);
      if (above == possible.end() || *above >= bins.known) continue;
      candidates.push_back(
          {.kind = SplitKind::kNumeric, .feature = feature, .threshold = bins.cuts[cut]});
    }
    for (const uint32_t bin : possible) {
      if (bin == bins.missing()) {
        candidates.push_back({.kind = SplitKind::kMissing, .feature = feature});
      } else if (bins.type == FeatureType::kCategorical) {
        candidates.push_back({.kind = SplitKind::kCategory,
                              .feature = feature,
                              .threshold = static_cast<double>(bin)});
      }
    }
    return candidates;
  }

  void Go(uint32_t at, uint32_t depth, std::vector<uint32_t> rows, const Possible& possible) {
    const Node& node = tree_.nodes()[at];
    Reached reached{.rows = rows, .depth = depth};
    for (uint32_t f = 0; f < bins_.size(); ++f) {
      std::vector<Node> candidates = CandidatesOf(f, possible[f]);
      if (!candidates.empty()) reached.candidates[f] = std::move(candidates);
    }
    visit_(node, reached);
    if (node.kind == SplitKind::kLeaf) return;
    for (const bool left : {true, false}) {
      std::vector<uint32_t> below;
      for (const uint32_t row : rows) {
        if (GoesLeft(node, table_.value(row, node.feature)) == left) below.push_back(row);
      }
      Possible still = possible;
      std::erase_if(still[node.feature], [&](uint32_t bin) {
        return GoesLeft(node, ValueOf(node.feature, bin)) != left;
      });
      Go(left ? node.left : node.right, depth + 1, std::move(below), still);
    }
  }

  const Table& table_;
  const Tree& tree_;
  const std::vector<FeatureBins> bins_;
  const Visit visit_;
};

// How far a split is from dividing rows into halves.
double Unevenness(const Table& table, const std::vector<uint32_t>& rows, const Node& split) {
  return std::abs(2 * static_cast<double>(CountLeft(table, rows, split)) -
                  static_cast<double>(rows.size()));
}

enum class Impurity { kGini, kMiscount, kSquaredError };

// The impurity of both sides of a split, in real numbers; lower is better.
double ImpurityOf(const Table& table, const std::vector<uint32_t>& rows, const Node& split,
                  Impurity kind) {
  double total = 0;
  for (const bool left : {true, false}) {
    std::map<uint32_t, double> classes;
    double count = 0, sum = 0;
    const auto on_side = [&](uint32_t row) {
      return GoesLeft(split, table.value(row, split.feature)) == left;
    };
    for (const uint32_t row : rows) {
      if (!on_side(row)) continue;
      ++count;
      if (kind == Impurity::kSquaredError) {
        sum += table.target(row);
      } else {
        ++classes[table.label(row)];
      }
    }
    if (count == 0) continue;
    if (kind == Impurity::kSquaredError) {
      for (const uint32_t row : rows) {
        if (on_side(row)) total += std::pow(table.target(row) - sum / count, 2);
      }
      continue;
    }
    double squares = 0, largest = 0;
    for (const auto& [label, rows_of] : classes) {
      squares += rows_of * rows_of;
      largest = std::max(largest, rows_of);
    }
    total += kind == Impurity::kGini ? count - squares / count : count - largest;
  }
  return total;
}

// Scores are whole numbers of 2^-20, and targets of 2^-16 of their range.
constexpr double kRounding = 2e-3;

std::vector<Node> MediansOf(const Table& table, const std::vector<uint32_t>& rows,
                            const std::vector<Node>& candidates) {
  double least = INFINITY;
  for (const Node& split : candidates) least = std::min(least, Unevenness(table, rows, split));
  std::vector<Node> medians;
  for (const Node& split : candidates) {
    if (Unevenness(table, rows, split) == least) medians.push_back(split);
  }
  return medians;
}

bool IsAmong(const Node& split, const std::vector<Node>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Node& other) {
    return other.kind == split.kind && other.feature == split.feature &&
           (split.kind == SplitKind::kMissing || other.threshold == split.threshold);
  });
}

void ExpectAMedian(const Table& table, const Node& node, const Reached& reached) {
  ASSERT_TRUE(reached.candidates.contains(node.feature));
  EXPECT_TRUE(IsAmong(node, MediansOf(table, reached.rows, reached.candidates.at(node.feature))));
}

// No candidate split may be better.
void ExpectTheBest(const Table& table, const Node& node, const Reached& reached, Impurity kind) {
  const double chosen = ImpurityOf(table, reached.rows, node, kind);
  for (const auto& [feature, candidates] : reached.candidates) {
    for (const Node& other : candidates) {
      EXPECT_LE(chosen, ImpurityOf(table, reached.rows, other, kind) + kRounding);
    }
  }
}

// The node splits at its feature's median, and no feature has only medians that are better.
void ExpectTheBestMedian(const Table& table, const Node& node, const Reached& reached,
                         Impurity kind) {
  ExpectAMedian(table, node, reached);
  const double chosen = ImpurityOf(table, reached.rows, node, kind);
  for (const auto& [feature, candidates] : reached.candidates) {
    double worst_tie = 0;
    for (const Node& median : MediansOf(table, reached.rows, candidates)) {
      worst_tie = std::max(worst_tie, ImpurityOf(table, reached.rows, median, kind));
    }
    EXPECT_LE(chosen, worst_tie + kRounding) << "feature " << feature;
  }
}

Model TrainWithout(const char* algorithm, const Table& table, Settings settings,
                   uint64_t seed = 1) {
  settings["cuts"] = std::to_string(kCuts);
  SeededRandom random(seed);
  return *(*FindTrainer(algorithm))
              ->Train(table, {.epsilon = std::nullopt, .settings = std::move(settings)}, random,
                      [](double) { return OkStatus(); });
}

// The sums that a tree's leaves should hold.
std::vector<std::vector<double>> SumsOf(const Table& table, const Tree& tree,
                                        const std::vector<uint32_t>& rows) {
  const Schema& schema = table.schema();
  std::vector<std::vector<double>> sums(tree.num_leaves(),
                                        std::vector<double>(schema.num_outputs()));
  for (const uint32_t row : rows) {
    std::vector<double>& leaf = sums[tree.FindLeaf(table.row(row))];
    if (schema.target()) {
      const double share = (table.target(row) - schema.target()->min) / schema.target()->span();
      leaf[0] += 1 - share;
      leaf[1] += share;
    } else if (table.label(row) != kUnlabelled) {
      ++leaf[table.label(row)];
    }
  }
  return sums;
}

void ExpectLeaves(const Model& model, size_t tree, const std::vector<std::vector<double>>& sums,
                  double tolerance = 1e-12) {
  ASSERT_EQ(model.leaves()[tree].size(), sums.size());
  for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
    for (size_t k = 0; k < sums[leaf].size(); ++k) {
      EXPECT_NEAR(model.leaves()[tree][leaf].probabilities[k], sums[leaf][k], tolerance);
    }
    EXPECT_EQ(model.leaves()[tree][leaf].standard_error, 0);
  }
}

// A leaf is at the greatest depth, or has no split left.
void ExpectALeafOnlyAtTheEnd(const Reached& reached, uint32_t depth) {
  EXPECT_TRUE(reached.depth == depth || reached.candidates.empty());
}

constexpr uint64_t kSeeds = 12;
const Settings kOneTree = {{"trees", "1"}, {"depth", "5"}};

Settings With(Settings settings, const Settings& more) {
  settings.insert(more.begin(), more.end());
  return settings;
}

TEST(WithoutPrivacyTest, SpeSplitsEveryNodeAtAMedian) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const auto& schema : {MixedClasses(), MixedRegression()}) {
      const Table table = RandomTable(schema, {.rows = 150}, seed);
      const Model model = TrainWithout("spe", table, kOneTree, seed);
      const Tree& tree = model.forest()[0];
      TreeWalk(table, tree, [&](const Node& node, const Reached& reached) {
        if (node.kind == SplitKind::kLeaf) return ExpectALeafOnlyAtTheEnd(reached, 5);
        ExpectAMedian(table, node, reached);
      }).From(AllOf(table));
      // Each of at most 150 targets is off by at most half a step of 2^-16.
      ExpectLeaves(model, 0, SumsOf(table, tree, AllOf(table)), schema->target() ? 2e-3 : 0);
    }
  }
}

TEST(WithoutPrivacyTest, SpeGroupsShareOutTheRows) {
  const Table table = RandomTable(MixedClasses(), {.rows = 500}, 1);
  const Model model = TrainWithout("spe", table, {{"trees", "4"}, {"depth", "3"}});
  double total = 0;
  for (const auto& tree : model.leaves()) {
    double of_tree = 0;
    for (const LeafPrediction& leaf : tree) {
      for (const double weight : leaf.probabilities) of_tree += weight;
    }
    EXPECT_GT(of_tree, 50);
    total += of_tree;
  }
  EXPECT_EQ(total, 500);
}

TEST(WithoutPrivacyTest, DiPriMeTakesTheBestOfAllMedians) {
  const Settings all = With(kOneTree, {{"features", "100"}, {"vote", "pooled"}});
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Impurity kind : {Impurity::kGini, Impurity::kMiscount, Impurity::kSquaredError}) {
      const bool regression = kind == Impurity::kSquaredError;
      const Table table =
          RandomTable(regression ? MixedRegression() : MixedClasses(), {.rows = 150}, seed);
      const Model model = TrainWithout(
          "diprime", table,
          With(all, {{"score", kind == Impurity::kMiscount ? "miscount" : "gini"}}), seed);
      TreeWalk(table, model.forest()[0], [&](const Node& node, const Reached& reached) {
        if (node.kind == SplitKind::kLeaf) return ExpectALeafOnlyAtTheEnd(reached, 5);
        ExpectTheBestMedian(table, node, reached, kind);
      }).From(AllOf(table));
      ExpectLeaves(model, 0, SumsOf(table, model.forest()[0], AllOf(table)), regression ? 2e-3 : 0);
    }
  }
}

// Predictions are means over trees, as the paper's forests predict numbers.
TEST(WithoutPrivacyTest, DiPriMePredictsTheMeanOfItsLeavesMeans) {
  const Table table = RandomTable(MixedRegression(), {.rows = 300}, 3);
  const Model model = TrainWithout("diprime", table, {{"trees", "3"}, {"rows", "all"}});
  for (size_t r = 0; r < 50; ++r) {
    double mean = 0;
    for (const Tree& tree : model.forest()) {
      const auto sums = SumsOf(table, tree, AllOf(table))[tree.FindLeaf(table.row(r))];
      mean += (-2 + 8 * sums[1] / (sums[0] + sums[1])) / 3;
    }
    EXPECT_NEAR(model.Predict(table.row(r)).value, mean, 1e-3);
  }
}

TEST(WithoutPrivacyTest, GreedyTreesHaveNoBetterSplit) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 150}, seed);
    for (const auto& [algorithm, kind] :
         {std::pair("maxtree", Impurity::kMiscount), std::pair("dpdf", Impurity::kGini)}) {
      const Model model =
          TrainWithout(algorithm, table, With(kOneTree, {{"vote", "pooled"}}), seed);
      TreeWalk(table, model.forest()[0],
               [&, kind = kind](const Node& node, const Reached& reached) {
                 if (node.kind != SplitKind::kLeaf)
                   return ExpectTheBest(table, node, reached, kind);
                 std::set<uint32_t> classes;
                 for (const uint32_t row : reached.rows) classes.insert(table.label(row));
                 if (classes.size() > 1) ExpectALeafOnlyAtTheEnd(reached, 5);
               })
          .From(AllOf(table));
      ExpectLeaves(model, 0, SumsOf(table, model.forest()[0], AllOf(table)));
    }
  }
}

TEST(WithoutPrivacyTest, RandomTreesCountAllTheirRows) {
  const Table table = RandomTable(MixedClasses(), {.rows = 150}, 2);
  for (const char* algorithm : {"rdt", "dpert"}) {
    const Model model =
        TrainWithout(algorithm, table, {{"trees", "4"}, {"rows", "all"}, {"vote", "pooled"}});
    for (size_t t = 0; t < 4; ++t) {
      ExpectLeaves(model, t, SumsOf(table, model.forest()[t], AllOf(table)));
      TreeWalk(table, model.forest()[t], [&](const Node& node, const Reached& reached) {
        if (node.kind == SplitKind::kLeaf) return;
        EXPECT_TRUE(IsAmong(node, reached.candidates.at(node.feature)));
      }).From(AllOf(table));
    }
  }
}

TEST(WithoutPrivacyTest, Sspe1GrowsOnRowsWithoutLabelsAndCountsTheOthers) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .unlabelled = 0.6}, seed);
    const Model model = TrainWithout("sspe1", table, With(kOneTree, {{"labelled", "1"}}), seed);
    const auto unlabelled =
        RowsWhere(table, [&](uint32_t row) { return table.label(row) == kUnlabelled; });
    TreeWalk(table, model.forest()[0], [&](const Node& node, const Reached& reached) {
      if (node.kind == SplitKind::kLeaf) return ExpectALeafOnlyAtTheEnd(reached, 5);
      ExpectAMedian(table, node, reached);
    }).From(unlabelled);
    ExpectLeaves(model, 0, SumsOf(table, model.forest()[0], AllOf(table)));
  }
}

// Features are public: each has the medians of all rows, and nodes of few rows are leaves.
void ExpectPublicMedians(const Table& table, const Tree& tree, size_t min_leaf, uint32_t depth) {
  TreeWalk(table, tree, [&](const Node& node, const Reached& reached) {
    if (node.kind == SplitKind::kLeaf) {
      if (reached.rows.size() > min_leaf) ExpectALeafOnlyAtTheEnd(reached, depth);
      return;
    }
    EXPECT_GT(reached.rows.size(), min_leaf);
    ExpectAMedian(table, node, reached);
  }).From(AllOf(table));
}

TEST(WithoutPrivacyTest, Sspe2GrowsOnAllRowsAndCountsThoseWithLabels) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .unlabelled = 0.6}, seed);
    const Model model =
        TrainWithout("sspe2", table, With(kOneTree, {{"labelled", "1"}, {"min_leaf", "20"}}), seed);
    ExpectPublicMedians(table, model.forest()[0], 20, 5);
    ExpectLeaves(model, 0, SumsOf(table, model.forest()[0], AllOf(table)));
  }
}

TEST(WithoutPrivacyTest, PtesSecondForestCountsWhatTheFirstPredicts) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Table table = RandomTable(MixedClasses(), {.rows = 200, .unlabelled = 0.6}, seed);
    const Settings settings = {{"trees", "2"},    {"second_trees", "3"}, {"depth", "4"},
                               {"labelled", "1"}, {"min_leaf", "15"},    {"rows", "all"}};
    const Model model = TrainWithout("pte", table, settings, seed);
    ASSERT_EQ(model.forest().size(), 5u);
    ASSERT_OK_AND_ASSIGN(
        const Model first,
        Model::Create(table.schema(), {model.forest()[0], model.forest()[1]},
                      {model.leaves()[0], model.leaves()[1]}, {}, LeafKind::kWeights));
    Table relabelled(table.shared_schema());
    for (size_t row = 0; row < table.num_rows(); ++row) {
      const bool unlabelled = table.label(row) == kUnlabelled;
      relabelled.Append(table.row(row),
                        unlabelled ? first.Predict(table.row(row)).label : kUnlabelled);
    }
    for (size_t t = 0; t < 5; ++t) {
      ExpectPublicMedians(table, model.forest()[t], 15, 4);
      ExpectLeaves(model, t, SumsOf(t < 2 ? table : relabelled, model.forest()[t], AllOf(table)));
    }
  }
}

// A step in one of the features, which every forest must learn.
Table Step(const std::shared_ptr<const Schema>& schema, size_t rows, uint64_t seed) {
  const Table values = RandomTable(schema, {.rows = rows, .missing = 0}, seed);
  Table table(schema);
  for (size_t r = 0; r < rows; ++r) {
    const bool high = values.value(r, 0) >= 50;
    if (schema->target()) {
      table.AppendTarget(values.row(r), high ? 5 : -1);
    } else {
      table.Append(values.row(r), high ? 1 : 0);
    }
  }
  return table;
}

TEST(WithoutPrivacyTest, ReferencesLearnAStep) {
  for (const char* algorithm : {"random_forest", "extra_trees"}) {
    const Table train = Step(MixedClasses(), 600, 1), test = Step(MixedClasses(), 300, 2);
    const Model model = TrainWithout(algorithm, train, {{"trees", "30"}});
    size_t right = 0;
    for (size_t r = 0; r < test.num_rows(); ++r) {
      right += model.Predict(test.row(r)).label == test.label(r) ? 1 : 0;
    }
    EXPECT_GE(right, 285u) << algorithm;
    const Model numbers =
        TrainWithout(algorithm, Step(MixedRegression(), 600, 1), {{"trees", "30"}});
    const Table of_numbers = Step(MixedRegression(), 300, 2);
    double squares = 0;
    for (size_t r = 0; r < of_numbers.num_rows(); ++r) {
      squares += std::pow(numbers.Predict(of_numbers.row(r)).value - of_numbers.target(r), 2);
    }
    EXPECT_LT(squares / 300, 1.5) << algorithm << ": of a variance of 9";
  }
}

TEST(WithoutPrivacyTest, ExtraTreesHoldTheSharesOfAllRows) {
  const Table table = RandomTable(MixedClasses(), {.rows = 150}, 4);
  const Model model = TrainWithout("extra_trees", table, {{"trees", "3"}, {"depth", "4"}});
  for (size_t t = 0; t < 3; ++t) {
    std::vector<std::vector<double>> sums = SumsOf(table, model.forest()[t], AllOf(table));
    for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const double total = sums[leaf][0] + sums[leaf][1] + sums[leaf][2];
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(model.leaves()[t][leaf].probabilities[k],
                    total > 0 ? sums[leaf][k] / total : 1.0 / 3, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace coppice::trainers
