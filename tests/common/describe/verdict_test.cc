#include "common/describe/verdict.h"

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/ldp/amplification.h"
#include "common/ldp/local_mechanism.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_signature.h"
#include "tests/common/wire/proto/wire_fixtures.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

v1::Model SampleModel() {
  v1::Model model = ToProto(testing::MakeModel());
  model.set_name("models/m1");
  // Neither can be promised of these releases.
  model.mutable_certificate()->clear_readers();
  model.mutable_certificate()->clear_relay();
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
  EXPECT_THAT(verdict.status, StatusIs(StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("do not use"), HasSubstr("add up to 1.5"))));
  EXPECT_EQ(verdict.json["verified"], false);
  EXPECT_EQ(verdict.json["epsilon"], 1.0);
  EXPECT_EQ(verdict.json["epsilon_of_releases"], 1.5);
}

TEST(VerifyModelTest, ComparesPublicRowsWithThoseOfTheCertificate) {
  v1::Model model = SampleModel();
  Verdict of_none = VerifyModel(model);
  EXPECT_FALSE(of_none.json.contains("public_rows_sha256"));
  AddPublicRows(model.certificate(), "12ab", of_none);
  EXPECT_THAT(of_none.status, StatusIs(StatusCode::kInvalidArgument, HasSubstr("names no public")));
  model.mutable_certificate()->set_public_rows(200);
  model.mutable_certificate()->set_public_rows_sha256("12ab");
  Verdict same = VerifyModel(model);
  EXPECT_EQ(same.json["public_rows"], 200);
  EXPECT_EQ(same.json["public_rows_sha256"], "12ab");
  AddPublicRows(model.certificate(), "12ab", same);
  EXPECT_OK(same.status);
  EXPECT_EQ(same.json["public_rows_match"], true);
  EXPECT_EQ(same.json["verified"], true);
  Verdict other = VerifyModel(model);
  AddPublicRows(model.certificate(), "34cd", other);
  EXPECT_THAT(other.status,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the 200 public rows")));
  EXPECT_EQ(other.json["public_rows_match"], false);
  EXPECT_EQ(other.json["verified"], false);
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

// A study's model of 25,000 reports in two batches, the smaller of 10,000. Four leaves, two
// classes, epsilon 4 by `mechanism`.
v1::Model RelayedModel(MechanismKind mechanism = MechanismKind::kDirect) {
  v1::Model model = SampleModel();
  v1::Certificate& certificate = *model.mutable_certificate();
  certificate.clear_releases();
  v1::Release& release = *certificate.add_releases();
  release.set_what("a device's one report");
  release.set_epsilon_nanos(4'000'000'000);
  release.set_times(1);
  certificate.set_mechanism(std::string(MechanismName(mechanism)));
  certificate.set_epsilon_nanos(release.epsilon_nanos());
  certificate.clear_delta_atto();
  certificate.set_neighbouring("any value of one device's row for any other (local)");
  certificate.set_reports(25'000);
  v1::RelayBound& relay = *certificate.mutable_relay();
  relay.set_delta_atto(10'000'000'000);
  relay.set_honest_reports(9000);
  relay.set_dishonest_millionths(100'000);
  relay.set_batches(2);
  relay.set_least_accepted(10'000);
  relay.set_relay_key_id(std::string(16, '\xab'));
  const Budget local = *Budget::FromNanos(release.epsilon_nanos());
  const uint32_t leaves[] = {4};  // of the sample's one tree
  const double mass = *LargestTwoSidedMass(mechanism, local, leaves, 2);
  relay.set_epsilon_nanos(EpsilonBound({9000, local, mass}, relay.delta_atto())->nanos());
  return model;
}

TEST(VerifyRelayTest, AcceptsExactlyWhatTheNumbersComeTo) {
  for (const MechanismKind mechanism :
       {MechanismKind::kDirect, MechanismKind::kSubsetSelection, MechanismKind::kSignedHadamard}) {
    v1::Model model = RelayedModel(mechanism);
    const uint64_t epsilon = model.certificate().relay().epsilon_nanos();
    const Verdict verdict = VerifyModel(model);
    EXPECT_OK(verdict.status);
    EXPECT_EQ(verdict.json["epsilon"], 4.0);
    EXPECT_EQ(verdict.json["relay"]["epsilon"], static_cast<double>(epsilon) / 1e9);
    EXPECT_EQ(verdict.json["relay"]["epsilon_recomputed"], verdict.json["relay"]["epsilon"]);
    EXPECT_EQ(verdict.json["relay"]["batches"], 2);
    EXPECT_THAT(ToText(verdict.words), HasSubstr("collude, only ε = 4 holds"));

    model.mutable_certificate()->mutable_relay()->set_epsilon_nanos(epsilon + 1);
    EXPECT_OK(VerifyModel(model).status) << "less than could be promised";
    model.mutable_certificate()->mutable_relay()->set_epsilon_nanos(epsilon - 1);
    const Verdict smaller = VerifyModel(model);
    EXPECT_THAT(smaller.status, StatusIs(StatusCode::kFailedPrecondition,
                                         AllOf(HasSubstr("do not use"), HasSubstr("9000 honest"))));
    EXPECT_EQ(smaller.json["verified"], false);
    EXPECT_EQ(smaller.json["consistent"], false);
    EXPECT_TRUE(smaller.json["words"].empty());
  }
}

// The same study without a relay, once it is sealed.
v1::Model SealedModel() {
  v1::Model model = RelayedModel();
  v1::Certificate& certificate = *model.mutable_certificate();
  certificate.clear_relay();
  v1::ReadersBound& readers = *certificate.mutable_readers();
  readers.set_delta_atto(DefaultShuffleDelta(certificate.reports()));
  readers.set_dishonest_millionths(kDefaultDishonestMillionths);
  readers.set_honest_reports(22'500);
  const Budget local = *Budget::FromNanos(certificate.epsilon_nanos());
  const uint32_t leaves[] = {4};
  const double mass = *LargestTwoSidedMass(MechanismKind::kDirect, local, leaves, 2);
  readers.set_epsilon_nanos(EpsilonBound({22'500, local, mass}, readers.delta_atto())->nanos());
  return model;
}

TEST(VerifyReadersTest, AcceptsExactlyWhatTheNumbersComeTo) {
  v1::Model model = SealedModel();
  const uint64_t epsilon = model.certificate().readers().epsilon_nanos();
  const Verdict verdict = VerifyModel(model);
  EXPECT_OK(verdict.status);
  EXPECT_EQ(verdict.json["readers"]["epsilon"], static_cast<double>(epsilon) / 1e9);
  EXPECT_EQ(verdict.json["readers"]["epsilon_recomputed"], verdict.json["readers"]["epsilon"]);
  EXPECT_FALSE(verdict.json.contains("relay"));
  model.mutable_certificate()->mutable_readers()->set_epsilon_nanos(epsilon + 1);
  EXPECT_OK(VerifyModel(model).status) << "less than could be promised";
  model.mutable_certificate()->mutable_readers()->set_epsilon_nanos(epsilon - 1);
  const Verdict smaller = VerifyModel(model);
  EXPECT_THAT(smaller.status, StatusIs(StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("do not use"), HasSubstr("22500 honest"))));
  EXPECT_EQ(smaller.json["consistent"], false);
  EXPECT_TRUE(smaller.json["words"].empty());
}

TEST(VerifyReadersTest, RefusesNumbersThatDoNotBelongTogether) {
  const auto refused = [](const std::function<void(v1::Certificate&)>& change) {
    v1::Model model = SealedModel();
    change(*model.mutable_certificate());
    EXPECT_THAT(VerifyModel(model).status,
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("promise towards readers")));
  };
  refused([](auto& c) { c.mutable_readers()->set_honest_reports(22'501); });
  refused([](auto& c) { c.mutable_readers()->set_honest_reports(0); });
  refused([](auto& c) { c.mutable_readers()->set_dishonest_millionths(100'001); });
  refused([](auto& c) { c.set_reports(24'999); });
  refused([](auto& c) { c.mutable_readers()->set_delta_atto(0); });
  // Above a tenth of one in 25,000 reports.
  refused([](auto& c) { c.mutable_readers()->set_delta_atto(4'000'000'000'001); });
  refused([](auto& c) { c.mutable_readers()->set_epsilon_nanos(c.epsilon_nanos()); });
  refused([](auto& c) { c.set_mechanism("hearsay"); });
  refused([](auto& c) { c.set_neighbouring("one row more or less"); });
}

// No certificate promises so little any more, and those that did said what is true.
TEST(VerifyRelayTest, AcceptsAPromiseThatHardlyGains) {
  v1::Model model = RelayedModel();
  v1::RelayBound& relay = *model.mutable_certificate()->mutable_relay();
  relay.set_honest_reports(500);
  const Budget local = *Budget::FromNanos(4'000'000'000);
  const uint32_t leaves[] = {4};
  const double mass = *LargestTwoSidedMass(MechanismKind::kDirect, local, leaves, 2);
  relay.set_epsilon_nanos(EpsilonBound({500, local, mass}, relay.delta_atto())->nanos());
  EXPECT_EQ(*PromisedEpsilon({500, local, mass}, relay.delta_atto()), local);
  EXPECT_LT(relay.epsilon_nanos(), local.nanos());
  EXPECT_OK(VerifyModel(model).status);
}

TEST(VerifyRelayTest, RefusesNumbersThatDoNotBelongTogether) {
  const auto refused = [](const std::function<void(v1::Certificate&)>& change) {
    v1::Model model = RelayedModel();
    change(*model.mutable_certificate());
    const Verdict verdict = VerifyModel(model);
    EXPECT_THAT(verdict.status, StatusIs(StatusCode::kFailedPrecondition,
                                         HasSubstr("promise towards the curator")));
    EXPECT_EQ(verdict.json["verified"], false);
  };
  refused([](auto& c) { c.mutable_relay()->set_honest_reports(9001); });
  refused([](auto& c) { c.mutable_relay()->set_honest_reports(0); });
  refused([](auto& c) { c.mutable_relay()->set_dishonest_millionths(100'001); });
  refused([](auto& c) { c.mutable_relay()->set_dishonest_millionths(1'000'000); });
  refused([](auto& c) { c.mutable_relay()->set_least_accepted(9999); });
  refused([](auto& c) { c.mutable_relay()->set_batches(3); });
  refused([](auto& c) { c.mutable_relay()->set_batches(0); });
  refused([](auto& c) { c.set_reports(19'999); });
  refused([](auto& c) { c.mutable_relay()->set_delta_atto(9'000'000'000); });
  refused([](auto& c) { c.mutable_relay()->set_delta_atto(0); });
  // Larger than a tenth of one in 10,000 reports.
  refused([](auto& c) { c.mutable_relay()->set_delta_atto(10'000'000'000'001); });
  refused([](auto& c) { c.mutable_relay()->set_delta_atto(500'000'000'000'000'000); });
  refused([](auto& c) { c.mutable_relay()->set_relay_key_id("short"); });
  refused([](auto& c) { c.mutable_relay()->set_epsilon_nanos(c.epsilon_nanos()); });
  refused([](auto& c) { c.set_mechanism("hearsay"); });
  refused([](auto& c) { c.set_neighbouring("one row more or less"); });
}

// Features that devices show tell their reports apart.
TEST(VerifyRelayTest, RefusesAStudyWithPublicFeatures) {
  v1::Model model = RelayedModel();
  model.mutable_schema()->mutable_features(0)->set_is_public(true);
  EXPECT_THAT(VerifyModel(model).status,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("shown to the curator")));
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
                HasSubstr(pinned ? "which is the curator's key that you gave"
                                 : "whose owner is not checked: give --curator-key"));
  }
}

// Otherwise removing the signature would hide any change.
TEST(VerifySignatureTest, AnUnsignedModelPassesOnlyWhereNoKeyIsGiven) {
  const Verdict verdict = VerifyModel(SampleModel());
  EXPECT_OK(verdict.status);
  EXPECT_EQ(verdict.json["signature"], "unsigned");
  EXPECT_FALSE(verdict.json.contains("signed_by"));
  EXPECT_THAT(ToText(verdict.words), HasSubstr("Nobody signed this model"));
  const Verdict pinned = VerifyModel(SampleModel(), KeyOf(1).public_key());
  EXPECT_EQ(pinned.json["verified"], false);
  EXPECT_EQ(pinned.json["consistent"], true);
  EXPECT_THAT(pinned.status, StatusIs(StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("do not use"), HasSubstr("not signed"))));
}

TEST(VerifySignatureTest, AnotherKeyOrAChangeIsRefused) {
  v1::Model model = SignedModel(KeyOf(1));
  const Verdict other = VerifyModel(model, KeyOf(2).public_key());
  EXPECT_EQ(other.json["signature"], "other_key");
  EXPECT_EQ(other.json["signed_by"], ToPin(KeyOf(1).public_key()));
  EXPECT_THAT(other.status, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("lead")));
  model.mutable_predictions(0)->mutable_leaves(1)->set_probabilities(0, 0.75);
  model.mutable_predictions(0)->mutable_leaves(1)->set_probabilities(1, 0.25);
  const Verdict changed = VerifyModel(model);
  EXPECT_EQ(changed.json["signature"], "invalid");
  EXPECT_EQ(changed.json["consistent"], true);
  EXPECT_EQ(changed.json["verified"], false);
  EXPECT_FALSE(changed.json.contains("signed_by")) << "the key signed something else";
  EXPECT_TRUE(changed.json["words"].empty());
  EXPECT_THAT(changed.status,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("changed after it was signed")));
}

}  // namespace
}  // namespace coppice
