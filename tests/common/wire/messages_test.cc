// Compares messages of every kind of study with protobuf: requests have its bytes, and what it
// wrote is read back unchanged.

#include "common/wire/messages.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::FakeKey;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::Numeric;
using ::coppice::testing::PeakBytesOf;
using ::coppice::testing::SampleManifest;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SampleTree;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<Terms> EveryKindOfTerms() {
  std::vector<Terms> all;
  for (const MechanismKind kind : KindsForClasses()) {
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
  number.schema = std::make_shared<const Schema>(number.schema->WithAllPublic());
  number.mechanism = MechanismKind::kWindowResponse;
  number.window = Window{.reach = 53, .half_width = 17};
  all.push_back(number);
  return all;
}

TEST(MessagesTest, ReadsTermsOfEveryKind) {
  for (const Terms& terms : EveryKindOfTerms()) {
    const std::string bytes = SerializeTerms(terms);
    ASSERT_OK_AND_ASSIGN(const Terms read, ReadTerms(bytes));
    EXPECT_EQ(SerializeTerms(read), bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      v1::Terms proto;
      const bool parses = proto.ParseFromString(bytes.substr(0, size));
      EXPECT_EQ(ReadTerms(bytes.substr(0, size)).ok(), parses && ParseTerms(proto).ok());
    }
  }
}

TEST(MessagesTest, ReadsATree) {
  const std::string bytes = ToProto(SampleTree()).SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const Tree tree, ReadStudyTree(bytes, SampleTerms()));
  EXPECT_EQ(tree, SampleTree());
  EXPECT_THAT(ReadStudyTree("", SampleTerms()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("kinds")));
}

TEST(MessagesTest, ReadsAManifestOnlyAsItWouldBeWritten) {
  Manifest manifest = SampleManifest();
  manifest.public_features = 3;
  const std::string bytes = WriteManifest(manifest);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(bytes));
  EXPECT_EQ(read, manifest);
  EXPECT_FALSE(ReadManifest(bytes + std::string("\x78\x01", 2)).ok());  // an unknown field
  EXPECT_FALSE(ReadManifest(bytes + bytes).ok());
  EXPECT_FALSE(ReadManifest(std::string(kMaxManifestBytes + 1, 'x')).ok());
}

TEST(MessagesTest, ReadsAManifestOfSealedReports) {
  Manifest manifest = SampleManifest();
  manifest.direct.reset();
  manifest.sealing =
      ManifestSealing{.suite = 3, .key = {7}, .min_batch = 1000, .payload_bytes = 65535};
  const std::string bytes = WriteManifest(manifest);
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(bytes));
  EXPECT_EQ(read, manifest);
  // A prefix is not a manifest: the last field is left out.
  EXPECT_FALSE(ReadManifest(bytes.substr(0, bytes.size() - 4)).ok());
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

TEST(MessagesTest, ReadsRelayTermsOnlyAsTheyWouldBeWritten) {
  const std::string bytes = WriteRelayTerms(SampleRelayTerms());
  ASSERT_OK_AND_ASSIGN(const RelayTerms read, ReadRelayTerms(bytes));
  EXPECT_EQ(read, SampleRelayTerms());
  EXPECT_THAT(ReadRelayTerms(bytes + std::string("\x58\x01", 2)),  // an unknown field
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
  EXPECT_FALSE(ReadRelayTerms(bytes + bytes).ok());
  EXPECT_FALSE(ReadRelayTerms(std::string(kMaxRelayPromiseBytes + 1, 'x')).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadRelayTerms(bytes.substr(0, size)).ok()) << size;
  }
}

// Two bytes of a hostile curator or relay must not take dozens: a list of all 10,000 would grow 15
// times, one of nine grows five times.

TEST(MessagesTest, WritesRequestsAsProtobufDoes) {
  v1::GetOfferRequest offer;
  offer.set_name("studies/s");
  offer.set_tickets(1);
  EXPECT_EQ(WriteOfferRequest("s", {.tickets = 1}), offer.SerializeAsString());
  offer.set_known_manifest(std::string(32, 'm'));
  offer.set_whole_forest(true);
  offer.add_submission_tokens(std::string(32, 't'));
  EXPECT_EQ(WriteOfferRequest("s", {.tickets = 1,
                                    .whole_forest = true,
                                    .known_manifest = offer.known_manifest(),
                                    .submission_tokens = {offer.submission_tokens(0)}}),
            offer.SerializeAsString());

  v1::GetCuratorKeysRequest proof;
  proof.set_challenge("challenge");
  EXPECT_EQ(WriteProofRequest("challenge"), proof.SerializeAsString());

  v1::SealedReports submit;
  submit.set_study("studies/s");
  submit.set_fingerprint("\7" + std::string(31, '\0'));
  v1::Report& added = *submit.add_reports();
  added.set_ticket("ticket");
  added.set_payload(std::string("\0\x80", 2));
  added.set_public_values("id");
  EXPECT_EQ(WriteSealedReports("s", {7},
                               {{.ticket = added.ticket(),
                                 .payload = added.payload(),
                                 .public_values = added.public_values()}}),
            submit.SerializeAsString());

  v1::SubmitReportsRequest message;
  message.set_key_id("\6" + std::string(15, '\0'));
  message.set_encapsulated("\5" + std::string(31, '\0'));
  message.set_ciphertext(std::string("\0\x80", 2));
  EXPECT_EQ(
      WriteSubmitRequest({.key_id = {6}, .encapsulated = {5}, .ciphertext = message.ciphertext()}),
      message.SerializeAsString());

  v1::GetRelayTermsRequest deal;
  deal.set_study("studies/s");
  EXPECT_EQ(WriteRelayTermsRequest("s"), deal.SerializeAsString());

  v1::TakeOfferRequest take;
  take.set_study("studies/s");
  take.set_epoch("\3" + std::string(15, '\0'));
  EXPECT_EQ(WriteTakeOfferRequest("s", {3}), take.SerializeAsString());

  v1::SubmitSealedReportRequest sealed;
  sealed.set_epoch("\3" + std::string(15, '\0'));
  sealed.set_ticket("ticket");
  sealed.set_claim("\4" + std::string(15, '\0'));
  sealed.set_encapsulated("\5" + std::string(31, '\0'));
  sealed.set_ciphertext(std::string("\0\x80", 2));
  EXPECT_EQ(WriteSealedReportRequest({.epoch = {3},
                                      .ticket = sealed.ticket(),
                                      .claim = {4},
                                      .encapsulated = {5},
                                      .ciphertext = sealed.ciphertext()}),
            sealed.SerializeAsString());
}

TEST(MessagesTest, ReadsReportsAsViews) {
  v1::SealedReports request;
  request.set_study("studies/s");
  request.add_reports()->set_ticket("first");
  request.add_reports()->set_payload("second");
  const std::string bytes = request.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const ReportsMessage read, ReadSealedReports(bytes));
  EXPECT_EQ(read.study, "studies/s");
  EXPECT_EQ(read.fingerprint, "");
  ASSERT_EQ(read.reports.size(), 2u);
  EXPECT_EQ(read.reports[0].ticket, "first");
  EXPECT_EQ(read.reports[1].payload, "second");
  for (size_t i = 0; i < kMaxReportsPerRequest; ++i) request.add_reports();
  EXPECT_FALSE(ReadSealedReports(request.SerializeAsString()).ok());
}

TEST(MessagesTest, ReadsTheAnswersOfARelay) {
  const SigningKey curator = FakeKey(1);
  const SignedManifest manifest{.bytes = "manifest",
                                .signature = {5},
                                .key = curator.public_key(),
                                .endorsements = {*Endorse(FakeKey(2), curator.public_key(), 5)}};
  v1::GetRelayTermsResponse response;
  response.set_relay_terms("promise");
  response.set_signature(std::string(64, 's'));
  response.set_terms("terms");
  *response.mutable_manifest() = ToProto(manifest);
  const std::string bytes = response.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DealMessage deal, ReadDeal(bytes));
  EXPECT_EQ(deal.relay_terms, "promise");
  EXPECT_EQ(deal.signature[63], 's');
  EXPECT_EQ(deal.terms, "terms");
  EXPECT_EQ(WriteSignedManifest(*deal.manifest), WriteSignedManifest(manifest));
  response.mutable_manifest()->set_manifest(std::string(kMaxManifestBytes + 1, 'm'));
  EXPECT_FALSE(ReadDeal(response.SerializeAsString()).ok());
  response.set_signature(std::string(63, 's'));
  EXPECT_FALSE(ReadDeal(response.SerializeAsString()).ok());

  v1::TakeOfferResponse taken;
  taken.set_envelope("envelope");
  const std::string taken_bytes = taken.SerializeAsString();
  EXPECT_EQ(*ReadEnvelope(taken_bytes), "envelope");
  v1::RelayedOffer offer;
  offer.set_ticket("ticket");
  offer.set_tree_path("path");
  const std::string offer_bytes = offer.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const RelayedOfferMessage read, ReadRelayedOffer(offer_bytes));
  EXPECT_EQ(read.ticket, "ticket");
  EXPECT_EQ(read.tree_path, "path");
  EXPECT_FALSE(ReadRelayedOffer(offer_bytes.substr(1)).ok());
  v1::SubmitSealedReportResponse submitted;
  submitted.set_outcome(v1::SUBMIT_OUTCOME_CLOSED);
  EXPECT_EQ(*ReadSealedOutcome(submitted.SerializeAsString()), v1::SUBMIT_OUTCOME_CLOSED);
}

// Two bytes of a hostile curator or relay must not take dozens in memory.
TEST(MessagesTest, TakesNoMemoryForElementsBeyondTheirBound) {
  const auto repeated = [](const char* element, size_t times) {
    std::string bytes;
    for (size_t i = 0; i < times; ++i) bytes.append(element, 2);
    return bytes;
  };
  constexpr size_t kMany = 1'000'000;
  const auto taken = [&](const std::string& bytes, auto read) {
    return PeakBytesOf([&] { EXPECT_FALSE(read(bytes).ok()); });
  };
  constexpr uint64_t kFew = 100'000;
  EXPECT_LE(
      taken(repeated("\x12\0", kMany), [](std::string_view b) { return ReadProof(b).status(); }),
      kFew);  // endorsements
  EXPECT_LE(
      taken(repeated("\x1a\0", kMany), [](std::string_view b) { return ReadOffer(b).status(); }),
      kFew);  // tickets
  EXPECT_LE(
      taken(repeated("\x32\0", kMany), [](std::string_view b) { return ReadOffer(b).status(); }),
      kFew);  // trees
  EXPECT_LE(taken(repeated("\x1a\0", kMany),
                  [](std::string_view b) { return ReadSealedReports(b).status(); }),
            kFew);
  EXPECT_LE(
      taken(repeated("\x7a\0", kMany), [](std::string_view b) { return ReadTerms(b).status(); }),
      kFew);  // unknown
}

// 32 MiB of empty categories took 768 MiB before their signature was looked at.
TEST(MessagesTest, BoundsTheCategoriesOfASchemaInAll) {
  std::string values;
  for (size_t i = 0; i < (size_t{16} << 20); ++i) values += std::string("\x0a\0", 2);
  const auto element = [](char tag, const std::string& bytes) {
    MessageWriter writer;
    writer.Element(static_cast<uint32_t>(tag), bytes);
    return writer.Finish();
  };
  const std::string bytes = element(2, element(1, element(3, values)));
  EXPECT_LE(PeakBytesOf([&] {
              EXPECT_THAT(
                  ReadTerms(bytes).status(),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("values: must be at most")));
            }),
            uint64_t{128} << 20);
}

}  // namespace
}  // namespace coppice
