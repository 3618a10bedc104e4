#include "server/store/models/ids.h"

#include <cctype>
#include <set>
#include <string>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::models {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::Truly;

TEST(IdsTest, ARequestIdIsNeitherEmptyNorLongerThan128Bytes) {
  EXPECT_OK(CheckRequestId("r"));
  EXPECT_OK(CheckRequestId(std::string(128, 'r')));
  for (const size_t size : {0, 129}) {
    EXPECT_THAT(CheckRequestId(std::string(size, 'r')),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("request_id: must have 1 to 128 characters, has ")));
  }
}

TEST(IdsTest, ANewIdIsEmptyOrWellFormed) {
  for (const std::string& good :
       {std::string(), std::string("a"), std::string("1-a_b"), std::string(63, 'a')}) {
    EXPECT_OK(CheckNewId("study_id", good)) << good;
  }
  for (const std::string& bad : {std::string("A"), std::string("-a"), std::string("a/b"),
                                 std::string("a\0b", 3), std::string(64, 'a')}) {
    EXPECT_THAT(CheckNewId("study_id", bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("study_id: must be empty")))
        << bad;
  }
}

TEST(IdsTest, KeepsAnIdThatWasGiven) { EXPECT_EQ(*IdOrRandom("mine"), "mine"); }

TEST(IdsTest, MadeIdsAreWellFormedAndDoNotRecur) {
  std::set<std::string> ids;
  std::set<char> characters;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string id, IdOrRandom(""));
    EXPECT_THAT(id, SizeIs(12));
    EXPECT_OK(CheckNewId("id", id));
    ids.insert(id);
    characters.insert(id.begin(), id.end());
  }
  EXPECT_THAT(ids, SizeIs(1000));
  EXPECT_THAT(characters, SizeIs(36));  // each is missing with probability 1e-147
  EXPECT_THAT(characters,
              Each(Truly([](char c) { return std::islower(c) != 0 || std::isdigit(c) != 0; })));
}

TEST(IdsTest, DrawsUntilAnIdIsAccepted) {
  int asked = 0;
  ASSERT_OK_AND_ASSIGN(const std::string id, IdOrRandom("", [&](const std::string&) {
                         return ++asked < kMaxDraws ? UnknownError("no") : OkStatus();
                       }));
  EXPECT_THAT(id, SizeIs(12));
  EXPECT_EQ(asked, kMaxDraws);
}

TEST(IdsTest, DrawsAHundredTimesAndThenSaysWhyNoneIsAccepted) {
  std::set<std::string> refused;
  const auto refuse = [&](const std::string& id) {
    refused.insert(id);
    return PermissionDeniedError("x/1 is kept");
  };
  EXPECT_THAT(IdOrRandom("", refuse),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("none of 100 ids that the curator drew may be used, the last one "
                                 "because x/1 is kept")));
  EXPECT_THAT(refused, SizeIs(100));
  EXPECT_EQ(*IdOrRandom("mine", refuse), "mine") << "which the access policy judged already";
}

}  // namespace
}  // namespace coppice::models
