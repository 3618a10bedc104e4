// A real daemon's log of calls with their request ids, and what SIGHUP reloads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/device/grpc/server_call.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ReloadTest : public ::testing::Test {
 protected:
  // Makes certificates of another authority in folder `name`.
  std::string MakeCertificates(const std::string& name) {
    std::string path = folder_.path() + "/" + name;
    EXPECT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), path}).exit_code, 0);
    return path;
  }
  // Replaces a whole file in one step, as a renewal does.
  void Install(const std::string& from, const std::string& name) {
    const std::string to = folder_.path() + "/certs/" + name;
    std::filesystem::copy_file(from + "/" + name, to + ".new");
    std::filesystem::rename(to + ".new", to);
  }
  // Makes one call over a new connection that trusts `ca`.
  bool Reaches(const std::string& ca, const std::string& certs_of_client = "") const {
    ConnectOptions connect = daemon_.connection();
    connect.ca_file = ca;
    if (!certs_of_client.empty()) {
      connect.cert_file = certs_of_client + "/client.crt";
      connect.key_file = certs_of_client + "/client.key";
    }
    const auto stub = v1::StudyService::NewStub(*Connect(connect));
    return List(*stub).ok();
  }
  static grpc::Status List(v1::StudyService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    v1::ListStudiesResponse response;
    return stub.ListStudies(&context, {}, &response);
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
};

TEST_F(ReloadTest, ARenewedCertificateMeetsNewConnectionsWhileOldOnesGoOn) {
  ASSERT_TRUE(daemon_.Start());
  const std::string old_ca = folder_.path() + "/old_ca.crt";
  std::filesystem::copy_file(daemon_.ca(), old_ca);
  ConnectOptions connect = daemon_.connection();
  connect.ca_file = old_ca;
  const auto old_connection = v1::StudyService::NewStub(*Connect(connect));
  ASSERT_TRUE(List(*old_connection).ok());

  const std::string renewed = MakeCertificates("renewed");
  for (const char* file : {"server.crt", "server.key", "ca.crt"}) Install(renewed, file);
  EXPECT_TRUE(Reaches(old_ca));  // no signal was sent yet
  daemon_.ReloadUntil("reloaded part=certificates");
  EXPECT_TRUE(Reaches(renewed + "/ca.crt"));
  EXPECT_FALSE(Reaches(old_ca));
  EXPECT_TRUE(List(*old_connection).ok());
}

TEST_F(ReloadTest, ABadPairIsRefusedAndTheOldOneStays) {
  ASSERT_TRUE(daemon_.Start());
  const std::string other = MakeCertificates("other");
  Install(other, "server.key");  // the certificate has another key
  daemon_.ReloadUntil("kept part=certificates");
  EXPECT_THAT(daemon_.log(), HasSubstr("does not belong to the certificate"));
  EXPECT_TRUE(Reaches(daemon_.ca()));
  // The pair is accepted once the certificate is there too.
  Install(other, "server.crt");
  daemon_.ReloadUntil("reloaded part=certificates");
  EXPECT_TRUE(Reaches(other + "/ca.crt"));
}

TEST_F(ReloadTest, ClientsAreStillAskedForTheirCertificateByTheNewAuthority) {
  const std::string first = folder_.path() + "/certs";
  daemon_.AddFlags({"--client-ca", first + "/ca.crt"});
  ASSERT_TRUE(daemon_.Start());
  EXPECT_TRUE(Reaches(daemon_.ca(), first));
  EXPECT_FALSE(Reaches(daemon_.ca()));

  const std::string renewed = MakeCertificates("renewed");
  for (const char* file : {"server.crt", "server.key", "ca.crt"}) Install(renewed, file);
  daemon_.ReloadUntil("reloaded part=certificates");
  EXPECT_TRUE(Reaches(renewed + "/ca.crt", renewed));
  EXPECT_FALSE(Reaches(renewed + "/ca.crt"));
  EXPECT_FALSE(Reaches(renewed + "/ca.crt", first));
}

TEST_F(ReloadTest, ConnectionsComeAndGoWhileCertificatesAreReloaded) {
  ASSERT_TRUE(daemon_.Start());
  for (int i = 0; i < 50; ++i) {
    daemon_.Signal(SIGHUP);
    ASSERT_TRUE(Reaches(daemon_.ca())) << i;
  }
  EXPECT_EQ(daemon_.Stop(), 0);
}

TEST_F(ReloadTest, TheLogLevelIsReadAgainFromTheFile) {
  const std::string config = folder_.path() + "/coppiced.toml";
  std::ofstream(config) << "log-level = \"info\"\n";
  daemon_.AddFlags({"--config", config});
  ASSERT_TRUE(daemon_.Start());
  ASSERT_TRUE(Reaches(daemon_.ca()));
  EXPECT_THAT(daemon_.log(), Not(HasSubstr("ListStudies")));

  std::ofstream(config) << "log-level = \"debug\"\n";
  daemon_.ReloadUntil("reloaded part=log-level");
  ASSERT_TRUE(Reaches(daemon_.ca()));
  EXPECT_THAT(daemon_.log(), HasSubstr("ListStudies"));

  std::ofstream(config) << "log-level = \"loud\"\n";
  daemon_.ReloadUntil("kept part=log-level");
  EXPECT_EQ(daemon_.Stop(), 0);
}

TEST_F(ReloadTest, EveryLineIsJsonAndACallIsFoundByItsRequestId) {
  daemon_.AddFlags({"--json"});
  ASSERT_TRUE(daemon_.Start());
  const Outcome refused = daemon_.Coppice({"study", "seal", "--study", "absent"});
  EXPECT_EQ(refused.exit_code, 1);
  const std::string before = "request id ";
  const size_t at = refused.err.find(before);
  ASSERT_NE(at, std::string::npos) << refused.err;
  const std::string id = refused.err.substr(at + before.size(), 32);

  const auto stub = v1::StudyService::NewStub(*Connect(daemon_.connection()));
  for (const char* own : {"chosen-by-the-client", "no good"}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", own);
    v1::SealStudyRequest request;
    request.set_name("studies/absent");
    v1::SealStudyResponse response;
    EXPECT_EQ(stub->SealStudy(&context, request, &response).error_code(), grpc::NOT_FOUND);
    const auto& sent = context.GetServerTrailingMetadata();
    ASSERT_EQ(sent.count("x-request-id"), 1u);
    const auto& value = sent.find("x-request-id")->second;
    const bool taken = std::string(value.data(), value.size()) == own;
    EXPECT_EQ(taken, std::string(own) == "chosen-by-the-client");
  }
  EXPECT_EQ(daemon_.Stop(), 0);

  std::vector<nlohmann::json> calls;
  std::istringstream log(daemon_.log());
  for (std::string line; std::getline(log, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    if (json["event"] == "call") calls.push_back(json);
  }
  ASSERT_THAT(calls, SizeIs(3));
  EXPECT_EQ(calls[0]["request_id"], id);
  EXPECT_EQ(calls[0]["method"], "coppice.v1.StudyService/SealStudy");
  EXPECT_EQ(calls[0]["code"], "NOT_FOUND");
  EXPECT_EQ(calls[0]["level"], "info");
  EXPECT_EQ(calls[1]["request_id"], "chosen-by-the-client");
}

}  // namespace
}  // namespace coppice
