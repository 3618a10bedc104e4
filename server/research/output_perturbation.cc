// top: each row without a label gets the majority class of its nearest labelled rows; a linear
// classifier is fitted to these rows and released with noise on its weights.
//
// The private rows are those with a label, the public rows those without, at most kMaxUnlabelled of
// them; labels of public rows are not read. Features are public, and so is the number of rows that
// have a given labelled row among their neighbours: changing its label affects no other row. With c
// the largest such number, m rows and a penalty lambda, the minimizer moves by at most sqrt(2) c /
// (lambda m) in L2 norm.
//
// Choices where the text is open: softmax regression for any number of classes; lambda = 0.01; and
// discrete Laplace noise for the L1 norm, which is at most sqrt(weights) times the L2 norm, instead
// of the paper's vector of Gamma length: it is exact, and sqrt(2) times as long. The sensitivity
// includes the solver's error: the weights are within tolerance / lambda of the minimizer.
//
// Source     Long, Sakuma 2017, as Huang, Lei, Kaban 2022, section 6.3, describe it; Chaudhuri,
//            Monteleoni, Sarwate 2011 (output perturbation).
// Guarantee  epsilon-DP for the label of one row.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"
#include "server/research/features.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

constexpr size_t kMaxUnlabelled = 4000;
constexpr double kPenalty = 0.01;
constexpr double kTolerance = 1e-7;  // for the norm of the gradient
constexpr double kWeightSteps = 1 << 20;
constexpr size_t kMaxNeighbours = 99;

// Adds a constant dimension and scales the points into the unit ball.
Points InUnitBall(const Points& points, size_t features) {
  const double radius = std::sqrt(1 + static_cast<double>(features));
  Points scaled{.dimension = points.dimension + 1, .values = {}};
  for (size_t i = 0; i < points.size(); ++i) {
    for (const double x : points.of(i)) scaled.values.push_back(x / radius);
    scaled.values.push_back(1 / radius);
  }
  return scaled;
}

// Softmax regression with a penalty on all weights, weights[class * dimension + d].
class SoftmaxRegression {
 public:
  SoftmaxRegression(const Points& points, const std::vector<uint32_t>& labels, uint32_t classes)
      : points_(points), labels_(labels), classes_(classes) {}

  static void Answer(absl::Span<const double> weights, absl::Span<const double> x,
                     absl::Span<double> probabilities) {
    double largest = -INFINITY, total = 0;
    for (size_t k = 0; k < probabilities.size(); ++k) {
      probabilities[k] =
          std::inner_product(x.begin(), x.end(), weights.begin() + k * x.size(), 0.0);
      largest = std::max(largest, probabilities[k]);
    }
    for (double& p : probabilities) total += p = std::exp(p - largest);
    for (double& p : probabilities) p /= total;
  }

  // Nesterov's descent; the loss is 1/2-smooth in the unit ball and kPenalty-strongly convex.
  StatusOr<std::vector<double>> Minimize() const {
    constexpr int kMaxSteps = 5000;
    const double smooth = 0.5 + kPenalty, root = std::sqrt(kPenalty / smooth);
    const double momentum = (1 - root) / (1 + root);
    std::vector<double> weights(classes_ * points_.dimension), ahead = weights;
    for (int step = 0; step < kMaxSteps; ++step) {
      const std::vector<double> gradient = GradientAt(ahead);
      const double squares =
          std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0);
      if (squares <= kTolerance * kTolerance) return ahead;
      for (size_t i = 0; i < weights.size(); ++i) {
        const double next = ahead[i] - gradient[i] / smooth;
        ahead[i] = next + momentum * (next - weights[i]);
        weights[i] = next;
      }
    }
    return InternalError("top: the descent did not reach its tolerance");
  }

 private:
  std::vector<double> GradientAt(const std::vector<double>& weights) const {
    const size_t d = points_.dimension;
    std::vector<double> gradient(weights.size()), p(classes_);
    const auto rows = static_cast<double>(points_.size());
    for (size_t i = 0; i < points_.size(); ++i) {
      const absl::Span<const double> x = points_.of(i);
      Answer(weights, x, absl::MakeSpan(p));
      p[labels_[i]] -= 1;
      for (uint32_t k = 0; k < classes_; ++k) {
        for (size_t j = 0; j < d; ++j) gradient[k * d + j] += p[k] * x[j] / rows;
      }
    }
    for (size_t j = 0; j < weights.size(); ++j) gradient[j] += kPenalty * weights[j];
    return gradient;
  }

  const Points& points_;
  const std::vector<uint32_t>& labels_;
  const uint32_t classes_;
};

// Returns for each point the class of most neighbours, the lowest class on a tie.
std::vector<uint32_t> VoteOfNeighbours(const Neighbourhoods& near,
                                       absl::Span<const uint32_t> labels, uint32_t classes) {
  std::vector<uint32_t> voted;
  std::vector<uint32_t> votes(classes);
  for (const std::vector<uint32_t>& neighbours : near.nearest) {
    std::fill(votes.begin(), votes.end(), 0);
    for (const uint32_t row : neighbours) ++votes[labels[row]];
    voted.push_back(
        static_cast<uint32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin()));
  }
  return voted;
}

// Rounds the weights to a grid, and adds noise for what the label of one row can change.
Status AddWeightNoise(const Budget& epsilon, size_t moved_rows, size_t rows, PrivateRandom& noise,
                      std::vector<double>& weights) {
  const auto moved = static_cast<double>(moved_rows), all = static_cast<double>(rows);
  const auto dimension = static_cast<double>(weights.size());
  const double l2 = std::sqrt(2) * moved / (kPenalty * all) + 2 * kTolerance / kPenalty;
  // Rounding moves each weight by at most half a step, once for each of the two neighbours.
  const auto l1_steps =
      static_cast<uint64_t>(std::ceil(std::sqrt(dimension) * l2 * kWeightSteps + dimension));
  for (double& weight : weights) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t drawn, DiscreteLaplace(epsilon, l1_steps, noise));
    weight = static_cast<double>(std::llround(weight * kWeightSteps) + drawn) / kWeightSteps;
  }
  return OkStatus();
}

class OutputPerturbation final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "top",
        .summary = "nearest labelled rows label the public rows, a linear classifier with noise",
        .source = "Long, Sakuma 2017",
        .protects = "a label",
        .neighbours = "the label of one row; all features are public",
        .guarantee = "epsilon-DP",
        .sampler = "exact: discrete Laplace on a grid",
        .setting = "neighbours",
        .default_setting = 5,
        .paper_settings = {1, 3, 5, 9, 15}};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                        PublicRandom& public_random, PrivateRandom& noise) const override {
    const Table& labelled = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckLabelled(labelled));
    if (options.setting < 1 || options.setting > kMaxNeighbours ||
        options.setting > static_cast<double>(labelled.num_rows())) {
      return InvalidArgumentError("top takes 1 to 99 neighbours, and as many labelled rows");
    }
    const size_t features = labelled.schema().num_features();
    const uint32_t classes = labelled.schema().num_classes();
    const Scaling scaling(*rows.public_rows);
    const Points unlabelled =
        InUnitBall(scaling.Scale(Sample(*rows.public_rows, public_random)), features);
    const Neighbourhoods near = FindNearest(InUnitBall(scaling.Scale(labelled), features),
                                            unlabelled, static_cast<size_t>(options.setting));
    const std::vector<uint32_t> labels = VoteOfNeighbours(near, labelled.labels(), classes);
    COPPICE_ASSIGN_OR_RETURN(std::vector<double> weights,
                             SoftmaxRegression(unlabelled, labels, classes).Minimize());
    COPPICE_RETURN_IF_ERROR(
        AddWeightNoise(*options.epsilon, near.most_neighboured, unlabelled.size(), noise, weights));
    const Points asked = InUnitBall(scaling.Scale(*rows.test_rows), features);
    Answers answers(classes, asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      SoftmaxRegression::Answer(weights, asked.of(i), answers.of(i));
    }
    return answers;
  }

 private:
  static Table Sample(const Table& rows, PublicRandom& random) {
    std::vector<size_t> order(rows.num_rows());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t wanted = std::min(order.size(), kMaxUnlabelled);
    for (size_t i = 0; i < wanted; ++i) {
      std::swap(order[i], order[i + random.Below(order.size() - i)]);
    }
    order.resize(wanted);
    return rows.Select(order);
  }
};

}  // namespace

const Method& Top() {
  static const OutputPerturbation kMethod;
  return kMethod;
}

}  // namespace coppice::research
