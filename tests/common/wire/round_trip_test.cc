#include "common/wire/convert.h"
#include "tests/common/wire/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::MakeModel;
using ::coppice::testing::MakeSchema;
using ::coppice::testing::MakeTerms;
using ::coppice::testing::MakeTree;
using ::testing::ElementsAre;

TEST(RoundTripTest, Schema) {
  ASSERT_OK_AND_ASSIGN(const Schema read, FromProto(ToProto(MakeSchema())));
  EXPECT_EQ(read, MakeSchema());
}

TEST(RoundTripTest, RowWithMissingAndOtherValues) {
  const Row row = {kMissingValue, 2};
  ASSERT_OK_AND_ASSIGN(const Row read, FromProto(ToProto(RowView(row)), MakeSchema()));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(IsMissing(read[0]));
  EXPECT_EQ(read[1], 2);
}

TEST(RoundTripTest, TreeAndForest) {
  ASSERT_OK_AND_ASSIGN(const Tree tree, FromProto(ToProto(MakeTree()), MakeSchema()));
  EXPECT_EQ(tree, MakeTree());
  const Forest forest = {Tree::SingleLeaf(), MakeTree()};
  ASSERT_OK_AND_ASSIGN(const Forest read, FromProto(ToProto(forest), MakeSchema()));
  EXPECT_EQ(read, forest);
}

TEST(RoundTripTest, EveryMechanismKeepsItsStableNumber) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    EXPECT_EQ(static_cast<int>(ToProto(kind)), static_cast<int>(kind));
    ASSERT_OK_AND_ASSIGN(const MechanismKind read, FromProto(ToProto(kind)));
    EXPECT_EQ(read, kind);
  }
}

TEST(RoundTripTest, TermsAndTheirBytes) {
  const Terms terms = MakeTerms();
  const std::string bytes = SerializeTerms(terms);
  ASSERT_OK_AND_ASSIGN(const Terms read, ParseTerms(bytes));
  EXPECT_EQ(read.study, terms.study);
  EXPECT_EQ(*read.schema, *terms.schema);
  EXPECT_EQ(read.forest, terms.forest);
  EXPECT_EQ(read.epsilon, terms.epsilon);
  EXPECT_EQ(read.mechanism, terms.mechanism);
  EXPECT_EQ(SerializeTerms(read), bytes);
}

TEST(RoundTripTest, ModelWithInfiniteStandardError) {
  v1::Model proto;
  ASSERT_TRUE(proto.ParseFromString(ToProto(MakeModel()).SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const Model read, FromProto(proto));
  EXPECT_EQ(read, MakeModel());
}

TEST(RoundTripTest, ModelLeavesNameStudyAndTimeToTheCurator) {
  const v1::Model proto = ToProto(MakeModel());
  EXPECT_EQ(proto.name(), "");
  EXPECT_EQ(proto.study(), "");
  EXPECT_EQ(proto.created_unix_seconds(), 0);
}

TEST(ToProtoTest, Prediction) {
  const v1::Prediction proto = ToProto(Prediction{1, {0.25, 0.75}, 0.5});
  EXPECT_EQ(proto.label(), 1u);
  EXPECT_THAT(proto.probabilities(), ElementsAre(0.25, 0.75));
  EXPECT_EQ(proto.standard_error(), 0.5);
}

TEST(NameTest, ReadsBackWhatItMakes) {
  EXPECT_EQ(MakeName(kStudies, "s-1"), "studies/s-1");
  ASSERT_OK_AND_ASSIGN(const std::string id, ParseName(kModels, MakeName(kModels, "m_2")));
  EXPECT_EQ(id, "m_2");
}

}  // namespace
}  // namespace coppice
