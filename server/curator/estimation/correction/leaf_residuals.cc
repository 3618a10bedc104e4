#include "server/curator/estimation/correction/leaf_residuals.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "server/curator/partition/find_leaves.h"

namespace coppice::curator {
namespace {

// No leaf holds a class so surely that its devices' labels have no variance at all.
constexpr double kLeastLabelVariance = 0.01;

double Square(double x) { return x * x; }

// The guess where reports give margins only.
constexpr double kMarginGuess = 0.5;

// By leaf: the mean probability of the tree's own rows there, with one more row at the mean of all
// its own rows. A tree without own rows guesses that the classes are even: a guess by honest rows
// would depend on what it is compared with.
std::vector<double> GuessesOf(const PublicLeaves& leaves, uint32_t classes,
                              absl::Span<const double> p) {
  std::vector<double> sum(leaves.leaves()), rows(leaves.leaves());
  std::vector<double> of_tree(leaves.trees()), rows_of_tree(leaves.trees());
  for (size_t t = 0; t < leaves.trees(); ++t) {
    const absl::Span<const uint32_t> leaf_of = leaves.leaf_of(t);
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      if (leaves.is_honest(t, i)) continue;
      sum[leaf_of[i]] += p[i];
      rows[leaf_of[i]] += 1;
      of_tree[t] += p[i];
      rows_of_tree[t] += 1;
    }
  }
  for (size_t leaf = 0; leaf < sum.size(); ++leaf) {
    const size_t t = leaves.tree_of(leaf);
    const double mean = rows_of_tree[t] > 0 ? of_tree[t] / rows_of_tree[t] : 1.0 / classes;
    sum[leaf] = (sum[leaf] + mean) / (rows[leaf] + 1);
  }
  return sum;
}

// What the honest rows say of each leaf, and how far they scatter around its guess.
struct HonestSums {
  std::vector<double> off;      // mean over a tree's honest rows of 1{in the leaf} (p - g)
  std::vector<double> scatter;  // by tree: mean of (p - g)^2
};

HonestSums SumHonestRows(const PublicLeaves& leaves, const std::vector<double>& guesses,
                         absl::Span<const double> p) {
  HonestSums sums{.off = std::vector<double>(leaves.leaves()),
                  .scatter = std::vector<double>(leaves.trees())};
  for (size_t t = 0; t < leaves.trees(); ++t) {
    const absl::Span<const uint32_t> leaf_of = leaves.leaf_of(t);
    const double share = 1 / leaves.honest_rows(t);
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      if (!leaves.is_honest(t, i)) continue;
      const double off = p[i] - guesses[leaf_of[i]];
      sums.off[leaf_of[i]] += share * off;
      sums.scatter[t] += share * off * off;
    }
  }
  return sums;
}

// The variance that reports add to V - g U in one leaf, all reports of the tree together.
double NoiseOfReports(const PrivateCounts& counts, size_t leaf, uint32_t output, double guess) {
  if (!counts.consistent) {
    const NoiseVariance& noise = counts.noise[output];
    return static_cast<double>(counts.reports) *
           (noise.label - 2 * guess * noise.covariance + Square(guess) * noise.leaf);
  }
  // A margin of K classes has K times the variance of a cell, or 4 times that of half a margin.
  const double of_margin = counts.consistent->variance[leaf];
  const auto classes = static_cast<double>(counts.noise.size());
  if (!counts.has_masses) return of_margin / 4;
  return of_margin / classes * (Square(1 - guess) + (classes - 1) * Square(guess));
}

// By leaf: the mean square of p - 1/2 over all public rows, those outside the leaf counting as 0.
std::vector<double> SquaresInLeaves(const PublicLeaves& leaves,
                                    const std::vector<double>& row_variance) {
  std::vector<double> squares(leaves.leaves());
  for (size_t t = 0; t < leaves.trees(); ++t) {
    const absl::Span<const uint32_t> leaf_of = leaves.leaf_of(t);
    for (size_t i = 0; i < leaf_of.size(); ++i) {
      squares[leaf_of[i]] += row_variance[i] / static_cast<double>(leaves.rows());
    }
  }
  return squares;
}

}  // namespace

PublicLeaves::PublicLeaves(const Forest& forest, const Table& rows, const Bags& bags)
    : rows_(rows.num_rows()) {
  for (size_t t = 0; t < forest.size(); ++t) {
    first_leaf_.push_back(rows_in_leaf_.size());
    rows_in_leaf_.resize(rows_in_leaf_.size() + forest[t].num_leaves());
    tree_of_.resize(rows_in_leaf_.size(), t);
    std::vector<uint32_t>& leaf_of = leaf_of_.emplace_back(FindLeaves(forest[t], rows));
    for (uint32_t& leaf : leaf_of) {
      leaf += static_cast<uint32_t>(first_leaf_.back());
      rows_in_leaf_[leaf] += 1;
    }
    std::vector<uint8_t>& honest = honest_.emplace_back();
    for (const uint32_t times : bags[t]) honest.push_back(times == 0 ? 1 : 0);
    if (std::find(honest.begin(), honest.end(), 1) == honest.end()) honest.assign(rows_, 1);
    honest_rows_.push_back(std::accumulate(honest.begin(), honest.end(), 0.0));
  }
}

LeafResiduals ComputeResiduals(const PublicLeaves& leaves, absl::Span<const PrivateCounts> counts,
                               uint32_t output, absl::Span<const double> probabilities) {
  const bool margins_only = !counts[0].has_masses;
  const std::vector<double> guesses =
      margins_only ? std::vector<double>(leaves.leaves(), kMarginGuess)
                   : GuessesOf(leaves, counts[0].counts.classes, probabilities);
  const HonestSums honest = SumHonestRows(leaves, guesses, probabilities);
  LeafResiduals residuals;
  if (margins_only) {
    for (const double p : probabilities) residuals.row_variance.push_back(Square(p - kMarginGuess));
  } else {
    const double mean = std::accumulate(honest.scatter.begin(), honest.scatter.end(), 0.0) /
                        static_cast<double>(leaves.trees());
    residuals.row_variance.assign(leaves.rows(), mean);
  }
  const std::vector<double> squares =
      margins_only ? SquaresInLeaves(leaves, residuals.row_variance) : std::vector<double>();
  const auto n = static_cast<double>(leaves.rows());
  for (size_t leaf = 0; leaf < leaves.leaves(); ++leaf) {
    const size_t tree = leaves.tree_of(leaf);
    const PrivateCounts& of_tree = counts[tree];
    if (of_tree.reports == 0) {
      residuals.value.push_back(0);
      residuals.variance.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    const auto in_tree = static_cast<uint32_t>(leaf - leaves.first_leaf(tree));
    const auto reports = static_cast<double>(of_tree.reports);
    const double guess = guesses[leaf], mass = leaves.rows_in_leaf(leaf) / n;
    const double known = of_tree.counts.at(in_tree, output) - guess * of_tree.counts.leaf[in_tree];
    residuals.value.push_back(known / reports - honest.off[leaf]);
    // A bit about the margin has one variance whatever the label, so it covers the labels' own.
    const double labels =
        margins_only ? 0 : mass * std::max(guess * (1 - guess), kLeastLabelVariance);
    const double scatter = margins_only ? squares[leaf] : mass * honest.scatter[tree];
    residuals.variance.push_back(
        NoiseOfReports(of_tree, in_tree, output, guess) / (reports * reports) + labels / reports +
        (n / leaves.honest_rows(tree) - 1) * scatter / n);
  }
  return residuals;
}

}  // namespace coppice::curator
