// The two methods that protect labels alone.

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/research/features.h"
#include "tests/server/research/small_rows.h"
#include "tests/support/status_matchers.h"

namespace coppice::research {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

Points OnLine(std::vector<double> values) { return {.dimension = 1, .values = std::move(values)}; }

TEST(FindNearestTest, FindsNeighboursAndCountsHowOftenOneIs) {
  const Neighbourhoods near = FindNearest(OnLine({0, 1, 5}), OnLine({0.4, 0.6, 4, 1.5}), 2);
  ASSERT_EQ(near.nearest.size(), 4u);
  EXPECT_THAT(near.nearest[0], UnorderedElementsAre(0, 1));
  EXPECT_THAT(near.nearest[2], UnorderedElementsAre(1, 2));
  EXPECT_THAT(near.nearest[3], UnorderedElementsAre(0, 1));
  EXPECT_EQ(near.most_neighboured, 4u);  // row 1, for all four points
  EXPECT_EQ(FindNearest(OnLine({0, 2}), OnLine({1}), 1).nearest[0], std::vector<uint32_t>{0});
}

// A line of 400 rows, of class 1 right of its middle; the public rows lie beside them.
lab::LabRows LineOfHalves(uint32_t left, uint32_t right, uint32_t public_label) {
  std::vector<uint32_t> labels(400, left), hidden(600, public_label);
  std::fill(labels.begin() + 200, labels.end(), right);
  return {.public_rows = Line(hidden), .private_rows = Line(labels), .test_rows = Line(labels)};
}

double ShareOfOnes(const Answers& answers, size_t begin, size_t end) {
  const std::vector<uint32_t> labels = LabelsOf(answers);
  double ones = 0;
  for (size_t i = begin; i < end; ++i) ones += labels[i];
  return ones / static_cast<double>(end - begin);
}

TEST(LabelPrivacyTest, LabelsComeFromThePrivateRows) {
  for (const Method* method : {&Ssrdt(), &Top()}) {
    for (const uint32_t left : {0u, 1u}) {
      ASSERT_OK_AND_ASSIGN(const Answers answers,
                           FitOnce(*method, LineOfHalves(left, 1 - left, left), "1000", 5));
      EXPECT_NEAR(ShareOfOnes(answers, 0, 150), left, 0.05) << method->info().name;
      EXPECT_NEAR(ShareOfOnes(answers, 250, 400), 1 - left, 0.05) << method->info().name;
    }
  }
}

// The method does not read labels of public rows, so missing ones suffice.
TEST(LabelPrivacyTest, LabelsOfPublicRowsAreNotRead) {
  for (const Method* method : {&Ssrdt(), &Top()}) {
    EXPECT_OK(FitOnce(*method, LineOfHalves(0, 1, kUnlabelled), "1000", 5));
  }
}

// A tree of depth 0 is one leaf with all 2000 labels. Each of its 10 trees has a tenth of epsilon
// and two counts that change, so noise of scale 20 / epsilon: with 1010 and 990 labels, a tree's
// majority turns if one count's noise exceeds the other's by more than 20.
TEST(SemiSupervisedTreesTest, LeavesHaveTheNoiseOfALabelAndATenthOfEpsilon) {
  std::vector<uint32_t> labels(2000, 0);
  for (size_t i = 0; i < 990; ++i) labels[i] = 1;
  const lab::LabRows rows = {
      .public_rows = Line({0}), .private_rows = Line(labels), .test_rows = Line({0})};
  OpenSslRandom noise;
  ASSERT_OK_AND_ASSIGN(const Budget epsilon, Budget::Parse("0.1"));
  constexpr int kTimes = 16'000;
  int turned = 0;
  for (int i = 0; i < kTimes; ++i) {
    PublicRandom public_random(1);
    ASSERT_OK_AND_ASSIGN(
        const Answers answers,
        Ssrdt().Fit(rows, {.epsilon = epsilon, .setting = 0}, public_random, noise));
    turned += answers.of(0)[1] > 0.5 ? 1 : 0;
  }
  // The mean of ten differences of shares, each about the difference of counts over 2000: 20 plus
  // the noise of two counts of variance 2 * 200^2 each, so a deviation of 2 * 200 / sqrt(10) = 126.
  // P(N(0, 1) > 20 / 126) = .437, and .440 with shares clamped to [0, 1] (200,000 fits simulated);
  // with a wrong scale of 100 it would be .376, of 400 .468.
  EXPECT_NEAR(static_cast<double>(turned) / kTimes, 0.440, 0.022);  // standard error .0039
}

TEST(SemiSupervisedTreesTest, CutsCategoriesOneFromTheRest) {
  const auto colours = [](const std::vector<double>& values, const std::vector<uint32_t>& labels) {
    auto table = std::make_shared<Table>(Colours({})->shared_schema());
    for (size_t i = 0; i < values.size(); ++i) {
      table->Append(std::array<double, 1>{values[i]}, labels[i]);
    }
    return std::shared_ptr<const Table>(table);
  };
  const lab::LabRows rows = {.public_rows = Colours({0, 1, 0, 1}),
                             .private_rows = colours({0, 0, 1, 1}, {0, 0, 1, 1}),
                             .test_rows = Colours({0, 1})};
  ASSERT_OK_AND_ASSIGN(const Answers answers, FitOnce(Ssrdt(), rows, "1000", 2));
  EXPECT_THAT(LabelsOf(answers), ElementsAre(0, 1));
}

// Each point has one neighbour. If one labelled row is that of all 300 public rows, noise must hide
// them all; if each point has a row of its own, far less noise does.
TEST(OutputPerturbationTest, NoiseGrowsWithTheMostNeighbouredRow) {
  // Public rows in [0, .5]; labelled rows at their places, or all but one far from them.
  std::vector<std::array<double, 2>> points, spread, lonely;
  std::vector<uint32_t> labels;
  for (int i = 0; i < 300; ++i) {
    points.push_back({i / 600.0, i % 2 / 2.0});
    spread.push_back(points.back());
    lonely.push_back(i == 0 ? std::array<double, 2>{0.25, 0.25} : std::array<double, 2>{1, 1});
    labels.push_back(i % 2);
  }
  const auto deviation_of = [&](const std::vector<std::array<double, 2>>& labelled) {
    const lab::LabRows rows = {.public_rows = Points2D(points),
                               .private_rows = Points2D(labelled, labels),
                               .test_rows = Points2D({{0.25, 0.25}})};
    OpenSslRandom noise;
    const Budget epsilon = *Budget::Parse("50");
    double squares = 0;
    for (int i = 0; i < 40; ++i) {
      PublicRandom public_random(1);
      const auto answers =
          Top().Fit(rows, {.epsilon = epsilon, .setting = 1}, public_random, noise);
      EXPECT_OK(answers);
      if (!answers.ok()) return 0.0;
      const double logit = std::log(answers->of(0)[1] / answers->of(0)[0]);
      squares += logit * logit;
    }
    return std::sqrt(squares / 40);
  };
  EXPECT_GT(deviation_of(lonely), 20 * deviation_of(spread));
}

TEST(LabelPrivacyTest, RefuseSettingsOutOfRange) {
  EXPECT_THAT(FitOnce(Ssrdt(), LineOfHalves(0, 1, 0), "1", 17),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("0 to 16")));
  EXPECT_THAT(FitOnce(Top(), LineOfHalves(0, 1, 0), "1", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 99")));
}

}  // namespace
}  // namespace coppice::research
