#include "server/datasets/evaluations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/text.h"
#include "server/datasets/central_keys.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::SizeIs;

DatasetSpec SplitSpec(const std::string& id, uint32_t millionths = 300'000) {
  DatasetSpec spec = SpecOf(id);
  spec.cap.reserve_millionths = millionths;
  return spec;
}

EvaluationRequest Asked(const std::string& id, uint64_t epsilon_nanos = kEpsilon,
                        const std::string& dataset = "d") {
  return {.request_id = "request of " + id,
          .spec = {.model = "m", .dataset = dataset, .epsilon_nanos = epsilon_nanos}};
}

// Labelled rows.
v1::RowBlock Labelled(int rows) {
  v1::RowBlock block = Block(rows);
  for (int i = 0; i < rows; ++i) block.set_labels(i, static_cast<uint32_t>(i % 2));
  return block;
}

// Makes a dataset, and model "m" of another one, or of this one.
Status Prepare(Central& central, const DatasetSpec& spec, const std::string& trained_on,
               int rows = 1000) {
  COPPICE_RETURN_IF_ERROR(central.datasets->Create(spec).status());
  COPPICE_RETURN_IF_ERROR(
      UploadBlock(*central.datasets, spec.id, 0, Labelled(rows), /*complete=*/true).status());
  if (trained_on != spec.id) {
    COPPICE_RETURN_IF_ERROR(MakeDataset(*central.datasets, SpecOf(trained_on)));
  }
  JobRequest job = RequestOf("j", kEpsilon, trained_on);
  job.model = "m";
  COPPICE_RETURN_IF_ERROR(central.jobs->Submit(job).status());
  const JobInfo ended = AwaitEnd(*central.jobs, "j");
  return ended.state == JobState::kDone ? OkStatus() : InternalError(ended.reason);
}

class EvaluationsTest : public ::testing::Test {
 protected:
  EvaluationsTest() { central_ = *OpenCentral(store_, {&trainer_}); }

  MemoryStore store_;
  FakeTrainer trainer_;
  Central central_;
};

TEST_F(EvaluationsTest, ChargesTheReserveAloneAndReadsItAlone) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  ASSERT_OK_AND_ASSIGN(const DatasetInfo before, central_.datasets->Get("d"));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation made,
                       central_.evaluations->Evaluate(Asked("e", 10 * kEpsilon)));
  EXPECT_EQ(made.state(), v1::EVALUATION_STATE_DONE);
  EXPECT_EQ(made.account(), v1::ACCOUNT_KIND_RESERVE);
  EXPECT_FALSE(made.trained_on_these_rows());
  EXPECT_FALSE(made.after_earlier_results());
  ASSERT_OK_AND_ASSIGN(const DatasetInfo after, central_.datasets->Get("d", ledger::kAllEntries));
  EXPECT_EQ(after.account.spent, before.account.spent);
  EXPECT_EQ(after.account.reserve_spent.epsilon_nanos, 10 * kEpsilon);
  // Noise of scale 1/5 on four cells: beyond 40 with a chance below e^-40.
  EXPECT_NEAR(made.scores().rows(), static_cast<double>(after.reserve_rows), 40);
  EXPECT_LT(after.reserve_rows, 600u);
  const ledger::LedgerEntry& release = after.account.entries.back();
  EXPECT_EQ(release.kind, ledger::EntryKind::kSettle);
  EXPECT_TRUE(release.is_evaluation);
  ASSERT_THAT(release.releases, SizeIs(2));
  EXPECT_THAT(release.releases[0].what, HasSubstr("model m"));
}

// 10,000 rows, of which 3,000 +- 46 are in the reserve: seven deviations, a chance below 1e-11.
TEST_F(EvaluationsTest, CoinsDivideTheRowsAndTrainingReadsTheRest) {
  ASSERT_OK(central_.datasets->Create(SplitSpec("d")).status());
  ASSERT_OK(UploadBlock(*central_.datasets, "d", 0, Labelled(5000), false).status());
  ASSERT_OK(UploadBlock(*central_.datasets, "d", 5000, Labelled(5000), true).status());
  ASSERT_OK_AND_ASSIGN(const DatasetInfo info, central_.datasets->Get("d"));
  EXPECT_EQ(info.rows, 10'000u);
  EXPECT_NEAR(static_cast<double>(info.reserve_rows), 3000, 325);
  ASSERT_OK_AND_ASSIGN(const auto training, central_.datasets->ReadyRows("d"));
  ASSERT_OK_AND_ASSIGN(const auto reserve, central_.datasets->ReadyRows("d", Part::kReserve));
  EXPECT_EQ(training->num_rows() + reserve->num_rows(), info.rows);
  EXPECT_EQ(reserve->num_rows(), info.reserve_rows);
  // Every row is in one part: ages are 0 to 99, a hundred times each.
  std::vector<int> ages(100);
  for (const auto& part : {training, reserve}) {
    ASSERT_OK(part->ForEach([&](const Table& block) {
      for (const double age : block.column(0)) ++ages[static_cast<size_t>(age)];
      return OkStatus();
    }));
  }
  EXPECT_THAT(ages, ::testing::Each(100));
  // The parts stay as they are across a restart.
  central_ = *OpenCentral(store_, {&trainer_});
  EXPECT_EQ(central_.datasets->Get("d")->reserve_rows, info.reserve_rows);
  ASSERT_OK(central_.datasets->Delete("d"));
  int left = 0;
  ASSERT_OK(store_.Scan(ChunkPrefix("d"), [&](std::string_view, std::string_view) {
    ++left;
    return OkStatus();
  }));
  EXPECT_EQ(left, 0);
}

TEST_F(EvaluationsTest, WithoutAReserveTheOneAccountPaysAndTheResultIsMarked) {
  ASSERT_OK(Prepare(central_, SpecOf("d"), "d"));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation made, central_.evaluations->Evaluate(Asked("e")));
  EXPECT_EQ(made.account(), v1::ACCOUNT_KIND_TRAINING);
  EXPECT_TRUE(made.trained_on_these_rows());
  EXPECT_EQ(central_.datasets->Get("d")->account.spent.epsilon_nanos, 2 * kEpsilon);
}

TEST_F(EvaluationsTest, AModelMadeAfterResultsOfTheReserveIsMarked) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation first, central_.evaluations->Evaluate(Asked("e")));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation again, central_.evaluations->Evaluate(Asked("f")));
  EXPECT_FALSE(again.after_earlier_results()) << "the model was there before";
  JobRequest job = RequestOf("later");
  ASSERT_OK(central_.jobs->Submit(job).status());
  AwaitEnd(*central_.jobs, "later");
  EvaluationRequest request = Asked("g");
  request.spec.model = "later";
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation later, central_.evaluations->Evaluate(request));
  EXPECT_TRUE(later.after_earlier_results());
  EXPECT_FALSE(later.trained_on_these_rows());
}

TEST_F(EvaluationsTest, ARepeatedRequestIsChargedOnceAlsoAfterARestart) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation made, central_.evaluations->Evaluate(Asked("e")));
  central_ = *OpenCentral(store_, {&trainer_});
  EXPECT_TRUE(central_.evaluations->WasMade(Asked("e")));
  ASSERT_OK_AND_ASSIGN(const v1::Evaluation again, central_.evaluations->Evaluate(Asked("e")));
  EXPECT_EQ(again.SerializeAsString(), made.SerializeAsString());
  EXPECT_EQ(central_.datasets->Get("d")->account.reserve_spent.epsilon_nanos, kEpsilon);
  EXPECT_THAT(central_.evaluations->Evaluate(Asked("e", kEpsilon / 2)),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("another request")));
}

TEST_F(EvaluationsTest, WhatCannotBeIsRefusedBeforeAnythingIsCharged) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  const auto refused = [&](EvaluationRequest request, StatusCode code, const char* words) {
    EXPECT_THAT(central_.evaluations->Evaluate(request), StatusIs(code, HasSubstr(words)));
    EXPECT_EQ(central_.datasets->Get("d")->account.reserve_spent, ledger::Cost());
  };
  EvaluationRequest request = Asked("e");
  request.spec.model = "none";
  refused(request, StatusCode::kNotFound, "none");
  refused(Asked("e", kEpsilon, "none"), StatusCode::kNotFound, "none");
  request = Asked("e");
  request.spec.by = "age";
  refused(request, kInvalid, "numeric");
  request = Asked("e");
  request.request_id = "";
  refused(request, kInvalid, "request_id");
  refused(Asked("e", 11 * kEpsilon), StatusCode::kResourceExhausted, "10");
  refused(Asked("e", 0), kInvalid, "epsilon");
}

TEST_F(EvaluationsTest, APreviewSpendsNothing) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  ASSERT_OK_AND_ASSIGN(const EvaluationPreview preview,
                       central_.evaluations->Preview(Asked("e", kEpsilon / 20).spec, 3000));
  EXPECT_TRUE(preview.fits.ok());
  EXPECT_EQ(preview.cost.epsilon_nanos, kEpsilon / 20);
  EXPECT_EQ(preview.account, ledger::AccountKind::kReserve);
  EXPECT_NEAR(preview.half_width, 0.05, 0.02);
  EXPECT_EQ(central_.datasets->Get("d")->account.reserve_spent, ledger::Cost());
  EXPECT_FALSE(central_.evaluations->Preview(Asked("e", 11 * kEpsilon).spec, 1)->fits.ok());
}

TEST_F(EvaluationsTest, RowsThatCannotBeReadAreRefunded) {
  ASSERT_OK(Prepare(central_, SplitSpec("d"), "d"));
  storage::StoreBatch batch;
  batch.Put(ChunkKey("d", 0, Part::kReserve), "damaged");
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(central_.evaluations->Evaluate(Asked("e")), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_EQ(central_.datasets->Get("d")->account.reserve_spent, ledger::Cost());
  EXPECT_THAT(central_.evaluations->Evaluate(Asked("e")),
              StatusIs(kPrecondition, HasSubstr("refunded")));
  // Training does not read what is damaged.
  JobRequest job = RequestOf("k");
  ASSERT_OK(central_.jobs->Submit(job).status());
  EXPECT_EQ(AwaitEnd(*central_.jobs, "k").state, JobState::kDone);
}

// Any write may be the last, or fail and be kept: no result without its charge, one result for a
// request, and never more than was charged.
TEST(EvaluationsCrashTest, AResultComesWithItsCharge) {
  for (size_t write = 0; write < 2; ++write) {
    for (const bool kept : {false, true}) {
      for (const bool fatal : {false, true}) {
        SCOPED_TRACE(StrCat(write, kept ? " kept" : " lost", fatal ? " fatal" : ""));
        MemoryStore disk;
        FakeTrainer trainer;
        {
          Central central = *OpenCentral(disk, {&trainer});
          ASSERT_OK(Prepare(central, SplitSpec("d"), "d"));
        }
        std::string shown;
        {
          CrashingStore store(disk, {.write = write, .kept = kept, .fatal = fatal});
          Central central = *OpenCentral(store, {&trainer});
          for (int attempt = 0; attempt < 3; ++attempt) {
            const StatusOr<v1::Evaluation> result = central.evaluations->Evaluate(Asked("e"));
            if (!result.ok()) continue;
            EXPECT_TRUE(shown.empty() || shown == result->SerializeAsString());
            shown = result->SerializeAsString();
          }
          EXPECT_TRUE(fatal || write != 1 || !shown.empty()) << "overcome";
        }
        const Central central = *OpenCentral(disk, {&trainer});
        const ledger::Account account = central.datasets->Get("d", ledger::kAllEntries)->account;
        size_t charges = 0, settled = 0;
        for (const ledger::LedgerEntry& entry : account.entries) {
          if (!entry.is_evaluation) continue;
          charges += entry.kind == ledger::EntryKind::kReserve ? 1 : 0;
          settled += entry.kind == ledger::EntryKind::kSettle && !entry.releases.empty() ? 1 : 0;
        }
        EXPECT_LE(settled, 1u);
        EXPECT_LE(charges, 2u);
        if (!shown.empty()) {
          EXPECT_EQ(settled, 1u);
          EXPECT_EQ(account.reserve_spent.epsilon_nanos, kEpsilon);
          EXPECT_EQ(central.evaluations->Evaluate(Asked("e"))->SerializeAsString(), shown);
        }
      }
    }
  }
}

}  // namespace
}  // namespace coppice::central
