#include "common/tree/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "tests/common/tree/trees.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::IncomeSchema;
using ::coppice::testing::Leaf;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tree Stump(double age) {
  return *Tree::Create({NumericSplit(0, age, 1, 2), Node{}, Node{}}, IncomeSchema());
}

std::vector<LeafPrediction> TwoLeaves() {
  return {Leaf({0.75, 0.25}, 0.03, 0, 1), Leaf({0.5, 0.5}, 0.04, 1, 0)};
}

// A model of one stump whose left leaf is `leaf`.
absl::StatusOr<Model> WithLeaf(LeafPrediction leaf) {
  return Model::Create(IncomeSchema(), {Stump(30)}, {{std::move(leaf), TwoLeaves()[1]}}, {});
}

TEST(ModelTest, OneTreeAnswersWithItsLeaf) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       Model::Create(IncomeSchema(), {Stump(30)}, {TwoLeaves()}, {}));
  const Prediction young = model.Predict({20, 0});
  EXPECT_EQ(young.label, 0u);
  EXPECT_THAT(young.probabilities, ElementsAre(0.75, 0.25));
  EXPECT_EQ(young.standard_error, 0.03);
  // The leaf's own label, even where the probabilities are level.
  EXPECT_EQ(model.Predict({40, 0}).label, 1u);
}

TEST(ModelTest, ForestAveragesItsTrees) {
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                                        {TwoLeaves(), TwoLeaves()}, {}));
  const Prediction middle = model.Predict({40, 0});
  EXPECT_THAT(middle.probabilities, ElementsAre(0.625, 0.375));
  EXPECT_EQ(middle.label, 0u);
  EXPECT_THAT(middle.standard_error, DoubleNear(0.025, 1e-15));  // sqrt(.04^2 + .03^2) / 2
  EXPECT_EQ(model.Predict({60, 0}).label, 0u) << "the lower class on a tie";
}

TEST(ModelTest, OneUnknownTreeMakesTheForestUnknown) {
  auto unknown = TwoLeaves();
  unknown[0].standard_error = kInf;
  ASSERT_OK_AND_ASSIGN(const Model model, Model::Create(IncomeSchema(), {Stump(30), Stump(50)},
                                                        {TwoLeaves(), unknown}, {}));
  EXPECT_EQ(model.Predict({20, 0}).standard_error, kInf);
}

TEST(ModelTest, CreateRejectsShapesThatDoNotMatch) {
  EXPECT_THAT(Model::Create(IncomeSchema(), {}, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least one tree")));
  EXPECT_THAT(Model::Create(IncomeSchema(), {Stump(30)}, {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as many lists of leaves")));
  EXPECT_THAT(
      Model::Create(IncomeSchema(), {Stump(30)}, {{TwoLeaves()[0]}}, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tree 0: needs 2 leaf predictions")));
}

TEST(ModelTest, CreateRejectsATreeOfAnotherSchema) {
  ASSERT_OK_AND_ASSIGN(Schema other,
                       Schema::Create({testing::Categorical("c", {"u", "v"})}, "y", {"a", "b"}));
  EXPECT_THAT(Model::Create(std::move(other), {Stump(30)}, {TwoLeaves()}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not numeric")));
}

TEST(ModelTest, CreateRejectsProbabilitiesThatAreNone) {
  EXPECT_THAT(WithLeaf(Leaf({1.0}, 0, 0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leaf 0: needs 2")));
  for (const auto& p : {std::vector{1.1, -0.1}, {kMissingValue, 1.0}}) {
    EXPECT_THAT(WithLeaf(Leaf(p, 0, 0, 1)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in [0, 1]")));
  }
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.4}, 0, 0, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("add up to 1")));
}

TEST(ModelTest, CreateRejectsBadErrorsLabelsAndSources) {
  for (const double error : {-0.1, kMissingValue}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, error, 0, 1)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("standard_error")));
  }
  EXPECT_OK(WithLeaf(Leaf({0.5, 0.5}, kInf, 0, 1)));
  EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 2, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("label must be below 2")));
  for (const uint32_t source : {2u, 3u, kNoParent}) {
    EXPECT_THAT(WithLeaf(Leaf({0.5, 0.5}, 0, 0, source)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("source_node")));
  }
}

}  // namespace
}  // namespace coppice
