#include "common/base/status.h"
#include "common/model/model.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// x < 0.5 ? (x < 0.25 ? leaf 0 : leaf 1) : (x < 0.75 ? leaf 2 : leaf 3); nodes 2, 3, 5, 6 are
// leaves.
class CollapseTest : public ::testing::Test {
 protected:
  static Node Split(double threshold, uint32_t left, uint32_t right) {
    return {.kind = SplitKind::kNumeric,
            .missing_left = false,
            .feature = 0,
            .threshold = threshold,
            .left = left,
            .right = right};
  }
  static LeafPrediction From(uint32_t source_node, uint32_t label) {
    return {.probabilities = {label == 0 ? 0.9 : 0.1, label == 0 ? 0.1 : 0.9},
            .standard_error = 0.1,
            .label = label,
            .source_node = source_node};
  }

  const Schema schema_ = *Schema::Create({testing::Numeric("x", 0, 1)}, "y", {"no", "yes"});
  const Tree tree_ = *Tree::Create(
      {Split(0.5, 1, 4), Split(0.25, 2, 3), Node(), Node(), Split(0.75, 5, 6), Node(), Node()},
      schema_);
};

TEST_F(CollapseTest, ATreeThatWasNotPrunedStaysAsItIs) {
  const std::vector<LeafPrediction> leaves = {From(2, 0), From(3, 1), From(5, 0), From(6, 1)};
  ASSERT_OK_AND_ASSIGN(const CollapsedTree same, Collapse(tree_, leaves, schema_));
  EXPECT_EQ(same.tree, tree_);
  EXPECT_EQ(same.leaves, leaves);
}

TEST_F(CollapseTest, KeepsTheOrderOfTheNodes) {
  const Tree by_level = *Tree::Create(
      {Split(0.5, 1, 2), Split(0.25, 3, 4), Split(0.75, 5, 6), Node(), Node(), Node(), Node()},
      schema_);
  const std::vector<LeafPrediction> leaves = {From(3, 0), From(4, 1), From(5, 0), From(6, 1)};
  ASSERT_OK_AND_ASSIGN(const CollapsedTree same, Collapse(by_level, leaves, schema_));
  EXPECT_EQ(same.tree, by_level);
  EXPECT_EQ(same.leaves, leaves);
}

TEST_F(CollapseTest, LeavesThatAnswerForOneParentBecomeIt) {
  ASSERT_OK_AND_ASSIGN(const CollapsedTree collapsed,
                       Collapse(tree_, {From(1, 0), From(1, 0), From(5, 0), From(6, 1)}, schema_));
  ASSERT_EQ(collapsed.tree.num_leaves(), 3u);
  EXPECT_EQ(collapsed.leaves[0], From(1, 0));  // now its own source
  EXPECT_EQ(collapsed.tree.leaf_node(0), 1u);
  EXPECT_EQ(collapsed.leaves[1], From(collapsed.tree.leaf_node(1), 0));
}

TEST_F(CollapseTest, AnAncestorFurtherUpKeepsItsPlace) {
  ASSERT_OK_AND_ASSIGN(const CollapsedTree collapsed,
                       Collapse(tree_, {From(0, 1), From(0, 1), From(0, 1), From(6, 0)}, schema_));
  ASSERT_EQ(collapsed.tree.num_leaves(), 3u);
  EXPECT_EQ(collapsed.leaves[0].source_node, 0u);
  EXPECT_EQ(collapsed.leaves[1].source_node, 0u);
  EXPECT_EQ(collapsed.leaves[2].source_node, collapsed.tree.leaf_node(2));
}

TEST_F(CollapseTest, ATreePrunedToItsRootIsOneLeaf) {
  ASSERT_OK_AND_ASSIGN(const CollapsedTree collapsed,
                       Collapse(tree_, {From(0, 1), From(0, 1), From(0, 1), From(0, 1)}, schema_));
  EXPECT_EQ(collapsed.tree, Tree::SingleLeaf());
  EXPECT_EQ(collapsed.leaves, std::vector<LeafPrediction>{From(0, 1)});
}

TEST_F(CollapseTest, EveryRowKeepsItsPrediction) {
  const std::vector<LeafPrediction> leaves = {From(1, 0), From(1, 0), From(0, 1), From(6, 0)};
  ASSERT_OK_AND_ASSIGN(const CollapsedTree collapsed, Collapse(tree_, leaves, schema_));
  for (const double x : {0.1, 0.3, 0.6, 0.9, kMissingValue}) {
    const Row row = {x};
    EXPECT_EQ(collapsed.leaves[collapsed.tree.FindLeaf(row)].label,
              leaves[tree_.FindLeaf(row)].label);
  }
}

TEST_F(CollapseTest, RefusesAnotherNumberOfLeaves) {
  EXPECT_THAT(Collapse(tree_, {From(0, 1)}, schema_).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one prediction a leaf")));
}

}  // namespace
}  // namespace coppice
