#include "server/lab/simulation/experiment.h"

#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/lab/synthetic.h"
#include "tests/support/local_reports.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice::lab {
namespace {

using ::coppice::testing::KindsForClasses;
using ::coppice::testing::SeededRandom;

class ExperimentTest : public ::testing::Test {
 protected:
  StatusOr<SimulatedStudy> CollectWith(CollectOptions options) {
    return Collect(public_, private_, options, random_, noise_);
  }

  PublicRandom random_{1};
  OpenSslRandom noise_;
  std::shared_ptr<const Schema> schema_ = SyntheticSchema();
  Table public_ = DrawSynthetic(schema_, 200, 0.5, random_);
  Table private_ = DrawSynthetic(schema_, 3000, 1, random_);
  Table test_ = DrawSynthetic(schema_, 500, 1, random_);
};

TEST_F(ExperimentTest, WithoutPrivacyTheCountsAreThePrivateRows) {
  CollectOptions options;
  options.partition.max_depth = 3;
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
  const curator::PublicCounts exact = curator::CountPublicRows(study.forest[0], private_);
  const LeafCounts& counts = study.private_counts[0].counts;
  EXPECT_EQ(counts.label, std::vector<double>(exact.label.begin(), exact.label.end()));
  EXPECT_EQ(counts.leaf, std::vector<double>(exact.leaf.begin(), exact.leaf.end()));
  EXPECT_EQ(study.private_counts[0].noise[0].leaf, 0);
  EXPECT_EQ(study.report_bytes, 0u);
}

TEST_F(ExperimentTest, EveryRowAnswersOnceInOneTree) {
  CollectOptions options;
  options.partition.trees = 4;
  options.epsilon = *Budget::FromEpsilon(1);
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
  uint64_t reports = 0;
  for (const curator::PrivateCounts& tree : study.private_counts) {
    // 750 are expected; 150 is over 6 standard deviations.
    EXPECT_NEAR(static_cast<double>(tree.reports), 750, 150);
    reports += tree.reports;
  }
  EXPECT_EQ(reports, 3000u);
  EXPECT_GT(study.report_bytes, 0u);
}

TEST_F(ExperimentTest, LiarsReportToo) {
  for (const Attack attack : {Attack::kLabel, Attack::kGiven, Attack::kChosen}) {
    CollectOptions options;
    options.partition.trees = 4;
    options.mechanism = MechanismKind::kSignedHadamard;
    options.epsilon = *Budget::FromEpsilon(1);
    options.liars = {.attack = attack, .share = 0.2};
    ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
    uint64_t reports = 0;
    for (const curator::PrivateCounts& tree : study.private_counts) reports += tree.reports;
    EXPECT_EQ(reports, 3000u);
    ASSERT_EQ(study.alarms.size(), 3u);
    EXPECT_EQ(study.alarms[1].name, "column");
    EXPECT_EQ(study.alarms[1].raised, attack == Attack::kChosen) << AttackName(attack);
  }
}

TEST_F(ExperimentTest, ALiarAboutTheLabelIsInItsLeaf) {
  CollectOptions options;
  options.partition.max_depth = 2;
  options.mechanism = MechanismKind::kDirect;
  options.epsilon = *Budget::FromEpsilon(1000);
  options.liars = {.attack = Attack::kLabel, .share = 1};
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
  const curator::PublicCounts exact = curator::CountPublicRows(study.forest[0], private_);
  for (size_t i = 0; i < exact.label.size(); ++i) {
    EXPECT_NEAR(study.private_counts[0].counts.label[i], exact.label[i ^ 1], 0.5);
  }
}

TEST_F(ExperimentTest, LiarsNeedAnEpsilon) {
  CollectOptions options;
  options.liars.emplace();
  EXPECT_THAT(CollectWith(options),
              ::coppice::testing::StatusIs(StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr("only with privacy")));
}

TEST_F(ExperimentTest, LargeEpsilonIsNearlyExact) {
  for (const MechanismKind kind : KindsForClasses()) {
    // The first drops half of the true bits at any epsilon; the second has a sign for all leaves.
    if (kind == MechanismKind::kOptimizedUnary || kind == MechanismKind::kSignedHadamard) continue;
    CollectOptions options;
    options.partition.max_depth = 2;
    options.mechanism = kind;
    options.epsilon = *Budget::FromEpsilon(1000);
    ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
    const curator::PublicCounts exact = curator::CountPublicRows(study.forest[0], private_);
    for (size_t i = 0; i < exact.label.size(); ++i) {
      EXPECT_NEAR(study.private_counts[0].counts.label[i], static_cast<double>(exact.label[i]), 0.5)
          << MechanismName(kind);
    }
  }
}

TEST_F(ExperimentTest, ScoresAreThoseOfTheModel) {
  for (const LeafKind kind : {LeafKind::kProbabilities, LeafKind::kAdditive}) {
    CollectOptions options;
    options.partition.trees = kind == LeafKind::kAdditive ? 3 : 1;
    options.epsilon = *Budget::FromEpsilon(2);
    ASSERT_OK_AND_ASSIGN(SimulatedStudy study, CollectWith(options));
    ASSERT_OK_AND_ASSIGN(const ForestPredictions predictions, EstimateForest(study, public_, {}));
    ASSERT_OK_AND_ASSIGN(const Model model,
                         Model::Create(*schema_, study.forest, predictions, Certificate(), kind));
    ClassEvaluation evaluation(2);
    for (size_t i = 0; i < test_.num_rows(); ++i) {
      const Prediction prediction = model.Predict(test_.row(i));
      evaluation.Add(prediction.label, prediction.probabilities, test_.label(i));
    }
    const ClassScores expected = evaluation.Scores();
    const ClassScores scores = LocatedRows(study.forest, test_).Evaluate(predictions);
    EXPECT_EQ(scores.rows, 500u);
    EXPECT_EQ(scores.accuracy, expected.accuracy);
    EXPECT_NEAR(*scores.auc, *expected.auc, 1e-12);
    EXPECT_NEAR(scores.log_loss, expected.log_loss, 1e-12);
  }
}

TEST_F(ExperimentTest, PublicOnlyDoesNotDependOnTheReports) {
  CollectOptions options;
  options.epsilon = *Budget::FromEpsilon(0.5);
  const curator::EstimatorOptions public_only = {.lambda = std::numeric_limits<double>::infinity()};
  ASSERT_OK_AND_ASSIGN(SimulatedStudy noisy, CollectWith(options));
  options.epsilon.reset();
  ASSERT_OK_AND_ASSIGN(SimulatedStudy exact, CollectWith(options));
  ASSERT_OK_AND_ASSIGN(const ForestPredictions from_noisy,
                       EstimateForest(noisy, public_, public_only));
  ASSERT_OK_AND_ASSIGN(const ForestPredictions from_exact,
                       EstimateForest(exact, public_, public_only));
  EXPECT_EQ(from_noisy, from_exact);
}

// The same features, all public.
Table AllPublic(const Table& rows) {
  std::vector<Feature> features = rows.schema().features();
  for (Feature& feature : features) feature.is_public = true;
  return rows.WithSchema(std::make_shared<const Schema>(
      *Schema::Create(std::move(features), rows.schema().label(), rows.schema().classes())));
}

class LabelExperimentTest : public ExperimentTest {
 protected:
  const Table rows_ = AllPublic(public_);
  const Table devices_ = AllPublic(private_);
  CollectOptions options_{.partition = {.max_depth = 3, .trees = 4},
                          .mechanism = {},
                          .epsilon = *Budget::FromEpsilon(1),
                          .liars = {}};
};

TEST_F(LabelExperimentTest, WhereAllFeaturesArePublicLabelsAnswer) {
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, Collect(rows_, devices_, options_, random_, noise_));
  ASSERT_TRUE(study.labels.has_value());
  ASSERT_EQ(study.labels->margins.size(), 1u);
  ASSERT_EQ(study.labels->margins[0].size(), 3000u);
  EXPECT_GT(study.report_bytes, 0u);
  double sum = 0, truth = 0;
  for (size_t i = 0; i < 3000; ++i) {
    sum += study.labels->margins[0][i];
    truth += devices_.label(i) == 1 ? 1 : -1;
  }
  const double b = (std::exp(1.0) + 1) / (std::exp(1.0) - 1);
  EXPECT_NEAR(sum, truth, 6 * b * std::sqrt(3000.0));  // six standard deviations
  const curator::EstimatorOptions pooled = {.kind = curator::EstimatorKind::kPooled};
  ASSERT_OK_AND_ASSIGN(const curator::LabelOnlyFit fit, EstimateLabels(study, rows_, pooled));
  EXPECT_GE(fit.model.forest.size(), 4u);
  EXPECT_EQ(fit.model.forest.size(), fit.model.leaves.size());
}

TEST_F(LabelExperimentTest, EvidenceIsTheOffsetTheLabelsOrBoth) {
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, Collect(rows_, devices_, options_, random_, noise_));
  curator::EstimatorOptions pooled = {.kind = curator::EstimatorKind::kPooled,
                                      .evidence = curator::Evidence::kPublic};
  ASSERT_OK_AND_ASSIGN(const curator::LabelOnlyFit offset, EstimateLabels(study, rows_, pooled));
  ASSERT_OK_AND_ASSIGN(const ForestPredictions expected, EstimateForest(study, rows_, pooled));
  EXPECT_EQ(offset.alpha, 0);
  EXPECT_EQ(offset.model.leaves, expected);
  pooled.evidence = curator::Evidence::kReports;
  ASSERT_OK_AND_ASSIGN(const curator::LabelOnlyFit labels, EstimateLabels(study, rows_, pooled));
  EXPECT_EQ(labels.model.forest[0].num_leaves(), 1u);  // the public rows are not used
  EXPECT_THAT(EstimateLabels(study, rows_, {}),
              ::coppice::testing::StatusIs(StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr("--estimator pooled")));
}

// The draws of noise and of tickets must be the same in both.
TEST_F(LabelExperimentTest, NoLiarsAreAsIfTheyWereNotAskedFor) {
  const auto labels = [&](std::optional<LiarOptions> liars) {
    options_.liars = liars;
    PublicRandom assignment(5);
    SeededRandom noise(6);
    return Collect(rows_, devices_, options_, assignment, noise)->labels->margins;
  };
  const curator::RowColumns honest = labels(std::nullopt);
  for (const Claim claim : {Claim::kOwn, Claim::kChosen}) {
    EXPECT_EQ(labels(LiarOptions{.attack = Attack::kGiven, .share = 0, .claim = claim}), honest);
  }
}

// At this epsilon a report equals its label.
TEST_F(LabelExperimentTest, ExactlyTheShareLies) {
  options_.epsilon = *Budget::FromEpsilon(40);
  options_.mechanism = MechanismKind::kSignedHadamard;
  const auto false_labels = [&](const SimulatedStudy& study) {
    size_t lies = 0;
    for (size_t i = 0; i < 3000; ++i) {
      if ((study.labels->margins[0][i] > 0) != (devices_.label(i) == 1)) ++lies;
    }
    return lies;
  };
  options_.liars = {.attack = Attack::kLabel, .share = 0.2};
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, Collect(rows_, devices_, options_, random_, noise_));
  EXPECT_EQ(false_labels(study), 600u);
  EXPECT_EQ(study.claimed_rows, nullptr);
}

TEST_F(LabelExperimentTest, LiarsChooseTheValuesThatTheyShow) {
  options_.liars = {.attack = Attack::kGiven, .share = 0.2, .target = 1, .claim = Claim::kChosen};
  ASSERT_OK_AND_ASSIGN(SimulatedStudy study, Collect(rows_, devices_, options_, random_, noise_));
  ASSERT_NE(study.claimed_rows, nullptr);
  EXPECT_EQ(study.labels->rows, study.claimed_rows.get());
  size_t changed = 0;
  for (size_t i = 0; i < 3000; ++i) {
    if (study.claimed_rows->row(i) == devices_.row(i)) continue;
    ++changed;
    EXPECT_GT(study.labels->margins[0][i], 0);
  }
  EXPECT_EQ(changed, 600u);
  ASSERT_EQ(study.alarms.size(), 1u);
  EXPECT_EQ(study.alarms[0].name, "margin");
  const curator::EstimatorOptions pooled = {.kind = curator::EstimatorKind::kPooled};
  EXPECT_OK(EstimateLabels(study, rows_, pooled));
}

TEST_F(LabelExperimentTest, EveryDeviceAnswersAndAlarmsShowWhoPushes) {
  std::vector<Feature> features = schema_->features();
  features[0].is_public = true;
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create(std::move(features), schema_->label(), schema_->classes()));
  const Table rows = public_.WithSchema(schema), devices = private_.WithSchema(schema);
  for (const MechanismKind kind :
       {MechanismKind::kSignedHadamard, MechanismKind::kSubsetSelection}) {
    for (const Claim claim : {Claim::kOwn, Claim::kChosen}) {
      options_.mechanism = kind;
      options_.liars = {.attack = Attack::kGiven, .share = 0.9, .claim = claim};
      ASSERT_OK_AND_ASSIGN(const SimulatedStudy study,
                           Collect(rows, devices, options_, random_, noise_));
      uint64_t reports = 0;
      for (const curator::PrivateCounts& tree : study.private_counts) reports += tree.reports;
      EXPECT_EQ(reports, 3000u);
      ASSERT_EQ(study.alarms.size(), 2u);
      EXPECT_EQ(study.alarms[1].name, "margin");
      if (kind == MechanismKind::kSubsetSelection) {
        EXPECT_TRUE(study.alarms[1].raised) << ClaimName(claim);
      }
    }
  }
}

TEST_F(ExperimentTest, ClaimsNeedPublicFeatures) {
  CollectOptions options;
  options.epsilon = *Budget::FromEpsilon(1);
  options.liars = {.attack = Attack::kGiven, .share = 0.1, .claim = Claim::kChosen};
  EXPECT_THAT(CollectWith(options),
              ::coppice::testing::StatusIs(StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr("no feature is public")));
}

TEST_F(LabelExperimentTest, OnePrivateFeatureAndLeavesAnswerAgain) {
  std::vector<Feature> features = schema_->features();
  features[0].is_public = true;
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create(std::move(features), schema_->label(), schema_->classes()));
  ASSERT_OK_AND_ASSIGN(
      const SimulatedStudy study,
      Collect(public_.WithSchema(schema), private_.WithSchema(schema), options_, random_, noise_));
  EXPECT_FALSE(study.labels.has_value());
  EXPECT_TRUE(study.private_counts[0].consistent.has_value());
}

}  // namespace
}  // namespace coppice::lab
