// The curator and the command line write the same pages and files for people and for programs.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "coppice/v1/model.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

class DocumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=500,public=200,test=100");
    daemon_.CoppiceJson({"study", "create", "--study", "s", "--public", rows_ + "/public.csv",
                         "--schema", rows_ + "/schema.json", "--epsilon", "2"});
  }

  void BuildModel() {
    daemon_.CoppiceJson({"collect", "simulate", "--study", "s", "--data", rows_ + "/private.csv"});
    daemon_.CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  }

  std::unique_ptr<v1::ModelService::Stub> Models() const {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = ReadWhole(daemon_.ca());
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(64 << 20);  // a header of C is larger than gRPC's 4 MiB
    return v1::ModelService::NewStub(
        grpc::CreateCustomChannel(daemon_.server(), grpc::SslCredentials(tls), arguments));
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::string rows_ = folder_.path() + "/rows";
};

TEST_F(DocumentsTest, FilesOfModelsAreThoseOfTheCommandLine) {
  BuildModel();
  for (const std::string format : {"coppice", "json", "onnx", "c"}) {
    const std::string path = folder_.path() + "/" + format;
    std::vector<std::string> command = {"model", "export", "--model", "m", "--output", path};
    if (format != "coppice") command.insert(command.end(), {"--format", format});
    daemon_.CoppiceJson(command);
    v1::ExportModelRequest request;
    request.set_name("models/m");
    request.set_format(format);
    v1::ExportModelResponse response;
    grpc::ClientContext context;
    const grpc::Status status = Models()->ExportModel(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.content() == ReadWhole(path)) << format;
  }
}

TEST_F(DocumentsTest, ACertificateIsThatOfTheCommandLineWithTheCuratorsKey) {
  BuildModel();
  const std::string key = folder_.path() + "/curator.pem", page = folder_.path() + "/page.html";
  std::ofstream(key) << daemon_.Coppice({"study", "key", "--pem"}).out;
  daemon_.CoppiceJson({"model", "verify", "--model", "m", "--curator-key", key, "--html", page});
  v1::DescribeModelRequest request;
  request.set_name("models/m");
  v1::DescribeModelResponse response;
  grpc::ClientContext context;
  const grpc::Status status = Models()->DescribeModel(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.certificate_page(), ReadWhole(page));
  const auto shown = daemon_.CoppiceJson({"model", "show", "--model", "m"});
  EXPECT_EQ(response.trees(), shown["trees"]);
  EXPECT_EQ(response.leaves(), shown["leaves"]);
  ASSERT_EQ(static_cast<size_t>(response.importances_size()), shown["importances"].size());
  for (int i = 0; i < response.importances_size(); ++i) {
    EXPECT_EQ(response.importances(i).feature(), shown["importances"][i]["feature"]);
    EXPECT_EQ(response.importances(i).importance(), shown["importances"][i]["importance"]);
  }
}

TEST_F(DocumentsTest, AStudyIsForeseenByItsOwnPartition) {
  const std::string page = folder_.path() + "/forecast.html";
  const Outcome foreseen = daemon_.Coppice(
      {"study", "forecast", "--study", "s", "--devices", "500,50000", "--html", page, "--json"});
  ASSERT_EQ(foreseen.exit_code, 0) << foreseen.err;
  std::istringstream lines(foreseen.out);
  std::vector<nlohmann::json> outlooks;
  for (std::string line; std::getline(lines, line);) {
    outlooks.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(outlooks.back()["epsilon"], 2);
  }
  ASSERT_EQ(outlooks.size(), 2u);
  EXPECT_EQ(outlooks[1]["devices"], 50'000);
  EXPECT_GT(outlooks[1]["equivalent_rows"], outlooks[0]["equivalent_rows"]);
  EXPECT_THAT(ReadWhole(page), HasSubstr("What accuracy to expect"));
  EXPECT_THAT(foreseen.err, HasSubstr("Public labels alone"));
  // The study's partition was chosen as a preview chooses it, so both forecast the same.
  const auto previewed =
      daemon_.CoppiceJson({"study", "preview", "--public", rows_ + "/public.csv", "--schema",
                           rows_ + "/schema.json", "--epsilon", "2", "--devices", "10000"});
  const auto again =
      daemon_.CoppiceJson({"study", "forecast", "--study", "s", "--devices", "10000"});
  EXPECT_NEAR(again["accuracy"].get<double>(), previewed["accuracy"].get<double>(), 0.05);
  EXPECT_EQ(daemon_.Coppice({"study", "forecast", "--study", "none"}).exit_code, 1);
  EXPECT_EQ(daemon_.Coppice({"study", "forecast", "--study", "s", "--devices", "0"}).exit_code, 2);
}

TEST_F(DocumentsTest, AForecastSaysWhatARelayPromisesWhereThereIsOne) {
  daemon_.CoppiceJson({"study", "create", "--study", "relayed", "--public", rows_ + "/public.csv",
                       "--schema", rows_ + "/schema.json", "--epsilon", "2", "--relay-key",
                       "ed25519:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "--min-batch",
                       "1000"});
  const Outcome foreseen = daemon_.Coppice(
      {"study", "forecast", "--study", "relayed", "--devices", "999,5000", "--json"});
  ASSERT_EQ(foreseen.exit_code, 0) << foreseen.err;
  const size_t second = foreseen.out.find('\n') + 1;
  const auto few = nlohmann::json::parse(foreseen.out.substr(0, second));
  const auto many = nlohmann::json::parse(foreseen.out.substr(second));
  EXPECT_EQ(few["relay_epsilon"], 2) << "no batch comes of so few";
  EXPECT_LT(many["relay_epsilon"], 1);
  EXPECT_EQ(many["relay_delta"], 1e-8);
  EXPECT_THAT(foreseen.err, HasSubstr("If the relay and the curator collude"));
  const auto plain = daemon_.CoppiceJson({"study", "forecast", "--study", "s", "--devices", "999"});
  EXPECT_FALSE(plain.contains("relay_epsilon"));
}

TEST_F(DocumentsTest, ACurveOfAPublicTableIsMeasuredByTheCurator) {
  const std::string page = folder_.path() + "/curve.html";
  const std::vector<std::string> command = {"train",       "curve",
                                            "--data",      rows_ + "/private.csv",
                                            "--schema",    rows_ + "/schema.json",
                                            "--epsilon",   "0.1,4",
                                            "--algorithm", "auto,logistic",
                                            "--repeats",   "2",
                                            "--output",    page,
                                            "--json"};
  const Outcome measured = daemon_.Coppice(command);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  std::istringstream lines(measured.out);
  std::vector<nlohmann::json> points;
  for (std::string line; std::getline(lines, line);) points.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0]["algorithm"], "auto");
  EXPECT_EQ(points[0]["epsilon"], 0.1);
  EXPECT_EQ(points[3]["algorithm"], "logistic");
  EXPECT_EQ(points[3]["accuracy"]["n"], 2);
  EXPECT_GT(points[3]["non_private"], 0.5);
  EXPECT_THAT(ReadWhole(page), HasSubstr("What ε buys"));
  EXPECT_THAT(daemon_.Coppice(command).err, HasSubstr("--force"));
  const Outcome refused =
      daemon_.Coppice({"train", "curve", "--data", rows_ + "/private.csv", "--schema",
                       rows_ + "/schema.json", "--algorithm", "none"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("there is no \"none\"; there are auto"));
}

}  // namespace
}  // namespace coppice
