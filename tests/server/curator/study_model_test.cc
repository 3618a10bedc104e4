#include "server/curator/studies/study_model.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/curator/studies/study_request.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Study> StudyOf(const StudySpec& spec, uint64_t accepted, const StudyLife& life) {
  StatusOr<StudyDefinition> definition = MakeStudyDefinition(spec, spec.id, 1000);
  EXPECT_OK(definition);
  StudyProgress progress = NoProgress(*definition);
  progress.life = life;
  progress.counts.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)] = accepted;
  progress.counts.answered = accepted;
  return std::make_unique<Study>(*std::move(definition), std::move(progress));
}

std::unique_ptr<Study> StudyThatIgnoresLabels() {
  StudySpec spec = Spec("one");
  spec.partition.rule = SplitRule::kHybrid;
  spec.partition.use_labels = false;
  return StudyOf(spec, 0, {});
}

StudySpec WantsThree() {
  StudySpec spec = Spec("one");
  spec.settings.min_reports = 3;
  return spec;
}

TEST(StudyModelTest, AStudyOfTrustedLabelsTakesOptionsAsTheyAre) {
  const auto study = StudyOf(Spec("one"), 0, {});
  const EstimatorOptions asked{.kind = EstimatorKind::kPooled, .evidence = Evidence::kPublic};
  EXPECT_EQ(OptionsFor(*study, asked)->evidence, Evidence::kPublic);
  EXPECT_OK(OptionsFor(*study, {.kind = EstimatorKind::kPrune}));
}

TEST(StudyModelTest, AnEstimatorThatIsLeftOpenFollowsThePartition) {
  const EstimatorOptions open = {.choose_kind = true, .evidence = Evidence::kPublic};
  StudySpec spec = Spec("one");
  spec.partition = {.rule = SplitRule::kRandomCut, .max_depth = kMaxDepth, .max_leaves = 4};
  EXPECT_EQ(OptionsFor(*StudyOf(spec, 0, {}), open)->ToString(), "smooth evidence=public");
  spec.partition = {.rule = SplitRule::kHybrid};
  EXPECT_EQ(OptionsFor(*StudyOf(spec, 0, {}), open)->ToString(), "pooled evidence=public");
  EXPECT_EQ(OptionsFor(*StudyThatIgnoresLabels(), {.choose_kind = true})->ToString(),
            "pooled evidence=reports");
}

TEST(StudyModelTest, AStudyThatIgnoresItsLabelsUsesReportsAlone) {
  const auto study = StudyThatIgnoresLabels();
  EXPECT_EQ(OptionsFor(*study, {.kind = EstimatorKind::kPooled})->evidence, Evidence::kReports);
  EXPECT_OK(OptionsFor(*study, {.kind = EstimatorKind::kWeighted, .lambda = 0}));
}

TEST(StudyModelTest, AStudyThatIgnoresItsLabelsRefusesWhatNeedsThem) {
  const auto study = StudyThatIgnoresLabels();
  for (const EstimatorOptions& asked :
       {EstimatorOptions{.kind = EstimatorKind::kPooled, .evidence = Evidence::kPublic},
        EstimatorOptions{.kind = EstimatorKind::kPrune},
        EstimatorOptions{.kind = EstimatorKind::kWeighted, .lambda = 1},
        EstimatorOptions{.kind = EstimatorKind::kWeighted,
        .lambda = std::numeric_limits<double>::infinity()}}) {
    EXPECT_THAT(OptionsFor(*study, asked),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("weighted with lambda 0")))
        << asked.ToString();
  }
}

TEST(StudyModelTest, NoModelBelowTheMinimumOfReports) {
  const StudyLife sealed = Sealed({}, 1000);
  EXPECT_THAT(CheckGivesModel(*StudyOf(WantsThree(), 2, {})),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has 2 accepted reports"), HasSubstr("wait for more"))));
  EXPECT_THAT(CheckGivesModel(*StudyOf(WantsThree(), 2, sealed)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("there will be none")));
  EXPECT_OK(CheckGivesModel(*StudyOf(WantsThree(), 3, {})));
  EXPECT_OK(CheckGivesModel(*StudyOf(WantsThree(), 3, sealed)));
}

TEST(StudyModelTest, NoModelWithoutSums) {
  EXPECT_THAT(CheckGivesModel(*StudyOf(WantsThree(), 3, Retired(Sealed({}, 1000)))),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no further model")));
  EXPECT_THAT(CheckGivesCounts(*StudyOf(WantsThree(), 3, Retired(Sealed({}, 1000)))),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no further counts")));
}

class SameModelTest : public ::testing::Test {
 protected:
  models::ModelSummary existing_{
      .id = "m",
      .source = "studies/one",
      .certificate = std::make_shared<const Certificate>(MadeBy({.lambda = 2})->certificate())};

 private:
  static std::shared_ptr<const Model> MadeBy(const EstimatorOptions& options) {
    MemoryStore store;
    std::optional<models::Models> models;
    const auto studies = OpenStudies(store, models);
    EXPECT_OK(studies);
    EXPECT_OK((*studies)->Create(Spec("one")));
    return (*studies)->BuildModel("one", "m", options)->model;
  }
};

TEST_F(SameModelTest, ARequestThatCameAgainGetsTheModelThatItMade) {
  EXPECT_OK(CheckSameModel(existing_, "one", {.lambda = 2}));
}

TEST_F(SameModelTest, AnotherStudyOrEstimatorDoesNot) {
  for (const auto& answer : {CheckSameModel(existing_, "two", {.lambda = 2}),
                             CheckSameModel(existing_, "one", {.lambda = 1})}) {
    EXPECT_THAT(answer, StatusIs(StatusCode::kAlreadyExists,
                                 AllOf(HasSubstr("a model m"), HasSubstr("studies/one"),
                                       HasSubstr("lambda=2"))));
  }
}

}  // namespace
}  // namespace coppice::curator
