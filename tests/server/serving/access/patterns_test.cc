#include "server/serving/access/patterns.h"

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice::owners {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

Patterns Of(const std::vector<std::string>& texts) { return *Patterns::Parse(texts); }

TEST(PatternsTest, MatchNamesAsAWhole) {
  const Patterns exact = Of({"datasets/churn"});
  EXPECT_TRUE(exact.Match("datasets/churn"));
  for (const char* other : {"datasets/churn2", "datasets/chur", "studies/churn", "datasets/",
                            "datasets", "", "xdatasets/churn", "datasets/churn/"}) {
    EXPECT_FALSE(exact.Match(other)) << other;
  }
  const Patterns prefix = Of({"datasets/team-a-*"});
  EXPECT_TRUE(prefix.Match("datasets/team-a-"));
  EXPECT_TRUE(prefix.Match("datasets/team-a-7"));
  EXPECT_FALSE(prefix.Match("datasets/team-b-7"));
  EXPECT_FALSE(prefix.Match("models/team-a-7"));
}

TEST(PatternsTest, AStarStandsForAnyKindThatThereIs) {
  const Patterns any = Of({"*/team-a-*"});
  for (const char* kind : {"studies", "datasets", "jobs", "models", "endpoints"}) {
    EXPECT_TRUE(any.Match(StrCat(kind, "/team-a-1"))) << kind;
  }
  EXPECT_FALSE(any.Match("tokens/team-a-1"));
  EXPECT_FALSE(any.MatchAll());
  const Patterns everything = Of({"*"});
  EXPECT_TRUE(everything.MatchAll());
  EXPECT_TRUE(everything.Match("jobs/x"));
  EXPECT_FALSE(everything.Match("tokens/x"));
  EXPECT_TRUE(Of({"*/*"}).MatchAll());
  EXPECT_FALSE(Of({"datasets/*"}).MatchAll());
}

TEST(PatternsTest, AreWrittenAsTheyWereRead) {
  const std::vector<std::string> texts = {"*", "*/a-*", "datasets/*", "models/m"};
  EXPECT_EQ(Of(texts).Texts(), texts);
  EXPECT_EQ(Of({"*/*"}).Texts(), std::vector<std::string>{"*"});
  EXPECT_TRUE(Patterns().Texts().empty());
}

TEST(PatternsTest, NoPatternsMatchNothing) {
  EXPECT_TRUE(Patterns().empty());
  EXPECT_FALSE(Patterns().Match("datasets/x"));
  EXPECT_FALSE(Patterns().MatchAll());
}

TEST(PatternsTest, OnlyABeginningOfIdsKeepsThemForItsHolder) {
  const Patterns claims = Of({"*", "datasets/*", "models/team-a-*", "jobs/one"}).Claims();
  EXPECT_TRUE(claims.Match("models/team-a-1"));
  EXPECT_TRUE(claims.Match("jobs/one"));
  EXPECT_FALSE(claims.Match("datasets/x"));
  EXPECT_TRUE(Of({"*"}).Claims().empty());
}

TEST(PatternsTest, RefusesAndQuotesInvalidPatterns) {
  for (const char* wrong :
       {"", "datasets", "dataset/x", "datasets/", "datasets/a*b", "datasets/*a", "datasets/A",
        "datasets/a/b", "/x", "*x", "**", "da*/x", "datasets/team a", "datasets/?"}) {
    EXPECT_THAT(Patterns::Parse({wrong}),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(StrCat("\"", wrong, "\" is not a pattern of resources"))))
        << wrong;
  }
}

}  // namespace
}  // namespace coppice::owners
