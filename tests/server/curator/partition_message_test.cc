#include "server/curator/study/partition_message.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

const PartitionOptions kOptions{.rule = SplitRule::kHybrid,
                                .criterion = Criterion::kEntropy,
                                .max_depth = 3,
                                .min_leaf = 4,
                                .trees = 5,
                                .seed = 6,
                                .max_leaves = 7,
                                .use_labels = false,
                                .by_feature = "plan"};

TEST(PartitionMessageTest, NothingIsLostOnTheWay) {
  ASSERT_OK_AND_ASSIGN(const PartitionOptions back, ParsePartitionOptions(ToProto(kOptions)));
  EXPECT_EQ(back.max_depth, 3u);
  EXPECT_EQ(back.min_leaf, 4u);
  EXPECT_EQ(back.trees, 5u);
  EXPECT_EQ(back.seed, 6u);
  EXPECT_EQ(back.max_leaves, 7u);
  EXPECT_FALSE(back.use_labels);
  EXPECT_EQ(back.by_feature, "plan");
  EXPECT_EQ(back, kOptions);
}

TEST(PartitionMessageTest, EveryRuleAndCriterionHasANameOnTheWire) {
  for (const SplitRule rule :
       {SplitRule::kMaxEdge, SplitRule::kRandomMaxEdge, SplitRule::kCart, SplitRule::kHybrid}) {
    for (const Criterion criterion : {Criterion::kGini, Criterion::kEntropy}) {
      ASSERT_OK_AND_ASSIGN(const PartitionOptions back,
                           ParsePartitionOptions(ToProto({.rule = rule, .criterion = criterion})));
      EXPECT_EQ(back.rule, rule);
      EXPECT_EQ(back.criterion, criterion);
    }
  }
}

// Stored studies hold these numbers.
TEST(PartitionMessageTest, NumbersStayWhatTheyAre) {
  EXPECT_EQ(ToProto({.rule = SplitRule::kMaxEdge}).rule(), 1);
  EXPECT_EQ(ToProto({.rule = SplitRule::kRandomMaxEdge}).rule(), 2);
  EXPECT_EQ(ToProto({.rule = SplitRule::kCart}).rule(), 3);
  EXPECT_EQ(ToProto({.rule = SplitRule::kHybrid}).rule(), 4);
  EXPECT_EQ(ToProto({.criterion = Criterion::kGini}).criterion(), 1);
  EXPECT_EQ(ToProto({.criterion = Criterion::kEntropy}).criterion(), 2);
}

TEST(PartitionMessageTest, RefusesWhatThisVersionDoesNotKnow) {
  for (const int unknown : {0, 99}) {
    v1::PartitionOptions rule = ToProto(kOptions);
    rule.set_rule(static_cast<v1::SplitRule>(unknown));
    EXPECT_THAT(ParsePartitionOptions(rule),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("partition.rule")));
    v1::PartitionOptions criterion = ToProto(kOptions);
    criterion.set_criterion(static_cast<v1::Criterion>(unknown));
    EXPECT_THAT(ParsePartitionOptions(criterion),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("partition.criterion")));
  }
}

}  // namespace
}  // namespace coppice::curator
