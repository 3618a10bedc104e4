#include "client/device/journal_format.h"

#include "common/base/status.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

JournalEntry SampleEntry() {
  return {.subject = "ann",
          .epsilon = *Budget::FromEpsilon(0.5),
          .report = {.study = "s1", .ticket = SampleTicket(9), .payload = std::string("\0\xff", 2)},
          .delivered = true};
}

ManifestSealing SampleSealing() {
  return {.suite = 3, .key = {5}, .min_batch = 10'000, .payload_bytes = 64};
}

SeenManifest SampleSeen() {
  SeenManifest seen{.curator = "curator:8443",
                    .manifest = {.study = "s1",
                                 .fingerprint = {1},
                                 .epsilon = *Budget::FromEpsilon(0.5),
                                 .mechanism = MechanismKind::kHadamardResponse,
                                 .expires_unix_seconds = 1'800'000'000,
                                 .min_reports = 1000,
                                 .sequence = 3,
                                 .issued_unix_seconds = 1'700'000'000},
                    .hash = {2},
                    .key = {3},
                    .root = {4}};
  seen.manifest.key = KeyIdOf(seen.key);
  return seen;
}

TEST(JournalFormatTest, AnswersComeBackAsTheyWere) {
  ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeAnswers({SampleEntry()})));
  const auto& entries = std::get<std::vector<JournalEntry>>(record);
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].subject, "ann");
  EXPECT_EQ(entries[0].epsilon, SampleEntry().epsilon);
  EXPECT_EQ(entries[0].report, SampleEntry().report);
  EXPECT_TRUE(entries[0].delivered);
}

JournalEntry SampleSealedEntry() {
  JournalEntry entry = SampleEntry();
  entry.report.payload.clear();
  entry.sealed = SealedAnswer{.relay = {1},
                              .epoch = {2},
                              .claim = {3},
                              .encapsulated = {4},
                              .ciphertext = std::string("\0\xff sealed", 9)};
  return entry;
}

TEST(JournalFormatTest, SealedAnswersComeBackAsTheyWere) {
  JournalEntry waiting = SampleSealedEntry();
  waiting.delivered = false;
  ASSERT_OK_AND_ASSIGN(const JournalRecord record,
                       DecodeBody(EncodeAnswers({SampleSealedEntry(), waiting})));
  const auto& entries = std::get<std::vector<JournalEntry>>(record);
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].sealed, SampleSealedEntry().sealed);
  EXPECT_EQ(entries[0].report, SampleSealedEntry().report);
  EXPECT_TRUE(entries[0].delivered);
  EXPECT_FALSE(entries[1].delivered);
}

// Earlier versions do not know these kinds, and refuse a kind that they do not know.
TEST(JournalFormatTest, WhatIsSealedHasKindsOfItsOwn) {
  SeenManifest seen = SampleSeen();
  EXPECT_EQ(EncodeSeen(seen)[0], 3);
  seen.manifest.sealing = SampleSealing();
  EXPECT_EQ(EncodeSeen(seen)[0], 9);
  EXPECT_EQ(EncodeAnswers({SampleEntry()})[0], 1);
  EXPECT_EQ(EncodeAnswers({SampleSealedEntry()})[0], 8);
}

TEST(JournalFormatTest, DeliveredMarkComesBackAsItWas) {
  const DeliveredMark mark{.study = "s1", .subjects = {"ann", "", "bob"}};
  ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeDelivered(mark)));
  EXPECT_EQ(std::get<DeliveredMark>(record), mark);
}

TEST(JournalFormatTest, ForgottenAnswersComeBackWithoutTheirReports) {
  ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeForgotten({SampleEntry()})));
  const auto& entries = std::get<std::vector<JournalEntry>>(record);
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].subject, "ann");
  EXPECT_EQ(entries[0].epsilon, SampleEntry().epsilon);
  EXPECT_EQ(entries[0].report.study, "s1");
  EXPECT_EQ(entries[0].report.payload, "");
  EXPECT_TRUE(entries[0].delivered);
  EXPECT_TRUE(entries[0].forgotten);
}

TEST(JournalFormatTest, OptingOutComesBackAsItWas) {
  for (const bool opted_out : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeOptOut({opted_out})));
    EXPECT_EQ(std::get<OptOutMark>(record), OptOutMark{opted_out});
  }
}

TEST(JournalFormatTest, ASeenManifestComesBackAsItWas) {
  ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeSeen(SampleSeen())));
  EXPECT_EQ(std::get<SeenManifest>(record), SampleSeen());
}

TEST(JournalFormatTest, ASeenManifestOfSealedReportsComesBackAsItWas) {
  SeenManifest seen = SampleSeen();
  seen.manifest.sealing = SampleSealing();
  ASSERT_OK_AND_ASSIGN(const JournalRecord record, DecodeBody(EncodeSeen(seen)));
  EXPECT_EQ(std::get<SeenManifest>(record), seen);
}

TEST(JournalFormatTest, EveryShorterOrLongerBodyIsDataLoss) {
  const DeliveredMark mark{.study = "s1", .subjects = {"ann"}};
  SeenManifest sealing = SampleSeen();
  sealing.manifest.sealing = SampleSealing();
  for (const std::string& body :
       {EncodeAnswers({SampleEntry()}), EncodeAnswers({SampleSealedEntry()}), EncodeDelivered(mark),
        EncodeSeen(SampleSeen()), EncodeSeen(sealing), EncodeForgotten({SampleEntry()}),
        EncodeOptOut({true})}) {
    for (size_t size = 0; size < body.size(); ++size) {
      EXPECT_THAT(DecodeBody(body.substr(0, size)).status().code(), StatusCode::kDataLoss);
    }
    EXPECT_THAT(DecodeBody(body + "x"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("longer or shorter")));
  }
}

TEST(JournalFormatTest, WhatOnlyANewerVersionCanHaveWrittenIsRefusedAsThat) {
  const auto newer =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a newer version of Coppice"));
  EXPECT_THAT(DecodeBody("\x7f"), newer);
  EXPECT_THAT(DecodeBody(std::string(1, '\0')),
              StatusIs(StatusCode::kDataLoss, HasSubstr("no kind")));
  EXPECT_OK(CheckHeader(JournalHeader()));
  std::string header = JournalHeader();
  ++header[header.size() - 4];
  EXPECT_THAT(CheckHeader(header), newer);
}

TEST(JournalFormatTest, FrameIsBoundToTheOneBefore) {
  ASSERT_OK_AND_ASSIGN(const Frame first, MakeFrame(FirstFrameDigest(), "one"));
  ASSERT_OK_AND_ASSIGN(const Frame second, MakeFrame(first.digest, "two"));
  ASSERT_OK_AND_ASSIGN(const ParsedFrame parsed, ParseFrame(first.digest, second.bytes));
  EXPECT_EQ(parsed.body, "two");
  EXPECT_EQ(parsed.size, second.bytes.size());
  EXPECT_THAT(ParseFrame(FirstFrameDigest(), second.bytes),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not match")));
}

TEST(JournalFormatTest, EveryPrefixOfAFrameIsTorn) {
  ASSERT_OK_AND_ASSIGN(const Frame frame, MakeFrame(FirstFrameDigest(), "body"));
  for (size_t size = 1; size < frame.bytes.size(); ++size) {
    ASSERT_OK_AND_ASSIGN(const ParsedFrame parsed,
                         ParseFrame(FirstFrameDigest(), frame.bytes.substr(0, size)));
    EXPECT_TRUE(parsed.torn) << size;
  }
}

}  // namespace
}  // namespace coppice
