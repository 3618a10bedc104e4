#include "server/trainers/dpboost/gradient_leaves.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace coppice::trainers {
namespace {

constexpr auto kUnit = static_cast<double>(kResidualSteps);

// Records, and their residuals' sums in units of g*.
struct Leaf {
  double count = 0;
  std::vector<double> sums;
};

Leaf Decode(absl::Span<const int64_t> released, size_t outputs) {
  Leaf leaf;
  if (outputs == 1) {
    const auto plus = static_cast<double>(released[0]), minus = static_cast<double>(released[1]);
    leaf.count = (plus + minus) / (2 * kUnit);
    leaf.sums = {(plus - minus) / (2 * kUnit)};
    return leaf;
  }
  leaf.count = static_cast<double>(released[outputs]) / kUnit;
  for (size_t k = 0; k < outputs; ++k) {
    leaf.sums.push_back(static_cast<double>(released[k]) / kUnit);
  }
  return leaf;
}

}  // namespace

std::vector<std::vector<int64_t>> GradientLeafSums(const GradientTree& tree) {
  const size_t outputs = tree.residuals.size();
  std::vector<std::vector<int64_t>> leaves;
  for (size_t leaf = 0; leaf + 1 < tree.grown.begin.size(); ++leaf) {
    const size_t begin = tree.grown.begin[leaf], end = tree.grown.begin[leaf + 1];
    const int64_t count = static_cast<int64_t>(end - begin) * kResidualSteps;
    std::vector<int64_t> sums;
    for (const std::vector<int32_t>& residuals : tree.residuals) {
      int64_t sum = 0;
      for (size_t i = begin; i < end; ++i) sum += residuals[i];
      sums.push_back(sum);
    }
    if (outputs == 1) {
      leaves.push_back({count + sums[0], count - sums[0]});
    } else {
      sums.push_back(count);
      leaves.push_back(std::move(sums));
    }
  }
  return leaves;
}

absl::StatusOr<std::vector<std::vector<double>>> ReleaseGradientLeaves(
    const GradientTree& tree, const GradientLeafOptions& options, PrivateReleaser& releaser) {
  const size_t outputs = tree.residuals.size();
  const double lambda = static_cast<double>(options.lambda.numerator) / options.lambda.denominator;
  std::vector<std::vector<double>> values;
  for (const std::vector<int64_t>& sums : GradientLeafSums(tree)) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<int64_t> released,
                             releaser.Sums(sums, GradientLeafSensitivity(outputs), options.share));
    const Leaf leaf = Decode(released, outputs);
    const double rows = std::max(leaf.count, 0.0) + lambda;
    std::vector<double>& value = values.emplace_back();
    for (const double sum : leaf.sums) {
      value.push_back(rows > 0 ? std::clamp(sum / rows, -options.clip, options.clip) : 0);
    }
  }
  return values;
}

}  // namespace coppice::trainers
