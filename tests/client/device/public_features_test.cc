#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "client/device/journal_format.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_values.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "age" is private, "region" is public.
std::shared_ptr<const Schema> RegionSchema() {
  std::vector<Feature> features = {
      {.name = "age", .min = 0, .max = 100, .values = {}},
      {.name = "region", .type = FeatureType::kCategorical, .values = {"north", "south"}}};
  features[1].is_public = true;
  return std::make_shared<const Schema>(*Schema::Create(features, "sick", {"no", "yes"}));
}

// region == north ? (age < 50 ? leaf 0 : leaf 1) : (age < 20 ? leaf 2 : (age < 60 ? leaf 3 : 4))
Tree RegionTree(const Schema& schema) {
  const auto leaf = [] { return Node{}; };
  const auto at_age = [](double cut, uint32_t left, uint32_t right) {
    return Node{.kind = SplitKind::kNumeric, .threshold = cut, .left = left, .right = right};
  };
  return *Tree::Create({{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 4},
                        at_age(50, 2, 3),
                        leaf(),
                        leaf(),
                        at_age(20, 5, 6),
                        leaf(),
                        at_age(60, 7, 8),
                        leaf(),
                        leaf()},
                       schema);
}

Terms RegionTerms(MechanismKind mechanism) {
  return {.study = "s",
          .schema = RegionSchema(),
          .trees = 1,
          .epsilon = *Budget::FromNanos(1'000'000'000),
          .mechanism = mechanism};
}

TEST(ConsistentLeavesTest, FollowPublicSplitsAndBothSidesOfPrivateOnes) {
  const auto schema = RegionSchema();
  const Tree tree = RegionTree(*schema);
  EXPECT_THAT(ConsistentLeaves(tree, *schema, Row{10, 0}), ElementsAre(0, 1));
  EXPECT_THAT(ConsistentLeaves(tree, *schema, Row{10, 1}), ElementsAre(2, 3, 4));
  EXPECT_THAT(ConsistentLeaves(tree, *schema, Row{kMissingValue, 1}), ElementsAre(2, 3, 4));
  const Schema none = *schema->WithPublicFeatures({});
  EXPECT_THAT(ConsistentLeaves(tree, none, Row{10, 1}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ConsistentLeaves(tree, schema->WithAllPublic(), Row{10, 1}), ElementsAre(2));
}

TEST(PublicValuesTest, ShowWhatTheTreeAsksAboutAndNothingElse) {
  const auto schema = RegionSchema();
  const Tree tree = RegionTree(*schema);
  const std::string bytes = EncodePublicValues(*schema, tree, Row{42, 1});
  EXPECT_EQ(bytes, EncodePublicValues(*schema, tree, Row{77, 1}));
  const Row row = *DecodePublicValues(*schema, tree, bytes);
  EXPECT_TRUE(IsMissing(row[0]));
  EXPECT_EQ(row[1], 1);
  EXPECT_THAT(EncodePublicValues(*schema, Tree::SingleLeaf(), Row{42, 1}), IsEmpty());
  EXPECT_THAT(EncodePublicValues(schema->WithAllPublic(), Tree::SingleLeaf(), Row{42, 1}),
              SizeIs(16));
}

TEST(PublicValuesTest, RefuseWhatNoDeviceSends) {
  const auto schema = RegionSchema();
  const Tree tree = RegionTree(*schema);
  const std::string missing = EncodePublicValues(*schema, tree, Row{1, kMissingValue});
  EXPECT_TRUE(IsMissing((*DecodePublicValues(*schema, tree, missing))[1]));
  std::string other_missing = missing;
  other_missing[0] = 1;
  std::string none_such = EncodePublicValues(*schema, tree, Row{1, 2});
  none_such[6] = 0x7f;
  const std::string negative_zero = std::string(7, '\0') + '\x80';
  for (const std::string& bytes : {negative_zero, std::string(), std::string(7, '\0'),
                                   std::string(9, '\0'), other_missing, none_such}) {
    EXPECT_THAT(DecodePublicValues(*schema, tree, bytes),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
  }
}

// The guarantee itself: for every public value and ticket, the laws of the payloads of any two rows
// with that public value differ by at most exp(epsilon).
TEST(PublicFeaturesTest, PayloadsAreEpsilonPrivateGivenEveryPublicValue) {
  for (const MechanismKind kind :
       {MechanismKind::kSignedHadamard, MechanismKind::kSubsetSelection, MechanismKind::kDirect}) {
    const Terms terms = RegionTerms(kind);
    const Tree tree = RegionTree(*terms.schema);
    for (const double region : {0.0, 1.0, 2.0, kMissingValue}) {
      const auto leaves = ConsistentLeaves(tree, *terms.schema, Row{0, region});
      const auto mechanism = *MakeMechanism(terms, static_cast<uint32_t>(leaves.size()));
      for (uint32_t column = 0; column < mechanism->columns(); ++column) {
        for (int byte = 0; byte < 256; ++byte) {
          const std::string payload(1, static_cast<char>(byte));
          if (!mechanism->Check(payload).ok()) continue;
          double least = 1, most = 0;
          for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
            for (const uint32_t label : {0u, 1u}) {
              const double p = *mechanism->OutputProbability({leaf, label}, column, payload);
              least = std::min(least, p);
              most = std::max(most, p);
            }
          }
          EXPECT_LE(most, least * std::exp(1.0) * (1 + 1e-12));
        }
      }
    }
  }
}

TEST(PublicFeaturesTest, AReportIsOfItsConsistentLeavesAndShowsItsPublicValues) {
  const Terms terms = RegionTerms(MechanismKind::kDirect);
  TreesByIndex trees;
  trees.emplace(0, RegionTree(*terms.schema));
  const Privatizer privatizer = *Privatizer::Create(terms, {}, trees);
  OpenSslRandom random;
  for (const double region : {0.0, 1.0}) {
    const PrivateReport report =
        *privatizer.Privatize({.row = {30, region}, .label = 1}, Ticket(), random);
    const auto cells = region == 0 ? 4u : 6u;
    EXPECT_LT(static_cast<uint8_t>(report.payload[0]), cells);
    EXPECT_EQ((*DecodePublicValues(*terms.schema, trees.at(0), report.public_values))[1], region);
  }
}

TEST(PublicFeaturesTest, ADeviceDeclinesAStudyThatAsksForMoreThanItShows) {
  const Terms terms = RegionTerms(MechanismKind::kSignedHadamard);
  Policy policy{.max_epsilon = terms.epsilon};
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\"region\"")));
  policy.allowed_in_clear = {"age"};
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("region")));
  policy.allowed_in_clear = {"region"};
  EXPECT_TRUE(policy.Allows(terms, {}).ok());
}

TEST(PublicFeaturesTest, LaplaceMechanismsAreRefused) {
  EXPECT_THAT(ValidateTerms(RegionTerms(MechanismKind::kLaplaceJoint)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public features")));
}

TEST(PublicFeaturesTest, TheJournalKeepsPublicValuesForRetries) {
  JournalEntry entry{.subject = "a", .epsilon = *Budget::FromNanos(1'000'000'000), .report = {}};
  entry.report.study = "s";
  entry.report.payload = "p";
  entry.report.public_values = std::string(8, '\0');
  const auto read = *DecodeRecord(EncodeRecord(std::vector<JournalEntry>{entry}));
  EXPECT_EQ(std::get<std::vector<JournalEntry>>(read)[0].report, entry.report);
}

}  // namespace
}  // namespace coppice
