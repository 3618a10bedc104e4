#include "client/cli/studies/collect.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/client/device/fake_curator.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::SamplePrivatizer;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

// Accepts everything, except the calls that a test makes fail.
class FakeLink {
 public:
  GatewayLink link() {
    return {.tickets = [this](absl::Span<const size_t> rows) -> StatusOr<std::vector<Ticket>> {
              std::vector<Ticket> tickets;
              for (size_t i = 0; i < rows.size(); ++i) tickets.push_back(SampleTicket(++issued_));
              return tickets;
            },
            .deliver = [this](absl::Span<const PrivateReport> reports) { return Take(reports); },
            .check_is =
                [this](const PublicKey& root) {
                  return root == key ? OkStatus() : FailedPreconditionError("another");
                }};
  }

  PublicKey key = FakeKey(1).public_key();

  int calls = 0;
  int fail_from_call = 1000;
  DeliveryResult result{Delivery::kAccepted, ""};
  std::vector<PrivateReport> taken;

 private:
  StatusOr<std::vector<DeliveryResult>> Take(absl::Span<const PrivateReport> reports) {
    if (++calls >= fail_from_call) return UnavailableError("down");
    taken.insert(taken.end(), reports.begin(), reports.end());
    return std::vector<DeliveryResult>(reports.size(), result);
  }

  uint8_t issued_ = 0;
};

class GatewayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int row = 0; row < 10; ++row) {
      file_.table.Append(Row{static_cast<double>(row)}, row % 2);
    }
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(dir_.path() + "/journal"));
    // Does what a trust over this journal does when it admits an offer.
    SeenManifest seen{.curator = "curator:1", .manifest = FakeManifest(SampleTerms())};
    seen.key = seen.root = FakeKey(1).public_key();
    seen.manifest.key = KeyIdOf(seen.key);
    ASSERT_OK(journal_->Remember(seen));
  }

  Status Answer(GatewayCounts& counts, size_t rows = 10) {
    Gateway gateway(link_.link(), *journal_, options_, [this] { return stop_; });
    COPPICE_RETURN_IF_ERROR(gateway.Resume("sample", counts));
    return gateway.AnswerRows(
        privatizer_, policy_, file_, rows, [](uint64_t) {}, counts);
  }

  TempDir dir_;
  FakeLink link_;
  bool stop_ = false;
  Privatizer privatizer_ = SamplePrivatizer();
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  TableFile file_{Table(SampleTerms().schema), {}};
  GatewayOptions options_{.batch = 4};
  std::unique_ptr<Journal> journal_;
};

TEST_F(GatewayTest, EveryRowIsOneDevice) {
  GatewayCounts counts;
  ASSERT_OK(Answer(counts));
  EXPECT_EQ(counts.accepted, 10);
  EXPECT_EQ(link_.calls, 3);
  EXPECT_EQ(link_.taken.size(), 10);
  EXPECT_EQ(counts.MeanPayloadBytes(), link_.taken[0].payload.size());
  EXPECT_TRUE(journal_->Undelivered().value().empty());
  EXPECT_EQ(journal_->Entries().value()[9].subject, "10");
}

TEST_F(GatewayTest, RowsThatHaveAnsweredArePassedOver) {
  GatewayCounts first, second;
  ASSERT_OK(Answer(first, 7));
  ASSERT_OK(Answer(second));
  EXPECT_EQ(first.accepted, 7);
  EXPECT_EQ(second.accepted, 3);
  EXPECT_EQ(second.answered_before, 7);
  EXPECT_EQ(link_.taken.size(), 10);
}

TEST_F(GatewayTest, FailedDeliveryIsResumedWithTheSameBytes) {
  link_.fail_from_call = 2;
  GatewayCounts counts;
  EXPECT_THAT(Answer(counts), StatusIs(StatusCode::kUnavailable, "down"));
  const std::vector<JournalEntry> waiting = journal_->Undelivered().value();
  ASSERT_EQ(waiting.size(), 4);

  link_.fail_from_call = 1000;
  ASSERT_OK(Answer(counts));
  EXPECT_EQ(counts.accepted, 10);
  for (size_t i = 0; i < waiting.size(); ++i) EXPECT_EQ(link_.taken[4 + i], waiting[i].report);
}

TEST_F(GatewayTest, StopsBetweenBatches) {
  stop_ = true;
  GatewayCounts counts;
  EXPECT_THAT(Answer(counts), StatusIs(StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_EQ(link_.calls, 0);
  EXPECT_TRUE(journal_->Entries().value().empty());
}

TEST_F(GatewayTest, RefusedReportsAreCountedByReasonAndNotSentAgain) {
  link_.result = {Delivery::kRefused, "study sealed"};
  GatewayCounts counts;
  ASSERT_OK(Answer(counts, 5));
  EXPECT_EQ(counts.refused["study sealed"], 5);
  EXPECT_EQ(counts.TotalRefused(), 5);
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

TEST_F(GatewayTest, SubjectsAreWhoTheIdColumnNames) {
  for (int row = 0; row < 10; ++row)
    file_.ids.push_back(std::string(1, static_cast<char>('a' + row)));
  GatewayCounts counts;
  ASSERT_OK(Answer(counts, 3));
  // In another order of the rows nobody answers twice.
  std::swap(file_.ids[0], file_.ids[9]);
  ASSERT_OK(Answer(counts, 10));
  EXPECT_EQ(counts.accepted, 10);
  EXPECT_EQ(counts.answered_before, 3);
  EXPECT_TRUE(journal_->Find("j", "sample").value().has_value());
}

TEST_F(GatewayTest, AnotherCuratorGetsNothingAndEndsNothing) {
  link_.fail_from_call = 1;
  GatewayCounts counts;
  EXPECT_THAT(Answer(counts, 4), StatusIs(StatusCode::kUnavailable, "down"));
  link_.fail_from_call = 1000;
  link_.key = FakeKey(2).public_key();
  Gateway elsewhere(link_.link(), *journal_, options_, [] { return false; });
  ASSERT_OK(elsewhere.Resume("", counts));
  EXPECT_EQ(counts.of_other_curators, 4);
  EXPECT_TRUE(link_.taken.empty());
  EXPECT_EQ(journal_->Undelivered().value().size(), 4);
}

TEST_F(GatewayTest, AnUnknownStudyIsAnEndOnlyWhenToldSo) {
  link_.result = {Delivery::kUnknownStudy, "unknown study"};
  GatewayCounts counts;
  ASSERT_OK(Answer(counts, 4));
  EXPECT_EQ(counts.unknown_study, 4);
  EXPECT_EQ(journal_->Undelivered().value().size(), 4);

  options_.end_unknown = true;
  ASSERT_OK(Answer(counts, 4));
  EXPECT_EQ(counts.unknown_study, 8);
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

TEST_F(GatewayTest, PolicyIsKept) {
  policy_.max_epsilon = *Budget::FromEpsilon(1);
  GatewayCounts counts;
  EXPECT_THAT(Answer(counts), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 1")));
  EXPECT_EQ(link_.calls, 0);
}

TEST(CallSizeTest, OneCallIsOfOneStudyAndNotTooLarge) {
  const auto entry = [](const std::string& study, size_t bytes) -> JournalEntry {
    return {.subject = "1",
            .epsilon = *Budget::FromEpsilon(1),
            .report = {.study = study, .ticket = {}, .payload = std::string(bytes, 'p')}};
  };
  EXPECT_EQ(CallSize({entry("a", 1), entry("a", 1), entry("b", 1)}, 10), 2);
  EXPECT_EQ(CallSize({entry("a", 1), entry("a", 1), entry("a", 1)}, 2), 2);
  EXPECT_EQ(CallSize({entry("a", 2 << 20), entry("a", 2 << 20)}, 10), 1);
  EXPECT_EQ(CallSize({entry("a", 5 << 20)}, 10), 1);
}

}  // namespace
}  // namespace coppice::cli
