#include <gmock/gmock.h>

#include <array>
#include <random>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MakeModel;
using ::coppice::testing::MakeSchema;
using ::coppice::testing::MakeTerms;
using ::coppice::testing::MakeTree;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes `splits` splits of random kinds, each in place of a leaf of the tree so far.
Tree RandomTree(std::mt19937& random, size_t splits) {
  std::vector<Node> nodes(1);
  while (nodes.size() < 2 * splits + 1) {
    size_t at = random() % nodes.size();
    while (nodes[at].kind != SplitKind::kLeaf) at = random() % nodes.size();
    const auto left = static_cast<uint32_t>(nodes.size());
    Node node{.left = left, .right = left + 1};
    node.kind =
        std::array{SplitKind::kNumeric, SplitKind::kCategory, SplitKind::kMissing}[random() % 3];
    if (node.kind != SplitKind::kMissing) node.missing_left = random() % 2 == 1;
    if (node.kind == SplitKind::kNumeric) node.threshold = static_cast<double>(random()) / 3;
    if (node.kind == SplitKind::kCategory) node.threshold = random() % 3;
    node.feature = node.kind == SplitKind::kCategory ? 1 : 0;
    nodes[at] = node;
    nodes.resize(nodes.size() + 2);
  }
  return *Tree::Create(std::move(nodes), MakeSchema());
}

TEST(RoundTripTest, Schema) {
  ASSERT_OK_AND_ASSIGN(const Schema read, ParseSchema(ToProto(MakeSchema())));
  EXPECT_EQ(read, MakeSchema());
}

TEST(RoundTripTest, RowWithMissingAndOtherValues) {
  const Row row = {kMissingValue, 2};
  ASSERT_OK_AND_ASSIGN(const Row read, ParseRow(ToProto(RowView(row)), MakeSchema()));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(IsMissing(read[0]));
  EXPECT_EQ(read[1], 2);
}

TEST(RoundTripTest, TreeAndForest) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, ParseTree(ToProto(MakeTree()), MakeSchema()));
  EXPECT_EQ(tree, MakeTree());
  const Forest forest = {Tree::SingleLeaf(), MakeTree()};
  ASSERT_OK_AND_ASSIGN(const Forest read, ParseForest(ToProto(forest), MakeSchema()));
  EXPECT_EQ(read, forest);
}

// Splits of every kind, each with its own columns, in every order that preorder allows.
TEST(RoundTripTest, RandomTrees) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Tree tree = RandomTree(random, /*splits=*/random() % 60);
    const v1::Tree proto = ToProto(tree);
    v1::Tree parsed;
    ASSERT_TRUE(parsed.ParseFromString(proto.SerializeAsString()));
    ASSERT_OK_AND_ASSIGN(const Tree read, ParseTree(parsed, MakeSchema()));
    EXPECT_EQ(read, tree);
    for (uint32_t node = 0; node < tree.nodes().size(); ++node) {
      ASSERT_EQ(read.first_leaf(node), tree.first_leaf(node));
      ASSERT_EQ(read.end_leaf(node), tree.end_leaf(node));
    }
    EXPECT_EQ(ToProto(read).SerializeAsString(), proto.SerializeAsString());
  }
}

TEST(RoundTripTest, ATreeIsAFewBytesANode) {
  std::mt19937 random(2);
  const std::string bytes = ToProto(RandomTree(random, /*splits=*/40)).SerializeAsString();
  EXPECT_LT(bytes.size(), 450u);
}

TEST(RoundTripTest, EveryMechanismKeepsItsStableNumber) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    EXPECT_EQ(static_cast<int>(ToProto(kind)), static_cast<int>(kind));
    EXPECT_EQ(v1::Mechanism_Name(ToProto(kind)),
              StrCat("MECHANISM_", AsciiStrToUpper(MechanismName(kind))));
    ASSERT_OK_AND_ASSIGN(const MechanismKind read, ParseMechanism(ToProto(kind)));
    EXPECT_EQ(read, kind);
  }
}

// Terms without an id have the same bytes as before ids existed.
TEST(RoundTripTest, TermsSayWhatIdTheyAreJoinedBy) {
  Terms terms = MakeTerms();
  terms.schema = std::make_shared<const Schema>(terms.schema->WithAllPublic());
  terms.mechanism = MechanismKind::kDirect;
  const std::string before = SerializeTerms(terms);
  terms.joined_by = "customer";
  const std::string bytes = SerializeTerms(terms);
  EXPECT_EQ(bytes, before +
                       "\x42\x08"
                       "customer");
  ASSERT_OK_AND_ASSIGN(const Terms read, ReadTerms(bytes));
  EXPECT_EQ(read.joined_by, "customer");
  EXPECT_THAT(ReadTerms(before + "\x42\x02"
                                 "x\n")
                  .status()
                  .message(),
              ::testing::HasSubstr("joined_by"));
}

TEST(RoundTripTest, TermsAndTheirBytes) {
  const Terms terms = MakeTerms();
  const std::string bytes = SerializeTerms(terms);
  ASSERT_OK_AND_ASSIGN(const Terms read, ReadTerms(bytes));
  EXPECT_EQ(read.study, terms.study);
  EXPECT_EQ(*read.schema, *terms.schema);
  EXPECT_EQ(read.trees, terms.trees);
  EXPECT_EQ(read.forest_root, terms.forest_root);
  EXPECT_EQ(read.epsilon, terms.epsilon);
  EXPECT_EQ(read.mechanism, terms.mechanism);
  EXPECT_EQ(SerializeTerms(read), bytes);
}

TEST(RoundTripTest, ModelWithInfiniteStandardError) {
  v1::Model proto;
  ASSERT_TRUE(proto.ParseFromString(ToProto(MakeModel()).SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const Model read, ParseModel(proto));
  EXPECT_EQ(read, MakeModel());
}

TEST(RoundTripTest, ModelLeavesNameStudyAndTimeToTheCurator) {
  const v1::Model proto = ToProto(MakeModel());
  EXPECT_EQ(proto.name(), "");
  EXPECT_EQ(proto.study(), "");
  EXPECT_EQ(proto.created_unix_seconds(), 0);
}

TEST(ToProtoTest, Prediction) {
  const v1::Prediction proto = ToProto(Prediction{.label = 1,
                                                  .probabilities = {0.25, 0.75},
                                                  .standard_error = 0.5,
                                                  .value = 7,
                                                  .value_error = 2});
  EXPECT_EQ(proto.label(), 1u);
  EXPECT_THAT(proto.probabilities(), ElementsAre(0.25, 0.75));
  EXPECT_EQ(proto.standard_error(), 0.5);
  EXPECT_EQ(proto.value(), 7);
  EXPECT_EQ(proto.value_error(), 2);
}

TEST(RoundTripTest, RegressionModelOfWeights) {
  const Schema schema =
      *Schema::CreateRegression(MakeModel().schema().features(), "wage", {.min = -1, .max = 3});
  const Model model = *Model::Create(
      schema, {Tree::SingleLeaf()},
      {{{.probabilities = {-2.5, 7}, .standard_error = 1, .label = 1}}}, {}, LeafKind::kWeights);
  v1::Model proto;
  ASSERT_TRUE(proto.ParseFromString(ToProto(model).SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const Model read, ParseModel(proto));
  EXPECT_EQ(read, model);
}

Model OfScores() {
  LeafPrediction leaf{.probabilities = {-1.5, 1.5},
                      .label = 1,
                      .noise = {{.mean = -0.25, .variance = 0.5}, {.mean = 0.25, .variance = 0.5}},
                      .term = 0.75};
  return *Model::Create(MakeModel().schema(), {Tree::SingleLeaf()}, {{leaf}}, {}, LeafKind::kScores,
                        {}, {.trees = {0}, .factor = {0.125}});
}

TEST(RoundTripTest, ModelOfScoresWithTheirNoise) {
  v1::Model proto;
  ASSERT_TRUE(proto.ParseFromString(ToProto(OfScores()).SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const Model read, ParseModel(proto));
  EXPECT_EQ(read, OfScores());
}

TEST(ParseModelTest, RefusesNoiseThatIsNotInPairs) {
  v1::Model proto = ToProto(OfScores());
  proto.mutable_predictions(0)->mutable_leaves(0)->mutable_noise_variance()->RemoveLast();
  EXPECT_THAT(ParseModel(proto), StatusIs(StatusCode::kInvalidArgument, HasSubstr("finite")));
}

TEST(RoundTripTest, ASchemaHasClassesOrATarget) {
  v1::Schema proto = ToProto(MakeModel().schema());
  proto.mutable_target()->set_max(1);
  EXPECT_THAT(ParseSchema(proto), StatusIs(StatusCode::kInvalidArgument, HasSubstr("not both")));
}

TEST(NameTest, ReadsBackWhatItMakes) {
  EXPECT_EQ(MakeName(kStudies, "s-1"), "studies/s-1");
  ASSERT_OK_AND_ASSIGN(const std::string id, ParseName(kModels, MakeName(kModels, "m_2")));
  EXPECT_EQ(id, "m_2");
}

}  // namespace
}  // namespace coppice
