// Compares messages of every kind of study with protobuf: requests have its bytes, and what it
// wrote is read back unchanged.

#include "client/messages/messages.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/study/merkle.h"
#include "common/wire/convert.h"
#include "common/wire/manifest.h"
#include "common/wire/packed_forest.h"
#include "coppice/v1/report.pb.h"
#include "tests/client/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::FakeKey;
using ::coppice::testing::Numeric;
using ::coppice::testing::SampleManifest;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SampleTree;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<Terms> EveryKindOfTerms() {
  std::vector<Terms> all;
  for (const MechanismKind kind : AllMechanismKinds()) {
    all.push_back(SampleTerms());
    all.back().mechanism = kind;
  }
  const Schema mixed = *Schema::Create(
      {Numeric("x", -1.5, 10), Categorical("c", {"a", "ä", "x y"})}, "y", {"no", "yes", "maybe"});
  Terms terms = SampleTerms();
  terms.trees = 300;
  terms.schema = std::make_shared<const Schema>(mixed);
  all.push_back(terms);
  terms.schema = std::make_shared<const Schema>(*mixed.WithPublicFeatures({"c"}));
  all.push_back(terms);
  terms.schema = std::make_shared<const Schema>(mixed.WithAllPublic());
  terms.joined_by = "customer";
  all.push_back(terms);
  Terms number = SampleTerms();
  number.schema = std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 10)}, "y", {.min = -5, .max = 5, .unit = "mmHg"}));
  number.rounding = NumberRange{.low = -2, .high = 2};
  all.push_back(number);
  return all;
}

TEST(MessagesTest, TermsOfEveryKindAreReadAsTheyWere) {
  for (const Terms& terms : EveryKindOfTerms()) {
    const std::string bytes = SerializeTerms(terms);
    ASSERT_OK_AND_ASSIGN(const Terms read, ReadTerms(bytes));
    EXPECT_EQ(SerializeTerms(read), bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(ReadTerms(bytes.substr(0, size)).ok(), ParseTerms(bytes.substr(0, size)).ok());
    }
  }
}

TEST(MessagesTest, ATreeIsReadAsItWas) {
  const std::string bytes = ToProto(SampleTree()).SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const Tree tree, ReadTree(bytes, SampleTerms()));
  EXPECT_EQ(tree, SampleTree());
  EXPECT_THAT(ReadTree("", SampleTerms()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kinds")));
}

TEST(MessagesTest, AManifestIsReadIfItIsWhatWouldBeWritten) {
  Manifest manifest = SampleManifest();
  manifest.public_features = 3;
  const std::string bytes = SerializeManifest(manifest);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(bytes));
  EXPECT_EQ(read, manifest);
  EXPECT_FALSE(ReadManifest(bytes + std::string("\x78\x01", 2)).ok());  // an unknown field
  EXPECT_FALSE(ReadManifest(bytes + bytes).ok());
  EXPECT_FALSE(ReadManifest(std::string(kMaxManifestBytes + 1, 'x')).ok());
}

TEST(MessagesTest, AManifestOfSealedReportsIsReadAsItWas) {
  Manifest manifest = SampleManifest();
  manifest.sealing =
      ManifestSealing{.suite = 3, .key = {7}, .min_batch = 1000, .payload_bytes = 65535};
  const std::string bytes = SerializeManifest(manifest);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(bytes));
  EXPECT_EQ(read, manifest);
  // A prefix is not a manifest: the last field is left out.
  EXPECT_FALSE(ReadManifest(bytes.substr(0, bytes.size() - 4)).ok());
}

TEST(MessagesTest, RequestsAreProtobufsBytes) {
  v1::GetOfferRequest offer;
  offer.set_name("studies/s");
  offer.set_tickets(1);
  EXPECT_EQ(OfferRequestBytes("s", "", std::nullopt), offer.SerializeAsString());
  const Sha256Digest known = Sha256({"m"});
  offer.mutable_known_manifest()->assign(known.begin(), known.end());
  offer.add_submission_tokens(std::string(32, 't'));
  EXPECT_EQ(OfferRequestBytes("s", std::string(32, 't'), known), offer.SerializeAsString());

  v1::GetCuratorKeysRequest proof;
  proof.set_challenge("challenge");
  EXPECT_EQ(ProofRequestBytes("challenge"), proof.SerializeAsString());

  const PrivateReport report{.study = "s",
                             .fingerprint = {7},
                             .ticket = SampleTicket(3),
                             .payload = std::string("\0\x80", 2),
                             .public_values = "id"};
  v1::SubmitReportsRequest submit;
  submit.set_study("studies/s");
  submit.mutable_fingerprint()->assign(report.fingerprint.begin(), report.fingerprint.end());
  v1::Report& added = *submit.add_reports();
  added.set_ticket(report.ticket.ToBytes());
  added.set_payload(report.payload);
  added.set_public_values(report.public_values);
  EXPECT_EQ(ReportRequestBytes(report), submit.SerializeAsString());
}

TEST(MessagesTest, AProofIsOneOfItsChallengeAlone) {
  v1::GetCuratorKeysResponse response;
  const SigningKey key = FakeKey(2);
  response.mutable_key()->assign(key.public_key().begin(), key.public_key().end());
  const Signature proof = *key.Sign(kCuratorDomain, "now");
  response.mutable_proof()->assign(proof.begin(), proof.end());
  *response.add_endorsements() = ToProto(*Endorse(FakeKey(1), key.public_key(), 5));
  const std::string bytes = response.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const CuratorProof read, OpenProof(bytes, "now"));
  EXPECT_EQ(read.key, key.public_key());
  EXPECT_EQ(read.endorsements.size(), 1u);
  EXPECT_THAT(OpenProof(bytes, "then"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("does not prove")));
  EXPECT_EQ(OpenProof("\xff", "now").status().code(), absl::StatusCode::kDataLoss);
}

TEST(MessagesTest, OutcomesAreToldApart) {
  const auto read = [](std::vector<v1::ReportOutcome> outcomes) {
    v1::SubmitReportsResponse response;
    for (const auto outcome : outcomes) response.add_outcomes(outcome);
    return ReadDelivery(response.SerializeAsString());
  };
  EXPECT_EQ(read({v1::REPORT_OUTCOME_ACCEPTED})->delivery, Delivery::kAccepted);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_DUPLICATE})->delivery, Delivery::kDuplicate);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_UNKNOWN_STUDY})->delivery, Delivery::kUnknownStudy);
  EXPECT_EQ(read({v1::REPORT_OUTCOME_STUDY_SEALED})->delivery, Delivery::kRefused);
  EXPECT_FALSE(read({}).ok());
  EXPECT_FALSE(read({v1::REPORT_OUTCOME_ACCEPTED, v1::REPORT_OUTCOME_ACCEPTED}).ok());
}

}  // namespace
}  // namespace coppice
