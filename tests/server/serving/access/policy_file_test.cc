#include "server/serving/access/policy_file.h"

#include <fstream>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/access/bearer_token.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::access {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// SHA-256 of "abc".
constexpr char kHash[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

auto IsWrong(const char* text) { return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)); }

std::string WithToken(const std::string& members) {
  return StrCat("{\"tokens\":[{", members, "}]}");
}
std::string Good() { return StrCat(R"("name":"n","sha256":")", kHash, "\""); }

TEST(PolicyFileTest, ReadsAllOfIt) {
  ASSERT_OK_AND_ASSIGN(const AccessPolicy policy, ParsePolicy(StrCat(
                                                      R"({"anonymous": ["device"],
              "tokens": [{"name": "ops", "sha256": ")",
                                                      kHash, R"(", "roles": ["admin", "device"],
                          "expires": "2027-01-31T00:00:00Z"}],
              "certificates": [{"name": "lab", "role": "analyst", "sha256":
                "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD"}]})")));
  EXPECT_EQ(policy.anonymous().roles, RoleSet({Role::kDevice}));
  ASSERT_THAT(policy.tokens(), SizeIs(1));
  EXPECT_EQ(policy.tokens()[0].name, "ops");
  EXPECT_EQ(policy.tokens()[0].sha256, HashOfToken("abc"));
  EXPECT_EQ(policy.tokens()[0].roles, RoleSet({Role::kAdmin, Role::kDevice}));
  EXPECT_EQ(policy.tokens()[0].expires, absl::FromUnixSeconds(1'801'353'600));
  ASSERT_THAT(policy.certificates(), SizeIs(1));
  EXPECT_EQ(policy.certificates()[0].sha256, HashOfToken("abc"));
  EXPECT_EQ(policy.certificates()[0].roles, RoleSet({Role::kAnalyst}));
}

TEST(PolicyFileTest, WhatIsLeftOutAllowsNothing) {
  ASSERT_OK_AND_ASSIGN(const AccessPolicy policy, ParsePolicy("{}"));
  EXPECT_TRUE(policy.anonymous().roles.empty());
  EXPECT_THAT(policy.tokens(), IsEmpty());
  EXPECT_THAT(policy.certificates(), IsEmpty());
}

TEST(PolicyFileTest, RefusesAFileThatIsNotAPolicy) {
  EXPECT_THAT(ParsePolicy(""), IsWrong("not valid JSON"));
  EXPECT_THAT(ParsePolicy("{"), IsWrong("not valid JSON"));
  EXPECT_THAT(ParsePolicy("[]"), IsWrong("the policy must be a JSON object"));
  EXPECT_THAT(ParsePolicy(R"({"token": []})"),
              IsWrong("the member \"token\"; did you mean \"tokens\"?"));
  EXPECT_THAT(ParsePolicy(R"({"who": []})"),
              IsWrong("the member \"who\", which is not one of anonymous, tokens"));
  EXPECT_THAT(ParsePolicy(R"({"tokens": {}})"), IsWrong("tokens must be a list"));
  EXPECT_THAT(ParsePolicy(R"({"tokens": [7]})"), IsWrong("tokens[0] must be a JSON object"));
  EXPECT_THAT(ParsePolicy(R"({"anonymous": "device"})"), IsWrong("anonymous must be a list"));
  EXPECT_THAT(ParsePolicy(R"({"anonymous": ["devices"]})"), IsWrong("has \"devices\", which is"));
  EXPECT_THAT(ParsePolicy(R"({"anonymous": [1]})"), IsWrong("has 1, which is not one of device"));
}

TEST(PolicyFileTest, NamesEveryRoleWhereOneIsUnknown) {
  const Status unknown = ParsePolicy(R"({"anonymous": ["devices"]})").status();
  for (const Role role : kAllRoles) {
    EXPECT_THAT(unknown, IsWrong(StrCat(" ", RoleName(role)).c_str()));
  }
}

TEST(PolicyFileTest, RefusesAMemberThatComesTwice) {
  EXPECT_THAT(ParsePolicy(R"({"anonymous": [], "anonymous": ["admin"]})"),
              IsWrong("\"anonymous\" twice"));
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"device","role":"admin")"))),
              IsWrong("\"role\" twice"));
}

TEST(PolicyFileTest, RefusesAnEntryThatIsNotWhole) {
  EXPECT_THAT(ParsePolicy(WithToken(Good())), IsWrong("tokens[0] needs \"roles\""));
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"roles":[])"))),
              IsWrong("at least one role"));
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","roles":["admin"])"))),
              IsWrong("needs \"roles\", a list, or \"role\", one name"));
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"root")"))),
              IsWrong("tokens[0].role has \"root\""));
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","expire":"")"))),
              IsWrong("tokens[0] has the member \"expire\""));
  EXPECT_THAT(ParsePolicy(WithToken(R"("role":"admin")")), IsWrong("tokens[0] needs \"name\""));
  EXPECT_THAT(ParsePolicy(WithToken(R"("name":"n","role":"admin")")), IsWrong("needs \"sha256\""));
}

TEST(PolicyFileTest, RefusesAnInvalidHash) {
  const std::string hash = kHash;
  for (const std::string& wrong : {std::string(), hash.substr(1), StrCat(hash, "0"),
                                   StrCat("g", hash.substr(1)), std::string(64, '0')}) {
    EXPECT_THAT(
        ParsePolicy(WithToken(StrCat(R"("name":"n","role":"admin","sha256":")", wrong, "\""))),
        IsWrong("needs \"sha256\", 64 hexadecimal digits"))
        << wrong;
  }
}

TEST(PolicyFileTest, RefusesAnExpiryInAnotherForm) {
  for (const char* wrong :
       {"\"tomorrow\"", "\"2027-01-31\"", "\"2027-01-31T00:00:00\"", "7", "\"infinite-future\""}) {
    EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","expires":)", wrong))),
                IsWrong("\"expires\" in another form"))
        << wrong;
  }
  EXPECT_THAT(ParsePolicy(StrCat(R"({"certificates":[{)", Good(),
                                 R"(,"role":"admin","expires":"2027-01-31T00:00:00Z"}]})")),
              IsWrong("certificates[0] has the member \"expires\""));
}

TEST(PolicyFileTest, AnEntryMayListResources) {
  ASSERT_OK_AND_ASSIGN(
      const AccessPolicy policy,
      ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","resources":["*/a-*"])"))));
  EXPECT_TRUE(policy.tokens()[0].resources.Match("studies/a-1"));
  EXPECT_FALSE(policy.tokens()[0].resources.Match("studies/b-1"));
  for (const char* wrong : {"[]", "\"*\"", "[7]", "{}", "null"}) {
    EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","resources":)", wrong))),
                IsWrong("tokens[0].resources must be a list"))
        << wrong;
  }
  EXPECT_THAT(ParsePolicy(WithToken(StrCat(Good(), R"(,"role":"admin","resources":["study/a"])"))),
              IsWrong("tokens[0].resources: \"study/a\" is not a pattern of resources"));
}

TEST(PolicyFileTest, TheAnonymousMayHaveResourcesToo) {
  ASSERT_OK_AND_ASSIGN(
      const AccessPolicy policy,
      ParsePolicy(R"({"anonymous":{"roles":["device"],"resources":["studies/a-*"]}})"));
  EXPECT_EQ(policy.anonymous().roles, RoleSet({Role::kDevice}));
  EXPECT_TRUE(policy.anonymous().resources.Match("studies/a-1"));
  EXPECT_THAT(ParsePolicy(R"({"anonymous":{"resources":["studies/a-*"]}})"),
              IsWrong("anonymous needs \"roles\""));
  EXPECT_THAT(ParsePolicy(R"({"anonymous":{"role":"device","name":"x"}})"),
              IsWrong("anonymous has the member \"name\""));
}

TEST(PolicyFileTest, QuotasAreOfNamesThatEntriesHave) {
  const auto with_quotas = [](const std::string& quotas) {
    return ParsePolicy(
        StrCat(R"({"tokens":[{)", Good(), R"(,"role":"admin"}],"quotas":)", quotas, "}"));
  };
  ASSERT_OK_AND_ASSIGN(const AccessPolicy policy,
                       with_quotas(R"({"n":{"studies":1,"bytes":2,"jobs":3,"tickets_per_second":4,)"
                                   R"("datasets":5,"models":6,"model_bytes":7},"*":{}})"));
  EXPECT_EQ(policy.QuotaOf("n").studies, 1u);
  EXPECT_EQ(policy.QuotaOf("n").bytes, 2u);
  EXPECT_EQ(policy.QuotaOf("n").jobs, 3u);
  EXPECT_EQ(policy.QuotaOf("n").tickets_per_second, 4u);
  EXPECT_EQ(policy.QuotaOf("n").datasets, 5u);
  EXPECT_EQ(policy.QuotaOf("n").models, 6u);
  EXPECT_EQ(policy.QuotaOf("n").model_bytes, 7u);
  EXPECT_THAT(with_quotas(R"({"m":{}})"), IsWrong("quotas[\"m\"] does not belong to an entry"));
  EXPECT_THAT(with_quotas(R"({"n":{"study":1}})"), IsWrong("has the member \"study\""));
  EXPECT_THAT(with_quotas("[]"), IsWrong("quotas must be a JSON object"));
  for (const char* wrong : {"0", "-1", "1.5", "\"1\"", "null"}) {
    EXPECT_THAT(with_quotas(StrCat(R"({"n":{"studies":)", wrong, "}}")),
                IsWrong("quotas[\"n\"].studies must be a whole number, 1 or more"))
        << wrong;
  }
}

TEST(PolicyFileTest, NoEntryIsCalledAnonymous) {
  EXPECT_THAT(ParsePolicy(StrReplaceAll(WithToken(StrCat(Good(), R"(,"role":"admin")")),
                                        {{R"("name":"n")", R"("name":"anonymous")"}})),
              IsWrong("has the name \"anonymous\""));
}

TEST(PolicyFileTest, RefusesTwoEntriesOfOneHash) {
  const std::string entry = StrCat("{", Good(), R"(,"role":"admin"})");
  EXPECT_THAT(ParsePolicy(StrCat("{\"tokens\":[", entry, ",", entry, "]}")),
              IsWrong("tokens[1] has the same \"sha256\" as another entry"));
}

TEST(PolicyFileTest, MessagesNameTheFile) {
  const TempDir folder;
  const std::string path = folder.path() + "/policy.json";
  EXPECT_THAT(ReadPolicy(path),
              StatusIs(StatusCode::kNotFound, AllOf(HasSubstr(path), HasSubstr("No such"))));
  std::ofstream(path) << "{]";
  EXPECT_THAT(ReadPolicy(path), IsWrong((path + ": the policy is not valid JSON").c_str()));
  EXPECT_THAT(ReadPolicy(folder.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace coppice::access
