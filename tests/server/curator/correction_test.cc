// The correction of known log odds by exact and by noisy reports about the leaves of small trees.

#include "server/curator/estimation/correction/correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/public_random.h"
#include "common/predictor/public_predictor.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/partition.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// The log odds of each class for a row.
using LogOdds = std::function<std::vector<double>(const Row&)>;

std::vector<double> ProbabilitiesOf(std::vector<double> log_odds) {
  Softmax(absl::MakeSpan(log_odds));
  return log_odds;
}

// Rows on the unit square, with labels drawn by `truth`.
Table DrawRows(size_t count, uint32_t classes, const LogOdds& truth, uint64_t seed) {
  std::vector<std::string> names;
  for (uint32_t k = 0; k < classes; ++k) names.push_back(std::to_string(k));
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 1), Numeric("y", 0, 1)}, "label", names)));
  PublicRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const Row row = {random.Unit(), random.Unit()};
    const std::vector<double> p = ProbabilitiesOf(truth(row));
    double left = random.Unit();
    uint32_t label = 0;
    while (label + 1 < classes && left >= p[label]) left -= p[label++];
    table.Append(row, label);
  }
  return table;
}

LogOdds Steps(double x_at, double size) {
  return [=](const Row& row) {
    const double margin = row[0] < x_at ? -size : size;
    return std::vector<double>{-margin / 2, margin / 2};
  };
}

// A study: its public rows, trees and reports. Each device answers in one tree, in turns; the
// counts are exact or have the noise of `variance` per report in each cell.
struct SmallStudy {
  SmallStudy(const Table& public_rows, const Table& devices, double variance = 0)
      : rows(public_rows),
        options({.rule = SplitRule::kRandomCut,
                 .max_depth = kMaxDepth,
                 .min_leaf = 3,
                 .trees = 32,
                 .max_leaves = 8}),
        forest(*GrowPartition(rows, options)) {
    for (uint32_t t = 0; t < forest.size(); ++t) {
      bags.push_back(BagOf(rows.num_rows(), options, t));
      counts.push_back(CountsOf(t, devices, variance));
    }
  }

  StatusOr<Correction> Fit(const LogOdds& predictor) const {
    CorrectionOffset offset;
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      const std::vector<double> of_row = predictor(rows.row(i));
      offset.scores.insert(offset.scores.end(), of_row.begin(), of_row.end());
    }
    return FitCorrection(Basis(), offset, counts);
  }
  CorrectionBasis Basis() const { return *CorrectionBasis::Create(forest, bags, rows); }

  std::vector<double> Answer(const Correction& correction, const LogOdds& predictor,
                             const Row& row) const {
    std::vector<double> scores = predictor(row);
    for (size_t k = 0; k < scores.size(); ++k) {
      scores[k] = correction.scale * scores[k] + correction.level[k];
      for (size_t t = 0; t < forest.size(); ++t) {
        scores[k] += correction.values[t][forest[t].FindLeaf(row) * scores.size() + k];
      }
    }
    return scores;
  }

  // The mean log loss of the answers' probabilities under the true ones.
  double LogLoss(const Correction& correction, const LogOdds& predictor,
                 const LogOdds& truth) const {
    double loss = 0;
    constexpr int kSteps = 20;
    for (int i = 0; i < kSteps * kSteps; ++i) {
      const Row row = {(i % kSteps + 0.5) / kSteps, (i / kSteps + 0.5) / kSteps};
      const std::vector<double> p = ProbabilitiesOf(Answer(correction, predictor, row));
      const std::vector<double> q = ProbabilitiesOf(truth(row));
      for (size_t k = 0; k < p.size(); ++k) loss -= q[k] * std::log(p[k]) / (kSteps * kSteps);
    }
    return loss;
  }

  PrivateCounts CountsOf(uint32_t tree, const Table& devices, double variance) const {
    const uint32_t classes = rows.schema().num_classes(), leaves = forest[tree].num_leaves();
    PrivateCounts result;
    result.counts = {.classes = classes,
                     .leaf = std::vector<double>(leaves),
                     .label = std::vector<double>(size_t{leaves} * classes)};
    const std::vector<uint32_t> leaf_of = FindLeaves(forest[tree], devices);
    for (size_t i = tree; i < devices.num_rows(); i += forest.size(), ++result.reports) {
      result.counts.label[leaf_of[i] * classes + devices.label(i)] += 1;
    }
    PublicRandom random(9, tree);
    for (size_t cell = 0; cell < result.counts.label.size(); ++cell) {
      double normal = -6;  // twelve uniform draws: variance 1
      for (int i = 0; i < 12; ++i) normal += random.Unit();
      double& count = result.counts.label[cell];
      count += std::sqrt(variance * static_cast<double>(result.reports)) * normal;
      result.counts.leaf[cell / classes] += count;
    }
    result.noise.assign(classes,
                        {.leaf = classes * variance, .label = variance, .covariance = variance});
    return result;
  }

  Table rows;
  PartitionOptions options;
  Forest forest;
  Bags bags;
  std::vector<PrivateCounts> counts;
};

Correction NoneFor(const SmallStudy& study, size_t classes) {
  Correction none;
  none.level.resize(classes);
  for (const Tree& tree : study.forest) none.values.emplace_back(tree.num_leaves() * classes);
  return none;
}

TEST(CorrectionTest, FindsWhatThePredictorLacks) {
  const LogOdds predictor = Steps(0.5, 2);
  const LogOdds truth = [](const Row& row) {
    const double margin = (row[0] < 0.5 ? -2 : 2) + (row[1] < 0.5 ? -0.8 : 0.8);
    return std::vector<double>{-margin / 2, margin / 2};
  };
  const SmallStudy study(DrawRows(60, 2, truth, 1), DrawRows(60'000, 2, truth, 2), 0.5);
  const Correction correction = *study.Fit(predictor);
  const double before = study.LogLoss(NoneFor(study, 2), predictor, truth);
  const double best = study.LogLoss(NoneFor(study, 2), truth, truth);
  EXPECT_LT(study.LogLoss(correction, predictor, truth), best + (before - best) / 2);
  EXPECT_GT(correction.weights.related, 0.5);
  EXPECT_THAT(correction.InWords(), HasSubstr("reports correct"));
}

TEST(CorrectionTest, LeavesAGoodPredictorAlone) {
  const LogOdds truth = Steps(0.5, 2);
  const SmallStudy study(DrawRows(200, 2, truth, 1), DrawRows(20'000, 2, truth, 2), 4);
  const Correction correction = *study.Fit(truth);
  EXPECT_LT(study.LogLoss(correction, truth, truth),
            study.LogLoss(NoneFor(study, 2), truth, truth) + 0.005);
  EXPECT_NEAR(correction.scale, 1, 0.05);
}

TEST(CorrectionTest, WithoutReportsItIsNothing) {
  const LogOdds truth = Steps(0.5, 2);
  const SmallStudy study(DrawRows(100, 2, truth, 1), DrawRows(0, 2, truth, 2));
  const Correction correction = *study.Fit(truth);
  EXPECT_NEAR(correction.scale, 1, 1e-9);
  for (const std::vector<double>& values : correction.values) {
    for (const double value : values) EXPECT_NEAR(value, 0, 1e-9);
  }
  EXPECT_NEAR(correction.weights.none, 0.1, 1e-6);  // the prior's
}

TEST(CorrectionTest, SeesThatPublicLabelsMeanNothing) {
  const LogOdds truth = Steps(0.5, 3);
  const LogOdds predictor = [](const Row& row) {
    const double margin = row[1] < 0.5 ? -1 : 1;  // of the other feature
    return std::vector<double>{-margin / 2, margin / 2};
  };
  const SmallStudy study(DrawRows(200, 2, predictor, 1), DrawRows(60'000, 2, truth, 2), 0.5);
  const Correction correction = *study.Fit(predictor);
  EXPECT_GT(correction.weights.unrelated, 0.5);
  EXPECT_THAT(correction.InWords(), HasSubstr("unrelated"));
  EXPECT_LT(study.LogLoss(correction, predictor, truth),
            study.LogLoss(NoneFor(study, 2), predictor, truth) - 0.3);
}

TEST(CorrectionTest, SeesThatPublicLabelsAreInverted) {
  const LogOdds truth = Steps(0.5, 3), predictor = Steps(0.5, -3);
  const SmallStudy study(DrawRows(200, 2, predictor, 1), DrawRows(60'000, 2, truth, 2), 0.5);
  const Correction correction = *study.Fit(predictor);
  EXPECT_THAT(correction.InWords(), HasSubstr("inverted"));
  EXPECT_GT(study.Answer(correction, predictor, {0.8, 0.5})[1], 0);
}

TEST(CorrectionTest, FindsTheClassesWithoutPublicLabels) {
  const LogOdds truth = Steps(0.5, 3);
  const LogOdds nothing = [](const Row&) { return std::vector<double>{0, 0}; };
  const SmallStudy study(DrawRows(200, 2, truth, 1), DrawRows(60'000, 2, truth, 2), 0.5);
  const Correction correction = *FitCorrection(study.Basis(), {}, study.counts);
  EXPECT_LT(study.LogLoss(correction, nothing, truth), 0.45);  // of .69 for nothing, and .19
}

TEST(CorrectionTest, SeveralClassesAreCorrectedTogether) {
  const auto strips = [](double first, double second) -> LogOdds {
    return [=](const Row& row) {
      std::vector<double> scores = {-1, -1, -1};
      scores[row[0] < first ? 0 : row[0] < second ? 1 : 2] = 2;
      return scores;
    };
  };
  const LogOdds truth = strips(0.3, 0.6), predictor = strips(0.3, 0.85);
  const SmallStudy study(DrawRows(200, 3, predictor, 1), DrawRows(60'000, 3, truth, 2), 0.3);
  const Correction correction = *study.Fit(predictor);
  const double before = study.LogLoss(NoneFor(study, 3), predictor, truth);
  const double best = study.LogLoss(NoneFor(study, 3), truth, truth);
  EXPECT_LT(study.LogLoss(correction, predictor, truth), best + (before - best) / 2);
  for (size_t at = 0; at + 2 < correction.values[0].size(); at += 3) {
    EXPECT_NEAR(
        correction.values[0][at] + correction.values[0][at + 1] + correction.values[0][at + 2], 0,
        1e-9);
  }
}

// More rows than the field takes: the others still say what leaves hold.
TEST(CorrectionTest, ManyPublicRowsSayTheSame) {
  const LogOdds truth = Steps(0.5, 3), predictor = Steps(0.7, 3);
  const SmallStudy study(DrawRows(1500, 2, predictor, 1), DrawRows(60'000, 2, truth, 2), 0.5);
  const Correction correction = *study.Fit(predictor);
  const double before = study.LogLoss(NoneFor(study, 2), predictor, truth);
  const double best = study.LogLoss(NoneFor(study, 2), truth, truth);
  EXPECT_LT(study.LogLoss(correction, predictor, truth), best + (before - best) / 2);
}

TEST(CorrectionTest, MoreReportsMakeTheAnswerSurer) {
  const LogOdds truth = Steps(0.5, 2);
  const auto variance = [&](size_t devices) {
    const SmallStudy study(DrawRows(100, 2, truth, 1), DrawRows(devices, 2, truth, 2), 4);
    const Correction correction = *study.Fit(truth);
    double total = 0;
    for (const std::vector<double>& of_tree : correction.variance) {
      total += std::accumulate(of_tree.begin(), of_tree.end(), 0.0);
    }
    return total;
  };
  EXPECT_LT(variance(100'000), 0.8 * variance(1000));
}

TEST(CorrectionTest, RefusesWhatDoesNotFit) {
  const LogOdds truth = Steps(0.5, 2);
  SmallStudy study(DrawRows(20, 2, truth, 1), DrawRows(100, 2, truth, 2));
  const CorrectionBasis basis = study.Basis();
  const auto refused = StatusIs(StatusCode::kInvalidArgument, ::testing::_);
  EXPECT_THAT(FitCorrection(basis, {.scores = std::vector<double>(7)}, study.counts).status(),
              refused);
  study.counts.pop_back();
  EXPECT_THAT(FitCorrection(basis, {}, study.counts).status(), refused);
  study.bags.pop_back();
  EXPECT_THAT(CorrectionBasis::Create(study.forest, study.bags, study.rows).status(), refused);
  EXPECT_THAT(CorrectionBasis::Create(study.forest, {}, Table(study.rows.shared_schema())).status(),
              refused);
}

TEST(CorrectionTest, StopsWhenAsked) {
  const LogOdds truth = Steps(0.5, 2);
  const SmallStudy study(DrawRows(20, 2, truth, 1), DrawRows(100, 2, truth, 2));
  const CancelCheck stop([] { return CancelledError("stop"); });
  EXPECT_THAT(FitCorrection(study.Basis(), {}, study.counts, stop).status(),
              StatusIs(StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace coppice::curator
