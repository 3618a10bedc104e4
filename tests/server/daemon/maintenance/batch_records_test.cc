// The check of a relay's batches, both waiting and counted ones.

#include <optional>
#include <string>
#include <string_view>

#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/check_records.h"
#include "tests/server/curator/batch_fixture.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::BatchTest;
using ::coppice::testing::SealedBatch;
using ::testing::HasSubstr;

class BatchRecordsTest : public BatchTest {
 protected:
  BatchRecordsTest() : BatchTest(kLargeUnit) {}
  // One batch is counted and one is being received.
  void SetUp() override {
    BatchTest::SetUp();
    ASSERT_OK(Deliver(HonestBatch(1, 6)));
    AwaitCounted();
    begun_ = HonestBatch(2, 6);
    ASSERT_OK(DeliverPart(begun_, 0, 4));
    studies_.reset();
  }

  Findings Check() {
    Findings findings;
    CheckRecords(
        store_, [](const std::string&) {}, findings);
    return findings;
  }

  void ExpectProblem(std::string_view what) {
    const Findings findings = Check();
    ASSERT_EQ(findings.problems.size(), 1u) << what;
    EXPECT_THAT(findings.problems[0].what, HasSubstr(what));
    EXPECT_EQ(findings.problems[0].remedy, Remedy::kNone);
  }

  void Put(const std::string& key, const std::string& value) {
    storage::StoreBatch batch;
    batch.Put(key, value);
    ASSERT_OK(store_.Apply(batch));
  }

  SealedBatch begun_;
};

TEST_F(BatchRecordsTest, ASoundStoreHasNoProblem) {
  const Findings findings = Check();
  for (const Problem& problem : findings.problems) ADD_FAILURE() << problem.key << problem.what;
  EXPECT_EQ(findings.counts.at("batch"), 2u);
  for (const Note& note : findings.notes) ADD_FAILURE() << note.key << note.what;
}

TEST_F(BatchRecordsTest, AMissingPartIsFound) {
  storage::StoreBatch batch;
  batch.DeletePrefix("spool/");
  ASSERT_OK(store_.Apply(batch));
  ExpectProblem("says that 1000 reports wait, and the spool has 0");
}

TEST_F(BatchRecordsTest, APartOfNoBatchIsFound) {
  const std::string known =
      **store_.Get(curator::SpoolKey("one", Sha256({begun_.header_bytes}), 0));
  Put(curator::SpoolKey("one", Sha256({"another"}), 0), known);
  ExpectProblem("has reports of no batch that waits");
}

TEST_F(BatchRecordsTest, ADamagedPartIsFound) {
  Put(curator::SpoolKey("one", Sha256({begun_.header_bytes}), 0), "no record");
  ExpectProblem("spool/one/");
}

TEST_F(BatchRecordsTest, CountsThatAreNotThoseOfTheBatchesAreFound) {
  v1::CountsRecord counts;
  ASSERT_TRUE(counts.ParseFromString(**store_.Get(curator::CountsKey("one"))));
  counts.set_duplicate(counts.duplicate() + 1);
  counts.set_received(counts.received() + 1);
  Put(curator::CountsKey("one"), counts.SerializeAsString());
  ExpectProblem("do not reconcile");
}

// Nothing of the study can then be trusted.
TEST_F(BatchRecordsTest, ADamagedBatchPutsTheStudyAside) {
  Put(curator::BatchKey("one", Sha256({begun_.header_bytes})), "no record");
  const Findings findings = Check();
  ASSERT_FALSE(findings.problems.empty());
  EXPECT_EQ(findings.problems[0].remedy, Remedy::kQuarantineStudy);
  EXPECT_THAT(findings.problems[0].what, HasSubstr("batch/one/"));
}

}  // namespace
}  // namespace coppice::maintenance
