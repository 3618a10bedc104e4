#include "server/trainers/core/bins.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/status.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/cut_rows.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema Of(std::vector<Feature> features) {
  return *Schema::Create(std::move(features), "label", {"no", "yes"});
}

std::vector<double> CutsOf(double min, double max, uint32_t cuts) {
  return (*PublicBins(Of({Numeric("x", min, max)}), cuts))[0].cuts;
}

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
const std::pair<double, double> kBounds[] = {{0, 1},
                                             {-1, 1},
                                             {-1000, 3},
                                             {5, 6},
                                             {-6, -5},
                                             {-1, 0},
                                             {0, kLargest},
                                             {0, kLeast},
                                             {-kLeast, kLeast},
                                             {1e-12, 1.5e-12},
                                             {-kLargest / 2, kLargest / 2},
                                             {1, std::nextafter(1, 2)},
                                             {1e300, 2e300},
                                             {0, 1e-306}};

TEST(PublicBinsTest, CutsIncreaseAndDivideTheRange) {
  for (const auto& [min, max] : kBounds) {
    for (const uint32_t most : {1u, 2u, 4u, 7u, 8u, 16u, 31u, 255u, 4096u}) {
      const std::vector<double> cuts = CutsOf(min, max, most);
      EXPECT_LE(cuts.size(), most);
      const bool has_inside = std::nextafter(min, max) < max;
      EXPECT_GE(cuts.size(), has_inside ? 1u : 0u) << min << " to " << max;
      for (size_t i = 0; i < cuts.size(); ++i) {
        EXPECT_GT(cuts[i], i == 0 ? min : cuts[i - 1]);
        EXPECT_LE(cuts[i], max);
      }
    }
  }
}

TEST(PublicBinsTest, WholeNumbersAreCutOnceBetweenNeighboursAndEachBinHasOne) {
  for (const auto& [min, max] : {std::pair(0.0, 1.0),
                                 {0.0, 6.0},
                                 {-7.0, 5.0},
                                 {1.0, 1000.0},
                                 {-0x1p53, 0x1p53},
                                 {3.0, 3.0}}) {
    for (const uint32_t most : {1u, 4u, 31u, 255u, 4096u}) {
      const FeatureBins bins = (*PublicBins(Of({Whole("x", min, max)}), most))[0];
      EXPECT_EQ(bins.known, bins.cuts.size() + 1);
      if (max - min <= most * 7 / 8) {
        EXPECT_EQ(bins.cuts.size(), max - min);
      }
      double least = min;  // the bin's lowest whole number
      for (const double cut : bins.cuts) {
        EXPECT_LT(least, cut) << "a bin between whole numbers";
        least = std::ceil(cut);
        EXPECT_EQ(std::nextafter(cut, -0x1p54), least - 1) << "at most a whole number";
      }
      EXPECT_LE(least, max);
    }
  }
  EXPECT_EQ((*PublicBins(Of({Numeric("x", 0, 6)}), 31))[0].cuts.size(), 31u);
}

TEST(PublicBinsTest, FewCutsAreEven) {
  EXPECT_THAT(CutsOf(0, 10, 4), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(CutsOf(0, 10, 1), ElementsAre(5));
}

TEST(PublicBinsTest, ManyCutsAlsoHalveTheDistanceToZero) {
  const auto has = [](const std::vector<double>& cuts, double cut) {
    return std::binary_search(cuts.begin(), cuts.end(), cut);
  };
  const std::vector<double> from_zero = CutsOf(0, 1, 255);
  const std::vector<double> around = CutsOf(-1, 1, 255);
  const std::vector<double> above = CutsOf(3, 4, 255);
  for (int k = 1; k <= 15; ++k) {
    EXPECT_TRUE(has(from_zero, std::ldexp(1, -k))) << k;
    EXPECT_TRUE(has(around, std::ldexp(1, -k))) << k;
    EXPECT_TRUE(has(around, -std::ldexp(1, -k))) << k;
    EXPECT_TRUE(has(above, 3 + std::ldexp(1, -k))) << k;
  }
  EXPECT_GE(from_zero.size(), 230u);
}

TEST(PublicBinsTest, AConstantFeatureHasNoCut) {
  ASSERT_OK_AND_ASSIGN(const auto bins, PublicBins(Of({Numeric("x", 7, 7)}), 255));
  EXPECT_TRUE(bins[0].cuts.empty());
  EXPECT_EQ(bins[0].known, 1u);
}

TEST(PublicBinsTest, FeaturesOfTooManyValuesAreRefusedByName) {
  std::vector<std::string> values;
  for (uint32_t v = 0; v < kMaxBins - 2; ++v) values.push_back(std::to_string(v));
  ASSERT_OK_AND_ASSIGN(const auto bins, PublicBins(Of({Categorical("postcode", values)}), 1));
  EXPECT_EQ(bins[0].size(), kMaxBins);
  values.push_back("one more");
  EXPECT_THAT(PublicBins(Of({Categorical("postcode", values)}), 1),
              StatusIs(StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("\"postcode\" has 32767 values"),
                                        HasSubstr("at most 32766"))));
}

TEST(BinnedRowsTest, AValuesBinAgreesWithEveryCut) {
  for (const auto& [min, max] : kBounds) {
    const auto schema = std::make_shared<const Schema>(Of({Numeric("x", min, max)}));
    const std::vector<double> cuts = CutsOf(min, max, 255);
    Table table(schema);
    std::vector<double> values = {min, max, min / 2 + max / 2};
    for (const double cut : cuts) {
      values.insert(values.end(), {cut, std::nextafter(cut, min), std::nextafter(cut, max)});
    }
    for (const double value : values) table.Append({value}, 0);
    const BinnedRows rows = Binned(table, 255);
    for (size_t r = 0; r < values.size(); ++r) {
      for (size_t j = 0; j < cuts.size(); ++j) {
        ASSERT_EQ(values[r] < cuts[j], rows.column(0)[r] <= j) << values[r] << " and " << cuts[j];
      }
    }
  }
}

TEST(BinnedRowsTest, MissingAndOtherHaveBinsOfTheirOwn) {
  const auto schema =
      std::make_shared<const Schema>(Of({Numeric("x", 0, 4), Categorical("c", {"red", "green"})}));
  Table table(schema);
  table.Append({kMissingValue, kMissingValue}, kUnlabelled);
  table.Append({4, schema->features()[1].other()}, 1);
  table.Append({0, 0}, 0);
  const BinnedRows rows = Binned(table, 3);
  EXPECT_THAT(rows.column(0), ElementsAre(4, 3, 0));  // cuts 1, 2, 3
  EXPECT_THAT(rows.column(1), ElementsAre(3, 2, 0));
  EXPECT_EQ(rows.bins()[0].missing(), 4u);
  EXPECT_EQ(rows.bins()[1].missing(), 3u);
  EXPECT_EQ(rows.bins()[1].ordinary(), 3u);
  EXPECT_THAT(rows.labels(), ElementsAre(kUnlabelled, 1, 0));
  EXPECT_FALSE(rows.regression());
}

TEST(BinnedRowsTest, TargetsAreTheNearestStepOfTheirRange) {
  const auto schema = MixedRegression();  // from -2 to 6
  Table table(schema);
  const Row row(schema->num_features(), kMissingValue);
  const double step = 8.0 / kTargetSteps;
  for (const double target : {-2.0, 6.0, 2.0, -2 + 0.4 * step, -2 + 0.6 * step, 6 - 0.6 * step}) {
    table.AppendTarget(row, target);
  }
  const BinnedRows rows = Binned(table, 3);
  EXPECT_TRUE(rows.regression());
  EXPECT_THAT(rows.targets(),
              ElementsAre(0, kTargetSteps, kTargetSteps / 2, 0, 1, kTargetSteps - 1));
}

TEST(BinnedRowsTest, AnEmptyTableHasItsBins) {
  const BinnedRows rows = Binned(Table(MixedClasses()), 31);
  EXPECT_EQ(rows.num_rows(), 0u);
  EXPECT_EQ(rows.num_features(), MixedFeatures().size());
  EXPECT_EQ(rows.num_classes(), 3u);
}

TEST(BinnedRowsTest, BlocksOfRowsAreBinnedAsTheirTableIs) {
  const auto schema = MixedClasses();
  const Table table = RandomTable(schema, {.rows = 1'000, .missing = 0.1}, 1);
  const std::vector<DerivedFeature> derived = {{{.feature = 0}, {.feature = 1, .minus = true}}};
  for (const uint32_t cuts : {15u, 255u, 1'000u}) {
    ASSERT_OK_AND_ASSIGN(std::vector<FeatureBins> bins, PublicBins(*schema, cuts));
    bins.push_back({.cuts = {-0.5, 0, 0.25}, .known = 4});
    ASSERT_OK_AND_ASSIGN(const BinnedRows whole, BinnedRows::Create(table, bins, derived));
    ASSERT_OK_AND_ASSIGN(const BinnedRows cut,
                         BinnedRows::Create(CutRows(table, 77), bins, derived));
    ASSERT_EQ(cut.num_rows(), table.num_rows());
    EXPECT_EQ(cut.labels(), whole.labels());
    for (size_t f = 0; f < bins.size(); ++f) {
      for (size_t row = 0; row < table.num_rows(); ++row) {
        ASSERT_EQ(cut.column(f)[row], whole.column(f)[row]) << f;
      }
    }
  }
}

TEST(BinnedRowsTest, SaysWhyRowsCouldNotBeRead) {
  const auto schema = MixedClasses();
  const Table table = RandomTable(schema, {.rows = 100}, 1);
  CutRows rows(table, 10);
  rows.FailAfter(0);
  ASSERT_OK_AND_ASSIGN(std::vector<FeatureBins> bins, PublicBins(*schema, 15));
  EXPECT_THAT(BinnedRows::Create(rows, bins).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace coppice::trainers
