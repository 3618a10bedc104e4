// A relay's batch over TLS, by gRPC and by HTTP, and who may deliver one.

#include <string>
#include <utility>
#include <vector>

#include "common/wire/manifest.h"
#include "coppice/v1/batch.pb.h"
#include "tests/server/daemon/owners_fixture.h"
#include "tests/support/batch_maker.h"
#include "tests/support/eventually.h"

namespace coppice::daemon {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::HasSubstr;

constexpr char kDeliver[] = "/coppice.v1.SealedReportService/DeliverBatch";

class BatchesTest : public OwnersTest {
 protected:
  // A relayed study of "a", and a batch of six reports.
  void SetUp() override {
    OwnersTest::SetUp();
    curator::StudySpec spec = Spec("a-9");
    spec.owner = "a";
    spec.mechanism = MechanismKind::kSignedHadamard;
    spec.settings.relay = curator::RelaySettings{
        .relay_key = RelayKey().public_key(), .min_batch = 4, .delta_atto = 1};
    ASSERT_OK_AND_ASSIGN(const curator::StudyInfo info, studies_->Create(spec));
    std::vector<std::pair<std::string, std::string>> payloads;
    for (const SubmittedReport& report : HonestReports(*studies_, info, 6)) {
      payloads.emplace_back(report.ticket, report.payload);
    }
    const auto manifest = ReadManifest(studies_->MakeOffer("a-9", 1)->manifest->bytes);
    ASSERT_OK(manifest.status());
    batch_ = MakeBatch(*manifest, 1, RelayKey(), payloads);
  }

  std::string Part(size_t first, size_t count) const {
    v1::DeliverBatchRequest request;
    request.set_study("studies/a-9");
    request.set_header(batch_.header_bytes);
    request.set_signature(batch_.signature);
    request.set_first_report(first);
    SealedBatch::Columns columns = batch_.Part(first, count);
    request.set_tickets(std::move(columns.tickets));
    request.set_encapsulated(std::move(columns.encapsulated));
    request.set_ciphertexts(std::move(columns.ciphertexts));
    return request.SerializeAsString();
  }

  grpc::StatusCode CodeFor(const std::string& name, access::Role role) const {
    return Call(kDeliver, {"Bearer " + Token(name, role)}, Part(0, 0)).error_code();
  }

  SealedBatch batch_;
};

TEST_F(BatchesTest, ARelayHandsOverPartsByEitherTransport) {
  const std::vector<std::string> relay = {"Bearer " + Token("granted", access::Role::kRelay)};
  std::string answer;
  v1::DeliverBatchResponse response;
  ASSERT_TRUE(Call(kDeliver, relay, Part(0, 2), &answer).ok());
  ASSERT_TRUE(response.ParseFromString(answer));
  EXPECT_EQ(response.state(), v1::BATCH_STATE_RECEIVING);
  EXPECT_EQ(response.received(), 2u);
  ASSERT_TRUE(CallHttp(http::Encoding::kProto, kDeliver, relay, Part(2, 2), &answer).ok());
  ASSERT_TRUE(CallHttp(http::Encoding::kJson, kDeliver, relay, Part(4, 2), &answer).ok());
  ASSERT_TRUE(Call(kDeliver, relay, Part(0, 0), &answer).ok());
  ASSERT_TRUE(response.ParseFromString(answer));
  EXPECT_GE(response.state(), v1::BATCH_STATE_STORED);
  EXPECT_EQ(response.received(), 6u);
  EXPECT_TRUE(coppice::testing::Eventually(
      [&] { return studies_->Get("a-9")->relay->batches.waiting == 0; }));
  EXPECT_EQ(CountOf(*studies_->Get("a-9"), curator::ReportOutcome::kAccepted), 6u);
}

TEST_F(BatchesTest, OnlyRelaysThatAreGrantedTheStudyAndItsAdminsHandOver) {
  EXPECT_EQ(CodeFor("granted", access::Role::kRelay), grpc::StatusCode::OK);
  EXPECT_EQ(CodeFor("a", access::Role::kAdmin), grpc::StatusCode::OK);
  EXPECT_EQ(CodeFor("operator", access::Role::kAdmin), grpc::StatusCode::OK);
  EXPECT_EQ(CodeFor("b", access::Role::kRelay), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(CodeFor("plain", access::Role::kRelay), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(CodeFor("b", access::Role::kAdmin), grpc::StatusCode::NOT_FOUND);
  for (const access::Role role :
       {access::Role::kDevice, access::Role::kAnalyst, access::Role::kTrainer}) {
    EXPECT_EQ(CodeFor("granted", role), grpc::StatusCode::PERMISSION_DENIED);
  }
}

TEST_F(BatchesTest, AStudyOfDevicesThemselvesTakesNone) {
  v1::DeliverBatchRequest request;
  request.set_study("studies/a-1");
  const grpc::Status status =
      Call(kDeliver, {"Bearer " + Token("a", access::Role::kRelay)}, request.SerializeAsString());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("has no relay"));
}

}  // namespace
}  // namespace coppice::daemon
