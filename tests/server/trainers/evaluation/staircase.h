// Models whose answers follow from one feature, "score", and rows for them: what a model is worth
// on such rows can be worked out.

#ifndef COPPICE_TESTS_SERVER_TRAINERS_EVALUATION_STAIRCASE_H_
#define COPPICE_TESTS_SERVER_TRAINERS_EVALUATION_STAIRCASE_H_

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/model/model.h"
#include "common/table/table.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

inline std::vector<Feature> ScoreAndTown() {
  return {Numeric("score", 0, 1), Categorical("town", {"a", "b"})};
}

inline std::shared_ptr<const Schema> ClassesSchema(std::vector<std::string> classes = {"no",
                                                                                       "yes"}) {
  return std::make_shared<const Schema>(
      *Schema::Create(ScoreAndTown(), "label", std::move(classes)));
}

inline std::shared_ptr<const Schema> NumbersSchema() {
  return std::make_shared<const Schema>(
      *Schema::CreateRegression(ScoreAndTown(), "target", {.min = 0, .max = 10}));
}

// One tree whose leaf i answers rows with a score from i/n to (i+1)/n, by these probabilities of
// outputs; the label is the most probable one.
inline Model Staircase(const Schema& schema, const std::vector<std::vector<double>>& steps) {
  std::vector<Node> nodes;
  const auto n = static_cast<uint32_t>(steps.size());
  for (uint32_t i = 0; i + 1 < n; ++i) {
    const uint32_t at = 2 * i;
    nodes.push_back({SplitKind::kNumeric, false, 0, (i + 1.0) / n, at + 1, at + 2});
    nodes.push_back({});
  }
  nodes.push_back({});
  std::vector<LeafPrediction> leaves;
  for (uint32_t i = 0; i < n; ++i) {
    const auto best = std::max_element(steps[i].begin(), steps[i].end()) - steps[i].begin();
    leaves.push_back({.probabilities = steps[i],
                      .label = static_cast<uint32_t>(best),
                      .source_node = i + 1 < n ? 2 * i + 1 : 2 * i});
  }
  Forest forest = {n == 1 ? Tree::SingleLeaf() : *Tree::Create(std::move(nodes), schema)};
  return *Model::Create(schema, std::move(forest), {std::move(leaves)}, {});
}

// The probability that the stair answers "yes" with, of two classes.
inline Model TwoClassStairs(const Schema& schema, const std::vector<double>& yes) {
  std::vector<std::vector<double>> steps;
  for (const double p : yes) steps.push_back({1 - p, p});
  return Staircase(schema, steps);
}

// Rows with scores spread evenly, that are "yes" with the stair's own probability.
inline Table CalibratedRows(const std::shared_ptr<const Schema>& schema,
                            const std::vector<double>& yes, size_t rows, std::mt19937_64& random) {
  std::uniform_real_distribution<> unit(0, 1);
  Table table(schema);
  for (size_t i = 0; i < rows; ++i) {
    const double score = unit(random);
    const size_t stair =
        std::min(yes.size() - 1, static_cast<size_t>(score * static_cast<double>(yes.size())));
    // A score at the very cut may belong to the other stair, with chance 0.
    table.Append({score, static_cast<double>(i % 4 == 0)},
                 static_cast<uint32_t>(unit(random) < yes[stair]));
  }
  return table;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_TRAINERS_EVALUATION_STAIRCASE_H_
