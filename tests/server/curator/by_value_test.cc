#include "server/curator/partition/by_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_values.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "tests/support/local_reports.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::DomainFor;
using ::coppice::testing::IsLaplace;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Kind = FeatureValue::Kind;

constexpr uint32_t kPlan = 1;
constexpr uint32_t kCopies = 5;  // gold, silver, tin, missing, other
constexpr uint32_t kLeaves = 5;
constexpr double kPlans[] = {0, 1, 2, kMissingValue, 3};

// "plan" and "age" are public, "income" and "pet" are not.
std::shared_ptr<const Schema> PlanSchema(uint32_t classes = 2) {
  std::vector<Feature> features = {Numeric("income", 0, 100),
                                   Categorical("plan", {"gold", "silver", "tin"}),
                                   Numeric("age", 0, 100), Categorical("pet", {"cat", "dog"})};
  features[1].is_public = true;
  features[2].is_public = true;
  std::vector<std::string> names = {"a", "b", "c"};
  names.resize(classes);
  return std::make_shared<const Schema>(*Schema::Create(features, "y", names));
}

Node At(uint32_t feature, double cut, uint32_t left, uint32_t right) {
  return {.kind = SplitKind::kNumeric,
          .feature = feature,
          .threshold = cut,
          .left = left,
          .right = right};
}

// Asks about a private feature, about the one that is put in front, and about a public one:
// income < 50 ? (plan = silver ? leaf 0 : (income < 20 ? leaf 1 : leaf 2))
//             : (age < 30 ? leaf 3 : leaf 4)
Tree MixedTree(const Schema& schema) {
  const Node leaf;
  return *Tree::Create(
      {At(0, 50, 1, 6),
       {.kind = SplitKind::kCategory, .feature = kPlan, .threshold = 1, .left = 2, .right = 3},
       leaf,
       At(0, 20, 4, 5),
       leaf,
       leaf,
       At(2, 30, 7, 8),
       leaf,
       leaf},
      schema);
}

std::vector<Row> SomeRows(int count) {
  PublicRandom random(3);
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    const double income = random.Below(10) == 0 ? kMissingValue : 100 * random.Unit();
    rows.push_back({income, kPlans[random.Below(kCopies)], 100 * random.Unit(), 1});
  }
  return rows;
}

EncodedValue PlanOf(const Row& row) { return {.feature = kPlan, .value = row[kPlan]}; }

TEST(ByValueTest, BehindEachValueIsTheWholeTree) {
  const auto schema = PlanSchema();
  const Tree tree = MixedTree(*schema);
  const Forest longer = *PutValuesInFront({tree, Tree::SingleLeaf()}, *schema, kPlan);
  EXPECT_EQ(longer[0].num_leaves(), kCopies * kLeaves);
  EXPECT_EQ(longer[1].num_leaves(), kCopies);
  for (const Row& row : SomeRows(200)) {
    const uint32_t copy = CopyOf(*schema, PlanOf(row));
    EXPECT_EQ(longer[0].FindLeaf(row), copy * kLeaves + tree.FindLeaf(row));
    EXPECT_EQ(longer[1].FindLeaf(row), copy);
    std::vector<uint32_t> consistent = ConsistentLeaves(tree, *schema, row);
    for (uint32_t& leaf : consistent) leaf += copy * kLeaves;
    EXPECT_EQ(ConsistentLeaves(longer[0], *schema, row), consistent);
  }
}

TEST(ByValueTest, ValuesComeInTheirOrderThenMissingThenOther) {
  const auto schema = PlanSchema();
  const Tree tree = PutValuesInFront({Tree::SingleLeaf()}, *schema, kPlan)->front();
  EXPECT_EQ(tree.FindLeaf(Row{1, 0, 1, 0}), 0u);
  EXPECT_EQ(tree.FindLeaf(Row{1, 2, 1, 0}), 2u);
  EXPECT_EQ(tree.FindLeaf(Row{1, kMissingValue, 1, 0}), 3u);
  EXPECT_EQ(tree.FindLeaf(Row{1, 3, 1, 0}), 4u);  // not a known value
}

TEST(ByValueTest, TheTreesComeBack) {
  const auto schema = PlanSchema();
  const Forest forest = {MixedTree(*schema), Tree::SingleLeaf()};
  const Forest longer = *PutValuesInFront(forest, *schema, kPlan);
  EXPECT_EQ(*TakeValuesFromFront(longer, *schema, kPlan), forest);
}

TEST(ByValueTest, TreesThatBeginOtherwiseAreRefused) {
  const auto schema = PlanSchema();
  for (const Tree& tree : {MixedTree(*schema), Tree::SingleLeaf()}) {
    EXPECT_THAT(TakeValuesFromFront({tree}, *schema, kPlan),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("tree 0 does not begin with the values of plan")));
  }
}

TEST(ByValueTest, OnlyPublicCategoricalFeaturesStandInFront) {
  const auto schema = PlanSchema();
  EXPECT_EQ(*FindByFeature(*schema, "plan"), kPlan);
  for (const char* other : {"age", "pet", "absent", ""}) {
    EXPECT_THAT(FindByFeature(*schema, other),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("partition.by_feature"), HasSubstr("there are plan"))));
  }
  EXPECT_THAT(FindByFeature(*schema->WithPublicFeatures({}), "plan"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there is none")));
}

TEST(ByValueTest, TooManyValuesAreRefused) {
  std::vector<std::string> values;
  for (int i = 0; i < 600; ++i) values.push_back(std::to_string(i));
  Feature feature = Categorical("town", values);
  feature.is_public = true;
  const Schema schema = *Schema::Create({feature}, "y", {"a", "b"});
  EXPECT_THAT(PutValuesInFront({Tree::SingleLeaf()}, schema, 0),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("partition.by_feature: town has 600 values"),
                             HasSubstr("fewer values"))));
}

TEST(FeatureValueTest, IsFoundInTheSchemaOrTheErrorSaysWhatThereIs) {
  const auto schema = PlanSchema();
  EXPECT_EQ(EncodeValue(*schema, {.feature = "plan", .category = "tin"})->value, 2);
  EXPECT_EQ(EncodeValue(*schema, {.feature = "plan", .kind = Kind::kOther})->value, 3);
  const EncodedValue missing = *EncodeValue(*schema, {.feature = "plan", .kind = Kind::kMissing});
  EXPECT_TRUE(missing.Holds(Row{1, kMissingValue, 1, 0}));
  EXPECT_FALSE(missing.Holds(Row{1, 0, 1, 0}));
  EXPECT_THAT(EncodeValue(*schema, {.feature = "plan", .category = "lead"}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("where.category"), HasSubstr("gold, silver, tin"))));
  for (const char* feature : {"age", "absent"}) {
    EXPECT_THAT(EncodeValue(*schema, {.feature = feature, .category = "1"}),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("where.feature"), HasSubstr("plan, pet"))));
  }
}

TEST(FeatureValueTest, DifferentValuesHaveDifferentTexts) {
  const auto text = [](const char* feature, Kind kind, const char* category = "") {
    return FeatureValue{.feature = feature, .kind = kind, .category = category}.ToString();
  };
  EXPECT_EQ(text("plan", Kind::kCategory, "gold"), "plan = gold");
  EXPECT_EQ(text("plan", Kind::kMissing), "plan is missing");
  EXPECT_EQ(text("plan", Kind::kOther), "plan is not in the schema");
  EXPECT_EQ(text("marital status", Kind::kCategory, "single"), "\"marital status\" = single");
  EXPECT_NE(text("a = b", Kind::kCategory, "c"), text("a", Kind::kCategory, "b = c"));
  EXPECT_NE(text("a\" = b", Kind::kCategory, "c"), text("a", Kind::kCategory, "b\" = c"));
}

std::vector<MechanismKind> KindsOfBits() {
  std::vector<MechanismKind> kinds;
  for (const MechanismKind kind : KindsForClasses()) {
    if (!IsLaplace(kind)) kinds.push_back(kind);
  }
  return kinds;
}

// Counts the same reports by the tree, and by the tree with values in front.
class SumsByValueTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  SumsByValueTest() {
    for (const Row& row : SomeRows(600)) Send(row);
  }

  static TreeSums NoSums(const ConsistentCounter& counter) {
    return {.sums = std::vector<int64_t>(counter.sum_size())};
  }

  ConsistentCounter CounterOf(const Tree& tree) const {
    return {tree, schema_,
            *MechanismsBySize::Create(GetParam(), *Budget::Parse("1"),
                                      {tree.num_leaves(), schema_->num_classes()})};
  }

  static void Count(const ConsistentCounter& counter, const Row& row, const Contribution& report,
                    TreeSums& sums) {
    counter.AddChecked(counter.LeavesOf(row), report, absl::MakeSpan(sums.sums));
    ++sums.reports;
  }

  // Sends a report as a device answers in the longer tree.
  void Send(const Row& row) {
    const std::vector<uint32_t> leaves = by_value_.LeavesOf(row);
    const LocalMechanism& mechanism = by_value_.MechanismFor(leaves.size());
    const auto leaf = static_cast<uint32_t>(
        std::find(leaves.begin(), leaves.end(), longer_.FindLeaf(row)) - leaves.begin());
    const auto column = static_cast<uint32_t>(coins_.Below(mechanism.columns()));
    const auto label = static_cast<uint32_t>(coins_.Below(schema_->num_classes()));
    const std::string payload =
        *mechanism.Randomize({.leaf = leaf, .label = label}, column, noise_);
    const Contribution report = {.payload = payload, .column = column};
    Count(by_value_, row, report, sums_by_value_);
    Count(alone_, row, report, sums_alone_);
    Count(alone_, row, report, sums_of_copy_[CopyOf(*schema_, PlanOf(row))]);
  }

  const std::shared_ptr<const Schema> schema_ =
      PlanSchema(DomainFor(GetParam(), {.leaves = 1, .classes = 3}).classes);
  const Tree tree_ = MixedTree(*schema_);
  const Tree longer_ = PutValuesInFront({tree_}, *schema_, kPlan)->front();
  const ConsistentCounter alone_ = CounterOf(tree_);
  const ConsistentCounter by_value_ = CounterOf(longer_);
  TreeSums sums_alone_ = NoSums(alone_);
  TreeSums sums_by_value_ = NoSums(by_value_);
  std::vector<TreeSums> sums_of_copy_ = std::vector<TreeSums>(kCopies, NoSums(alone_));
  OpenSslRandom noise_;
  PublicRandom coins_{9};
};

INSTANTIATE_TEST_SUITE_P(Kinds, SumsByValueTest, ::testing::ValuesIn(KindsOfBits()),
                         [](const auto& kind) { return std::string(MechanismName(kind.param)); });

TEST_P(SumsByValueTest, AddUpToWhatTheTreeAloneCountsOfTheSameReports) {
  const TreeSums all = alone_.OfAllCopies(sums_by_value_);
  EXPECT_EQ(all.sums, sums_alone_.sums);
  EXPECT_EQ(all.reports, 600u);
}

TEST_P(SumsByValueTest, OfOneCopyAreThoseOfTheReportsWithThatValue) {
  for (uint32_t copy = 0; copy < kCopies; ++copy) {
    const TreeSums of_copy = alone_.OfCopy(sums_by_value_, copy);
    EXPECT_EQ(of_copy.sums, sums_of_copy_[copy].sums);
    EXPECT_EQ(of_copy.reports, sums_of_copy_[copy].reports);
    EXPECT_GT(of_copy.reports, 50u);
  }
}

TEST_P(SumsByValueTest, LeavesTellHowManyReportsThereAre) {
  const std::vector<uint64_t> at_nodes = by_value_.ReportsAtNodes(sums_by_value_.sums);
  const std::vector<uint32_t> nodes = NodesOfValues(longer_, kCopies);
  ASSERT_EQ(nodes.size(), 2u * (kCopies - 1));
  uint64_t left = 600;
  for (uint32_t copy = 0; copy + 1 < kCopies; ++copy) {
    EXPECT_EQ(at_nodes[nodes[2 * copy]], sums_of_copy_[copy].reports);
    left -= sums_of_copy_[copy].reports;
    EXPECT_EQ(at_nodes[nodes[2 * copy + 1]], left);
  }
  EXPECT_EQ(alone_.ReportsAtNodes(sums_alone_.sums)[0], 600u);
  EXPECT_EQ(by_value_.ReportsAtNodes(sums_by_value_.sums)[0], 600u);
}

TEST_P(SumsByValueTest, NoReportIsAboutMoreLeavesThanTheTreeAloneAllows) {
  EXPECT_EQ(by_value_.most_leaves(), alone_.most_leaves());
  EXPECT_EQ(alone_.most_leaves(), 3u);
  size_t most = 0;
  for (const Row& row : SomeRows(600)) most = std::max(most, by_value_.LeavesOf(row).size());
  EXPECT_EQ(most, 3u);
}

}  // namespace
}  // namespace coppice::curator
