// A front between clients and the daemon's own server gives the same answers as direct calls.

#include "server/daemon/fleet/front.h"

#include <gmock/gmock.h>

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/daemon/transport/access.h"
#include "server/daemon/transport/fronts.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/fleet/front_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::CallOnce;
using ::coppice::testing::Certificate;
using ::coppice::testing::ConnectTo;
using ::coppice::testing::Hex;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::SentMetadata;
using ::coppice::testing::TlsServerTest;
using ::coppice::testing::WholeAnswer;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kListStudies[] = "/coppice.v1.StudyService/ListStudies";
constexpr char kOffer[] = "/coppice.v1.StudyService/GetOffer";

std::string EntryOf(std::string_view role, const Sha256Digest& digest) {
  return StrCat(R"({"name":"n","role":")", role, R"(","sha256":")", Hex(digest), "\"}");
}

class FrontTest : public TlsServerTest {
 protected:
  void ServeBehindFront(const std::string& policy, bool mutual = false) {
    ServeBehindFront(policy, mutual, mutual);
  }
  void ServeBehindFront(const std::string& policy, bool mutual, bool front_asks) {
    Serve(policy, mutual);
    peer_certificates_ =
        std::make_unique<Certificates>(TlsFiles{.certificate = curator_.certificate_pem,
                                                .key = curator_.key_pem,
                                                .client_ca = curator_.certificate_pem});
    leader_ = *DaemonServer::Start({.listen = "127.0.0.1:0",
                                    .certificates = peer_certificates_.get(),
                                    .access = access_.get(),
                                    .behind_fronts = true,
                                    .may_answer = may_answer_},
                                   Curator());
    front_certificates_ = std::make_unique<Certificates>(
        TlsFiles{.certificate = certificate_.certificate_pem,
                 .key = certificate_.key_pem,
                 .client_ca = front_asks ? client_.certificate_pem : ""});
    front_ = *Front::Start({.listen = "127.0.0.1:0",
                            .certificates = front_certificates_.get(),
                            .peer_ca_pem = curator_.certificate_pem,
                            .certificate_pem = curator_.certificate_pem,
                            .key_pem = curator_.key_pem});
    front_->SetLeader(StrCat("127.0.0.1:", leader_->port()));
    fronted_ = ConnectTo(front_->port(), certificate_, front_asks ? &client_ : nullptr);
  }
  void TearDown() override {
    trainer_.Let();
    if (front_ != nullptr) front_->Stop(absl::ZeroDuration());
    if (leader_ != nullptr) leader_->Stop(absl::ZeroDuration());
    TlsServerTest::TearDown();
  }

  static std::string TokenOf(access::Role role) {
    return StrCat("coppice_token_of_", access::RoleName(role));
  }
  static std::string PolicyOfAllRoles() {
    std::string tokens;
    for (const access::Role role : access::kAllRoles) {
      StrAppend(&tokens, tokens.empty() ? "" : ",",
                EntryOf(access::RoleName(role), access::HashOfToken(TokenOf(role))));
    }
    return StrCat("{\"tokens\":[", tokens, "]}");
  }
  static std::string PolicyOfCertificate(const Certificate& certificate) {
    return StrCat("{\"certificates\":[",
                  EntryOf("analyst", *CertificateSha256(certificate.certificate_pem)), "]}");
  }
  static std::string DigestOf(const Certificate& certificate) {
    const Sha256Digest digest = *CertificateSha256(certificate.certificate_pem);
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
  }

  const Certificate curator_ = MakeCertificate();
  rpc::AnswerCheck may_answer_{};
  std::unique_ptr<Certificates> peer_certificates_, front_certificates_;
  std::unique_ptr<DaemonServer> leader_;
  std::unique_ptr<Front> front_;
  std::shared_ptr<grpc::Channel> fronted_;
};

TEST_F(FrontTest, EveryMethodAnswersAsItDoesDirectly) {
  ServeBehindFront(PolicyOfAllRoles());
  const SentMetadata nobody, twice = {{"authorization", "Bearer x"}, {"authorization", "Bearer y"}};
  const SentMetadata stranger = {{"authorization", "Bearer stranger"}};
  const SentMetadata device = {{"authorization", "Bearer " + TokenOf(access::Role::kDevice)}};
  const SentMetadata admin = {{"authorization", "Bearer " + TokenOf(access::Role::kAdmin)},
                              {"x-request-id", "request-number-1"}};
  int compared = 0;
  for (const access::Method& line : access::AllMethods()) {
    const std::string path(line.path);
    if (StartsWith(path, "/grpc.health.")) continue;  // the front's own
    for (const SentMetadata* metadata : {&nobody, &twice, &stranger, &device, &admin}) {
      for (const std::string message : {"", "\x0a\x05xx", "\x0a\x03xyz"}) {
        if (metadata == &stranger && !message.empty()) continue;  // many get ResourceExhausted
        const WholeAnswer direct = CallOnce(channel_, path, *metadata, message);
        const WholeAnswer fronted = CallOnce(fronted_, path, *metadata, message);
        EXPECT_EQ(fronted.status.error_code(), direct.status.error_code()) << path;
        EXPECT_EQ(fronted.status.error_message(), direct.status.error_message()) << path;
        EXPECT_EQ(fronted.status.error_details(), direct.status.error_details()) << path;
        EXPECT_EQ(fronted.message, direct.message) << path;
        EXPECT_EQ(fronted.trailing, direct.trailing) << path;
        EXPECT_EQ(fronted.initial, direct.initial) << path;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 400);
}

TEST_F(FrontTest, AMethodThatIsNotThereAnswersAsItDoesDirectly) {
  ServeBehindFront(PolicyOfAllRoles());
  for (const char* path : {"/coppice.v1.StudyService/Fresh", "/a/b", "/"}) {
    const SentMetadata admin = {{"authorization", "Bearer " + TokenOf(access::Role::kAdmin)}};
    const WholeAnswer direct = CallOnce(channel_, path, admin);
    const WholeAnswer fronted = CallOnce(fronted_, path, admin);
    EXPECT_EQ(fronted.status.error_code(), direct.status.error_code()) << path;
    EXPECT_EQ(fronted.status.error_message(), direct.status.error_message()) << path;
  }
}

TEST_F(FrontTest, ARequestBeyondTheLimitAnswersAsItDoesDirectly) {
  ServeBehindFront(PolicyOfAllRoles());
  const SentMetadata admin = {{"authorization", "Bearer " + TokenOf(access::Role::kAdmin)}};
  const std::string large(DaemonLimits().max_message_bytes + 1, '\0');
  for (const char* path : {kListStudies, "/coppice.v1.DatasetService/UploadRows"}) {
    const WholeAnswer direct = CallOnce(channel_, path, admin, large);
    const WholeAnswer fronted = CallOnce(fronted_, path, admin, large);
    EXPECT_EQ(direct.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << path;
    EXPECT_EQ(fronted.status.error_code(), direct.status.error_code()) << path;
    EXPECT_EQ(fronted.status.error_message(), direct.status.error_message()) << path;
  }
}

TEST_F(FrontTest, AClientsCertificateHasItsRolesThroughAFront) {
  ServeBehindFront(PolicyOfCertificate(client_), /*mutual=*/true);
  const WholeAnswer listed = CallOnce(fronted_, kListStudies, {});
  EXPECT_TRUE(listed.status.ok()) << listed.status.error_message();
  EXPECT_EQ(CallOnce(fronted_, kOffer, {}).status.error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(FrontTest, ACuratorsCertificateGivesItsClientsNoRole) {
  ServeBehindFront(PolicyOfCertificate(curator_), /*mutual=*/true);
  EXPECT_EQ(CallOnce(fronted_, kListStudies, {}).status.error_code(),
            CallOnce(channel_, kListStudies, {}).status.error_code());
  EXPECT_NE(CallOnce(fronted_, kListStudies, {}).status.error_code(), grpc::StatusCode::OK);
}

TEST_F(FrontTest, WhatAClientSendsAsItsCertificatesHashDoesNotCount) {
  const Certificate other = MakeCertificate();
  ServeBehindFront(PolicyOfCertificate(other), /*mutual=*/true);
  const SentMetadata forged = {{kClientCertificateKey, DigestOf(other)}};
  for (const auto& channel : {fronted_, channel_}) {
    const grpc::Status plain = CallOnce(channel, kListStudies, {}).status;
    const grpc::Status status = CallOnce(channel, kListStudies, forged).status;
    EXPECT_NE(status.error_code(), grpc::StatusCode::OK);
    EXPECT_EQ(status.error_code(), plain.error_code());
    EXPECT_EQ(status.error_message(), plain.error_message());
  }
}

// The front asks for no certificate, though its leader's policy lists some.
TEST_F(FrontTest, WhatAClientWithoutACertificateSendsAsItsHashDoesNotCount) {
  ServeBehindFront(PolicyOfCertificate(client_), /*mutual=*/true, /*front_asks=*/false);
  const SentMetadata forged = {{kClientCertificateKey, DigestOf(client_)}};
  EXPECT_EQ(CallOnce(fronted_, kListStudies, forged).status.error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(CallOnce(channel_, kListStudies, {}).status.ok()) << "with the certificate";
}

// The leader accepts only 32 bytes, sent once, as a hash.
TEST_F(FrontTest, ALeaderTakesOneHashOfTheRightSize) {
  ServeBehindFront(PolicyOfCertificate(client_), /*mutual=*/true);
  const auto peer = ConnectTo(leader_->port(), curator_, &curator_);
  const std::string hash = DigestOf(client_);
  const auto code = [&](const SentMetadata& metadata) {
    return CallOnce(peer, kListStudies, metadata).status.error_code();
  };
  EXPECT_EQ(code({{kClientCertificateKey, hash}}), grpc::StatusCode::OK);
  for (const SentMetadata& wrong :
       std::vector<SentMetadata>{{},
                                 {{kClientCertificateKey, ""}},
                                 {{kClientCertificateKey, hash.substr(1)}},
                                 {{kClientCertificateKey, hash + "x"}},
                                 {{kClientCertificateKey, hash}, {kClientCertificateKey, hash}}}) {
    EXPECT_NE(code(wrong), grpc::StatusCode::OK);
  }
}

TEST_F(FrontTest, TheLeadersPortIsForCuratorsAlone) {
  ServeBehindFront(PolicyOfCertificate(client_), /*mutual=*/true);
  const SentMetadata forged = {{kClientCertificateKey, DigestOf(client_)}};
  for (const Certificate* shown : {&client_, static_cast<const Certificate*>(nullptr)}) {
    const auto channel = ConnectTo(leader_->port(), curator_, shown);
    EXPECT_EQ(CallOnce(channel, kListStudies, forged).status.error_code(),
              grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(FrontTest, NothingOfAnAnswerLeavesALeaderThatMayNotAnswer) {
  std::atomic<bool> may{true};
  may_answer_ = [&] {
    return may ? OkStatus() : UnavailableError("another curator may lead by now");
  };
  ServeBehindFront(PolicyOfAllRoles());
  const SentMetadata admin = {{"authorization", "Bearer " + TokenOf(access::Role::kAdmin)}};
  EXPECT_TRUE(CallOnce(fronted_, kListStudies, admin).status.ok());
  may = false;
  for (const access::Method& line : access::AllMethods()) {
    const std::string path(line.path);
    if (!StartsWith(path, "/coppice.")) continue;
    const WholeAnswer answer = CallOnce(fronted_, path, admin);
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::UNAVAILABLE) << path;
    EXPECT_EQ(answer.status.error_message(), "another curator may lead by now") << path;
    EXPECT_EQ(answer.message, "") << path;
  }
  may = true;
  EXPECT_TRUE(CallOnce(fronted_, kListStudies, admin).status.ok());
}

}  // namespace
}  // namespace coppice::daemon
