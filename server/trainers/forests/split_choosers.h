// The ways in which trainers choose the split of a node: at random, at a median, at the best of a
// few medians, or at the best split there is. From one to the next a split says more about the
// labels, and its choice costs more.
//
// Guarantee  each choice costs what its class says, one level's share at a time. The features to
//            consider are drawn from those that the cell can still split: public coins.
// Source     docs/research/mechanisms.md#split-choice; the papers named at each class.

#ifndef COPPICE_SERVER_TRAINERS_FORESTS_SPLIT_CHOOSERS_H_
#define COPPICE_SERVER_TRAINERS_FORESTS_SPLIT_CHOOSERS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/split_sums.h"

namespace coppice::trainers {

// Splits a random feature near its median (SPE, Algorithm 1). Costs the level's share.
class MedianChooser final : public SplitChooser {
 public:
  // One share per level.
  MedianChooser(std::vector<BudgetShare> shares, PrivateReleaser& releaser)
      : shares_(std::move(shares)), releaser_(releaser) {}
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override;

 private:
  std::vector<BudgetShare> shares_;
  PrivateReleaser& releaser_;
};

// Works as MedianChooser without noise, and makes nodes of at most `min_leaf` rows leaves: for
// public features (SSPE-2, PTE).
class PublicMedianChooser final : public SplitChooser {
 public:
  PublicMedianChooser(size_t min_leaf, PrivateReleaser& releaser)
      : min_leaf_(min_leaf), releaser_(releaser) {}
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override;

 private:
  size_t min_leaf_;
  PrivateReleaser& releaser_;
};

// Takes the best of the medians of K random features (DiPriMe, Algorithm 1). Costs K median shares
// and one choice share; for one feature only the median's share.
class BestMedianChooser final : public SplitChooser {
 public:
  struct Options {
    uint32_t features = 1;  // K
    SplitScore score = SplitScore::kGini;
    BudgetShare median;
    BudgetShare choice;  // not spent if K is 1
  };
  BestMedianChooser(const Options& options, PrivateReleaser& releaser)
      : options_(options), releaser_(releaser) {}
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override;

 private:
  Options options_;
  PrivateReleaser& releaser_;
};

// Takes a random split of a random feature without looking at rows, so it costs nothing.
class RandomChooser final : public SplitChooser {
 public:
  explicit RandomChooser(PrivateReleaser& releaser) : releaser_(releaser) {}
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override;

 private:
  PrivateReleaser& releaser_;
};

// Takes the best of all splits of some random features. Costs the share at every level.
class GreedyChooser final : public SplitChooser {
 public:
  struct Options {
    size_t features = 0;     // 0: all
    bool one_split = false;  // considers one random split per feature (extremely randomized trees)
    SplitScore score = SplitScore::kGini;
    BudgetShare share;
    size_t min_rows = 0;  // only without privacy: nodes of fewer rows, or of one class, are leaves
  };
  GreedyChooser(const Options& options, PrivateReleaser& releaser)
      : options_(options), releaser_(releaser) {}
  StatusOr<std::optional<BinSplit>> Choose(const NodeRows& node, uint32_t level) override;

 private:
  Options options_;
  PrivateReleaser& releaser_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_FORESTS_SPLIT_CHOOSERS_H_
