#include "server/curator/estimation/counts/node_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>

namespace coppice::curator {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Lambda as a pair, so infinity needs no special case.
struct Weights {
  double of_private;
  double of_public;
};

Weights WeightsFor(double lambda) {
  return std::isinf(lambda) ? Weights{0, 1} : Weights{1, lambda};
}

// The paper's convention: 0/0 = 0.
double Ratio(double numerator, double denominator) {
  return numerator == 0 ? 0 : numerator / denominator;
}

// Two classes: the paper's rule on the ratio, whatever the sign of its denominator. More classes:
// the largest numerator, which is the largest ratio while the denominator is positive.
uint32_t Label(absl::Span<const double> numerators, double denominator) {
  if (numerators.size() == 2) return Ratio(numerators[1], denominator) > 0.5 ? 1 : 0;
  return static_cast<uint32_t>(
      std::distance(numerators.begin(), std::max_element(numerators.begin(), numerators.end())));
}

std::vector<double> Probabilities(absl::Span<const double> numerators, double denominator) {
  std::vector<double> result(numerators.size(), 0);
  // A denominator that noise made negative reverses the order of several classes.
  if (denominator > 0 || numerators.size() == 2) {
    for (size_t k = 0; k < result.size(); ++k) {
      result[k] = std::clamp(Ratio(numerators[k], denominator), 0.0, 1.0);
    }
  }
  const double total = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& p : result) p = total > 0 ? p / total : 1.0 / static_cast<double>(result.size());
  return result;
}

// The variance of V - eta U from their moments: a NoiseVariance, or what a hit adds to it.
template <typename Moments>
double OfDifference(const Moments& of, double eta) {
  return of.label - 2 * eta * of.covariance + eta * eta * of.leaf;
}

// Delta method. eta = N / D is the root of R(eta) = N - eta * D, so var(eta) = var(R) / D^2 to
// first order, with R = (V - eta U) + lambda (VQ - eta UQ). Given the leaf's rows:
//   noise     a report from elsewhere adds  label - 2 eta covariance + eta^2 leaf  per leaf; the
//             U eta reports of this class add the same terms of `hit`, the U (1 - eta) of other
//             classes those of `beside`
//   sampling  the labels of the leaf's U private rows are U draws:  U eta (1 - eta)
//   public    lambda^2 UQ eta (1 - eta)
// The spread eta (1 - eta) is taken at (rows eta + 1) / (rows + 2), Laplace's rule of succession:
// three rows of one class do not prove that there is no other, so no error is zero.
double StandardError(const NodeEvidence& evidence, const NoiseVariance& noise, double reports,
                     const Weights& weights, double numerator, double denominator) {
  if (!(denominator > 0)) return kInfinity;
  const double eta = std::clamp(numerator / denominator, 0.0, 1.0);
  const double rows = std::max(evidence.private_rows, 0.0);
  const double seen =
      (weights.of_private > 0 ? rows : 0) + (weights.of_public > 0 ? evidence.public_rows : 0);
  const double shrunk = (seen * eta + 1) / (seen + 2);
  const double spread = shrunk * (1 - shrunk);
  const double hit =
      shrunk * OfDifference(noise.hit, shrunk) + (1 - shrunk) * OfDifference(noise.beside, shrunk);
  const double of_private =
      reports * evidence.leaves * OfDifference(noise, eta) + rows * (hit + spread);
  const double of_public = evidence.public_rows * spread;
  const double variance = weights.of_private * weights.of_private * of_private +
                          weights.of_public * weights.of_public * of_public;
  return std::sqrt(std::max(variance, 0.0)) / denominator;
}

}  // namespace

NodeTable::NodeTable(const Tree& tree, const LeafCounts& private_counts,
                     const PublicCounts& public_counts)
    : classes_(public_counts.classes),
      private_rows_(tree.nodes().size()),
      private_label_(tree.nodes().size() * classes_),
      public_rows_(tree.nodes().size()),
      public_label_(tree.nodes().size() * classes_),
      leaves_(tree.nodes().size()) {
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    const uint32_t node = tree.leaf_node(leaf);
    private_rows_[node] = private_counts.leaf[leaf];
    public_rows_[node] = static_cast<double>(public_counts.leaf[leaf]);
    leaves_[node] = 1;
    for (size_t k = 0; k < classes_; ++k) {
      private_label_[node * classes_ + k] = private_counts.label[leaf * classes_ + k];
      public_label_[node * classes_ + k] =
          static_cast<double>(public_counts.label[leaf * classes_ + k]);
    }
  }
  // Nodes are stored parents first, so this adds up from the leaves.
  for (size_t node = tree.nodes().size(); node-- > 1;) {
    AddToParent(static_cast<uint32_t>(node), tree.parent(static_cast<uint32_t>(node)));
  }
}

void NodeTable::AddToParent(uint32_t node, uint32_t parent) {
  private_rows_[parent] += private_rows_[node];
  public_rows_[parent] += public_rows_[node];
  leaves_[parent] += leaves_[node];
  for (size_t k = 0; k < classes_; ++k) {
    private_label_[parent * classes_ + k] += private_label_[node * classes_ + k];
    public_label_[parent * classes_ + k] += public_label_[node * classes_ + k];
  }
}

NodeEvidence NodeTable::at(uint32_t node) const {
  return {.private_rows = private_rows_[node],
          .private_label = absl::MakeConstSpan(&private_label_[node * classes_], classes_),
          .public_rows = public_rows_[node],
          .public_label = absl::MakeConstSpan(&public_label_[node * classes_], classes_),
          .leaves = leaves_[node]};
}

LeafPrediction PredictNode(const NodeEvidence& evidence, const PrivateNoise& noise, double lambda) {
  const Weights weights = WeightsFor(lambda);
  std::vector<double> numerators(evidence.private_label.size());
  for (size_t k = 0; k < numerators.size(); ++k) {
    numerators[k] = weights.of_private * evidence.private_label[k] +
                    weights.of_public * evidence.public_label[k];
  }
  const double denominator =
      weights.of_private * evidence.private_rows + weights.of_public * evidence.public_rows;
  LeafPrediction prediction;
  prediction.label = Label(numerators, denominator);
  prediction.probabilities = Probabilities(numerators, denominator);
  prediction.standard_error =
      StandardError(evidence, noise.variance[prediction.label], noise.reports, weights,
                    numerators[prediction.label], denominator);
  return prediction;
}

}  // namespace coppice::curator
