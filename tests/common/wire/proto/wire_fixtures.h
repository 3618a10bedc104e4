// Small valid values, one for everything that travels.

#ifndef COPPICE_TESTS_COMMON_WIRE_PROTO_WIRE_FIXTURES_H_
#define COPPICE_TESTS_COMMON_WIRE_PROTO_WIRE_FIXTURES_H_

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"
#include "common/wire/proto/packed_forest.h"

namespace coppice::testing {

// A number "age" in [0, 100], a category "odor" of two, classes "no" and "yes".
inline Schema MakeSchema() {
  Feature age;
  age.name = "age";
  age.max = 100;
  Feature odor;
  odor.name = "odor";
  odor.type = FeatureType::kCategorical;
  odor.values = {"almond", "none"};
  return *Schema::Create({age, odor}, "edible", {"no", "yes"});
}

// Four leaves, and one split of every kind.
inline Tree MakeTree() {
  const Node missing{.kind = SplitKind::kMissing, .feature = 0, .left = 1, .right = 2};
  const Node category{.kind = SplitKind::kCategory,
                      .missing_left = true,
                      .feature = 1,
                      .threshold = 2,
                      .left = 3,
                      .right = 4};
  const Node numeric{
      .kind = SplitKind::kNumeric, .feature = 0, .threshold = 1.0 / 3, .left = 5, .right = 6};
  return *Tree::Create({missing, category, numeric, Node{}, Node{}, Node{}, Node{}}, MakeSchema());
}

inline Forest MakeForest() { return {MakeTree(), Tree::SingleLeaf()}; }

inline Terms MakeTerms() {
  return {.study = "mushrooms-1",
          .schema = std::make_shared<const Schema>(MakeSchema()),
          .trees = 2,
          .forest_root = PackForest(MakeForest()).merkle.root,
          .epsilon = *Budget::FromNanos(1'500'000'000),
          .mechanism = MechanismKind::kOptimizedUnary};
}

inline Model MakeModel() {
  std::vector<LeafPrediction> leaves;
  const Tree tree = MakeTree();
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    leaves.push_back({{0.25, 0.75}, 0.125, 1, tree.leaf_node(leaf)});
  }
  leaves[0] = {{0.5, 0.5}, std::numeric_limits<double>::infinity(), 0, 0};
  const Certificate certificate{.epsilon_nanos = 1'500'000'000,
                                .delta_atto = 14,
                                .releases = {{.what = "a report",
                                              .mechanism = "optimized_unary",
                                              .epsilon_nanos = 500'000'000,
                                              .delta_atto = 7,
                                              .times = 2},
                                             {.what = "a count",
                                              .mechanism = "noisy_sums",
                                              .epsilon_nanos = 500'000'000,
                                              .part = "tree 1"}},
                                .mechanism = "optimized_unary",
                                .neighbouring = "any value of one row for any other",
                                .public_inputs = {"12 public rows", "the schema"},
                                .estimator = "weighted lambda=1",
                                .reports = 34,
                                .public_rows = 12,
                                .fingerprint = "00ff",
                                .code_version = "0.1.0",
                                .diagnosis = "they agree",
                                .readers = {.epsilon_nanos = 250'000'000,
                                            .delta_atto = 10'000'000'000,
                                            .honest_reports = 30,
                                            .dishonest_millionths = 100'000},
                                .relay = {.epsilon_nanos = 125'000'000,
                                          .delta_atto = 5'000'000'000,
                                          .honest_reports = 13,
                                          .dishonest_millionths = 50'000,
                                          .batches = 2,
                                          .least_accepted = 14,
                                          .relay_key = std::string(16, '\x07')}};
  return *Model::Create(MakeSchema(), {tree}, {leaves}, certificate);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_WIRE_PROTO_WIRE_FIXTURES_H_
