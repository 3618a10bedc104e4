#include "server/curator/estimation/planning/study_defaults.h"

#include <gtest/gtest.h>

namespace coppice::curator {
namespace {

TEST(StudyDefaultsTest, GrowsTreesThatCorrectIfNothingIsAskedFor) {
  const PartitionChoice choice = ChoosePartition({});
  EXPECT_TRUE(choice.choose_size);
  EXPECT_EQ(choice.options.rule, SplitRule::kRandomCut);
  EXPECT_EQ(choice.options.max_leaves, 16u);
  EXPECT_EQ(choice.options.trees, 64u);
}

TEST(StudyDefaultsTest, AStudyByAFeatureKeepsTheHybridRule) {
  EXPECT_EQ(ChoosePartition({.by_feature = "plan"}).options.rule, SplitRule::kHybrid);
}

TEST(StudyDefaultsTest, GrowsMoreTreesWithoutLabels) {
  EXPECT_GT(ChoosePartition({.use_labels = false}).options.trees,
            ChoosePartition({}).options.trees);
}

TEST(StudyDefaultsTest, GrowsOneTreeByThePapersRuleIfItsShapeIsAskedFor) {
  for (const PartitionRequest& request :
       {PartitionRequest{.max_depth = 3}, PartitionRequest{.min_leaf = 4},
        PartitionRequest{.trees = 1}}) {
    const PartitionChoice choice = ChoosePartition(request);
    EXPECT_FALSE(choice.choose_size);
    EXPECT_EQ(choice.options.rule, SplitRule::kMaxEdge);
    EXPECT_EQ(choice.options.criterion, Criterion::kGini);
    EXPECT_EQ(choice.options.trees, 1u);
  }
}

TEST(StudyDefaultsTest, TakesTheHybridRuleWithoutLabelsWhateverElseIsAskedFor) {
  const PartitionChoice choice = ChoosePartition({.max_depth = 3, .use_labels = false});
  EXPECT_EQ(choice.options.rule, SplitRule::kHybrid);
  EXPECT_FALSE(choice.choose_size);
}

TEST(StudyDefaultsTest, GrowsSmallTreesByRandomCuts) {
  const PartitionChoice choice = ChoosePartition({.rule = SplitRule::kRandomCut});
  EXPECT_EQ(choice.options.trees, 64u);
  EXPECT_EQ(choice.options.max_leaves, 16u);
  EXPECT_TRUE(choice.choose_size);
  EXPECT_EQ(ChoosePartition({.rule = SplitRule::kRandomCut, .max_leaves = 4}).options.max_leaves,
            4u);
}

TEST(StudyDefaultsTest, KeepsWhatIsAskedFor) {
  const PartitionChoice choice = ChoosePartition({.rule = SplitRule::kCart,
                                                  .criterion = Criterion::kEntropy,
                                                  .max_depth = 0,
                                                  .min_leaf = 5,
                                                  .trees = 7,
                                                  .seed = 0,
                                                  .max_leaves = 9,
                                                  .from_schema = true,
                                                  .by_feature = "plan"});
  EXPECT_EQ(choice.options, (PartitionOptions{.rule = SplitRule::kCart,
                                              .criterion = Criterion::kEntropy,
                                              .max_depth = 0,
                                              .min_leaf = 5,
                                              .trees = 7,
                                              .seed = 0,
                                              .max_leaves = 9,
                                              .from_schema = true,
                                              .by_feature = "plan"}));
  EXPECT_FALSE(choice.choose_size);
}

TEST(StudyDefaultsTest, EstimatesByWhatTheTreesWereGrownFor) {
  EXPECT_EQ(ChooseEstimator({.rule = SplitRule::kRandomCut}), EstimatorKind::kSmooth);
  for (const SplitRule rule : {SplitRule::kHybrid, SplitRule::kMaxEdge, SplitRule::kCart}) {
    EXPECT_EQ(ChooseEstimator({.rule = rule}), EstimatorKind::kPooled);
  }
}

}  // namespace
}  // namespace coppice::curator
