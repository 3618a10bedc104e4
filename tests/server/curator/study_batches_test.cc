// What a study's batches add up to, against adding them all up anew.

#include "server/curator/study/study_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace coppice::curator {
namespace {

constexpr auto kAcceptedAt = static_cast<size_t>(ReportOutcome::kAccepted);
constexpr auto kDuplicateAt = static_cast<size_t>(ReportOutcome::kDuplicate);

RelayBatch Receiving(uint8_t number, uint64_t reports) {
  RelayBatch batch;
  batch.id[0] = batch.header.epoch[0] = number;
  batch.header.reports = reports;
  return batch;
}

RelayBatch Stored(RelayBatch batch) {
  batch.state = BatchState::kStored;
  batch.received = batch.header.reports;
  return batch;
}

RelayBatch Counted(RelayBatch batch, uint64_t accepted) {
  batch = Stored(std::move(batch));
  batch.state = BatchState::kCounted;
  batch.judged = batch.header.reports;
  batch.outcomes[kAcceptedAt] = accepted;
  batch.outcomes[kDuplicateAt] = batch.header.reports - accepted;
  return batch;
}

// A batch in any state, of up to 9 reports.
RelayBatch AnyBatch(uint8_t number, std::mt19937& draws) {
  const uint64_t reports = 1 + draws() % 9;
  RelayBatch batch = Receiving(number, reports);
  batch.received = draws() % (reports + 1);
  switch (draws() % 4) {
    case 0:
      return batch;
    case 1:
      batch = Stored(std::move(batch));
      batch.judged = draws() % reports;
      return batch;
    case 2:
      return Counted(std::move(batch), draws() % (reports + 1));
    default:
      return Dropped(std::move(batch));
  }
}

using Batches = std::map<uint8_t, RelayBatch>;

void ExpectAddedUp(const StudyBatches& study, const Batches& batches) {
  uint64_t waiting = 0, reserved = 0, counted = 0, stored = 0;
  std::vector<uint64_t> crowds, accepted;
  for (const auto& [number, batch] : batches) {
    const bool is_counted = batch.state == BatchState::kCounted;
    waiting += batch.waiting();
    reserved += batch.reserved();
    counted += is_counted ? 1 : 0;
    stored += batch.state == BatchState::kStored ? 1 : 0;
    crowds.push_back(is_counted ? batch.outcomes[kAcceptedAt] : batch.header.reports);
    if (is_counted) accepted.push_back(batch.outcomes[kAcceptedAt]);
  }
  const BatchSummary summary = study.Summary(0);
  EXPECT_EQ(summary.batches, batches.size());
  EXPECT_EQ(summary.waiting, waiting);
  EXPECT_EQ(study.waiting(), waiting);
  EXPECT_EQ(study.reserved(), reserved);
  EXPECT_EQ(summary.counted, counted);
  EXPECT_EQ(study.has_stored(), stored > 0);
  EXPECT_EQ(summary.smallest_crowd.has_value(), !crowds.empty());
  if (!crowds.empty()) {
    EXPECT_EQ(summary.smallest_crowd, *std::min_element(crowds.begin(), crowds.end()));
  }
  EXPECT_EQ(summary.least_accepted,
            accepted.empty() ? 0 : *std::min_element(accepted.begin(), accepted.end()));
}

TEST(StudyBatchesTest, AddsUpWhateverChanges) {
  std::mt19937 draws(1);
  StudyBatches study;
  Batches batches;
  for (int step = 0; step < 5000 && !::testing::Test::HasFailure(); ++step) {
    const auto number = static_cast<uint8_t>(draws() % 6);
    const RelayBatch batch = AnyBatch(number, draws);
    const uint32_t change = draws() % 8;
    if (change == 0) {
      study.Forget({batch});
      batches.erase(number);
    } else if (change == 1) {
      study.Replace(batch);
      if (batches.contains(number)) batches[number] = batch;
    } else {
      study.Set(batch);
      batches[number] = batch;
    }
    ExpectAddedUp(study, batches);
  }
}

TEST(StudyBatchesTest, CountingABatchMakesItsCrowdItsAcceptedReports) {
  StudyBatches study;
  study.Set(Receiving(1, 100));
  study.Set(Receiving(2, 70));
  EXPECT_EQ(study.Summary(0).smallest_crowd, 70u);
  study.Replace(Stored(Receiving(1, 100)));
  EXPECT_EQ(study.waiting(), 100u);
  EXPECT_TRUE(study.has_stored());
  study.Replace(Counted(Receiving(1, 100), 60));
  const BatchSummary summary = study.Summary(1);
  EXPECT_EQ(summary.smallest_crowd, 60u);
  EXPECT_EQ(summary.least_accepted, 60u);
  EXPECT_EQ(summary.counted, 1u);
  EXPECT_EQ(summary.waiting, 0u);
  EXPECT_FALSE(study.has_stored());
  ASSERT_EQ(summary.newest.size(), 1u);
  EXPECT_EQ(summary.newest[0].reports, 70u);
}

}  // namespace
}  // namespace coppice::curator
