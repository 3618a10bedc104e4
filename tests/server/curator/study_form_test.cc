#include "server/curator/form/study_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_values.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = StudyForm::Verdict;

constexpr double kNorth = 0, kSouth = 1;

// region == north ? (age < 50 ? leaf 0 : leaf 1) : leaf 2
std::shared_ptr<const Forest> VisitForest(const Schema& schema) {
  return std::make_shared<const Forest>(Forest{*Tree::Create(
      {{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 4},
       {.kind = SplitKind::kNumeric, .feature = 0, .threshold = 50, .left = 2, .right = 3},
       {},
       {},
       {}},
      schema)});
}

std::unique_ptr<const StudyForm> FormOf(const std::vector<std::string>& public_features,
                                        const std::string& id = "") {
  const Schema schema =
      *Schema::Create({Numeric("age", 0, 100), Categorical("region", {"north", "south"})}, "sick",
                      {"no", "yes"})
           ->WithPublicFeatures(public_features);
  auto terms = std::make_shared<Terms>(Terms{.study = "one",
                                             .schema = std::make_shared<const Schema>(schema),
                                             .trees = 1,
                                             .epsilon = *Budget::FromNanos(1'000'000'000),
                                             .mechanism = MechanismKind::kDirect,
                                             .joined_by = id});
  return *StudyForm::Make(terms, VisitForest(schema), /*by_feature=*/"");
}

StatusOr<std::optional<Row>> NobodyAsks(std::string_view /*id*/) {
  ADD_FAILURE() << "only a study with ids asks for features";
  return std::optional<Row>();
}

StudyForm::Reading Read(const StudyForm& form, const std::string& payload,
                        const std::string& in_clear,
                        StudyForm::FeaturesOfId features_of = NobodyAsks) {
  return *form.Read(0, TicketDraw(), {.payload = payload, .in_clear = in_clear}, features_of);
}

// A payload about the first of so many leaves.
std::string PayloadAbout(const StudyForm& form, uint32_t leaves) {
  OpenSslRandom random;
  return *(*MakeMechanism(form.terms(), leaves))->Randomize({.leaf = 0, .label = 1}, 0, random);
}

std::string InClear(const StudyForm& form, const Row& row) {
  return EncodePublicValues(*form.terms().schema, form.forest()->front(), row);
}

TEST(StudyFormTest, ReportsOfAllLeavesShowNothing) {
  const auto form = FormOf({});
  const StudyForm::Reading good = Read(*form, PayloadAbout(*form, 3), "");
  EXPECT_EQ(good.verdict, Verdict::kGood);
  EXPECT_THAT(good.leaves, IsEmpty());
  EXPECT_EQ(Read(*form, PayloadAbout(*form, 3), "x").verdict, Verdict::kBad);
  EXPECT_EQ(Read(*form, "too long for a cell", "").verdict, Verdict::kBad);
  EXPECT_FALSE(form->KeepsReports());
  EXPECT_EQ(form->MaxReportBytes(), form->MaxPayloadBytes());
}

TEST(StudyFormTest, PublicValuesSayWhichLeavesAReportIsAbout) {
  const auto form = FormOf({"region"});
  const std::string north = InClear(*form, {kMissingValue, kNorth});
  const std::string south = InClear(*form, {kMissingValue, kSouth});
  EXPECT_THAT(Read(*form, PayloadAbout(*form, 2), north).leaves, ElementsAre(0, 1));
  EXPECT_THAT(Read(*form, PayloadAbout(*form, 1), south).leaves, ElementsAre(2));
  EXPECT_EQ(Read(*form, PayloadAbout(*form, 2), "").verdict, Verdict::kBad);
  EXPECT_EQ(Read(*form, "\xff", south).verdict, Verdict::kBad);
  EXPECT_FALSE(form->KeepsReports());
}

TEST(StudyFormTest, ReportsOfTheLabelAreAboutOneLeafAndKept) {
  const auto form = FormOf({"age", "region"});
  const StudyForm::Reading reading =
      Read(*form, PayloadAbout(*form, 1), InClear(*form, {70, kNorth}));
  EXPECT_EQ(reading.verdict, Verdict::kGood);
  EXPECT_THAT(reading.leaves, ElementsAre(1));
  EXPECT_TRUE(form->KeepsReports());
  EXPECT_EQ(form->mechanism(0).domain().leaves, 1u);
}

TEST(StudyFormTest, AnIdIsLookedUpAfterThePayloadIsFoundGood) {
  const auto form = FormOf({"age", "region"}, "customer");
  const auto features_of = [](std::string_view id) -> StatusOr<std::optional<Row>> {
    if (id == "c-1") return std::optional<Row>({20, kNorth});
    if (id == "c-2") return UnavailableError("no disk");
    return std::optional<Row>();
  };
  const std::string payload = PayloadAbout(*form, 1);
  EXPECT_THAT(Read(*form, payload, "c-1", features_of).leaves, ElementsAre(0));
  EXPECT_EQ(Read(*form, payload, "c-9", features_of).verdict, Verdict::kUnknownId);
  EXPECT_EQ(Read(*form, payload, "").verdict, Verdict::kBad);
  EXPECT_EQ(Read(*form, "bad", "c-1").verdict, Verdict::kBad);
  EXPECT_THAT(
      form->Read(0, TicketDraw(), {.payload = payload, .in_clear = "c-2"}, features_of).status(),
      StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
}

TEST(StudyFormTest, SaysInWordsWhatIsReleasedAndToWhom) {
  EXPECT_EQ(FormOf({})->NeighboursInWords(), "any value of one device's row for any other (local)");
  EXPECT_EQ(FormOf({})->InClearInWords(), "");
  EXPECT_THAT(FormOf({"region"})->NeighboursInWords(), HasSubstr("private features"));
  EXPECT_EQ(FormOf({"age", "region"})->ReleaseInWords(), "a device's one report: its label");
  EXPECT_THAT(FormOf({"age", "region"}, "customer")->InClearInWords(),
              HasSubstr("the id customer"));
}

TEST(StudyFormTest, OnlyAllLeavesServeEveryEstimator) {
  EXPECT_OK(FormOf({})->CheckEstimator({.kind = EstimatorKind::kPrune}));
  EXPECT_OK(FormOf({"region"})->CheckEstimator({.kind = EstimatorKind::kPooled}));
  EXPECT_THAT(FormOf({"region"})->CheckEstimator({.kind = EstimatorKind::kPrune}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("take pooled")));
}

TEST(StudyFormTest, AValueSelectsReportsWhereTheyAreKept) {
  const FeatureValue north = {.feature = "region", .category = "north"};
  const EstimatorOptions options = {.kind = EstimatorKind::kPooled, .where = north};
  EXPECT_OK(FormOf({"age", "region"})->CheckTellsWhere(options));
  EXPECT_THAT(FormOf({"region"})->CheckTellsWhere(options),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("it is by no feature")));
  EstimatorOptions of_public = options;
  of_public.evidence = Evidence::kPublic;
  EXPECT_THAT(FormOf({"age", "region"})->CheckTellsWhere(of_public),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("choose reports or both")));
}

}  // namespace
}  // namespace coppice::curator
