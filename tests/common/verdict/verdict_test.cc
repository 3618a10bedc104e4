#include "common/verdict/verdict.h"

#include "common/wire/convert.h"
#include "common/wire/model_signature.h"
#include "tests/common/wire/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

v1::Model SampleModel() {
  v1::Model model = ToProto(testing::MakeModel());
  model.set_name("models/m1");
  return model;
}

TEST(VerifyModelTest, ListsTheReleasesAndTheirSum) {
  const Verdict verdict = VerifyModel(SampleModel());
  EXPECT_OK(verdict.status);
  EXPECT_EQ(verdict.json["verified"], true);
  EXPECT_EQ(verdict.json["epsilon"], 1.5);
  EXPECT_EQ(verdict.json["epsilon_of_releases"], 1.5);
  EXPECT_EQ(verdict.json["releases"][0]["part"], "all");
  EXPECT_EQ(verdict.json["releases"][1]["part"], "tree 1");
}

TEST(VerifyModelTest, SaysInWordsWhatTheCertificateMeans) {
  const Verdict verdict = VerifyModel(SampleModel());
  ASSERT_EQ(verdict.json["words"].size(), 5u);
  EXPECT_EQ(verdict.json["words"][0]["title"], "What was released");
  EXPECT_EQ(verdict.json["words"][2]["title"], "What ε = 1.5 means");
  EXPECT_THAT(ToText(verdict.words),
              AllOf(HasSubstr("\nWhat ε = 1.5 means\n  Whoever sees"), HasSubstr("at most 4.49,")));
}

TEST(VerifyModelTest, SaysNothingOfACertificateThatDoesNotAddUp) {
  v1::Model model = SampleModel();
  model.mutable_certificate()->set_epsilon_nanos(1);
  EXPECT_TRUE(VerifyModel(model).json["words"].empty());
  EXPECT_EQ(ToText(VerifyModel(model).words), "");
}

TEST(VerifyModelTest, RefusesAModelWhoseSumDoesNotMatch) {
  v1::Model model = SampleModel();
  model.mutable_certificate()->set_epsilon_nanos(1'000'000'000);
  const Verdict verdict = VerifyModel(model);
  EXPECT_THAT(verdict.status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("do not use"), HasSubstr("add up to 1.5"))));
  EXPECT_EQ(verdict.json["verified"], false);
  EXPECT_EQ(verdict.json["epsilon"], 1.0);
  EXPECT_EQ(verdict.json["epsilon_of_releases"], 1.5);
}

TEST(VerifyModelTest, RefusesAModelThatLeavesAReleaseOut) {
  v1::Model model = SampleModel();
  model.mutable_certificate()->mutable_releases()->RemoveLast();
  EXPECT_FALSE(VerifyModel(model).status.ok());
}

TEST(VerifyModelTest, RefusesAModelThatIsBrokenOtherwise) {
  v1::Model model = SampleModel();
  model.mutable_predictions()->Clear();
  EXPECT_FALSE(VerifyModel(model).status.ok());
}

SigningKey KeyOf(uint8_t byte) {
  SigningKey::Seed seed{};
  seed.fill(byte);
  return *SigningKey::FromSeed(seed);
}

v1::Model SignedModel(const SigningKey& key) {
  v1::Model model = SampleModel();
  *model.mutable_signature() = ToProto(ModelSignature{
      .signature = *key.Sign(kModelDomain, *SignedModelBytes(model)), .key = key.public_key()});
  return model;
}

TEST(VerifySignatureTest, SaysWhoSigned) {
  const SigningKey key = KeyOf(1);
  const v1::Model model = SignedModel(key);
  for (const bool pinned : {false, true}) {
    const Verdict verdict =
        VerifyModel(model, pinned ? std::make_optional(key.public_key()) : std::nullopt);
    EXPECT_OK(verdict.status);
    EXPECT_EQ(verdict.json["signature"], pinned ? "valid" : "unpinned");
    EXPECT_EQ(verdict.json["signed_by"], ToPin(key.public_key()));
    EXPECT_THAT(ToText(verdict.words),
                HasSubstr(pinned ? "which is the curator's key that it was checked with"
                                 : "whoever that is: --curator-key"));
  }
}

// Else taking the signature away would hide any change.
TEST(VerifySignatureTest, AnUnsignedModelPassesOnlyWhereNoKeyIsGiven) {
  const Verdict verdict = VerifyModel(SampleModel());
  EXPECT_OK(verdict.status);
  EXPECT_EQ(verdict.json["signature"], "unsigned");
  EXPECT_FALSE(verdict.json.contains("signed_by"));
  EXPECT_THAT(ToText(verdict.words), HasSubstr("Nobody signed this model"));
  const Verdict pinned = VerifyModel(SampleModel(), KeyOf(1).public_key());
  EXPECT_EQ(pinned.json["verified"], false);
  EXPECT_EQ(pinned.json["consistent"], true);
  EXPECT_THAT(pinned.status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("do not use"), HasSubstr("not signed"))));
}

TEST(VerifySignatureTest, AnotherKeyOrAChangeIsRefused) {
  v1::Model model = SignedModel(KeyOf(1));
  const Verdict other = VerifyModel(model, KeyOf(2).public_key());
  EXPECT_EQ(other.json["signature"], "other_key");
  EXPECT_EQ(other.json["signed_by"], ToPin(KeyOf(1).public_key()));
  EXPECT_THAT(other.status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("lead")));
  model.mutable_predictions(0)->mutable_leaves(1)->set_probabilities(0, 0.75);
  model.mutable_predictions(0)->mutable_leaves(1)->set_probabilities(1, 0.25);
  const Verdict changed = VerifyModel(model);
  EXPECT_EQ(changed.json["signature"], "invalid");
  EXPECT_EQ(changed.json["consistent"], true);
  EXPECT_EQ(changed.json["verified"], false);
  EXPECT_FALSE(changed.json.contains("signed_by")) << "the key signed something else";
  EXPECT_TRUE(changed.json["words"].empty());
  EXPECT_THAT(changed.status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("changed after it was signed")));
}

}  // namespace
}  // namespace coppice
