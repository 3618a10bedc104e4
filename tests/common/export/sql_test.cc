// tests/runtimes runs the queries in PostgreSQL and DuckDB.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/export/formats.h"
#include "tests/common/export/sample_models.h"

namespace coppice::formats {
namespace {

using ::coppice::testing::CategorySplit;
using ::coppice::testing::ExportedRegression;
using ::coppice::testing::ExportedSchema;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::OneSplit;
using ::coppice::testing::SumOfTwo;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Query(const Node& split, const Schema& schema = ExportedSchema()) {
  return *ToSql(OneSplit(schema, split, {1, -1}, {-1, 1}), "m");
}

// Where a condition is unknown, CASE takes ELSE.
TEST(SqlTest, AConditionTellsWhereAMissingValueDoesNotGo) {
  EXPECT_THAT(Query(NumericSplit(0, 0.5)), HasSubstr("CASE WHEN v0 < 0.5e0 THEN 1 ELSE 2 END"));
  EXPECT_THAT(Query(NumericSplit(0, 0.5, /*missing_left=*/true)),
              HasSubstr("CASE WHEN v0 >= 0.5e0 THEN 2 ELSE 1 END"));
  Node category = CategorySplit(1);
  EXPECT_THAT(Query(category), HasSubstr("CASE WHEN v2 = 1 THEN 1 ELSE 2 END"));
  category.missing_left = true;
  EXPECT_THAT(Query(category), HasSubstr("CASE WHEN v2 <> 1 THEN 2 ELSE 1 END"));
  EXPECT_THAT(Query({.kind = SplitKind::kMissing, .feature = 1, .left = 1, .right = 2}),
              HasSubstr("CASE WHEN v1 IS NULL THEN 1 ELSE 2 END"));
}

TEST(SqlTest, NamesEndNeitherQuotesNorComments) {
  const Schema schema = *Schema::Create({testing::Numeric("a \"b\" -- '", 0, 1)}, "label\nSELECT 1",
                                        {"it's", "x'); DROP TABLE t; --"});
  const std::string query = Query(NumericSplit(0, 0.5), schema);
  EXPECT_THAT(query, HasSubstr(R"(i."a ""b"" -- '")"));
  EXPECT_THAT(query, HasSubstr("ARRAY['it''s', 'x''); DROP TABLE t; --']"));
  EXPECT_THAT(query, Not(HasSubstr("\nSELECT 1"))) << "a comment ends with its line";
}

TEST(SqlTest, WholeNumbersAreRoundedAndBoundsCut) {
  const std::string query = Query(NumericSplit(1, 30.5));
  EXPECT_THAT(query, HasSubstr("<= 0e0 THEN 0e0"));
  EXPECT_THAT(query, HasSubstr(">= 100e0 THEN 100e0"));
  EXPECT_THAT(query, HasSubstr(R"(trunc(CAST(i."age" AS float8)) + sign()"));
  EXPECT_THAT(query, HasSubstr(R"(CASE CAST(i."job" AS text) WHEN 'cook' THEN 0)"));
}

TEST(SqlTest, ANumberIsAPlaceInItsRange) {
  const std::string query =
      *ToSql(OneSplit(ExportedRegression(), NumericSplit(0, 0.5), {0, 1}, {0, 0.5}), "m");
  EXPECT_THAT(query, HasSubstr("-10e0 + 50e0 * GREATEST(0e0, LEAST(1e0, s1)) AS prediction"));
  EXPECT_THAT(query, Not(HasSubstr("probabilities")));
}

TEST(SqlTest, DerivedFeaturesAreSums) {
  const std::string query = *ToSql(OneSplit(ExportedSchema(), NumericSplit(3, 0.5), {0, 1}, {1, 0},
                                            LeafKind::kScores, {SumOfTwo()}),
                                   "m");
  EXPECT_THAT(query, HasSubstr("0e0 + (v0 - (0e0)) / 1e0 - (v1 - (0e0)) / 100e0 AS v3"));
}

// A tree of `cuts` splits, one below the other, with leaves to the left.
Model Chain(uint32_t cuts) {
  const Schema schema = ExportedSchema();
  std::vector<Node> nodes;
  std::vector<LeafPrediction> leaves;
  for (uint32_t i = 0; i < cuts; ++i) {
    Node split = NumericSplit(0, (i + 1.0) / (cuts + 1.0));
    split.left = static_cast<uint32_t>(nodes.size()) + 1;
    split.right = split.left + 1;
    nodes.push_back(split);
    nodes.emplace_back();
  }
  nodes.emplace_back();
  for (uint32_t i = 0; i <= cuts; ++i) {
    leaves.push_back(
        {.probabilities = {1.0 * i, 0}, .source_node = i < cuts ? 2 * i + 1 : 2 * cuts});
  }
  return *Model::Create(schema, {*Tree::Create(nodes, schema)}, {leaves}, Certificate{},
                        LeafKind::kScores);
}

// Engines limit how deep an expression may be nested.
TEST(SqlTest, ADeepTreeIsWalkedDown) {
  EXPECT_THAT(*ToSql(Chain(50), "m"), Not(HasSubstr("RECURSIVE")));
  const std::string deep = *ToSql(Chain(150), "m");
  EXPECT_THAT(deep, HasSubstr("WITH RECURSIVE"));
  EXPECT_THAT(deep, Not(HasSubstr("CASE WHEN v0 <")));
}

}  // namespace
}  // namespace coppice::formats
