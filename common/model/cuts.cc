#include "common/model/cuts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "common/base/text.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

constexpr size_t kShortDigits = 6;
constexpr double kPartOfRange = 1e-3;
constexpr double kMaxScaled = 1e15;  // below, every whole double has each decimal
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Counts digits without leading zeros; the maximum if there is an exponent.
size_t DigitsOf(double number) {
  const std::string text = ReadableNumber(number);
  if (StrContains(text, 'e')) return std::numeric_limits<size_t>::max();
  const size_t first = text.find_first_of("123456789");
  if (first == std::string::npos) return 0;
  return static_cast<size_t>(
      std::count_if(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(), IsAsciiDigit));
}

// The smallest number with this many decimals that is not below `x`; unset if a double cannot
// represent it.
std::optional<double> RoundUp(double x, int decimals) {
  static constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const double power = kPowers.at(static_cast<size_t>(decimals));
  double scaled = std::ceil(x * power);
  if (!(std::abs(scaled) < kMaxScaled)) return std::nullopt;
  while (scaled / power < x) ++scaled;  // the product may be rounded either way
  while ((scaled - 1) / power >= x) --scaled;
  return scaled / power + 0.0;  // -0 becomes 0
}

}  // namespace

Cut ExactCut(double threshold) {
  const Cut below{.number = std::nextafter(threshold, -kInfinity) + 0.0, .inclusive = true};
  const Cut exact{.number = threshold + 0.0};
  if (std::isinf(below.number)) return exact;
  return ReadableNumber(below.number).size() < ReadableNumber(exact.number).size() ? below : exact;
}

ReadableCuts::ReadableCuts(const Model& model) {
  const std::vector<Feature>& features = model.tree_schema().features();
  features_.resize(features.size());
  for (const Tree& tree : model.forest()) {
    for (const Node& node : tree.nodes()) {
      if (node.kind != SplitKind::kNumeric) continue;
      features_[node.feature].thresholds.push_back(node.threshold);
    }
  }
  for (size_t f = 0; f < features.size(); ++f) {
    features_[f].whole = features[f].integer;
    features_[f].tolerance = (features[f].max - features[f].min) * kPartOfRange;
    std::vector<double>& thresholds = features_[f].thresholds;
    std::sort(thresholds.begin(), thresholds.end());
    thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  }
}

Cut ReadableCuts::Of(uint32_t feature, double threshold) const {
  const Cut exact = ExactCut(threshold);
  const auto& [tolerance, whole, thresholds] = features_[feature];
  if (whole || DigitsOf(exact.number) <= kShortDigits) return exact;
  const auto next = std::upper_bound(thresholds.begin(), thresholds.end(), threshold);
  for (int decimals = 0; decimals <= 15; ++decimals) {
    const std::optional<double> rounded = RoundUp(threshold, decimals);
    if (!rounded) break;
    if (*rounded - threshold <= tolerance && (next == thresholds.end() || *rounded < *next)) {
      return {.number = *rounded};
    }
  }
  return exact;
}

}  // namespace coppice
