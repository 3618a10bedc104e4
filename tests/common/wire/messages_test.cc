// Compares messages of every kind of study with protobuf: requests have its bytes, and what it
// wrote is read back unchanged.

#include "client/device/messages/messages.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/device/messages/relay_messages.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/proto/relay_promise.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::FakeKey;
using ::coppice::testing::MemoryTakenBy;
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
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("kinds")));
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
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not prove")));
  EXPECT_EQ(OpenProof("\xff", "now").status().code(), StatusCode::kDataLoss);
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

RelayTerms SampleRelayTerms() {
  return {.study = "s",
          .fingerprint = {1},
          .sealing_key = {2},
          .epoch = {3},
          .min_batch = 1000,
          .tickets = 5000,
          .deal_until_unix_seconds = 1'800'000'000,
          .freeze_at_unix_seconds = 1'800'003'600,
          .relay_key = {4},
          .offer_bytes = 4096};
}

TEST(MessagesTest, RelayTermsAreReadIfTheyAreWhatWouldBeWritten) {
  const std::string bytes = SerializeRelayTerms(SampleRelayTerms());
  ASSERT_OK_AND_ASSIGN(const RelayTerms read, ReadRelayTerms(bytes));
  EXPECT_EQ(read, SampleRelayTerms());
  EXPECT_THAT(ReadRelayTerms(bytes + std::string("\x58\x01", 2)),  // an unknown field
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
  EXPECT_FALSE(ReadRelayTerms(bytes + bytes).ok());
  EXPECT_FALSE(ReadRelayTerms(std::string(kMaxRelayPromiseBytes + 1, 'x')).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadRelayTerms(bytes.substr(0, size)).ok()) << size;
  }
  // One byte of another value: both readers take it, or neither does.
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 0x09);
    const StatusOr<RelayTerms> theirs = ParseRelayTerms(other);
    const StatusOr<RelayTerms> ours = ReadRelayTerms(other);
    ASSERT_EQ(ours.ok(), theirs.ok()) << at;
    if (ours.ok()) {
      EXPECT_EQ(*ours, *theirs) << at;
    }
  }
}

TEST(MessagesTest, WhatARelaySaysOfADealIsReadAsItWas) {
  const SigningKey curator = FakeKey(1);
  v1::GetRelayTermsResponse response;
  response.set_relay_terms(SerializeRelayTerms(SampleRelayTerms()));
  response.set_signature(std::string(64, 's'));
  response.set_terms("terms");
  const SignedManifest manifest{.bytes = "manifest",
                                .signature = {5},
                                .key = curator.public_key(),
                                .endorsements = {*Endorse(FakeKey(2), curator.public_key(), 5)}};
  *response.mutable_manifest() = ToProto(manifest);
  ASSERT_OK_AND_ASSIGN(const DealOffer offer, ReadDealOffer(response.SerializeAsString()));
  EXPECT_EQ(offer.relay_terms, response.relay_terms());
  EXPECT_EQ(offer.signature[63], 's');
  EXPECT_EQ(offer.terms, "terms");
  EXPECT_EQ(ToProto(offer.manifest).SerializeAsString(), ToProto(manifest).SerializeAsString());

  const auto refused = [](v1::GetRelayTermsResponse changed, const std::string& why) {
    EXPECT_THAT(ReadDealOffer(changed.SerializeAsString()).status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr(why)));
  };
  v1::GetRelayTermsResponse changed = response;
  changed.set_signature(std::string(63, 's'));
  refused(changed, "without a signature");
  changed = response;
  changed.clear_manifest();
  refused(changed, "bad manifest");
  changed = response;
  changed.mutable_manifest()->set_manifest(std::string(kMaxManifestBytes + 1, 'm'));
  refused(changed, "bad manifest");
  EXPECT_THAT(ReadDealOffer("\xff").status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("no such message")));
}

// Two bytes of a hostile curator or relay must not take dozens: a list of all 10,000 would grow 15
// times, one of nine grows five times.
TEST(MessagesTest, EndorsementsBeyondTheMostTakeNoMemory) {
  std::string manifest;
  std::string proof;
  for (int i = 0; i < 10'000; ++i) {
    manifest += std::string("\x22\x00", 2);
    proof += std::string("\x12\x00", 2);
  }
  v1::GetRelayTermsResponse response;
  ASSERT_TRUE(response.mutable_manifest()->ParseFromString(manifest));
  const std::string deal = response.SerializeAsString();
  const uint64_t few = MemoryTakenBy([] { EXPECT_FALSE(ReadDealOffer("\xff").ok()); });
  EXPECT_LE(MemoryTakenBy([&] { EXPECT_FALSE(ReadDealOffer(deal).ok()); }), few + 9);
  EXPECT_LE(MemoryTakenBy([&] { EXPECT_FALSE(OpenProof(proof, "challenge").ok()); }), few + 9);
}

TEST(MessagesTest, RequestsToARelayAreProtobufsBytes) {
  v1::GetRelayTermsRequest deal;
  deal.set_study("studies/s");
  EXPECT_EQ(DealRequestBytes("s"), deal.SerializeAsString());

  v1::TakeOfferRequest ticket;
  ticket.set_study("studies/s");
  ticket.set_epoch(std::string("\3") + std::string(15, '\0'));
  EXPECT_EQ(TicketRequestBytes("s", {3}), ticket.SerializeAsString());

  JournalEntry entry{.subject = "me", .epsilon = *Budget::FromEpsilon(1), .report = {}};
  entry.report.ticket = SampleTicket(3);
  entry.sealed = SealedAnswer{.relay = {9},
                              .epoch = {3},
                              .claim = {4},
                              .encapsulated = {5},
                              .ciphertext = std::string("\0\x80", 2)};
  v1::SubmitSealedReportRequest submit;
  submit.set_epoch(std::string("\3") + std::string(15, '\0'));
  submit.set_ticket(entry.report.ticket.ToBytes());
  submit.set_claim(std::string("\4") + std::string(15, '\0'));
  submit.set_encapsulated(std::string("\5") + std::string(31, '\0'));
  submit.set_ciphertext(entry.sealed->ciphertext);
  EXPECT_EQ(SealedReportRequestBytes(entry), submit.SerializeAsString());
}

TEST(MessagesTest, AnEnvelopeAndItsOfferAreReadAsTheyWere) {
  v1::RelayedOffer offer;
  offer.set_ticket("ticket");
  offer.set_claim("claim");
  offer.set_tree("tree");
  offer.set_tree_path("path");
  const std::string bytes = offer.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const RelayedOffer read, ReadRelayedOffer(bytes));
  EXPECT_EQ(read.ticket, "ticket");
  EXPECT_EQ(read.claim, "claim");
  EXPECT_EQ(read.tree, "tree");
  EXPECT_EQ(read.tree_path, "path");
  EXPECT_FALSE(ReadRelayedOffer(bytes.substr(1)).ok());

  v1::TakeOfferResponse response;
  response.set_envelope("envelope");
  const std::string taken = response.SerializeAsString();
  EXPECT_EQ(*ReadEnvelope(taken), "envelope");
  EXPECT_EQ(ReadEnvelope("\xff").status().code(), StatusCode::kDataLoss);
}

TEST(MessagesTest, WhatARelayAnswersIsToldApart) {
  const auto read = [](int outcome) {
    v1::SubmitSealedReportResponse response;
    response.set_outcome(static_cast<v1::SubmitOutcome>(outcome));
    return ReadSubmitOutcome(response.SerializeAsString());
  };
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_STORED), SubmitOutcome::kStored);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_CONFLICT), SubmitOutcome::kConflict);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_CLOSED), SubmitOutcome::kClosed);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_UNKNOWN), SubmitOutcome::kUnknown);
  EXPECT_EQ(*read(v1::SUBMIT_OUTCOME_BAD_LENGTH), SubmitOutcome::kBadLength);
  for (const int unknown : {0, -1, v1::SubmitOutcome_MAX + 1, 77}) {
    EXPECT_THAT(read(unknown).status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat(unknown))));
  }
  EXPECT_FALSE(ReadSubmitOutcome("\x08").ok());
}

}  // namespace
}  // namespace coppice
