// Every kind of bad input against a real daemon: a clear error, the right exit code, nothing lost.

#include <grpcpp/grpcpp.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "client/device/privatizer.h"
#include "common/privacy/openssl_random.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/integration/small_disk.h"
#include "tests/support/collector.h"
#include "tests/support/sealed_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SmallDisk;
using ::coppice::testing::SourcePath;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BadInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    Synthesize(rows_, "private=50,public=50,test=50");
  }

  std::vector<std::string> CreateArguments(const std::string& study, const std::string& public_file,
                                           const std::string& epsilon = "1") const {
    return {"study",     "create",    "--study",     study,
            "--public",  public_file, "--schema",    rows_ + "/schema.json",
            "--epsilon", epsilon,     "--mechanism", "optimized_unary",
            "--depth",   "6"};
  }
  void CreateStudy(const std::string& study) {
    daemon_.CoppiceJson(CreateArguments(study, rows_ + "/public.csv"));
  }
  std::string WriteCsv(const std::string& text) {
    const std::string path = folder_.path() + "/bad.csv";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    return path;
  }
  // Creating a study from these rows must fail with a message that has all of `words`.
  void ExpectRefused(const std::string& csv, const std::vector<std::string>& words) {
    const Outcome outcome = daemon_.Coppice(CreateArguments("refused", WriteCsv(csv)));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    for (const std::string& word : words) EXPECT_THAT(outcome.err, HasSubstr(word));
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::string rows_ = folder_.path() + "/rows";
};

TEST_F(BadInputTest, WhateverIsSentTheLogIsOneObjectALine) {
  ASSERT_EQ(daemon_.Stop(), 0);
  daemon_.AddFlags({"--json", "--log-level", "debug"});
  ASSERT_TRUE(daemon_.Start());
  ASSERT_OK_AND_ASSIGN(const auto channel, Connect(daemon_.connection()));
  v1::GetStudyRequest request;
  request.set_name("studies/\xc3\x28");
  grpc::ClientContext context;
  v1::GetStudyResponse response;
  const grpc::Status status =
      v1::StudyService::NewStub(channel)->GetStudy(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  ASSERT_EQ(daemon_.Stop(), 0);
  std::istringstream log(daemon_.log());
  bool said = false;
  for (std::string line; std::getline(log, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    said |= json.value("event", "") == "protobuf";
  }
  EXPECT_TRUE(said) << "as an event, where it stood between lines";
}

TEST_F(BadInputTest, BadTablesAreRefusedWithFileLineAndColumn) {
  ExpectRefused("x1,x2,y\n0.1,0.2,1\n0.3,1\n", {"bad.csv:3", "2 fields"});
  ExpectRefused("x1,x2,y\n0.1,nan,1\n", {"bad.csv:2", "x2"});
  ExpectRefused("x1,x2,y\n0.1,0.2,maybe\n", {"bad.csv:2", "\"y\""});
  ExpectRefused("x1,y\n0.1,1\n", {"x2"});
  ExpectRefused("", {"bad.csv", "empty"});
  ExpectRefused(std::string("x1,x2,y\n0.1,\0,1\n", 15), {"bad.csv"});
  EXPECT_THAT(daemon_.Coppice(CreateArguments("refused", folder_.path() + "/absent.csv")).err,
              HasSubstr("absent.csv"));
  // No refused study left anything behind.
  const Outcome show = daemon_.Coppice({"study", "show", "--study", "refused"});
  EXPECT_EQ(show.exit_code, 1);
  EXPECT_THAT(show.err, HasSubstr("refused"));
}

TEST_F(BadInputTest, AnUnknownCategoryIsCountedOrRefusedWithStrict) {
  const std::string schema = folder_.path() + "/colours.json";
  std::ofstream(schema) << R"({"label":"y","classes":["0","1"],"features":[
      {"name":"colour","type":"categorical","values":["red","green"]}]})";
  const std::string csv = WriteCsv("colour,y\nred,0\nblue,1\ngreen,0\n,1\n");
  std::vector<std::string> create = CreateArguments("colours", csv);
  create[7] = schema;
  create.emplace_back("--strict");
  const Outcome strict = daemon_.Coppice(create);
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.err, HasSubstr("bad.csv:3"));
  create.pop_back();
  const Outcome lenient = daemon_.Coppice(create);
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_THAT(lenient.err, HasSubstr("1 field outside the public vocabulary"));
  EXPECT_THAT(lenient.err, HasSubstr("1 field missing"));
}

TEST_F(BadInputTest, AbsurdEpsilonsAreWrongUsage) {
  for (const char* epsilon : {"0", "-1", "nan", "inf", "1e9", "21", "0.001", "much"}) {
    const Outcome outcome =
        daemon_.Coppice(CreateArguments("absurd", rows_ + "/public.csv", epsilon));
    EXPECT_EQ(outcome.exit_code, 2) << epsilon;
    EXPECT_THAT(outcome.err, HasSubstr("--epsilon")) << epsilon;
  }
}

TEST_F(BadInputTest, EachBadReportHasItsOutcomeAndTheGoodOneCounts) {
  CreateStudy("judged");
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create(daemon_.connection(), RetryOptions()));
  ASSERT_OK_AND_ASSIGN(const FetchedOffer offer, collector.FetchForest("judged", 5));
  const Privatizer privatizer = *Privatizer::Create(offer.terms, offer.fingerprint, offer.trees);
  OpenSslRandom random;
  const auto channel = *Connect(daemon_.connection());
  const auto stub = v1::ReportService::NewStub(channel);
  v1::GetCuratorKeysResponse keys;
  grpc::ClientContext asking;
  ASSERT_TRUE(v1::StudyService::NewStub(channel)->GetCuratorKeys(&asking, {}, &keys).ok());
  const DirectKey key = testing::DirectKeyOf(keys);

  ASSERT_OK_AND_ASSIGN(const uint32_t report_bytes, collector.ReportBytesOf("judged"));
  const auto submit = [&](const std::string& study, const std::string& fingerprint,
                          const std::vector<std::pair<std::string, std::string>>& reports) {
    grpc::ClientContext context;
    v1::SealedReports sealed;
    sealed.set_study(study);
    sealed.set_fingerprint(fingerprint);
    for (const auto& [ticket, payload] : reports) {
      v1::Report& report = *sealed.add_reports();
      report.set_ticket(ticket);
      report.set_payload(payload);
    }
    v1::SubmitReportsResponse response;
    const testing::SealedReportsCall call(key, sealed, report_bytes);
    const grpc::Status status = stub->SubmitReports(&context, call.request(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return call.Outcomes(response).value_or(std::vector<int>());
  };
  const auto ticket = [&](size_t i) { return offer.tickets[i].ToBytes(); };
  const std::string good = privatizer.Privatize({{0.5, 0.5}, 1}, offer.tickets[0], random)->payload;
  const std::string fingerprint(offer.fingerprint.begin(), offer.fingerprint.end());
  std::string forged = ticket(1);
  forged[20] = static_cast<char>(forged[20] ^ 1);

  EXPECT_THAT(submit("studies/judged", fingerprint,
                     {{ticket(0), good},
                      {ticket(0), good},
                      {forged, good},
                      {"short", good},
                      {ticket(1), good.substr(1)},
                      {ticket(2), good + "x"},
                      {ticket(3), std::string(good.size(), '\xff')}}),
              ElementsAre(1, 2, 6, 6, 7, 7, 7));
  EXPECT_THAT(submit("studies/judged", std::string(32, 'x'), {{ticket(1), good}}), ElementsAre(5));
  EXPECT_THAT(submit("studies/nowhere", fingerprint, {{ticket(1), good}}), ElementsAre(3));
  daemon_.CoppiceJson({"study", "seal", "--study", "judged"});
  EXPECT_THAT(submit("studies/judged", fingerprint, {{ticket(1), good}}), ElementsAre(4));
  // Sealing loses no count.
  const auto shown = daemon_.CoppiceJson({"study", "show", "--study", "judged"});
  EXPECT_EQ(shown["accepted"], 1);
}

TEST_F(BadInputTest, AVanishedServerIsNamedWithWhatToCheck) {
  CreateStudy("vanished");
  daemon_.Kill();
  const Outcome outcome =
      daemon_.Coppice({"study", "show", "--study", "vanished", "--timeout", "2"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(daemon_.server()));
}

TEST_F(BadInputTest, APortInUseIsAnErrorNotASharedPort) {
  TempDir other;
  Daemon second(folder_.path(), other.path() + "/store");
  const Outcome outcome = RunProgram(second.CommandLine(daemon_.server()));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(daemon_.port()));
  EXPECT_THAT(outcome.err, HasSubstr("another process"));
}

TEST_F(BadInputTest, AStoreInUseIsAnError) {
  const Outcome outcome = RunProgram(Daemon(folder_.path()).CommandLine("127.0.0.1:0"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("another process"));
}

TEST_F(BadInputTest, ACorruptStoreIsRefusedAndLeftAlone) {
  CreateStudy("damaged");
  EXPECT_EQ(daemon_.Stop(), 0);
  // Damages the middle of the database's largest file.
  std::filesystem::path largest;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(daemon_.data_dir())) {
    if (!entry.is_regular_file() || entry.path().filename().string().rfind("LOG", 0) == 0) continue;
    if (entry.path().filename().string().rfind("OPTIONS", 0) == 0) continue;
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) {
      largest = entry.path();
    }
  }
  std::string bytes = ReadWhole(largest);
  ASSERT_GT(bytes.size(), 200u) << largest;
  for (size_t i = 0; i < 64; ++i) bytes[bytes.size() / 2 + i] ^= 0x5a;
  std::ofstream(largest, std::ios::binary | std::ios::trunc) << bytes;

  const Outcome outcome = RunProgram(daemon_.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(daemon_.data_dir()));
  EXPECT_EQ(ReadWhole(largest), bytes);
}

TEST_F(BadInputTest, AnExpiredCertificateIsFoundBeforeServing) {
  TempDir other;
  const std::string certs = other.path() + "/certs";
  ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), "--force-dates", "20200101000000Z",
                        "20200201000000Z", certs})
                .exit_code,
            0);
  const Outcome outcome = RunProgram(Daemon(other.path()).CommandLine("127.0.0.1:0"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("expired"));
}

TEST_F(BadInputTest, AClientThatTrustsAnotherAuthorityIsToldSo) {
  TempDir other;
  ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), other.path() + "/certs"}).exit_code, 0);
  const Outcome outcome =
      RunProgram({BinaryPath("coppice"), "study", "list", "--server", daemon_.server(), "--ca",
                  other.path() + "/certs/ca.crt", "--timeout", "3"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("but by no CA in"));
}

TEST_F(BadInputTest, AFullDiskAcknowledgesNothingAndRecovers) {
  TempDir other;
  const SmallDisk disk(other.path() + "/disk", 96);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  Daemon daemon(other.path(), other.path() + "/disk/store");
  ASSERT_TRUE(daemon.Start());
  daemon.CoppiceJson(CreateArguments("full", rows_ + "/public.csv"));
  std::vector<std::string> simulate = {"collect",   "simulate",
                                       "--study",   "full",
                                       "--data",    rows_ + "/private.csv",
                                       "--journal", other.path() + "/journal",
                                       "--timeout", "2"};
  disk.Fill();
  const Outcome refused = daemon.Coppice(simulate);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("store has no room"));
  EXPECT_EQ(daemon.CoppiceJson({"study", "show", "--study", "full"})["accepted"], 0);
  disk.Free();
  simulate.back() = "60";  // now it must succeed, however busy the machine is
  daemon.CoppiceJson(simulate);
  EXPECT_EQ(daemon.CoppiceJson({"study", "show", "--study", "full"})["accepted"], 50);
  EXPECT_EQ(daemon.Stop(), 0);
}

}  // namespace
}  // namespace coppice
