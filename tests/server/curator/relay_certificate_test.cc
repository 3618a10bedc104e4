// What certificates say about a relay's batches: with real batches, opened and counted, and checked
// as a model's verifier checks them.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/describe/verdict.h"
#include "common/ldp/amplification.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "tests/server/curator/batch_fixture.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

// A store that deletes nothing from the spool, so no stored batch is ever counted.
class SpoolKeepingStore final : public storage::Store {
 public:
  explicit SpoolKeepingStore(storage::Store& disk) : disk_(disk) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return disk_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override {
    for (const std::string& key : batch.deleted_keys()) {
      if (StartsWith(key, "spool/")) return UnavailableError("kept");
    }
    return disk_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return disk_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return disk_.Purge(prefix); }

 private:
  storage::Store& disk_;
};

class RelayCertificateTest : public BatchTest {
 protected:
  using BatchTest::BatchTest;

  // A batch with `spoilt` reports that do not open.
  SealedBatch Batch(uint8_t epoch, uint32_t units, uint32_t spoilt,
                    const std::string& study = "one") {
    SealedBatch batch = HonestBatch(epoch, units, study);
    for (uint32_t i = 0; i < spoilt; ++i) batch.reports[i].ciphertext[0] ^= 1;
    SignBatch(batch, RelayKey());
    return batch;
  }

  Certificate Build(const std::string& model, const EstimatorOptions& options = {},
                    const std::string& study = "one") {
    const auto built = studies_->BuildModel(study, model, options);
    EXPECT_OK(built);
    if (!built.ok()) return {};
    EXPECT_OK(VerifyModel(ToProto(*built->model)).status);
    return built->model->certificate();
  }

  static uint64_t BoundOf(const Certificate& certificate, double mass) {
    const Budget local = *Budget::FromNanos(certificate.epsilon_nanos);
    return EpsilonBound({certificate.relay.honest_reports, local, mass},
                        certificate.relay.delta_atto)
        ->nanos();
  }
};

TEST_F(RelayCertificateTest, RestsOnTheSmallestCountedBatch) {
  ASSERT_OK(Deliver(Batch(1, 500, 0), 500));
  ASSERT_OK(Deliver(Batch(2, 400, 90), 400));
  ASSERT_OK(Deliver(HonestBatch(3, 100), /*part=*/25));
  AwaitCounted();
  ASSERT_OK(studies_->Seal("one"));
  const Certificate certificate = Build("sealed");
  const RelayBound& relay = certificate.relay;
  EXPECT_EQ(relay.batches, 3u);
  EXPECT_EQ(relay.least_accepted, 100u);
  EXPECT_EQ(relay.honest_reports, 90u);
  EXPECT_EQ(relay.dishonest_millionths, 100'000u);
  EXPECT_EQ(relay.delta_atto, kDefaultRelayDeltaAtto);
  const KeyId key = KeyIdOf(RelayKey().public_key());
  EXPECT_EQ(relay.relay_key, std::string(key.begin(), key.end()));
  EXPECT_EQ(relay.epsilon_nanos, BoundOf(certificate, MaxTwoSidedMass(*Budget::FromEpsilon(1))));
  EXPECT_LT(relay.epsilon_nanos, certificate.epsilon_nanos);
  EXPECT_EQ(certificate.epsilon_nanos, 1'000'000'000u) << "a report's own is what it was";
}

// The curator has seen the tickets of every batch's reports, whatever became of the batch.
TEST_F(RelayCertificateTest, LeavesOutNoBatchThatWasSeen) {
  ASSERT_OK(Deliver(Batch(1, 500, 0), 500));
  SealedBatch broken = HonestBatch(2, 120);
  broken.header.root[0] ^= 1;
  SignHeader(broken, RelayKey());
  ASSERT_EQ(Deliver(broken, 120)->state, BatchState::kBroken);
  AwaitCounted();
  EXPECT_EQ(Build("broken").relay.least_accepted, 120u);
  const SealedBatch begun = HonestBatch(3, 100);
  ASSERT_OK(DeliverPart(begun, 0, 60));
  EXPECT_EQ(Build("begun").relay.least_accepted, 100u);
  ASSERT_OK(studies_->Seal("one"));
  const RelayBound sealed = Build("sealed").relay;
  EXPECT_EQ(sealed.least_accepted, 100u);
  EXPECT_EQ(sealed.honest_reports, 90u);
  EXPECT_EQ(sealed.batches, 1u);
  EXPECT_EQ(studies_->Get("one")->relay->batches.least_accepted, 500u) << "of what is counted";
}

TEST_F(RelayCertificateTest, CountsAcceptedReportsAlone) {
  ASSERT_OK(Deliver(Batch(1, 400, 90), 400));
  AwaitCounted();
  const RelayBound relay = Build("open").relay;
  EXPECT_EQ(relay.batches, 1u);
  EXPECT_EQ(relay.least_accepted, 310u);
}

TEST_F(RelayCertificateTest, PromisesNothingWithoutEnoughHonestReports) {
  ASSERT_OK(Deliver(Batch(1, 6, 5)));  // nine tenths of one report are less than one
  AwaitCounted();
  EXPECT_EQ(Build("few").relay, RelayBound());
}

TEST_F(RelayCertificateTest, PromisesNothingOfAStudyWithoutARelay) {
  ASSERT_OK(studies_->Create(Spec("two")));
  const StudyInfo two = *studies_->Get("two");
  ASSERT_OK(SendAndWait(*studies_, two, HonestReports(*studies_, two, 100)));
  EXPECT_EQ(Build("direct", {}, "two").relay, RelayBound());
}

class ReopenedCertificateTest : public RelayCertificateTest {
 protected:
  ReopenedCertificateTest() : RelayCertificateTest(kLargeUnit) {}
};

// Until the whole batch is counted, nobody knows how few of its reports are accepted.
TEST_F(ReopenedCertificateTest, PromisesNothingWhileABatchIsBeingCounted) {
  ASSERT_OK(Deliver(Batch(1, 6, 0)));
  AwaitCounted();
  SpoolKeepingStore keeping(store_);
  Reopen(keeping);
  ASSERT_OK(Deliver(Batch(2, 4, 0)));
  EXPECT_EQ(Build("meanwhile").relay, RelayBound());
  Reopen(store_);
  AwaitCounted();
  EXPECT_EQ(Build("then").relay.least_accepted, 1000u);
}

// A later model of all reports, compared with this one, would show the reports in between.
TEST_F(ReopenedCertificateTest, PromisesReadersNothingIfItsTimeEndsWhileReportsWait) {
  StudySpec spec = RelayedSpec("two");
  spec.settings.expires_unix_seconds = 2000;
  ASSERT_OK(studies_->Create(spec));
  ASSERT_OK(Deliver(Batch(1, 6, 0, "two"), 4, "two"));
  AwaitCounted("two");
  SpoolKeepingStore keeping(store_);
  Reopen(keeping);
  ASSERT_OK(Deliver(Batch(2, 4, 0, "two"), 4, "two"));
  // Seals the study after it was found open and before its sums are read.
  const auto seal_meanwhile = [this] {
    now_ = 2000;
    return studies_->Get("two").status();
  };
  int asked = 0;
  const auto built = studies_->BuildModel("two", "meanwhile", {}, CancelCheck([&] {
                                            return ++asked == 2 ? seal_meanwhile() : OkStatus();
                                          }));
  ASSERT_OK(built);
  ASSERT_EQ(studies_->Get("two")->state, StudyState::kSealed);
  EXPECT_EQ(built->model->certificate().readers, ReadersBound());
  Reopen(store_);
  AwaitCounted("two");
  // Nor may the later model promise any, beside one that was shown.
  EXPECT_EQ(Build("final", {}, "two").readers, ReadersBound());
  EXPECT_TRUE(studies_->Get("two")->seen_early);
}

// A verifier sees the model's own trees only; smaller trees have the larger mass.
TEST_F(RelayCertificateTest, TreesThatPruningMadeSmallerAreWhatItIsComputedFor) {
  StudySpec spec = RelayedSpec("pruned", /*min_batch=*/4);
  spec.mechanism = MechanismKind::kDirect;
  ASSERT_OK(studies_->Create(spec));
  ASSERT_OK(Deliver(Batch(1, 400, 0, "pruned"), 1000, "pruned"));
  AwaitCounted("pruned");
  const Certificate whole =
      Build("whole", {.kind = EstimatorKind::kPooled, .evidence = Evidence::kBoth}, "pruned");
  const Certificate pruned = Build("small", {.kind = EstimatorKind::kPrune}, "pruned");
  ASSERT_GT(whole.relay.epsilon_nanos, 0u);
  EXPECT_GT(pruned.relay.epsilon_nanos, whole.relay.epsilon_nanos);
}

}  // namespace
}  // namespace coppice::curator
