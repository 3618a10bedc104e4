#include "common/model/cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/schema/number.h"
#include "tests/common/model/trees.h"

namespace coppice {
namespace {

using ::coppice::testing::Leaf;
using ::coppice::testing::Numeric;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::Whole;

// A model of trees with one split each.
Model ModelWithCuts(const Feature& x, const std::vector<double>& thresholds) {
  const Schema schema = *Schema::Create({x}, "y", {"a", "b"});
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (const double threshold : thresholds) {
    forest.push_back(*Tree::Create({NumericSplit(0, threshold, 1, 2), Node{}, Node{}}, schema));
    leaves.push_back({Leaf({1, 0}, 0, 0, 1), Leaf({0, 1}, 0, 1, 2)});
  }
  return *Model::Create(schema, std::move(forest), std::move(leaves), {});
}

std::string TextOf(const Cut& cut) {
  return (cut.inclusive ? "<= " : "< ") + ReadableNumber(cut.number);
}

// The text of the first threshold.
std::string Read(double min, double max, const std::vector<double>& thresholds) {
  return TextOf(
      ReadableCuts(ModelWithCuts(Numeric("x", min, max), thresholds)).Of(0, thresholds[0]));
}

double JustAbove(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

TEST(ReadableCutsTest, ACutJustAboveAShortNumberIncludesIt) {
  EXPECT_EQ(Read(-1, 100, {JustAbove(0)}), "<= 0");
  EXPECT_EQ(Read(0, 5000, {759.2500000000001}), "<= 759.25");
  EXPECT_EQ(Read(0, 100, {30}), "< 30");
  EXPECT_EQ(Read(0, 1, {0.0625}), "< 0.0625");
  EXPECT_EQ(Read(-1, 1, {-std::numeric_limits<double>::denorm_min()}), "< 0");
  EXPECT_EQ(Read(0, 1e6, {100000}), "< 100000");
  EXPECT_EQ(Read(0, 1e300, {1e300}), "< 1e+300");
}

TEST(ReadableCutsTest, OtherCutsAreRoundedUpToAThousandthOfTheRange) {
  constexpr double kLong = 36.83870967741935;
  EXPECT_EQ(Read(17, 90, {kLong}), "< 36.9");
  EXPECT_EQ(Read(0, 1000, {kLong}), "< 37");
  EXPECT_EQ(Read(36, 38, {kLong}), "< 36.84");
  EXPECT_EQ(Read(0, 1e9, {123456.789012345}), "< 123457");  // never coarser than whole numbers
  EXPECT_EQ(Read(-90, 0, {-kLong}), "< -36.8");
}

TEST(ReadableCutsTest, CutsOfWholeNumbersAreWhole) {
  const auto read = [](double threshold) {
    const Model model = ModelWithCuts(Whole("x", 0, 1e9), {threshold});
    return TextOf(ReadableCuts(model).Of(0, threshold));
  };
  EXPECT_EQ(read(WholeCut(0.5)), "<= 0");
  EXPECT_EQ(read(WholeCut(3.4)), "<= 3");
  EXPECT_EQ(read(WholeCut(123456789.5)), "<= 123456789");
  EXPECT_EQ(read(7), "< 7");
}

TEST(ReadableCutsTest, CutsStayApart) {
  EXPECT_EQ(Read(0, 1000, {36.83870967741935, 36.9}), "< 36.84");
  EXPECT_EQ(Read(0, 1000, {36.83870967741935, 37}), "< 36.9");
  EXPECT_EQ(Read(0, 1000, {36.83870967741935, 36.838709677419361}), "< 36.83870967741935");
}

TEST(ReadableCutsTest, ExactCutsAreExact) {
  EXPECT_EQ(TextOf(ExactCut(36.83870967741935)), "< 36.83870967741935");
  EXPECT_EQ(TextOf(ExactCut(759.2500000000001)), "<= 759.25");
  EXPECT_EQ(TextOf(ExactCut(std::numeric_limits<double>::lowest())), "< -1.7976931348623157e+308");
}

// Random thresholds in [min, max], some of them close together.
std::vector<double> RandomThresholds(double min, double max, std::mt19937& random) {
  std::vector<double> thresholds;
  while (thresholds.size() < 40) {
    const double x = std::uniform_real_distribution<double>(min, max)(random);
    thresholds.push_back(x);
    thresholds.push_back(std::min(max, JustAbove(x)));
    thresholds.push_back(std::clamp(std::round(x * 100) / 100, min, max));
    thresholds.push_back(std::min(max, x + (max - min) * 1e-6));
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

int DecimalsOf(const std::string& number) {
  const size_t point = number.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(number.size() - point - 1);
}

TEST(ReadableCutsTest, TextsAreOrderedNearAndRightForValuesOfTheirOwnDecimals) {
  std::mt19937 random(1);
  for (const auto& [min, max] : std::vector<std::pair<double, double>>{
           {0, 1}, {-1, 2}, {17, 90}, {-5000, 100000}, {0, 1e12}, {0, 1e-3}}) {
    const std::vector<double> thresholds = RandomThresholds(min, max, random);
    const ReadableCuts cuts(ModelWithCuts(Numeric("x", min, max), thresholds));
    std::optional<Cut> before;
    for (const double threshold : thresholds) {
      const Cut cut = cuts.Of(0, threshold);
      EXPECT_LE(std::abs(cut.number - threshold), (max - min) / 1000);
      if (before) {
        EXPECT_LT(std::pair(before->number, before->inclusive),
                  std::pair(cut.number, cut.inclusive));
      }
      before = cut;
      const std::string text = ReadableNumber(cut.number);
      const double step = std::pow(10, -DecimalsOf(text));
      for (const double near : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
        const double value =
            *ParseFinite(absl::StrFormat("%.*f", DecimalsOf(text), cut.number + near * step));
        EXPECT_EQ(cut.Holds(value), value < threshold) << text << " of " << threshold;
      }
      for (const double whole : {std::floor(threshold), std::ceil(threshold)}) {
        EXPECT_EQ(cut.Holds(whole), whole < threshold) << text << " of " << threshold;
      }
    }
  }
}

}  // namespace
}  // namespace coppice
