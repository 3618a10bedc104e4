#include "server/trainers/boosting/column_parts.h"

#include <algorithm>

#include "server/trainers/boosting/boost_columns.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;

FeatureBins BinsOf(std::vector<double> cuts) {
  FeatureBins bins{.type = FeatureType::kNumeric, .cuts = std::move(cuts)};
  bins.known = static_cast<uint32_t>(bins.cuts.size() + 1);
  return bins;
}

FeatureBins EvenBins(uint32_t bins) {
  std::vector<double> cuts;
  for (uint32_t i = 1; i < bins; ++i) cuts.push_back(i);
  return BinsOf(std::move(cuts));
}

TEST(EvenRunsTest, BinsOfOneWidthAreDividedEvenly) {
  EXPECT_THAT(EvenRuns(EvenBins(8), Numeric("x", 0, 8), 0, 8, 4),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(EvenRuns(EvenBins(8), Numeric("x", 0, 8), 2, 6, 2), ElementsAre(0, 0, 1, 1));
}

TEST(EvenRunsTest, FewerBinsThanRunsAreARunEach) {
  EXPECT_THAT(EvenRuns(EvenBins(8), Numeric("x", 0, 8), 3, 5, 4), ElementsAre(0, 1));
  EXPECT_THAT(EvenRuns(EvenBins(8), Numeric("x", 0, 8), 3, 4, 4), ElementsAre(0));
  EXPECT_THAT(EvenRuns(EvenBins(8), Numeric("x", 0, 8), 0, 8, 1),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

// Runs are even in width, not in number: bins crowded at one end are one run, and no run is empty.
TEST(EvenRunsTest, CrowdedBinsAreOneRun) {
  const FeatureBins bins = BinsOf({0.25, 0.5, 1, 2, 4});
  EXPECT_THAT(EvenRuns(bins, Numeric("x", 0, 8), 0, 6, 4), ElementsAre(0, 0, 0, 0, 1, 2));
}

TEST(EvenRunsTest, AColumnOfOneValueIsOneRun) {
  EXPECT_THAT(EvenRuns(BinsOf({}), Numeric("x", 7, 7), 0, 1, 4), ElementsAre(0));
}

// The widest bounds that a schema takes, and bounds far from 0; edges are the schema's numbers.
TEST(EvenRunsTest, ExtremeBoundsHaveRunsToo) {
  for (const auto& [low, high] : {std::pair(-8e307, 8e307), {0.0, 1.7e308}, {1e300, 1.1e300}}) {
    const Schema schema = *Schema::Create({Numeric("x", low, high), Categorical("c", {"v", "w"})},
                                          "label", {"no", "yes"});
    const FeatureBins bins = PublicBoostColumns(schema, kAllInformation)->bins[0];
    const std::vector<uint32_t> runs = EvenRuns(bins, schema.features()[0], 0, bins.ordinary(), 4);
    EXPECT_EQ(runs.front(), 0u) << low;
    EXPECT_GE(runs.back(), 2u) << low;
    EXPECT_LE(runs.back(), 3u) << low;
    for (size_t i = 1; i < runs.size(); ++i) EXPECT_LE(runs[i] - runs[i - 1], 1u) << low;
  }
}

TEST(FirstBinsTest, AreWhereRunsBegin) {
  EXPECT_THAT(FirstBins({0, 0, 1, 1, 1, 2}, 5), ElementsAre(7, 10));
  EXPECT_THAT(FirstBins({0, 0}, 5), ElementsAre());
}

// A tree of the parts alone, and the part that it leads a value to.
class PlantedParts {
 public:
  PlantedParts(const Schema& schema, const ColumnParts& parts, const FeatureBins& bins,
               uint32_t first_part)
      : nodes_(1), part_of_node_(1) {
    PlantParts(parts, bins, 0, first_part, nodes_, part_of_node_);
    EXPECT_OK(Tree::Create(nodes_, schema));
  }

  uint32_t PartOf(double value) const {
    uint32_t at = 0;
    while (nodes_[at].kind != SplitKind::kLeaf) {
      at = GoesLeft(nodes_[at], value) ? nodes_[at].left : nodes_[at].right;
    }
    return part_of_node_[at];
  }
  uint32_t leaves() const { return static_cast<uint32_t>(nodes_.size() + 1) / 2; }

 private:
  std::vector<Node> nodes_;
  std::vector<uint32_t> part_of_node_;
};

TEST(PlantPartsTest, RunsLeadEveryValueToTheRunOfItsBin) {
  const Schema schema = *Schema::Create({Numeric("x", 0, 9)}, "label", {"no", "yes"});
  const FeatureBins bins = BinsOf({0.5, 1, 2, 3.5, 5, 7, 8});
  for (const uint32_t wanted : {1u, 2u, 3u, 4u, 8u}) {
    const std::vector<uint32_t> runs =
        EvenRuns(bins, schema.features()[0], 0, bins.ordinary(), wanted);
    const PlantedParts planted(schema, {.column = 0, .first_bins = FirstBins(runs, 0)}, bins, 11);
    EXPECT_EQ(planted.leaves(), runs.back() + 1);
    for (uint32_t bin = 0; bin < bins.ordinary(); ++bin) {
      const double low = bin == 0 ? 0 : bins.cuts[bin - 1];
      EXPECT_EQ(planted.PartOf(low), 11 + runs[bin]) << low;
      EXPECT_EQ(planted.PartOf(low + 0.4), 11 + runs[bin]) << low;
    }
    EXPECT_EQ(planted.PartOf(kMissingValue), 11u) << "missing values are in the first run";
  }
}

TEST(PlantPartsTest, CategoriesThatAreNotToldApartShareTheLastPart) {
  const Schema schema = *Schema::Create({Categorical("colour", {"red", "green", "blue", "grey"})},
                                        "label", {"no", "yes"});
  const FeatureBins bins{.type = FeatureType::kCategorical, .known = 4};
  const PlantedParts planted(schema, {.column = 0, .categories = {0, 3}}, bins, 5);
  EXPECT_EQ(planted.leaves(), 3u);
  const double values[] = {0, 1, 2, 3, 4, kMissingValue};  // 4: another value
  std::vector<uint32_t> parts;
  for (const double value : values) parts.push_back(planted.PartOf(value));
  EXPECT_THAT(parts, ElementsAre(5, 7, 7, 6, 7, 7));
}

TEST(PlantPartsTest, OnePartIsALeaf) {
  const Schema schema = *Schema::Create({Numeric("x", 0, 1)}, "label", {"no", "yes"});
  EXPECT_EQ(PlantedParts(schema, {}, BinsOf({0.5}), 3).PartOf(0.7), 3u);
}

}  // namespace
}  // namespace coppice::trainers
