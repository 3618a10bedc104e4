#include "client/device/journal_format.h"

#include "common/base/status.h"
#include "tests/client/device/sample_journal.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleAnswer;
using ::coppice::testing::SampleSealedAnswer;
using ::coppice::testing::SampleSeen;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

JournalEntry FinalSample() {
  JournalEntry entry = SampleAnswer("ann");
  entry.report.payload.clear();
  entry.report.ticket = Ticket();
  entry.delivered = true;
  return entry;
}

JournalEntry ShowingSample() {
  JournalEntry entry = SampleAnswer("ann");
  entry.report.public_values = std::string("\0\xff", 2);
  return entry;
}

std::vector<JournalRecord> SampleRecords() {
  return {AnswersRecord{SampleAnswer("ann"), ShowingSample(), SampleAnswer("")},
          AnswersRecord{SampleSealedAnswer("ann"), SampleSealedAnswer("bob")},
          AnswersRecord{FinalSample()},
          DeliveredMark{.study = "s1", .subjects = {"ann", "", "bob"}},
          SampleSeen("s1", 1),
          OwnersChoice{.opted_out = true},
          OwnersChoice{.opted_out = false}};
}

void ExpectSame(const AnswersRecord& read, const AnswersRecord& written) {
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].subject, written[i].subject);
    EXPECT_EQ(read[i].epsilon, written[i].epsilon);
    EXPECT_EQ(read[i].report, written[i].report);
    EXPECT_EQ(read[i].sealed, written[i].sealed);
    EXPECT_EQ(read[i].delivered, written[i].delivered);
  }
}
template <typename Record>
void ExpectSame(const Record& read, const Record& written) {
  EXPECT_EQ(read, written);
}

TEST(JournalFormatTest, RecordsComeBackAsTheyWere) {
  for (const JournalRecord& record : SampleRecords()) {
    ASSERT_OK_AND_ASSIGN(const JournalRecord read, DecodeRecord(EncodeRecord(record)));
    ASSERT_EQ(read.index(), record.index());
    std::visit(
        [&](const auto& one) { ExpectSame(std::get<std::decay_t<decltype(one)>>(read), one); },
        record);
  }
}

TEST(JournalFormatTest, AFinalAnswerHasNoRoomForATicket) {
  JournalEntry entry = SampleSealedAnswer("ann");
  entry.delivered = true;
  EXPECT_EQ(EncodeRecord(AnswersRecord{entry}), EncodeRecord(AnswersRecord{FinalSample()}));
}

TEST(JournalFormatTest, EveryShorterOrLongerBodyIsDataLoss) {
  for (const JournalRecord& record : SampleRecords()) {
    const std::string body = EncodeRecord(record);
    for (size_t size = 0; size < body.size(); ++size) {
      EXPECT_EQ(DecodeRecord(body.substr(0, size)).status().code(), StatusCode::kDataLoss);
    }
    EXPECT_THAT(DecodeRecord(body + "x"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("longer or shorter")));
  }
}

TEST(JournalFormatTest, WhatOnlyANewerVersionCanHaveWrittenIsRefusedAsThat) {
  const auto newer =
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a newer version of Coppice"));
  EXPECT_THAT(DecodeRecord("\x7f"), newer);
  EXPECT_THAT(DecodeRecord(std::string(1, '\0')),
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
