#include "common/describe/paperwork.h"

#include <string>

#include "common/describe/verdict.h"
#include "common/wire/proto/convert.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToday[] = "2031-02-03";

// One release of epsilon 0.5 at a `neighbouring` of the given text.
v1::Model ModelOf(const std::string& neighbouring) {
  v1::Model model = ToProto(testing::MakeModel());
  model.set_name("models/m1");
  model.clear_created_unix_seconds();
  v1::Certificate& certificate = *model.mutable_certificate();
  certificate.clear_readers();
  certificate.clear_relay();
  certificate.clear_releases();
  certificate.clear_delta_atto();
  certificate.set_epsilon_nanos(500'000'000);
  v1::Release& release = *certificate.add_releases();
  release.set_what("counts");
  release.set_mechanism("laplace");
  release.set_epsilon_nanos(500'000'000);
  release.set_times(1);
  certificate.set_neighbouring(neighbouring);
  return model;
}

TEST(RegistryEntryTest, SaysWhatTheCertificateSays) {
  ASSERT_OK_AND_ASSIGN(const std::string entry,
                       RegistryEntry(ModelOf("one row more or less"), kToday));
  EXPECT_THAT(entry, AllOf(HasSubstr("url_slug: \"coppice-m1\"\n"),
                           HasSubstr("variant_name: \"Pure DP\"\n"),
                           HasSubstr("privacy_unit: \"one row\"\n"), HasSubstr("epsilon: 0.5\n"),
                           HasSubstr("model_name: \"Central\"\n"),
                           HasSubstr("publication_date: \"2031-02-03\"\n")));
  EXPECT_THAT(entry, Not(HasSubstr("delta:")));
}

TEST(RegistryEntryTest, ListsAtTheTopWhatOnlyAPersonCanSay) {
  ASSERT_OK_AND_ASSIGN(const std::string entry,
                       RegistryEntry(ModelOf("one row more or less"), kToday));
  const std::string top = entry.substr(0, entry.find("url_slug"));
  EXPECT_THAT(top, AllOf(HasSubstr("#   deployment.basic.name\n"),
                         HasSubstr("#   deployment.basic.intended_use\n"),
                         HasSubstr("#   deployment.administrative.registry_authors\n")));
  EXPECT_THAT(top, Not(HasSubstr("privacy_loss")));
}

TEST(RegistryEntryTest, ADeltaIsANumberInYamlToo) {
  v1::Model model = ModelOf("one row more or less");
  model.mutable_certificate()->set_delta_atto(1'000'000'000'000);
  model.mutable_certificate()->mutable_releases(0)->set_delta_atto(1'000'000'000'000);
  ASSERT_OK_AND_ASSIGN(const std::string entry, RegistryEntry(model, kToday));
  EXPECT_THAT(
      entry, AllOf(HasSubstr("variant_name: \"Approximate DP\"\n"), HasSubstr("delta: 1.0e-06\n")));
}

TEST(RegistryEntryTest, ReportsOfDevicesAreLocal) {
  ASSERT_OK_AND_ASSIGN(
      const std::string entry,
      RegistryEntry(ModelOf("any value of one device's row for any other (local)"), kToday));
  EXPECT_THAT(entry, AllOf(HasSubstr("model_name: \"Local\"\n"),
                           HasSubstr("privacy_unit: \"one report of one device\"\n")));
}

TEST(RegistryEntryTest, AModelOfTheCuratorHasItsOwnDay) {
  v1::Model model = ModelOf("one row more or less");
  model.set_created_unix_seconds(86'400);
  ASSERT_OK_AND_ASSIGN(const std::string entry, RegistryEntry(model, kToday));
  EXPECT_THAT(entry, HasSubstr("publication_date: \"1970-01-02\"\n"));
}

TEST(RegistryEntryTest, NothingIsRegisteredWithoutPrivacyOrWithAWrongSum) {
  v1::Model model = ModelOf("none: trained without privacy");
  model.mutable_certificate()->clear_releases();
  model.mutable_certificate()->clear_epsilon_nanos();
  EXPECT_THAT(RegistryEntry(model, kToday),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("nothing to register")));
  model = ModelOf("one row more or less");
  model.mutable_certificate()->set_epsilon_nanos(1);
  EXPECT_THAT(RegistryEntry(model, kToday),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("add up")));
}

TEST(ReviewTest, EachQuestionHasAnAnswerOrSaysWhoHasIt) {
  for (const char* neighbouring :
       {"one row more or less", "the label of one row", "none",
        "any value of one device's row for any other (local)", "something else"}) {
    const auto answers = AnswerReview(ParseCertificate(ModelOf(neighbouring).certificate()));
    EXPECT_EQ(answers.size(), 9u);
    for (const ReviewAnswer& one : answers) {
      EXPECT_FALSE(one.answer.empty() && one.to_say.empty()) << one.question;
    }
  }
}

TEST(ReviewTest, BelongsToTheVerdictOfAModelThatIsNotRefused) {
  v1::Model model = ModelOf("one row more or less");
  const auto questions = VerifyModel(model).json["questions"];
  ASSERT_EQ(questions.size(), 9u);
  EXPECT_EQ(questions[0]["question"], "What is the unit of privacy?");
  EXPECT_FALSE(questions.back().contains("answer"));
  model.mutable_certificate()->set_epsilon_nanos(1);
  EXPECT_FALSE(VerifyModel(model).json.contains("questions"));
}

}  // namespace
}  // namespace coppice
