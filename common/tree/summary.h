// A forest at a glance: how large it is, and which features its answers hang on.
//
// An importance follows from leaves alone. A model holds no counts, since those are private. What a
// split decides is the difference between the answers below its left and its right side, where
// every further split on the way is as likely to send a row to either side; the split counts by
// 2^-depth, as often as such a row would meet it. (An equal weight for each leaf would make a long
// chain of small leaves outweigh the rest of its tree.) A feature's importance is its splits' part
// of the sum over the forest.
//
// The standard error is that of the leaves, carried through to first order as if leaves erred
// independently; a leaf of probabilities of which nothing is known counts as off by its whole
// range. It tells how much of an importance noise may have made: noise alone makes
// differences too, so a feature whose importance is not a few errors from 0 may be noise.
//
// Guarantee  post-processing of the model.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_TREE_SUMMARY_H_
#define COPPICE_COMMON_TREE_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tree/model.h"

namespace coppice {

struct Importance {
  uint32_t feature = 0;   // of the model's tree_schema()
  double importance = 0;  // of the whole forest's, which is 1
  // One, of the importance; unset: the noise of some leaf is not known, nor bounded.
  std::optional<double> standard_error{};
};

struct ForestSummary {
  uint64_t trees = 0, leaves = 0;
  uint32_t min_leaves = 0, max_leaves = 0;  // of a tree
  uint32_t min_depth = 0, max_depth = 0;
  uint32_t features = 0;  // that splits are about
  // The most important first; features that no split is about are left out. Empty if no split
  // decides anything.
  std::vector<Importance> importances{};
};

ForestSummary Summarize(const Model& model);

// A derived feature in words: "where age lies from 17 (0) to 90 years (1), less where ...".
std::string InWords(const Schema& schema, const DerivedFeature& derived);

}  // namespace coppice

#endif  // COPPICE_COMMON_TREE_SUMMARY_H_
