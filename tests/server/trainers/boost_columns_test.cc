#include "server/trainers/boosting/boost_columns.h"

#include <bit>
#include <cmath>
#include <set>

#include "common/base/text.h"
#include "common/schema/derived.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/status_matchers.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PublicBoostColumnsTest, NumbersHaveEvenCutsAndSomeThatHalveTheWayToZero) {
  const Schema schema = *Schema::Create({Numeric("x", -64, 32), Categorical("colour", {"red"})},
                                        "label", {"no", "yes"});
  const BoostColumns columns = *PublicBoostColumns(schema, kAllInformation);
  ASSERT_EQ(columns.bins.size(), 2u);
  EXPECT_LE(columns.bins[0].cuts.size(), 31u + 41u);
  std::set<double> cuts;
  for (const double cut : columns.bins[0].cuts) {
    cuts.insert(std::nextafter(cut, -1e9));  // "at most this" is "below the next number"
  }
  for (int i = 1; i <= 31; ++i) EXPECT_TRUE(cuts.contains(-64 + 96.0 * i / 32)) << i;
  for (int k = 1; k <= 20; ++k) {
    EXPECT_TRUE(cuts.contains(std::ldexp(32, -k))) << k;
    EXPECT_TRUE(cuts.contains(-std::ldexp(64, -k))) << k;
  }
  EXPECT_TRUE(cuts.contains(0));
}

TEST(PublicBoostColumnsTest, WholeNumbersAreCutOnceBetweenNeighbours) {
  const Schema schema =
      *Schema::Create({Whole("x", -3, 9), Whole("many", 0, 1e6)}, "label", {"no", "yes"});
  const BoostColumns columns = *PublicBoostColumns(schema, kAllInformation);
  std::vector<double> at_most;
  for (const double cut : columns.bins[0].cuts) at_most.push_back(std::nextafter(cut, -1e9));
  EXPECT_THAT(at_most, ElementsAre(-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(columns.bins[0].known, 13u);
  for (const double cut : columns.bins[1].cuts) {
    EXPECT_EQ(std::nextafter(cut, -1e9), std::floor(cut));
  }
}

// The number of even bins per column, with `numbers` columns and `classes` classes (0: a number).
size_t EvenBins(size_t numbers, int classes, double information = kAllInformation) {
  std::vector<std::string> names;
  for (int c = 0; c < classes; ++c) names.push_back(StrCat("c", c));
  const Schema schema = classes == 0 ? *Schema::CreateRegression(NumericFeatures(numbers), "label",
                                                                 {.min = 0, .max = 1})
                                     : *Schema::Create(NumericFeatures(numbers), "label", names);
  const BoostColumns columns = *PublicBoostColumns(schema, information);
  // Besides a power of two of even bins there are a few more, down to the 2^-20th part of the
  // range.
  return std::bit_floor(columns.bins[0].cuts.size());
}

TEST(PublicBoostColumnsTest, MostlyNumericTablesHaveAsFineCutsAsAreBounded) {
  EXPECT_EQ(EvenBins(1, 2), 32u);
  EXPECT_EQ(EvenBins(2, 2), 512u);
  EXPECT_EQ(EvenBins(16, 2), 512u);
  EXPECT_EQ(EvenBins(17, 2), 256u);
  EXPECT_EQ(EvenBins(32, 2), 256u);
  EXPECT_EQ(EvenBins(33, 2), 32u);
  EXPECT_EQ(EvenBins(16, 16), 512u);
  EXPECT_EQ(EvenBins(16, 17), 256u);
  EXPECT_EQ(EvenBins(24, 12), 256u);
  EXPECT_EQ(EvenBins(16, 33), 32u);
}

TEST(PublicBoostColumnsTest, FewRowsOfAClassHaveFewerCuts) {
  EXPECT_EQ(EvenBins(8, 2, 128), 512u);
  EXPECT_EQ(EvenBins(8, 2, 127), 256u);
  EXPECT_EQ(EvenBins(8, 12, 768), 512u);
  EXPECT_EQ(EvenBins(8, 12, 767), 256u);
  EXPECT_EQ(EvenBins(8, 0, 64), 512u);
  EXPECT_EQ(EvenBins(8, 0, 63), 256u);
  EXPECT_EQ(EvenBins(24, 2, 128), 256u) << "never more than time bears";
  for (const double little : {0.0, -3.0}) EXPECT_EQ(EvenBins(8, 2, little), 256u);
  EXPECT_EQ(EvenBins(33, 2, 1e9), 32u);
}

TEST(PublicBoostColumnsTest, NoInformationHasMoreBinsThanAllOfIt) {
  for (const int classes : {0, 2, 12}) {
    for (const double information : {0.0, 5.0, 50.0, 1e6}) {
      EXPECT_LE(EvenBins(12, classes, information), EvenBins(12, classes));
    }
  }
}

TEST(PublicBoostColumnsTest, MostlyNumericTablesHaveObliqueColumns) {
  const Schema numeric = *Schema::Create(NumericFeatures(20), "label", {"no", "yes"});
  const BoostColumns columns = *PublicBoostColumns(numeric, kAllInformation);
  EXPECT_EQ(columns.derived.size(), 64u);
  EXPECT_EQ(columns.bins.size(), 84u);
  std::set<std::vector<std::pair<uint32_t, bool>>> distinct;
  size_t pairs = 0;
  for (const DerivedFeature& derived : columns.derived) {
    std::vector<std::pair<uint32_t, bool>> terms;
    for (const DerivedTerm& term : derived) terms.emplace_back(term.feature, term.minus);
    EXPECT_FALSE(terms[0].second) << "the first has no minus";
    distinct.insert(terms);
    pairs += derived.size() == 2 ? 1 : 0;
  }
  EXPECT_EQ(distinct.size(), 64u);
  EXPECT_EQ(pairs, 32u);
  EXPECT_EQ(PublicBoostColumns(numeric, kAllInformation)->derived, columns.derived)
      << "the same every time";
}

TEST(PublicBoostColumnsTest, FewNumbersHaveAllTheirObliqueColumns) {
  // 3 pairs with 2 signs each, 1 triple with 4.
  EXPECT_EQ(
      PublicBoostColumns(*Schema::Create(NumericFeatures(3), "label", {"a", "b"}), kAllInformation)
          ->derived.size(),
      6u + 4u);
  EXPECT_THAT(
      PublicBoostColumns(*Schema::Create(NumericFeatures(1), "label", {"a", "b"}), kAllInformation)
          ->derived,
      IsEmpty());
}

TEST(PublicBoostColumnsTest, TablesOfCategoriesHaveNone) {
  std::vector<Feature> features = NumericFeatures(3);
  features.push_back(Categorical("colour", {"red", "green"}));
  EXPECT_EQ(PublicBoostColumns(*Schema::Create(features, "l", {"a", "b"}), kAllInformation)
                ->derived.size(),
            10u);
  features.push_back(Categorical("shape", {"round", "square"}));
  EXPECT_THAT(
      PublicBoostColumns(*Schema::Create(features, "l", {"a", "b"}), kAllInformation)->derived,
      IsEmpty());
}

}  // namespace
}  // namespace coppice::trainers
