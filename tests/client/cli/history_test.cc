#include <gtest/gtest.h>

#include "client/cli/studies/collect.h"

namespace coppice::cli {
namespace {

JournalEntry Entry(const std::string& subject, const std::string& study, double epsilon,
                   bool delivered) {
  return {.subject = subject,
          .epsilon = *Budget::FromEpsilon(epsilon),
          .report = {.study = study, .ticket = {}, .payload = "p"},
          .delivered = delivered};
}

TEST(HistoryTest, OneObjectAStudy) {
  const std::vector<JournalEntry> entries = {Entry("1", "a", 2, true), Entry("2", "a", 2, false),
                                             Entry("1", "b", 0.5, true)};
  const std::vector<Json> rows = DescribeHistory(entries);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0]["study"], "a");
  EXPECT_EQ(rows[0]["reports"], 2);
  EXPECT_EQ(rows[0]["delivered"], 1);
  EXPECT_EQ(rows[0]["waiting"], 1);
  EXPECT_EQ(rows[1]["epsilon"], 0.5);
}

TEST(HistoryTest, AnAnswerSaysWhatItShowedInTheClear) {
  JournalEntry entry = Entry("1", "a", 2, false);
  EXPECT_FALSE(DescribeAnswers({entry})[0].contains("public_values"));
  entry.report.public_values = "id";
  EXPECT_EQ(DescribeAnswers({entry})[0]["public_values"], "6964");
}

TEST(HistoryTest, AnAnswerThatIsFinalHasNothingThatWasSent) {
  const Json waiting = DescribeAnswers({Entry("1", "a", 2, false)})[0];
  EXPECT_TRUE(waiting.contains("ticket"));
  EXPECT_TRUE(waiting.contains("payload"));
  const Json final_answer = DescribeAnswers({Entry("1", "a", 2, true)})[0];
  EXPECT_EQ(final_answer["subject"], "1");
  EXPECT_EQ(final_answer["epsilon"], 2.0);
  EXPECT_FALSE(final_answer.contains("ticket"));
  EXPECT_FALSE(final_answer.contains("payload"));
}

TEST(HistoryTest, SpendingIsThatOfTheBusiestSubject) {
  const Json json = DescribeSpending(
      {Entry("1", "a", 2, true), Entry("2", "a", 2, true), Entry("1", "b", 0.5, true)});
  EXPECT_EQ(json["subjects"], 2);
  EXPECT_EQ(json["most_epsilon_spent"], 2.5);
}

TEST(HistoryTest, WhatIsLeftIsOfTheTotalAndNeverBelowZero) {
  const std::vector<JournalEntry> entries = {Entry("1", "a", 2, true), Entry("2", "a", 0.5, true)};
  EXPECT_FALSE(DescribeSpending(entries).contains("least_epsilon_left"));
  EXPECT_EQ(DescribeSpending(entries, *Budget::FromEpsilon(8))["least_epsilon_left"], 6.0);
  EXPECT_EQ(DescribeSpending(entries, *Budget::FromEpsilon(1))["least_epsilon_left"], 0.0);
}

TEST(HistoryTest, EmptyJournalHasSpentNothing) {
  EXPECT_TRUE(DescribeHistory({}).empty());
  EXPECT_EQ(DescribeSpending({})["most_epsilon_spent"], 0.0);
}

}  // namespace
}  // namespace coppice::cli
