#include "server/curator/intake/report_batch.h"

#include <gtest/gtest.h>

namespace coppice::curator {
namespace {

TEST(ReportBatchTest, KeepsEachReportAsItCame) {
  ReportBatch batch;
  EXPECT_TRUE(batch.empty());
  batch.Add("ticket", "payload");
  batch.Add("", "");
  batch.Add("", "only a payload");
  batch.Add("only a ticket", "");
  ASSERT_EQ(batch.size(), 4u);
  EXPECT_EQ(batch.ticket(0), "ticket");
  EXPECT_EQ(batch.payload(0), "payload");
  EXPECT_EQ(batch.ticket(1), "");
  EXPECT_EQ(batch.payload(1), "");
  EXPECT_EQ(batch.payload(2), "only a payload");
  EXPECT_EQ(batch.ticket(3), "only a ticket");
  EXPECT_EQ(batch.payload(3), "");
}

TEST(ReportBatchTest, CountsTheMemoryItHolds) {
  ReportBatch batch;
  batch.Add(std::string(1000, 't'), std::string(9000, 'p'));
  EXPECT_GE(batch.MemoryBytes(), 10'000u);
}

}  // namespace
}  // namespace coppice::curator
