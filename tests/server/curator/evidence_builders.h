// Small trees and counts for the tests of the estimators.

#ifndef COPPICE_TESTS_SERVER_CURATOR_EVIDENCE_BUILDERS_H_
#define COPPICE_TESTS_SERVER_CURATOR_EVIDENCE_BUILDERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::testing {

inline std::shared_ptr<const Schema> UnitSchema(std::vector<std::string> classes) {
  return std::make_shared<const Schema>(*Schema::Create(
      {Feature{.name = "x", .type = FeatureType::kNumeric, .min = 0, .max = 1, .values = {}}}, "y",
      std::move(classes)));
}

inline Node Inner(double threshold, uint32_t left, uint32_t right) {
  Node node;
  node.kind = SplitKind::kNumeric;
  node.threshold = threshold;
  node.left = left;
  node.right = right;
  return node;
}

// x < 0.5 | x >= 0.5: nodes 1 and 2 are leaves 0 and 1.
inline Tree Stump() {
  return *Tree::Create({Inner(0.5, 1, 2), Node(), Node()}, *UnitSchema({"0", "1"}));
}

// Cut at quarters: node 1 is above leaves 0 and 1 (nodes 2, 3), node 4 above leaves 2 and 3 (5, 6).
inline Tree Quarters() {
  return *Tree::Create(
      {Inner(0.5, 1, 4), Inner(0.25, 2, 3), Node(), Node(), Inner(0.75, 5, 6), Node(), Node()},
      *UnitSchema({"0", "1"}));
}

// label[leaf * classes + k]; the leaves' own counts are the sums.
inline curator::PublicCounts Public(uint32_t classes, std::vector<uint64_t> label) {
  curator::PublicCounts counts{.classes = classes, .leaf = {}, .label = std::move(label)};
  counts.leaf.resize(counts.label.size() / classes);
  for (size_t i = 0; i < counts.label.size(); ++i) counts.leaf[i / classes] += counts.label[i];
  return counts;
}

inline curator::PrivateCounts Private(uint32_t classes, std::vector<double> label,
                                      uint64_t reports = 0, const NoiseVariance& noise = {}) {
  curator::PrivateCounts result;
  result.counts = {.classes = classes, .leaf = {}, .label = std::move(label)};
  result.counts.leaf.resize(result.counts.label.size() / classes);
  for (size_t i = 0; i < result.counts.label.size(); ++i) {
    result.counts.leaf[i / classes] += result.counts.label[i];
  }
  result.noise.assign(classes, noise);
  result.reports = reports;
  return result;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_CURATOR_EVIDENCE_BUILDERS_H_
