#include "server/curator/estimation/inspection/break_down.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/server/curator/evidence_builders.h"
#include "tests/support/binomial_plan.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::BinomialPlan;
using ::coppice::testing::DomainFor;
using ::coppice::testing::IsLaplace;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::Public;
using ::coppice::testing::Quarters;
using ::coppice::testing::StatusIs;
using ::coppice::testing::ValuesOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A comb of 2 * leaves - 1 nodes; it has a node over its last n leaves for every n.
Tree Comb(uint32_t leaves) {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i + 1 < leaves; ++i) {
    nodes.push_back(testing::Inner((i + 1.0) / leaves, 2 * i + 1, 2 * i + 2));
    nodes.emplace_back();
  }
  nodes.emplace_back();
  return *Tree::Create(std::move(nodes), *testing::UnitSchema({"0", "1"}));
}

// A tree with 2^depth leaves.
Tree Balanced(uint32_t depth) {
  std::vector<Node> nodes;
  const uint32_t inner = (1u << depth) - 1;
  for (uint32_t i = 0; i < inner; ++i) {
    nodes.push_back(testing::Inner((i + 1.0) / (inner + 1), 2 * i + 1, 2 * i + 2));
  }
  nodes.resize(2 * inner + 1);
  return *Tree::Create(std::move(nodes), *testing::UnitSchema({"0", "1"}));
}

PublicCounts NoPublicRows(const Tree& tree, uint32_t classes) {
  return Public(classes, std::vector<uint64_t>(size_t{tree.num_leaves()} * classes));
}

std::string NameOf(MechanismKind kind) { return std::string(MechanismName(kind)); }

// The sum that the quantity's estimate is made of, over the leaves from `first` on.
double QuantityFrom(const LeafCounts& counts, size_t quantity, bool margins_only, uint32_t first) {
  double sum = 0;
  for (uint32_t leaf = first; leaf < counts.leaf.size(); ++leaf) {
    if (margins_only) {
      sum += counts.at(leaf, 1) - counts.at(leaf, 0);
    } else {
      sum +=
          quantity == 0 ? counts.leaf[leaf] : counts.at(leaf, static_cast<uint32_t>(quantity - 1));
    }
  }
  return sum;
}

double TruthOf(LeafLabel row, size_t quantity, bool margins_only, uint32_t first) {
  if (row.leaf < first) return 0;
  if (margins_only) return row.label == 1 ? 1 : -1;
  return quantity == 0 || row.label == quantity - 1 ? 1 : 0;
}

// The exact law of what one report adds to a node, by enumeration of all columns and payloads.
class BreakDownLawTest
    : public ::testing::TestWithParam<std::tuple<MechanismKind, const char*, uint32_t>> {};

INSTANTIATE_TEST_SUITE_P(All, BreakDownLawTest,
                         ::testing::Combine(::testing::Values(MechanismKind::kSymmetricUnary,
                                                              MechanismKind::kOptimizedUnary,
                                                              MechanismKind::kSubsetSelection,
                                                              MechanismKind::kDirect,
                                                              MechanismKind::kHadamardResponse,
                                                              MechanismKind::kLocalHashing,
                                                              MechanismKind::kSignedHadamard),
                                            ::testing::Values("0.5", "2", "4"),
                                            ::testing::Values(2u, 3u)));

// The law of one row's report: mean, variance, largest deviation.
struct NodeLaw {
  double mean = 0, square = 0, farthest = 0;
};

TEST_P(BreakDownLawTest, NoRowExceedsTheStatedVarianceAndScale) {
  const auto [kind, epsilon, classes] = GetParam();
  const Domain domain = DomainFor(kind, {.leaves = 4, .classes = classes});
  const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse(epsilon), domain);
  const std::vector<std::string> payloads = AcceptedPayloads(*mechanism);
  ASSERT_FALSE(payloads.empty());
  TreeSums one{.sums = std::vector<int64_t>(mechanism->sum_size()), .reports = 1};
  const NoisyCounts stated = CountWithNoise(*mechanism, one, 1, /*several_trees=*/false);
  const size_t quantities = stated.noise.size();
  const std::vector<LeafLabel> rows = ValuesOf(domain);
  // laws[(row * quantities + quantity) * leaves + first]
  std::vector<NodeLaw> laws(rows.size() * quantities * domain.leaves);
  double all = 0;
  for (uint32_t column = 0; column < mechanism->columns(); ++column) {
    for (const std::string& payload : payloads) {
      std::fill(one.sums.begin(), one.sums.end(), 0);
      ASSERT_OK(mechanism->Add(payload, column, absl::MakeSpan(one.sums)));
      const LeafCounts counts = mechanism->Estimate(one.sums, 1);
      for (size_t r = 0; r < rows.size(); ++r) {
        const double p =
            *mechanism->OutputProbability(rows[r], column, payload) / mechanism->columns();
        all += p;
        for (size_t q = 0; q < quantities; ++q) {
          for (uint32_t first = 0; first < domain.leaves; ++first) {
            NodeLaw& law = laws[(r * quantities + q) * domain.leaves + first];
            const double value = QuantityFrom(counts, q, stated.margins_only, first);
            const double error = value - TruthOf(rows[r], q, stated.margins_only, first);
            law.mean += p * error;
            law.square += p * error * error;
            law.farthest = std::max(law.farthest, std::abs(error));
          }
        }
      }
    }
  }
  EXPECT_NEAR(all, static_cast<double>(rows.size()), 1e-3);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t q = 0; q < quantities; ++q) {
      const QuantityNoise& noise = stated.noise[q];
      for (uint32_t first = 0; first < domain.leaves; ++first) {
        const NodeLaw& law = laws[(r * quantities + q) * domain.leaves + first];
        const double leaves = domain.leaves - first;
        const bool hit = TruthOf(rows[r], q, stated.margins_only, first) != 0;
        const double bound = leaves * noise.variance[0] + (hit ? noise.hit : 0);
        EXPECT_NEAR(law.mean, 0, 1e-3);
        EXPECT_LE(law.square, bound * (1 + 1e-6) + 1e-9)
            << "row " << r << " quantity " << q << " from leaf " << first;
        // If cells are independent, the scale is that of one cell.
        if (noise.scale_per_leaf > 0) {
          EXPECT_LE(law.farthest,
                    3 * (std::min(leaves * noise.scale_per_leaf, noise.largest_scale) +
                         noise.fixed_scale) +
                        1e-9);
        }
      }
    }
  }
}

// log E exp(s Z) <= s^2 v / 2 / (1 - scale s), by the law of one entry of variance v.
TEST(BreakDownTest, LaplaceNoiseHasTheStatedScale) {
  for (const MechanismKind kind : {MechanismKind::kLaplaceSplit, MechanismKind::kLaplaceJoint}) {
    for (const char* epsilon : {"0.1", "1", "8"}) {
      const auto mechanism =
          *MakeLocalMechanism(kind, *Budget::Parse(epsilon), {.leaves = 2, .classes = 2});
      const TreeSums none{.sums = std::vector<int64_t>(mechanism->sum_size()), .reports = 1};
      const double v = mechanism->Variance(1).label;
      const double r = (1 + v - std::sqrt(1 + 2 * v)) / v;  // v = 2r / (1 - r)^2
      ASSERT_NEAR(2 * r / ((1 - r) * (1 - r)) / v, 1, 1e-9);
      const double scale = CountWithNoise(*mechanism, none, 1, false).noise[0].fixed_scale;
      for (double s = 0.02 / scale; s < 0.99 / scale; s += 0.02 / scale) {
        ASSERT_LT(r * std::exp(s), 1);
        double mean = 1;
        for (double up = r * std::exp(s), down = r * std::exp(-s), i = 1; i < 1e6; ++i) {
          const double more = std::pow(up, i) + std::pow(down, i);
          mean += more;
          if (more < 1e-12 * mean) break;
        }
        mean *= (1 - r) / (1 + r);
        EXPECT_LE(std::log(mean), s * s * v / 2 / (1 - scale * s) * (1 + 1e-6))
            << MechanismName(kind) << " " << epsilon << " at " << s * scale;
      }
    }
  }
}

// If NoiseVariance is an average over rows, as for two mechanisms, some row exceeds it.
TEST(BreakDownTest, WorstRowsExceedTheAverageWhereItIsOne) {
  const Budget epsilon = *Budget::Parse("2");
  const Domain domain = {.leaves = 512, .classes = 2};
  for (const MechanismKind kind : KindsForClasses()) {
    const double ratio = (*MakeLocalMechanism(kind, epsilon, domain))->WorstVarianceRatio();
    const bool is_average =
        kind == MechanismKind::kHadamardResponse || kind == MechanismKind::kLocalHashing;
    EXPECT_EQ(ratio > 1, is_average) << MechanismName(kind);
  }
}

// A study of simulated devices, with one tree or with several equal ones.
class SimulatedCounts {
 public:
  SimulatedCounts(MechanismKind kind, const Domain& domain, uint32_t trees)
      : domain_(domain),
        trees_(trees),
        mechanism_(*MakeLocalMechanism(kind, *Budget::Parse("2"), domain)) {}

  const std::vector<uint64_t>& rows() const { return rows_; }

  // Simulates `rows_of[leaf * classes + label]` rows, each of which answers in a random tree.
  // Returns the first tree's counts.
  NoisyCounts Run(const std::vector<uint64_t>& rows_of) {
    rows_ = rows_of;
    uint64_t reports = 0;
    std::vector<uint64_t> in_tree(rows_of.size());
    TreeSums sums{.sums = std::vector<int64_t>(mechanism_->sum_size())};
    for (size_t cell = 0; cell < rows_of.size(); ++cell) {
      for (uint64_t i = 0; i < rows_of[cell]; ++i) in_tree[cell] += coins_.Below(trees_) == 0;
      reports += rows_of[cell];
      sums.reports += in_tree[cell];
    }
    EXPECT_OK(mechanism_->RandomizeAllInto(in_tree, noise_, absl::MakeSpan(sums.sums)));
    return CountWithNoise(*mechanism_, sums, reports, trees_ > 1);
  }

  // How many of the answer's intervals miss the truth.
  int CountMisses(const Tree& tree, const BreakDown& answer) const {
    int misses = 0;
    const auto check = [&](const CountEstimate& at, double truth) {
      misses += truth < at.low - 1e-6 || truth > at.high + 1e-6;
    };
    for (const NodeCounts& node : answer.nodes) {
      std::vector<double> of_class(domain_.classes);
      for (uint32_t leaf = tree.first_leaf(node.node); leaf < tree.end_leaf(node.node); ++leaf) {
        for (uint32_t k = 0; k < domain_.classes; ++k) {
          of_class[k] += static_cast<double>(rows_[size_t{leaf} * domain_.classes + k]);
        }
      }
      double all = 0;
      for (const double count : of_class) all += count;
      if (node.rows) check(*node.rows, all);
      if (node.margin) check(*node.margin, of_class[1] - of_class[0]);
      for (size_t k = 0; k < node.classes.size(); ++k) check(node.classes[k], of_class[k]);
    }
    return misses;
  }

 private:
  const Domain domain_;
  const uint32_t trees_;
  const std::unique_ptr<LocalMechanism> mechanism_;
  std::vector<uint64_t> rows_;
  OpenSslRandom noise_;
  PublicRandom coins_{7};
};

class BreakDownCoverageTest
    : public ::testing::TestWithParam<std::tuple<MechanismKind, uint32_t, bool>> {};

INSTANTIATE_TEST_SUITE_P(All, BreakDownCoverageTest,
                         ::testing::Combine(::testing::ValuesIn(KindsForClasses()),
                                            ::testing::Values(1u, 3u), ::testing::Bool()),
                         [](const auto& test) {
                           return NameOf(std::get<0>(test.param)) + "_" +
                                  std::to_string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) ? "_one_cell" : "_spread");
                         });

// Rows are spread over all cells, or all in one cell, where a mechanism's average is wrong. The
// plan refuses a sound rate with probability below 1e-9.
TEST_P(BreakDownCoverageTest, AllIntervalsHoldTogetherAsOftenAsStated) {
  const auto [kind, trees, one_cell] = GetParam();
  constexpr int kStudies = 400;
  const BinomialPlan plan = {.p = 0.5, .trials = kStudies};
  const Domain domain = DomainFor(kind, {.leaves = 8, .classes = 3});
  const Tree tree = Comb(8);
  std::vector<uint64_t> rows(domain.cells(), one_cell ? 0 : 20);
  if (one_cell) rows[domain.cells() - 1] = 400;
  SimulatedCounts study(kind, domain, trees);
  uint64_t failed = 0;
  for (int i = 0; i < kStudies; ++i) {
    const StatusOr<BreakDown> answer =
        BreakDownTree(tree, study.Run(rows), NoPublicRows(tree, domain.classes), {}, 0.5);
    ASSERT_OK(answer.status());
    failed += study.CountMisses(tree, *answer) > 0;
  }
  EXPECT_TRUE(failed <= plan.p * kStudies || plan.Accepts(failed)) << failed;
}

// The broken twin: intervals of one standard error are too narrow.
TEST(BreakDownTest, ThePlanRefusesIntervalsOfOneStandardError) {
  constexpr int kStudies = 200;
  const BinomialPlan plan = {.p = 0.5, .trials = kStudies};
  const Domain domain = {.leaves = 8, .classes = 2};
  const Tree tree = Comb(8);
  SimulatedCounts study(MechanismKind::kOptimizedUnary, domain, 1);
  uint64_t failed = 0;
  for (int i = 0; i < kStudies; ++i) {
    BreakDown answer =
        *BreakDownTree(tree, study.Run(std::vector<uint64_t>(16, 40)), NoPublicRows(tree, 2), {});
    for (NodeCounts& node : answer.nodes) {
      for (CountEstimate& at : node.classes) {
        at.low = at.estimate - at.standard_error;
        at.high = at.estimate + at.standard_error;
      }
    }
    failed += study.CountMisses(tree, answer) > 0;
  }
  EXPECT_GT(failed, plan.p * kStudies);
  EXPECT_FALSE(plan.Accepts(failed));
}

// 100 of 400 reports; counts by hand, variance 1 per leaf for 100 reports, no hit, no scale.
NoisyCounts ByHand() {
  NoisyCounts counts;
  counts.counts = {.classes = 2, .leaf = {10, 20, 30, 40}, .label = {4, 6, 8, 12, 10, 20, 40, 0}};
  counts.noise.resize(3);
  for (QuantityNoise& noise : counts.noise) noise.variance.assign(4, 1.0);
  counts.tree_reports = 100;
  counts.reports = 400;
  return counts;
}

TEST(BreakDownTest, ANodeAddsUpItsLeavesAndIsScaledToAllReports) {
  const Tree tree = Quarters();
  const PublicCounts public_counts = Public(2, {1, 2, 3, 4, 5, 6, 7, 8});
  const BreakDown answer = *BreakDownTree(tree, ByHand(), public_counts, {});
  ASSERT_THAT(answer.nodes, SizeIs(7));
  EXPECT_EQ(answer.intervals, 20u);
  const NodeCounts& left = answer.nodes[1];
  EXPECT_EQ(left.node, 1u);
  EXPECT_EQ(left.public_rows, 10u);
  EXPECT_NEAR(left.rows->estimate, 120, 1e-9);
  EXPECT_NEAR(left.classes[0].estimate, 48, 1e-9);
  EXPECT_NEAR(left.classes[1].estimate, 72, 1e-9);
  // Two leaves of variance 1, four times as many reports, and sqrt(2 log(2 * 20 / 0.05)).
  EXPECT_NEAR(left.rows->standard_error, 4 * std::sqrt(2), 1e-9);
  const double reach = 4 * std::sqrt(2) * std::sqrt(2 * std::log(800));
  EXPECT_NEAR(left.rows->low, 120 - reach, 1e-9);
  EXPECT_NEAR(left.rows->high, 120 + reach, 1e-9);
  EXPECT_EQ(left.margin, std::nullopt);
}

TEST(BreakDownTest, TheRootHasAllReportsForCertain) {
  const BreakDown answer = *BreakDownTree(Quarters(), ByHand(), NoPublicRows(Quarters(), 2),
                                          {.node = 0, .depth = std::nullopt});
  ASSERT_THAT(answer.nodes, SizeIs(1));
  EXPECT_EQ(answer.intervals, 2u);
  EXPECT_EQ(answer.nodes[0].rows->low, 400);
  EXPECT_EQ(answer.nodes[0].rows->high, 400);
  EXPECT_EQ(answer.nodes[0].rows->standard_error, 0);
}

TEST(BreakDownTest, IntervalsStayWithinWhatIsPossible) {
  NoisyCounts counts = ByHand();
  for (QuantityNoise& noise : counts.noise) noise.variance.assign(4, 1e6);
  const BreakDown answer = *BreakDownTree(Quarters(), counts, NoPublicRows(Quarters(), 2), {});
  EXPECT_EQ(answer.nodes[2].rows->low, 0);
  EXPECT_EQ(answer.nodes[2].rows->high, 400);
}

// On each side x solves |x - s| = sqrt(2 L (v + hit x)) + scale L.
TEST(BreakDownTest, BoundsAreWhereTheTrueShareWouldJustBeRefuted) {
  NoisyCounts counts = ByHand();
  for (QuantityNoise& noise : counts.noise) {
    noise.hit = 0.5;
    noise.scale_per_leaf = 0.25;
    noise.largest_scale = 0.4;
    noise.fixed_scale = 0.1;
  }
  const BreakDown answer = *BreakDownTree(Quarters(), counts, NoPublicRows(Quarters(), 2),
                                          {.node = 4, .depth = std::nullopt});
  const double log_sides = std::log(2 * 3 / 0.05);
  const CountEstimate& at = *answer.nodes[0].rows;  // 70 of 100, two leaves
  for (const double bound : {at.low / 4, at.high / 4}) {
    EXPECT_NEAR(std::abs(bound - 70),
                std::sqrt(2 * log_sides * (2 + 0.5 * bound)) + 0.5 * log_sides, 1e-6);
  }
  EXPECT_LT(at.low, at.estimate);
  EXPECT_GT(at.high, at.estimate);
}

TEST(BreakDownTest, FewerNodesHaveNarrowerIntervals) {
  const Tree tree = Quarters();
  const BreakDown all = *BreakDownTree(tree, ByHand(), NoPublicRows(tree, 2), {});
  const BreakDown top =
      *BreakDownTree(tree, ByHand(), NoPublicRows(tree, 2), {.node = std::nullopt, .depth = 1});
  ASSERT_THAT(top.nodes, SizeIs(3));
  EXPECT_EQ(top.nodes[2].node, 4u);
  EXPECT_LT(top.nodes[1].rows->high, all.nodes[1].rows->high);
}

TEST(BreakDownTest, AMechanismOfMarginsHasNoCounts) {
  const auto mechanism = *MakeLocalMechanism(MechanismKind::kSignedHadamard, *Budget::Parse("1"),
                                             {.leaves = 4, .classes = 2});
  TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size()), .reports = 10};
  sums.sums[0] = 10;  // +1 in column 0, where every entry is +1
  const NoisyCounts counts = CountWithNoise(*mechanism, sums, 10, false);
  const BreakDown answer = *BreakDownTree(Quarters(), counts, NoPublicRows(Quarters(), 2), {});
  EXPECT_EQ(answer.intervals, 7u);
  EXPECT_EQ(answer.nodes[1].rows, std::nullopt);
  EXPECT_THAT(answer.nodes[1].classes, SizeIs(0));
  EXPECT_NEAR(answer.nodes[1].margin->estimate, 20 / std::tanh(0.5), 1e-6);
  EXPECT_EQ(answer.nodes[1].margin->high, 10);
}

TEST(BreakDownTest, SaysWhatIsWrong) {
  const Tree tree = Quarters();
  const PublicCounts public_counts = NoPublicRows(tree, 2);
  const auto ask = [&](const NoisyCounts& counts, const NodeChoice& choice, double confidence) {
    return BreakDownTree(tree, counts, public_counts, choice, confidence).status();
  };
  EXPECT_THAT(ask(ByHand(), {.node = 7, .depth = {}}, 0.9),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("its nodes are 0 to 6")));
  for (const double confidence : {0.4, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(ask(ByHand(), {}, confidence),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("confidence: must be 0.5")));
  }
  NoisyCounts counts = ByHand();
  counts.tree_reports = 0;
  EXPECT_THAT(ask(counts, {}, 0.9),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no report")));
  counts = ByHand();
  counts.noise.pop_back();
  EXPECT_THAT(ask(counts, {}, 0.9),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("do not belong to the tree")));
}

TEST(BreakDownTest, RefusesMoreIntervalsThanAnAnswerHolds) {
  const Tree tree = Balanced(11);
  NoisyCounts counts;
  counts.counts = {
      .classes = 2, .leaf = std::vector<double>(2048), .label = std::vector<double>(4096)};
  counts.noise.resize(3);
  for (QuantityNoise& noise : counts.noise) noise.variance.assign(2048, 1.0);
  counts.tree_reports = counts.reports = 1;
  EXPECT_THAT(BreakDownTree(tree, counts, NoPublicRows(tree, 2), {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("12284 intervals")));
  EXPECT_OK(BreakDownTree(tree, counts, NoPublicRows(tree, 2), {.node = {}, .depth = 5}).status());
}

}  // namespace
}  // namespace coppice::curator
