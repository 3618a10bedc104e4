#include "server/serving/access/caller.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace coppice::owners {
namespace {

Patterns Granted(const std::vector<std::string>& texts) { return *Patterns::Parse(texts); }

const Resource kModel = {.names = {"models/m", "jobs/j", "datasets/a-1"}, .owner = "a"};

TEST(CallerTest, ACallerWithoutGrantsSeesAndMakesNothing) {
  const Caller nobody;
  EXPECT_FALSE(nobody.MaySee(kModel));
  EXPECT_FALSE(nobody.MaySee({.names = {"models/m"}, .owner = ""}));
  EXPECT_FALSE(nobody.Owns(""));
  EXPECT_FALSE(nobody.MayMake("models/new"));
}

TEST(CallerTest, AnOwnerSeesWhatItsNameOwns) {
  const Caller owner{.name = "a"};
  EXPECT_TRUE(owner.MaySee(kModel));
  EXPECT_TRUE(owner.Owns("a"));
  EXPECT_FALSE(owner.Owns("b"));
  EXPECT_FALSE(owner.Owns("")) << "what has no owner is the operator's";
}

TEST(CallerTest, AGrantOfWhatAThingWasMadeFromIsOneOfTheThing) {
  EXPECT_TRUE((Caller{.name = "b", .resources = Granted({"models/*"})}.MaySee(kModel)));
  EXPECT_TRUE((Caller{.name = "b", .resources = Granted({"datasets/a-*"})}.MaySee(kModel)));
  EXPECT_FALSE((Caller{.name = "b", .resources = Granted({"studies/*"})}.MaySee(kModel)));
}

TEST(CallerTest, WhoSeesAllDoesNotOwnAllButTheOperatorDoes) {
  const Caller reader{.name = "b", .sees_all = true};
  EXPECT_TRUE(reader.MaySee(kModel));
  EXPECT_FALSE(reader.Owns("a"));
  EXPECT_TRUE(Caller::Operator().Owns("a"));
  EXPECT_TRUE(Caller::Operator().Owns(""));
  EXPECT_TRUE(Caller::Operator().MayMake("models/new"));
}

TEST(CallerTest, OtherEntriesAddToWhatIsSeenAndOwnedAndNothingToWhatIsMade) {
  Caller caller{.name = "a", .resources = Granted({"*/a-*"})};
  caller.others = {{.name = "b", .resources = Granted({"*/b-*"})}, {.name = "c", .sees_all = true}};
  EXPECT_TRUE(caller.Owns("b"));
  EXPECT_FALSE(caller.Owns("d"));
  EXPECT_TRUE(caller.MaySee({.names = {"models/x"}, .owner = "d"}));
  EXPECT_TRUE(caller.MayMake("models/a-1"));
  EXPECT_FALSE(caller.MayMake("models/b-1"));
  EXPECT_FALSE(caller.MayMake("models/x"));
  EXPECT_FALSE(caller.Alone().front().Owns("b"));
  const Caller acting = caller.ActingAs(1);
  EXPECT_EQ(acting.name, "b");
  EXPECT_TRUE(acting.Owns("a"));
  EXPECT_TRUE(acting.MayMake("models/b-1"));
  EXPECT_FALSE(acting.MayMake("models/a-1"));
}

TEST(CallerTest, NamesToMakeAreThoseOfItsResourcesOrElseWhatNobodyElseKeeps) {
  const auto claims = std::make_shared<const std::vector<Claim>>(
      std::vector<Claim>{{.name = "a", .patterns = Granted({"*/a-*"})}});
  const Caller a{.name = "a", .resources = Granted({"*/a-*"}), .claims = claims};
  EXPECT_TRUE(a.MayMake("datasets/a-9"));
  EXPECT_FALSE(a.MayMake("datasets/free"));
  const Caller plain{.name = "plain", .claims = claims};
  EXPECT_FALSE(plain.MayMake("datasets/a-9"));
  EXPECT_TRUE(plain.MayMake("datasets/free"));
  const Caller same_name{.name = "a", .claims = claims};
  EXPECT_TRUE(same_name.MayMake("datasets/a-9")) << "it is kept for this name";
}

}  // namespace
}  // namespace coppice::owners
