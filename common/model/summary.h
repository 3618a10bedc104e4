// Summarizes a forest: how large it is, and which features its answers depend on.
//
// An importance follows from leaves alone, since a model holds no counts: they are private. A split
// decides the difference between the answers below its left and its right side, where every further
// split is assumed to send a row to either side with equal probability; the split counts with
// weight 2^-depth, the frequency with which such a row reaches it. (With an equal weight per leaf a
// long chain of small leaves would outweigh the rest of its tree.) A feature's importance is its
// splits' share of the sum over the forest.
//
// The standard error propagates the leaves' errors to first order, as if they were independent; a
// leaf of probabilities of which nothing is known counts as off by its whole range. It tells how
// much of an importance may be noise: noise alone makes differences too, so a feature whose
// importance is within a few errors of 0 may be noise.
//
// Guarantee  post-processing of the model.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_MODEL_SUMMARY_H_
#define COPPICE_COMMON_MODEL_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/model.h"

namespace coppice {

struct Importance {
  uint32_t feature = 0;   // in the model's tree_schema()
  double importance = 0;  // share of the whole forest's, which is 1
  // One standard error; unset: the noise of some leaf is neither known nor bounded.
  std::optional<double> standard_error{};
};

struct ForestSummary {
  uint64_t trees = 0, leaves = 0;
  uint32_t min_leaves = 0, max_leaves = 0;  // per tree
  uint32_t min_depth = 0, max_depth = 0;
  uint32_t features = 0;  // features that splits use
  // The most important first; features that no split uses are left out. Empty if no split decides
  // anything.
  std::vector<Importance> importances{};
};

ForestSummary Summarize(const Model& model);

// A derived feature in words: "where age lies from 17 (0) to 90 years (1), less where ...".
std::string InWords(const Schema& schema, const DerivedFeature& derived);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_SUMMARY_H_
