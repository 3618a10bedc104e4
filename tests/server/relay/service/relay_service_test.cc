#include "server/relay/service/relay_service.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "common/base/text.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "server/relay/daemon/relay_server.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay {
namespace {

using ::coppice::relay::testing::Offered;
using ::coppice::relay::testing::OpenEnvelope;
using ::coppice::relay::testing::RelayTest;
using ::coppice::relay::testing::ReportFor;
using ::coppice::relay::testing::TicketNumber;
using ::testing::HasSubstr;

class RelayServiceTest : public RelayTest {
 protected:
  ~RelayServiceTest() override { StopServing(); }

  void Serve(const ServiceLimits& limits = {}) {
    OpenDeal();
    auto started =
        RelayServer::Start({.listen = "127.0.0.1:0", .limits = limits}, *relay_, *admission_);
    ASSERT_OK(started);
    server_ = *std::move(started);
    channel_ = grpc::CreateChannel(StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::RelayService::NewStub(channel_);
  }
  void StopServing() {
    if (server_ != nullptr) server_->Stop(absl::Seconds(5));
    server_.reset();
  }
  void Admit(const std::string& lines) {
    const std::string file = dir_.path() + "/devices";
    std::ofstream(file) << lines;
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0600));
    ASSERT_OK_AND_ASSIGN(admission_, Admission::Open(file));
  }

  grpc::Status TakeOffer(v1::TakeOfferResponse& response, const std::string& token = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return TakeOffer(context, response);
  }
  grpc::Status TakeOffer(grpc::ClientContext& context, v1::TakeOfferResponse& response) {
    v1::TakeOfferRequest request;
    request.set_study("studies/wells");
    request.set_epoch(OpenEpoch());
    return stub_->TakeOffer(&context, request, &response);
  }
  Offered TakeOne() {
    v1::TakeOfferResponse response;
    EXPECT_TRUE(TakeOffer(response).ok());
    return {OpenEpoch(), OpenEnvelope(response.envelope())};
  }
  // Calls a method with bytes that may be no message of it.
  grpc::Status SendBytes(const std::string& name, const std::string& bytes) {
    const std::string path = "/coppice.v1.RelayService/" + name;
    const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer answer;
    grpc::ClientContext context;
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer, grpc::ByteBuffer,
                                             grpc::ByteBuffer>(channel_.get(), method, &context,
                                                               request, &answer);
  }
  // What comes back over the wire, as one string.
  std::string Send(const std::string& epoch, const SealedReport& report) {
    v1::SubmitSealedReportRequest request;
    request.set_epoch(epoch);
    request.set_ticket(report.ticket);
    request.set_claim(report.claim);
    request.set_encapsulated(report.encapsulated);
    request.set_ciphertext(report.ciphertext);
    grpc::ClientContext context;
    v1::SubmitSealedReportResponse response;
    const grpc::Status status = stub_->SubmitSealedReport(&context, request, &response);
    std::string all = StrCat(status.error_code(), "/", status.error_message(), "/",
                             BytesToHexString(response.SerializeAsString()));
    for (const auto& [key, value] : context.GetServerTrailingMetadata()) {
      StrAppend(&all, "/", std::string(key.data(), key.size()));
    }
    return all;
  }
  static std::string Answer(v1::SubmitOutcome outcome) { return StrCat("0//080", outcome); }

  std::unique_ptr<Admission> admission_ = Admission::OfEverybody();
  std::unique_ptr<RelayServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::RelayService::Stub> stub_;
};

TEST_F(RelayServiceTest, ADeviceTakesATicketAndSendsItsReport) {
  Serve();
  v1::GetRelayTermsRequest asked;
  asked.set_study("studies/wells");
  std::set<std::string> terms;
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::GetRelayTermsResponse answer;
    ASSERT_TRUE(stub_->GetRelayTerms(&context, asked, &answer).ok());
    terms.insert(answer.SerializeAsString());
  }
  EXPECT_EQ(terms, (std::set<std::string>{**relay_->Terms("studies/wells")}));

  std::set<size_t> lengths;
  std::set<std::string> tickets;
  for (int i = 0; i < 12; ++i) {
    v1::TakeOfferResponse response;
    ASSERT_TRUE(TakeOffer(response).ok());
    lengths.insert(response.SerializeAsString().size());
    const v1::RelayedOffer offer = OpenEnvelope(response.envelope());
    tickets.insert(offer.ticket());
    const SealedReport report = ReportFor(offer);
    EXPECT_EQ(Send(OpenEpoch(), report), Answer(v1::SUBMIT_OUTCOME_STORED));
    EXPECT_EQ(Send(OpenEpoch(), report), Answer(v1::SUBMIT_OUTCOME_STORED));
    EXPECT_EQ(Send(OpenEpoch(), ReportFor(offer, "other")), Answer(v1::SUBMIT_OUTCOME_CONFLICT));
  }
  EXPECT_EQ(lengths.size(), 1u);
  EXPECT_EQ(tickets.size(), 12u);
  v1::TakeOfferResponse response;
  EXPECT_EQ(TakeOffer(response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// The curator knows every ticket, and may have devices of its own that ask.
TEST_F(RelayServiceTest, WithoutItsClaimATicketHasTheSameAnswerInEveryState) {
  Serve();
  const Offered empty = TakeOne();
  const Offered full = TakeOne();
  ASSERT_EQ(Send(full.epoch, ReportFor(full.offer)), Answer(v1::SUBMIT_OUTCOME_STORED));
  std::set<std::string> answers;
  std::set<std::string> without;                      // without any claim; lengths are public
  for (uint64_t number = 0; number < 13; ++number) {  // the last is in no pool
    SealedReport report = ReportFor(full.offer);
    report.ticket = TicketNumber(number);
    for (const std::string& claim : {std::string(16, '\0'), std::string(16, 'c')}) {
      report.claim = claim;
      answers.insert(Send(empty.epoch, report));
      answers.insert(Send(std::string(16, 'x'), report));
    }
    report.claim.clear();
    without.insert(Send(empty.epoch, report));
  }
  EXPECT_EQ(answers, std::set<std::string>{Answer(v1::SUBMIT_OUTCOME_UNKNOWN)});
  EXPECT_EQ(without, std::set<std::string>{Answer(v1::SUBMIT_OUTCOME_BAD_LENGTH)});
  // One ticket's claim tells nothing about another ticket.
  SealedReport crossed = ReportFor(empty.offer);
  crossed.claim = full.offer.claim();
  EXPECT_EQ(Send(empty.epoch, crossed), Answer(v1::SUBMIT_OUTCOME_UNKNOWN));
  EXPECT_EQ(Send(empty.epoch, ReportFor(empty.offer)), Answer(v1::SUBMIT_OUTCOME_STORED));
}

TEST_F(RelayServiceTest, OnlyWhomItKnowsGetsTickets) {
  const Sha256Digest digest = Sha256({"token-a"});
  const std::string hex =
      BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
  Admit(StrCat("a ", hex, " 2\n"));
  Serve();
  v1::TakeOfferResponse response;
  EXPECT_EQ(TakeOffer(response).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(TakeOffer(response, "token-b").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext twice;
  twice.AddMetadata("authorization", "Bearer token-a");
  twice.AddMetadata("authorization", "Bearer token-b");
  EXPECT_EQ(TakeOffer(twice, response).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Totals().dealt, 0u);

  EXPECT_TRUE(TakeOffer(response, "token-a").ok());
  // A report shows its claim, and no device's name.
  const v1::RelayedOffer offer = OpenEnvelope(response.envelope());
  EXPECT_EQ(Send(OpenEpoch(), ReportFor(offer)), Answer(v1::SUBMIT_OUTCOME_STORED));
  EXPECT_TRUE(TakeOffer(response, "token-a").ok());
  EXPECT_EQ(TakeOffer(response, "token-a").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Totals().dealt, 2u);
  EXPECT_EQ(server_->totals().refused_by_admission, 4u);
}

TEST_F(RelayServiceTest, UnderLoadNoTicketIsDealtAndTheTimeToWaitIsTold) {
  Serve({.pending_reports = 0});
  grpc::ClientContext context;
  v1::TakeOfferResponse response;
  const grpc::Status refused = TakeOffer(context, response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_EQ(Totals().dealt, 0u);
  EXPECT_THAT(Send(OpenEpoch(), {}), HasSubstr("8/the relay has too much to do"));
  EXPECT_EQ(server_->totals().refused_by_load, 2u);
}

TEST_F(RelayServiceTest, OffersThatNobodyReadsAreBounded) {
  Serve({.offer_bytes = 0});
  v1::TakeOfferResponse response;
  EXPECT_EQ(TakeOffer(response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Totals().dealt, 0u);
}

// What one device has read does not count against the next one.
TEST_F(RelayServiceTest, OffersThatWereReadAreReleased) {
  Serve({.offer_bytes = 1});
  for (int i = 0; i < 5; ++i) {
    v1::TakeOfferResponse response;
    grpc::Status status = TakeOffer(response);
    for (int again = 0; !status.ok() && again < 1000; ++again) {
      ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      status = TakeOffer(response);
    }
    EXPECT_TRUE(status.ok()) << i;
  }
}

TEST_F(RelayServiceTest, BadRequestsAreRefusedInWords) {
  Serve();
  grpc::ClientContext nameless;
  v1::TakeOfferResponse response;
  EXPECT_EQ(stub_->TakeOffer(&nameless, {}, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);

  v1::TakeOfferRequest elsewhere;
  elsewhere.set_study("studies/other");
  grpc::ClientContext context;
  EXPECT_EQ(stub_->TakeOffer(&context, elsewhere, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);

  EXPECT_EQ(SendBytes("TakeOffer", "\x0a\xff\xff").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// Protobuf would keep each of these in memory, at up to a hundred times its two bytes.
TEST_F(RelayServiceTest, RequestsThatUnfoldAreRefusedBeforeTheyAreParsed) {
  Serve();
  const auto repeated = [](std::string_view part, size_t bytes) {
    std::string all;
    while (all.size() + part.size() <= bytes) all += part;
    return all;
  };
  for (const auto& [method, most] :
       {std::pair("GetRelayTerms", kBriefRequestBytes), std::pair("TakeOffer", kBriefRequestBytes),
        std::pair("SubmitSealedReport", kMaxRequestBytes)}) {
    EXPECT_EQ(SendBytes(method, std::string(most + 1, 'x')).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED)
        << method;
    for (const std::string& hostile :
         {repeated("\x7b\x7c", most), std::string(most, '\x7b'), repeated("\x0a", most)}) {
      EXPECT_EQ(SendBytes(method, hostile).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << method;
    }
  }
  const grpc::Status unknown =
      SendBytes("SubmitSealedReport", repeated("\x78\x01", kMaxRequestBytes));
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(unknown.error_message(), HasSubstr("more than 1000 fields"));
}

TEST_F(RelayServiceTest, LongAndCompressedRequestsAreRefused) {
  Serve();
  SealedReport report = ReportFor(TakeOne().offer);
  report.ciphertext.assign(kMaxRequestBytes, 'x');
  EXPECT_THAT(Send(OpenEpoch(), report), ::testing::StartsWith("8/"));
  report.ciphertext.assign(1000, 'x');
  EXPECT_EQ(Send(OpenEpoch(), report), Answer(v1::SUBMIT_OUTCOME_BAD_LENGTH));

  v1::TakeOfferRequest request;
  request.set_study("studies/wells");
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::TakeOfferResponse response;
  EXPECT_EQ(stub_->TakeOffer(&context, request, &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace coppice::relay
