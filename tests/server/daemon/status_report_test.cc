// What an operator is told to look at, and when.

#include "server/daemon/operation/status_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/ticket.h"
#include "server/datasets/ledger/ledger_record.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::daemon {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixtures'.
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(StatusAlarmsTest, ACertificateIsAnAlarmInItsLastWeekAndAfter) {
  EXPECT_EQ(ExpiryAlarm(kNow + absl::Hours(24 * 8), kNow), std::nullopt);
  EXPECT_THAT(ExpiryAlarm(kNow + absl::Hours(24 * 6), kNow), Optional(HasSubstr("expires on")));
  EXPECT_THAT(ExpiryAlarm(kNow - absl::Hours(1), kNow), Optional(HasSubstr("expired on")));
}

access::PolicyEntry EntryOf(const std::string& name, absl::Time expires) {
  access::PolicyEntry entry;
  entry.name = name;
  entry.expires = expires;
  return entry;
}

TEST(StatusAlarmsTest, TokensAreNamedInTheirLastWeekAndAtMostTen) {
  std::vector<access::PolicyEntry> tokens = {EntryOf("never", absl::InfiniteFuture()),
                                             EntryOf("later", kNow + absl::Hours(999)),
                                             EntryOf("over", kNow)};
  EXPECT_EQ(TokenAlarm(tokens, kNow), std::nullopt);
  for (int i = 0; i < 13; ++i) {
    tokens.push_back(EntryOf(StrCat("t", i), kNow + absl::Hours(5)));
  }
  EXPECT_THAT(
      TokenAlarm(tokens, kNow),
      Optional(AllOf(HasSubstr("t0 on 2023-11-1"), HasSubstr("t9 on"), HasSubstr("and 3 more"),
                     Not(HasSubstr("t10")), Not(HasSubstr("never")), Not(HasSubstr("later")),
                     Not(HasSubstr("over")))));
}

TEST(StatusAlarmsTest, ADiskIsAnAlarmBelowATenth) {
  EXPECT_EQ(DiskAlarm(100, 1000), std::nullopt);
  EXPECT_EQ(DiskAlarm(1 << 20, 1 << 20), std::nullopt);
  EXPECT_THAT(DiskAlarm(uint64_t{99} << 20, uint64_t{1000} << 20), Optional(HasSubstr("99 MiB")));
}

// The status of real parts over a store in memory.
class StatusReportTest : public ::testing::Test {
 protected:
  StatusReportTest() {
    central_ = *OpenCentral(store_, {&trainer_});
    studies_ = *OpenStudies(store_, study_models_);
    endpoints_ = *models::Endpoints::Open(store_, *central_.models, [] { return 5; });
    location_.data_dir = folder_.path();
    curator_.emplace(Curator{.studies = *studies_,
                             .models = *central_.models,
                             .endpoints = *endpoints_,
                             .datasets = *central_.datasets,
                             .jobs = *central_.jobs,
                             .evaluations = *central_.evaluations,
                             .store = store_});
    context_.emplace(DaemonContext{location_, store_, *curator_, nullptr});
  }
  ~StatusReportTest() override { central_.jobs->Drain(absl::Now()); }

  std::unique_ptr<Readiness> MakeReadiness(const Status& verdict) {
    auto readiness = std::make_unique<Readiness>(
        std::vector<ReadinessCheck>{{"store", [verdict] { return verdict; }}}, absl::Hours(1), log_,
        [](bool) {});
    while (readiness->Passed().empty()) std::this_thread::yield();
    while (verdict.ok() && !readiness->IsReady()) std::this_thread::yield();
    return readiness;
  }
  static std::vector<std::string> AlarmsOf(const v1::GetStatusResponse& status) {
    return {status.alarms().begin(), status.alarms().end()};
  }

  TempDir folder_;
  const Log log_{LogLevel::kError, false};
  FakeTrainer trainer_;
  MemoryStore store_;
  Central central_;
  std::optional<models::Models> study_models_;
  std::unique_ptr<curator::Studies> studies_;
  std::unique_ptr<models::Endpoints> endpoints_;
  StoreOptions location_;
  std::optional<Curator> curator_;
  std::optional<DaemonContext> context_;
};

TEST_F(StatusReportTest, AHealthyCuratorAloneHasNoAlarmsAndNoFleet) {
  const auto readiness = MakeReadiness(OkStatus());
  StatusReport report(*context_, nullptr, std::nullopt);
  EXPECT_FALSE(report.Read().serving());
  EXPECT_THAT(AlarmsOf(report.Read()), Contains(HasSubstr("starting")));
  report.SetReadiness(*readiness);
  const v1::GetStatusResponse status = report.Read();
  EXPECT_TRUE(status.serving());
  EXPECT_EQ(status.version(), COPPICE_VERSION);
  EXPECT_EQ(status.store(), "rocksdb");
  EXPECT_GT(status.disk_free_bytes(), 0u);
  EXPECT_NEAR(static_cast<double>(status.started_unix_seconds()),
              static_cast<double>(absl::ToUnixSeconds(absl::Now())), 60);
  EXPECT_FALSE(status.has_fleet());
  for (const std::string& alarm : status.alarms()) EXPECT_THAT(alarm, HasSubstr("disk")) << alarm;
  readiness->Stop();
  EXPECT_FALSE(report.Read().serving());
}

TEST_F(StatusReportTest, ACheckThatFailsIsAnAlarmWithItsReason) {
  const auto readiness = MakeReadiness(UnavailableError("the disk is read-only"));
  StatusReport report(*context_, nullptr, std::nullopt);
  report.SetReadiness(*readiness);
  EXPECT_FALSE(report.Read().serving());
  EXPECT_THAT(AlarmsOf(report.Read()),
              Contains(AllOf(HasSubstr("store"), HasSubstr("the disk is read-only"))));
}

TEST_F(StatusReportTest, ALedgerOnHoldIsNamedAndNothingOfItsRowsIsTold) {
  ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("sealed")));
  ASSERT_OK(MakeDataset(*central_.datasets, SpecOf("fine")));
  StatusReport report(*context_, nullptr, std::nullopt);
  EXPECT_THAT(AlarmsOf(report.Read()), Not(Contains(HasSubstr("on hold"))));
  storage::StoreBatch batch;
  batch.Put(ledger::HoldKey("sealed"),
            ledger::EncodeHold({.reason = ledger::HoldReason::kUnconfirmed,
                                .unix_seconds = 5,
                                .head = central_.ledger->Get("sealed")->head}));
  ASSERT_OK(store_.Apply(batch));
  central_.jobs->Drain(absl::Now());
  central_ = *OpenCentral(store_, {&trainer_});
  curator_.emplace(Curator{.studies = *studies_,
                           .models = *central_.models,
                           .endpoints = *endpoints_,
                           .datasets = *central_.datasets,
                           .jobs = *central_.jobs,
                           .evaluations = *central_.evaluations,
                           .store = store_});
  DaemonContext context{location_, store_, *curator_, nullptr};
  StatusReport held(context, nullptr, std::nullopt);
  EXPECT_THAT(AlarmsOf(held.Read()),
              Contains(AllOf(HasSubstr("on hold"), HasSubstr("datasets/sealed"),
                             Not(HasSubstr("datasets/fine")))));
}

// Without a policy whoever asks may be a reader of models, who must not see alarms before the sums
// are final.
TEST_F(StatusReportTest, AlarmsOfAnOpenStudyAreForAnOperatorWhomAPolicyNames) {
  const std::string path = folder_.path() + "/policy.json";
  std::ofstream(path) << R"({"tokens": [{"name": "ops", "roles": ["admin"], "sha256": ")"
                      << std::string(64, 'a') << R"("}]})";
  ASSERT_OK_AND_ASSIGN(const auto policy, access::AccessControl::Open(path, false));
  curator::StudySpec spec = Spec("one");
  spec.mechanism = MechanismKind::kSignedHadamard;
  ASSERT_OK_AND_ASSIGN(const curator::StudyInfo one, studies_->Create(spec));
  std::vector<SubmittedReport> of_one_column;
  for (SubmittedReport& report : HonestReports(*studies_, one, 600)) {
    if (DrawOf(*Ticket::FromBytes(report.ticket)).Column(4) == 2) of_one_column.push_back(report);
  }
  ASSERT_OK(SendAndWait(*studies_, one, of_one_column));
  ASSERT_OK(studies_->Sweep());
  const auto alarms = [&](const access::AccessControl* access) {
    return AlarmsOf(StatusReport(*context_, access, std::nullopt).Read());
  };
  EXPECT_THAT(alarms(policy.get()), Contains(HasSubstr("studies/one (column")));
  EXPECT_THAT(alarms(nullptr), Not(Contains(HasSubstr("studies/one"))));
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(alarms(nullptr), Not(Contains(HasSubstr("studies/one")))) << "the look is an old one";
  ASSERT_OK(studies_->Sweep());
  EXPECT_THAT(alarms(nullptr), Contains(HasSubstr("studies/one (column")));
}

TEST_F(StatusReportTest, AFleetNamesItsLeaderAndTheLease) {
  StatusReport report(*context_, nullptr,
                      FleetLead{.address = "10.0.0.1:7000",
                                .epoch = 7,
                                .since = kNow,
                                .lease_length = absl::Seconds(10)});
  const v1::FleetStatus fleet = report.Read().fleet();
  EXPECT_EQ(fleet.leader(), "10.0.0.1:7000");
  EXPECT_EQ(fleet.epoch(), 7u);
  EXPECT_EQ(fleet.leading_since_unix_seconds(), 1'700'000'000);
  EXPECT_EQ(fleet.lease_seconds(), 10u);
}

}  // namespace
}  // namespace coppice::daemon
