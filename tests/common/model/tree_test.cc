#include "common/model/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/base/status.h"
#include "tests/common/model/trees.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::CategorySplit;
using ::coppice::testing::IncomeNodes;
using ::coppice::testing::IncomeSchema;
using ::coppice::testing::MissingSplit;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MATCHER_P(IsRefused, message, "") {
  return ::testing::ExplainMatchResult(StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)),
                                       Tree::Create(arg, IncomeSchema()), result_listener);
}

std::vector<Node> Stump(Node split) { return {split, Node{}, Node{}}; }

// `splits` splits in a row, each with a leaf on its left.
std::vector<Node> Chain(uint32_t splits) {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < splits; ++i) {
    nodes.push_back(NumericSplit(0, 20, 2 * i + 1, 2 * i + 2));
    nodes.push_back(Node{});
  }
  nodes.push_back(Node{});
  return nodes;
}

TEST(TreeTest, SingleLeafIsTheTreeOfOneLeaf) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, Tree::Create({Node{}}, IncomeSchema()));
  EXPECT_EQ(tree, Tree::SingleLeaf());
  for (const Tree& t : {tree, Tree::SingleLeaf()}) {
    EXPECT_EQ(t.num_leaves(), 1u);
    EXPECT_EQ(t.depth(), 0u);
    EXPECT_EQ(t.parent(0), kNoParent);
    EXPECT_EQ(t.end_leaf(0), 1u);
    EXPECT_EQ(t.leaf_node(0), 0u);
    EXPECT_EQ(t.FindLeaf({20, 0}), 0u);
  }
}

TEST(TreeTest, EveryKindOfSplitSendsARowToItsLeaf) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, Tree::Create(IncomeNodes(), IncomeSchema()));
  EXPECT_EQ(tree.FindLeaf({kMissingValue, 1}), 0u);
  EXPECT_EQ(tree.FindLeaf({40, 1}), 1u);
  EXPECT_EQ(tree.FindLeaf({40, kMissingValue}), 1u);
  EXPECT_EQ(tree.FindLeaf({29.9, 0}), 2u);
  EXPECT_EQ(tree.FindLeaf({30, 0}), 3u);
  EXPECT_EQ(tree.FindLeaf({90, 2}), 4u);
}

TEST(TreeTest, MissingGoesRightUnlessToldOtherwise) {
  ASSERT_OK_AND_ASSIGN(const Tree right,
                       Tree::Create(Stump(NumericSplit(0, 30, 1, 2)), IncomeSchema()));
  ASSERT_OK_AND_ASSIGN(const Tree left,
                       Tree::Create(Stump(NumericSplit(0, 30, 1, 2, true)), IncomeSchema()));
  EXPECT_EQ(right.FindLeaf({kMissingValue, 0}), 1u);
  EXPECT_EQ(left.FindLeaf({kMissingValue, 0}), 0u);
  EXPECT_FALSE(left == right);
}

TEST(TreeTest, PathRunsFromTheRootToTheLeaf) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, Tree::Create(IncomeNodes(), IncomeSchema()));
  EXPECT_THAT(tree.Path({20, 0}), ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(tree.Path({kMissingValue, 0}), ElementsAre(0, 1));
}

TEST(TreeTest, NodesKnowTheirParentDepthAndLeaves) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, Tree::Create(IncomeNodes(), IncomeSchema()));
  EXPECT_EQ(tree.num_leaves(), 5u);
  EXPECT_EQ(tree.depth(), 4u);
  EXPECT_EQ(tree.parent(6), 4u);
  EXPECT_EQ(tree.node_depth(6), 3u);
  EXPECT_EQ(tree.first_leaf(4), 2u);
  EXPECT_EQ(tree.end_leaf(4), 5u);
  EXPECT_EQ(tree.leaf_node(4), 8u);
}

TEST(TreeTest, NodesAreInPreorderWhateverOrderTheyCameIn) {
  // The right child comes first in the array.
  ASSERT_OK_AND_ASSIGN(const Tree stump,
                       Tree::Create({NumericSplit(0, 30, 2, 1), Node{}, Node{}}, IncomeSchema()));
  EXPECT_EQ(stump, *Tree::Create(Stump(NumericSplit(0, 30, 1, 2)), IncomeSchema()));
  EXPECT_EQ(stump.leaf_node(0), 1u);
  EXPECT_EQ(stump.FindLeaf({20, 0}), 0u);
  EXPECT_EQ(stump.FindLeaf({40, 0}), 1u);
  // The array is level by level.
  ASSERT_OK_AND_ASSIGN(const Tree levels,
                       Tree::Create({NumericSplit(0, 50, 1, 2), CategorySplit(1, 0, 3, 4, true),
                                     NumericSplit(0, 70, 5, 6), Node{}, Node{}, Node{}, Node{}},
                                    IncomeSchema()));
  EXPECT_THAT(levels.nodes(),
              ElementsAre(NumericSplit(0, 50, 1, 4), CategorySplit(1, 0, 2, 3, true), Node{},
                          Node{}, NumericSplit(0, 70, 5, 6), Node{}, Node{}));
  EXPECT_EQ(levels.parent(4), 0u);
  EXPECT_EQ(levels.parent(6), 4u);
  EXPECT_EQ(levels.node_depth(3), 2u);
  EXPECT_EQ(levels.first_leaf(4), 2u);
  EXPECT_EQ(levels.end_leaf(1), 2u);
  EXPECT_EQ(levels.FindLeaf({60, 0}), 2u);
  // Created again from its nodes, nothing moves.
  const std::vector<Node> nodes(levels.nodes().begin(), levels.nodes().end());
  ASSERT_OK_AND_ASSIGN(const Tree again, Tree::Create(nodes, IncomeSchema()));
  EXPECT_EQ(again, levels);
}

TEST(TreeTest, CreateRejectsSizesOutOfRange) {
  EXPECT_THAT(std::vector<Node>{}, IsRefused("1 to 1048576 nodes, not 0"));
  EXPECT_THAT(std::vector<Node>(kMaxNodes + 1), IsRefused("nodes, not 1048577"));
}

TEST(TreeTest, CreateRejectsCyclesAndSharedOrLostNodes) {
  EXPECT_THAT(Stump(NumericSplit(0, 30, 0, 2)), IsRefused("node 0: child must be after it"));
  EXPECT_THAT(Stump(NumericSplit(0, 30, 1, 3)), IsRefused("below 3"));
  EXPECT_THAT(Stump(NumericSplit(0, 30, 1, 1)), IsRefused("node 1: more than one parent"));
  EXPECT_THAT((std::vector<Node>{Node{}, Node{}}), IsRefused("node 1: no parent"));
  EXPECT_THAT(
      (std::vector<Node>{NumericSplit(0, 30, 1, 2), NumericSplit(0, 20, 2, 3), Node{}, Node{}}),
      IsRefused("node 2: more than one parent"));
}

TEST(TreeTest, CreateRejectsSplitsThatDoNotFitTheSchema) {
  EXPECT_THAT(Stump(NumericSplit(2, 30, 1, 2)), IsRefused("feature must be below 2"));
  EXPECT_THAT(Stump(NumericSplit(1, 1, 1, 2)), IsRefused("not numeric"));
  EXPECT_THAT(Stump(CategorySplit(0, 1, 1, 2)), IsRefused("not categorical"));
  for (const double category :
       {-1.0, 0.5, 3.0, std::numeric_limits<double>::infinity(), kMissingValue}) {
    EXPECT_THAT(Stump(CategorySplit(1, category, 1, 2)), IsRefused("from 0 to 2"));
  }
  for (const double threshold : {std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), kMissingValue}) {
    EXPECT_THAT(Stump(NumericSplit(0, threshold, 1, 2)), IsRefused("must be finite"));
  }
}

TEST(TreeTest, CreateRejectsFieldsWithoutAMeaning) {
  Node unknown = NumericSplit(0, 30, 1, 2);
  unknown.kind = static_cast<SplitKind>(9);
  EXPECT_THAT(Stump(unknown), IsRefused("unknown kind"));
  Node missing = MissingSplit(0, 1, 2);
  missing.missing_left = true;
  EXPECT_THAT(Stump(missing), IsRefused("no missing_left"));
  Node leaf;
  leaf.threshold = kMissingValue;
  EXPECT_THAT(std::vector<Node>{leaf}, IsRefused("a leaf has no split"));
}

TEST(TreeTest, CreateRejectsTreesDeeperThanTheLimit) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, Tree::Create(Chain(kMaxModelDepth), IncomeSchema()));
  EXPECT_EQ(tree.depth(), kMaxModelDepth);
  EXPECT_THAT(Chain(kMaxModelDepth + 1), IsRefused("deeper than 512"));
}

}  // namespace
}  // namespace coppice
