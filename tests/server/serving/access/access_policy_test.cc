#include "server/serving/access/access_policy.h"

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/serving/access/bearer_token.h"
#include "tests/support/status_matchers.h"

namespace coppice::access {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCreateStudy[] = "/coppice.v1.StudyService/CreateStudy";
constexpr char kCreateDataset[] = "/coppice.v1.DatasetService/CreateDataset";
constexpr char kPredict[] = "/coppice.v1.ModelService/Predict";
constexpr char kOffer[] = "/coppice.v1.StudyService/GetOffer";
constexpr char kHealth[] = "/grpc.health.v1.Health/Check";

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

PolicyEntry Token(const std::string& token, RoleSet roles,
                  absl::Time expires = absl::InfiniteFuture()) {
  return {.name = "somebody", .sha256 = HashOfToken(token), .roles = roles, .expires = expires};
}

Credentials Bearer(const std::string& token) { return {.authorization = StrCat("Bearer ", token)}; }

auto IsUnauthenticated(const char* text) {
  return StatusIs(StatusCode::kUnauthenticated, HasSubstr(text));
}
auto IsDenied(const char* text) { return StatusIs(StatusCode::kPermissionDenied, HasSubstr(text)); }

TEST(AccessPolicyTest, AnEmptyPolicyAllowsNobodyAnythingButHealth) {
  const AccessPolicy policy({}, {}, {});
  EXPECT_THAT(policy.Check(kOffer, {}, kNow), IsUnauthenticated("you showed no token"));
  EXPECT_THAT(policy.Check(kOffer, Bearer("x"), kNow), IsUnauthenticated("not known here"));
  EXPECT_OK(policy.Check(kHealth, {}, kNow));
  EXPECT_OK(policy.Check(kHealth, Bearer("x"), kNow));
}

TEST(AccessPolicyTest, ATokenHasItsRolesAndNoOthers) {
  const AccessPolicy policy({}, {Token("a", {Role::kAnalyst}), Token("b", {Role::kAdmin})}, {});
  EXPECT_OK(policy.Check(kPredict, Bearer("a"), kNow));
  EXPECT_OK(policy.Check(kCreateStudy, Bearer("b"), kNow));
  EXPECT_THAT(policy.Check(kCreateStudy, Bearer("a"), kNow),
              IsDenied("needs the role admin, but you have analyst: ask the operator"));
}

TEST(AccessPolicyTest, EveryTokenIsFoundWhereverItStands) {
  std::vector<PolicyEntry> tokens;
  for (int i = 0; i < 20; ++i) tokens.push_back(Token(StrCat("t", i), {Role::kAdmin}));
  const AccessPolicy policy({}, tokens, {});
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(policy.Check(kCreateStudy, Bearer(StrCat("t", i)), kNow)) << i;
  }
  EXPECT_THAT(policy.Check(kCreateStudy, Bearer("t20"), kNow), IsUnauthenticated("not known"));
}

// Comparing a part of the hash, or stopping early, would let one of these in.
TEST(AccessPolicyTest, AHashThatDiffersInOneBitIsAnotherToken) {
  for (size_t bit = 0; bit < 256; ++bit) {
    PolicyEntry entry = Token("a", {Role::kAdmin});
    entry.sha256[bit / 8] = static_cast<uint8_t>(entry.sha256[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(AccessPolicy({}, {entry}, {}).Check(kCreateStudy, Bearer("a"), kNow).ok()) << bit;
  }
}

TEST(AccessPolicyTest, AnExpiredTokenIsRefusedFromThatSecondOn) {
  const AccessPolicy policy({}, {Token("a", {Role::kAdmin}, kNow)}, {});
  EXPECT_OK(policy.Check(kCreateStudy, Bearer("a"), kNow - absl::Nanoseconds(1)));
  EXPECT_THAT(policy.Check(kCreateStudy, Bearer("a"), kNow), IsUnauthenticated("has expired"));
}

TEST(AccessPolicyTest, TheAnonymousHaveWhatThePolicyGivesThem) {
  const AccessPolicy policy(RoleSet{Role::kDevice}, {Token("a", {Role::kAnalyst})}, {});
  EXPECT_OK(policy.Check(kOffer, {}, kNow));
  EXPECT_THAT(policy.Check(kPredict, {}, kNow),
              IsUnauthenticated("needs the role analyst or trainer or admin, and you showed no"));
  EXPECT_OK(policy.Check(kOffer, Bearer("a"), kNow)) << "who is known may do that too";
}

TEST(AccessPolicyTest, ABadTokenIsRefusedAlsoWhereNoneIsNeeded) {
  const AccessPolicy policy(RoleSet{Role::kDevice}, {Token("old", {Role::kDevice}, kNow)}, {});
  EXPECT_THAT(policy.Check(kOffer, Bearer("wrong"), kNow), IsUnauthenticated("not known"));
  EXPECT_THAT(policy.Check(kOffer, Bearer("old"), kNow), IsUnauthenticated("expired"));
}

TEST(AccessPolicyTest, TheSchemeIsBearerInAnyCase) {
  const AccessPolicy policy({}, {Token("a", {Role::kAdmin})}, {});
  for (const char* good : {"Bearer a", "bearer a", "BEARER  a "}) {
    EXPECT_OK(policy.Check(kCreateStudy, {.authorization = good}, kNow)) << good;
  }
  for (const char* bad : {"", "a", "Basic a", "Bearer", "Bearera"}) {
    EXPECT_THAT(policy.Check(kCreateStudy, {.authorization = bad}, kNow), IsUnauthenticated(""))
        << bad;
  }
}

TEST(AccessPolicyTest, ACertificateHasItsRolesAndAnotherOneNone) {
  const Sha256Digest lab{1, 2, 3}, other{1, 2, 4};
  const AccessPolicy policy({}, {}, {{.name = "lab", .sha256 = lab, .roles = {Role::kAnalyst}}});
  EXPECT_OK(policy.Check(kPredict, {.certificate_sha256 = lab}, kNow));
  EXPECT_THAT(policy.Check(kCreateStudy, {.certificate_sha256 = lab}, kNow),
              IsDenied("have analyst"));
  EXPECT_THAT(policy.Check(kPredict, {.certificate_sha256 = other}, kNow),
              IsUnauthenticated("your certificate has none"));
}

TEST(AccessPolicyTest, TokenAndCertificateAddUp) {
  const Sha256Digest lab{1};
  const AccessPolicy policy({}, {Token("a", {Role::kAdmin})},
                            {{.name = "lab", .sha256 = lab, .roles = {Role::kDevice}}});
  Credentials both = Bearer("a");
  both.certificate_sha256 = lab;
  EXPECT_OK(policy.Check(kCreateStudy, both, kNow));
}

owners::Patterns Resources(const std::string& pattern) {
  return *owners::Patterns::Parse({pattern});
}

TEST(AccessPolicyTest, AnAdminIsTheOperatorUnlessItsEntryListsResources) {
  PolicyEntry everything = Token("all", {Role::kAdmin}), team = Token("team", {Role::kAdmin});
  everything.resources = Resources("*");
  team.resources = Resources("*/a-*");
  const AccessPolicy policy({}, {Token("ops", {Role::kAdmin}), everything, team}, {});
  EXPECT_TRUE(policy.CallerOf(kCreateStudy, Bearer("ops"), kNow).is_operator);
  EXPECT_TRUE(policy.CallerOf(kCreateStudy, Bearer("all"), kNow).is_operator);
  const owners::Caller caller = policy.CallerOf(kCreateStudy, Bearer("team"), kNow);
  EXPECT_FALSE(caller.is_operator);
  EXPECT_FALSE(caller.sees_all);
  EXPECT_TRUE(caller.MaySee({.names = {"studies/a-1"}}));
  EXPECT_FALSE(caller.MaySee({.names = {"studies/b-1"}}));
}

TEST(AccessPolicyTest, TheRolesOfOneGrantDoNothingForTheResourcesOfAnother) {
  PolicyEntry token = Token("a", {Role::kAnalyst});
  token.resources = Resources("studies/a-*");
  PolicyEntry certificate = Token("c", {Role::kAdmin});
  certificate.resources = Resources("studies/c-*");
  const AccessPolicy policy({}, {token}, {certificate});
  const Credentials both = {.authorization = "Bearer a", .certificate_sha256 = HashOfToken("c")};
  const owners::Caller as_admin = policy.CallerOf(kCreateStudy, both, kNow);
  EXPECT_TRUE(as_admin.MaySee({.names = {"studies/c-1"}}));
  EXPECT_FALSE(as_admin.MaySee({.names = {"studies/a-1"}})) << "its grant is no admin's";
  const owners::Caller as_analyst = policy.CallerOf(kPredict, both, kNow);
  EXPECT_TRUE(as_analyst.MaySee({.names = {"studies/a-1"}}));
}

TEST(AccessPolicyTest, ACallerActsAsTheFirstEntryThatAllowsTheCall) {
  PolicyEntry token = Token("phone", {Role::kDevice});
  token.name = "team-b";
  PolicyEntry certificate = Token("c", {Role::kTrainer, Role::kDevice});
  certificate.name = "team-a";
  const AccessPolicy policy(RoleSet{Role::kAnalyst}, {token}, {certificate});
  const Credentials both = {.authorization = "Bearer phone",
                            .certificate_sha256 = HashOfToken("c")};
  const owners::Caller as_trainer = policy.CallerOf(kCreateDataset, both, kNow);
  EXPECT_EQ(as_trainer.name, "team-a") << "no device makes datasets";
  EXPECT_FALSE(as_trainer.Owns("team-b"));
  const owners::Caller as_device = policy.CallerOf(kOffer, both, kNow);
  EXPECT_EQ(as_device.name, "team-b") << "the token's comes first";
  EXPECT_TRUE(as_device.Owns("team-a"));
  const owners::Caller as_analyst = policy.CallerOf(kPredict, Bearer("phone"), kNow);
  EXPECT_EQ(as_analyst.name, "anonymous");
  EXPECT_FALSE(as_analyst.MaySee({.names = {"models/m"}, .owner = "team-b"}));
}

TEST(AccessPolicyTest, DevicesAreForEveryStudyUnlessTheirGrantListsResources) {
  EXPECT_TRUE(AccessPolicy(RoleSet{Role::kDevice}, {}, {}).CallerOf(kOffer, {}, kNow).sees_all);
  EXPECT_FALSE(AccessPolicy(RoleSet{Role::kDevice}, {}, {}).CallerOf(kPredict, {}, kNow).sees_all);
  const AccessPolicy narrow(Grant(RoleSet{Role::kDevice}, Resources("studies/a-*")), {}, {});
  EXPECT_FALSE(narrow.CallerOf(kOffer, {}, kNow).sees_all);
  EXPECT_TRUE(narrow.CallerOf(kOffer, {}, kNow).MaySee({.names = {"studies/a-1"}}));
}

TEST(AccessPolicyTest, TicketsOfRelayedStudiesAreForRelaysOfThemAndAdmins) {
  const auto token = [](const char* name, RoleSet roles, const char* pattern) {
    PolicyEntry entry = Token(name, roles);
    entry.name = name;
    entry.resources = Resources(pattern);
    return entry;
  };
  const AccessPolicy policy(
      RoleSet{Role::kDevice},
      {token("relay", {Role::kRelay}, "studies/a-*"), token("device", {Role::kDevice}, "studies/*"),
       token("team", {Role::kAdmin}, "studies/a-*"),
       token("both", {Role::kRelay, Role::kDevice}, "studies/b-*"), Token("ops", {Role::kAdmin})},
      {});
  const owners::Resource a{.names = {"studies/a-1"}, .owner = "team"};
  const owners::Resource b{.names = {"studies/b-1"}, .owner = "team"};
  const auto may = [&](const char* who, const owners::Resource& study) {
    return policy.CallerOf(kOffer, Bearer(who), kNow).MayRelay(study);
  };
  EXPECT_TRUE(may("relay", a));
  EXPECT_FALSE(may("relay", b)) << "granted another study's";
  EXPECT_FALSE(may("device", a));
  EXPECT_TRUE(may("team", b)) << "which it owns";
  EXPECT_TRUE(may("both", b));
  EXPECT_FALSE(may("both", a));
  EXPECT_TRUE(may("ops", b));
  EXPECT_FALSE(policy.CallerOf(kOffer, {}, kNow).MayRelay(a));
}

TEST(AccessPolicyTest, WhoIsNotAllowedACallMayTouchNothing) {
  const AccessPolicy policy(RoleSet{Role::kAdmin}, {Token("a", {Role::kAdmin}, kNow)}, {});
  for (const owners::Caller& caller :
       {policy.CallerOf(kCreateStudy, Bearer("a"), kNow),  // expired
        policy.CallerOf("/coppice.v1.StudyService/Fresh", {}, kNow)}) {
    EXPECT_FALSE(caller.is_operator || caller.sees_all);
    EXPECT_EQ(caller.name, "");
  }
}

TEST(AccessPolicyTest, AnOwnerHasItsQuotaOrThatOfAllOthers) {
  const AccessPolicy policy({}, {}, {}, {{"a", {.studies = 1}}, {"*", {.studies = 2}}});
  EXPECT_EQ(policy.QuotaOf("a").studies, 1u);
  EXPECT_EQ(policy.QuotaOf("b").studies, 2u);
  EXPECT_EQ(policy.QuotaOf("").studies, 0u);
  EXPECT_EQ(AccessPolicy({}, {}, {}).QuotaOf("a").studies, 0u);
}

TEST(AccessPolicyTest, AMethodWithoutALineIsForNobody) {
  const AccessPolicy policy(RoleSet{Role::kAdmin}, {Token("a", {Role::kAdmin})}, {});
  EXPECT_THAT(policy.Check("/coppice.v1.StudyService/Fresh", Bearer("a"), kNow),
              IsDenied("no such method here"));
}

TEST(AccessPolicyTest, NoMessageShowsTheToken) {
  const AccessPolicy policy({}, {Token("old", {Role::kAdmin}, kNow), Token("an", {Role::kDevice})},
                            {});
  for (const Credentials& shown : {Bearer("s3cr3t"), Credentials{.authorization = "s3cr3t"}}) {
    EXPECT_THAT(policy.Check(kCreateStudy, shown, kNow).message(), Not(HasSubstr("s3cr3t")));
  }
}

TEST(AccessPolicyTest, ACallersNameIsThatOfItsTokenElseOfItsCertificate) {
  PolicyEntry token = Token("a", {Role::kTrainer});
  token.name = "lab";
  const Sha256Digest certificate = HashOfToken("a certificate");
  const AccessPolicy policy(RoleSet{Role::kDevice}, {token, Token("old", {Role::kAdmin}, kNow)},
                            {{.name = "ward", .sha256 = certificate, .roles = {Role::kAdmin}}});
  const auto name = [&](const Credentials& credentials) {
    return policy.Identify(credentials, kNow)->name();
  };
  EXPECT_EQ(name({}), "anonymous");
  EXPECT_EQ(name({.certificate_sha256 = HashOfToken("another")}), "anonymous");
  EXPECT_EQ(name({.certificate_sha256 = certificate}), "ward");
  EXPECT_EQ(name(Bearer("a")), "lab");
  Credentials both = Bearer("a");
  both.certificate_sha256 = certificate;
  EXPECT_EQ(name(both), "lab");
  EXPECT_TRUE(policy.Identify(both, kNow)->roles().Has(Role::kAdmin)) << "it has the roles of both";
  EXPECT_THAT(policy.Identify(Bearer("old"), kNow).status(), IsUnauthenticated("expired"));
}

}  // namespace
}  // namespace coppice::access
