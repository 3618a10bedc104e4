#include "common/model/votes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/model/render.h"
#include "tests/common/model/trees.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: this file uses all of the suites' vocabulary.
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tree, and the votes of its leaves for class `about`.
struct Voting {
  std::vector<Node> nodes;
  std::vector<double> votes;
  uint32_t about = 1;
};

Model ModelOf(const Schema& schema, const std::vector<Voting>& trees,
              LeafKind kind = LeafKind::kScores) {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (const Voting& voting : trees) {
    forest.push_back(*Tree::Create(voting.nodes, schema));
    std::vector<LeafPrediction>& of_tree = leaves.emplace_back();
    for (size_t leaf = 0; leaf < voting.votes.size(); ++leaf) {
      std::vector<double> scores(schema.num_classes());
      scores[voting.about] = voting.votes[leaf];
      if (scores.size() == 2) scores[1 - voting.about] = -voting.votes[leaf];
      of_tree.push_back(Leaf(scores, 0, 0, forest.back().leaf_node(static_cast<uint32_t>(leaf))));
    }
  }
  return *Model::Create(schema, std::move(forest), std::move(leaves), {}, kind);
}

Voting Young(double if_true, double if_false) {
  return {{NumericSplit(0, 30, 1, 2), Node{}, Node{}}, {if_true, if_false}};
}
Voting Male(double votes) { return {{CategorySplit(1, 1, 1, 2), Node{}, Node{}}, {votes, -votes}}; }
Voting Always(double votes) { return {{Node{}}, {votes}}; }
// Votes for 30 <= age < 55.
Voting Middle(double votes) {
  return {{NumericSplit(0, 30, 1, 2), Node{}, NumericSplit(0, 55, 3, 4), Node{}, Node{}},
          {-votes, votes, -votes}};
}
Voting OldOrMissing() {
  return {{NumericSplit(0, 55, 1, 2, /*missing_left=*/true), Node{}, Node{}}, {-1, 1}};
}
Voting AgeMissing() { return {{MissingSplit(0, 1, 2), Node{}, Node{}}, {1, -1}}; }

TEST(VotesTest, TreesThatAskTheSameAddUpAndTheMostVotesComeFirst) {
  const Model model =
      ModelOf(IncomeSchema(),
              {Male(1), Young(-1, 1), Young(-1, 1), Always(1), Middle(1), Young(-1, 1),
               AgeMissing(), OldOrMissing(), Middle(1), Always(1), Male(1), Male(1), Male(1)});
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(model));
  EXPECT_THAT(votes, ElementsAre(Vote{"sex = Male", 1, 4}, Vote{"age < 30", 1, -3}, Vote{"", 1, 2},
                                 Vote{"30 <= age < 55", 1, 2}, Vote{"age >= 55", 1, 1},
                                 Vote{"age is missing", 1, 1}));
}

TEST(VotesTest, CutsAreReadAsInTrees) {
  const auto just_above = [](double x) { return std::nextafter(x, 1e9); };
  Voting middle = Middle(1), old = OldOrMissing();
  middle.nodes[0].threshold = just_above(30);
  middle.nodes[2].threshold = just_above(55);
  old.nodes[0].threshold = just_above(60);
  Feature age = Numeric("age", 17, 90);
  age.unit = "years";
  const Schema schema = *Schema::Create({age}, "income", {"low", "high"});
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(ModelOf(schema, {middle, old})));
  EXPECT_THAT(votes, ElementsAre(Vote{"30 < age <= 55 years", 1, 1}, Vote{"age > 60 years", 1, 1}));
}

TEST(VotesTest, VotesThatCancelAreNotShown) {
  ASSERT_OK_AND_ASSIGN(const auto votes,
                       VotesOf(ModelOf(IncomeSchema(), {Male(1), Male(-1), Always(0)})));
  EXPECT_THAT(votes, IsEmpty());
}

TEST(VotesTest, ATreeWhoseLeavesAgreeAlwaysAnswersTheSame) {
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(ModelOf(IncomeSchema(), {Young(1, 1)})));
  EXPECT_THAT(votes, ElementsAre(Vote{"", 1, 1}));
}

TEST(VotesTest, TheSumsAreTheModelsOwnScores) {
  const Model model =
      ModelOf(IncomeSchema(), {Male(1), Young(-1, 1), Middle(1), Always(1), Young(-1, 1)});
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(model));
  std::map<std::string, int64_t> of;
  for (const Vote& vote : votes) of[vote.question] = vote.votes;
  for (const double age : {20.0, 40.0, 60.0}) {
    for (const double sex : {0.0, 1.0}) {
      const int64_t sum = (sex == 1 ? 1 : -1) * of["sex = Male"] +
                          (age < 30 ? 1 : -1) * of["age < 30"] +
                          (age >= 30 && age < 55 ? 1 : -1) * of["30 <= age < 55"] + of[""];
      EXPECT_EQ(model.Predict(Row{age, sex}).label, sum > 0 ? 1u : 0u) << age << " " << sex;
    }
  }
}

TEST(VotesTest, WithMoreClassesEachHasItsOwnVotes) {
  const Schema schema =
      *Schema::Create({Numeric("age", 17, 90)}, "income", {"low", "middle", "high"});
  Voting low = Young(1, -1), high = Young(-1, 1);
  low.about = 0;
  high.about = 2;
  const Model model = ModelOf(schema, {high, low, low});
  ASSERT_OK_AND_ASSIGN(const auto votes, VotesOf(model));
  EXPECT_THAT(votes, ElementsAre(Vote{"age < 30", 0, 2}, Vote{"age < 30", 2, -1}));
  ASSERT_OK_AND_ASSIGN(const std::string text, Render(model, 0, RenderFormat::kVotes));
  EXPECT_THAT(text, HasSubstr("votes for low\n       +2  age < 30\n\nvotes for high\n       -1"));
}

TEST(VotesTest, AreShownAsATable) {
  const Model model = ModelOf(IncomeSchema(), {Male(1), Young(-1, 1), Young(-1, 1), Always(1)});
  ASSERT_OK_AND_ASSIGN(const std::string text, Render(model, 0, RenderFormat::kVotes));
  EXPECT_EQ(text,
            "4 votes on income. Each question adds its votes where it is true, and takes them away "
            "where it is not;\n"
            "above zero it is high, else low.\n"
            "\n"
            "votes for high\n"
            "       -2  age < 30\n"
            "       +1  always\n"
            "       +1  sex = Male\n");
}

TEST(VotesTest, OtherModelsAreRefused) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("is no vote"));
  const Schema schema = IncomeSchema();
  const Voting deep = {IncomeNodes(), {1, -1, 1, -1, 1}};
  Voting two_features = Middle(1);
  two_features.nodes[2] = CategorySplit(1, 1, 3, 4);
  EXPECT_THAT(VotesOf(ModelOf(schema, {Male(1), deep})).status(), refused);
  EXPECT_THAT(VotesOf(ModelOf(schema, {two_features})).status(), refused);
  EXPECT_THAT(VotesOf(ModelOf(schema, {Male(0.5)})).status(), refused);
  EXPECT_THAT(VotesOf(ModelOf(schema, {Young(1, -2)})).status(), refused);
  EXPECT_THAT(VotesOf(ModelOf(schema, {Male(1)}, LeafKind::kWeights)).status(), refused);
  EXPECT_THAT(Render(ModelOf(schema, {deep}), 0, RenderFormat::kVotes).status(), refused);
}

}  // namespace
}  // namespace coppice
