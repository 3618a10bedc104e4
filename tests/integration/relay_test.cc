// A study through a relay, all of it real: coppiced, coppice-relay, and devices of `coppice collect
// simulate --relay`. Checks what is counted, what the certificate says, and that neither a killed
// relay nor a killed curator loses or repeats a report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/integration/http_page.h"
#include "tests/integration/relay_program.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::GetPage;
using ::coppice::testing::Outcome;
using ::coppice::testing::Process;
using ::coppice::testing::RelayProgram;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::coppice::testing::ValueOf;
using ::testing::HasSubstr;

constexpr int kDevices = 1200;

class RelayedJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(curator_.Start());
    Synthesize(rows_, "private=1200,public=60,test=200");
    const Outcome key = curator_.Coppice({"study", "key", "--pem"});
    ASSERT_EQ(key.exit_code, 0) << key.err;
    std::ofstream(CuratorKey()) << key.out;
    curator_.CoppiceJson({"study", "create", "--study", "wells", "--public", rows_ + "/public.csv",
                          "--schema", rows_ + "/schema.json", "--epsilon", "2", "--mechanism",
                          "signed_hadamard", "--depth", "3", "--relay-key", relay_.key(),
                          "--min-batch", "1000"});
    const Outcome token =
        RunProgram({BinaryPath("coppice-relay"), "token", "--name", "all", "--tickets", "5000"});
    ASSERT_EQ(token.exit_code, 0) << token.err;
    const size_t end = token.out.find('\n');
    WritePrivately(folder_.path() + "/token", token.out.substr(0, end));
    WritePrivately(folder_.path() + "/devices", token.out.substr(end + 1));
  }
  static void WritePrivately(const std::string& file, const std::string& text) {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0600));
  }
  std::string CuratorKey() const { return folder_.path() + "/curator.pem"; }

  // Starts the relay with a pool of `tickets`, and more flags.
  void StartRelay(const std::string& tickets, const std::vector<std::string>& flags) {
    relay_.AddFlags({"--curator", curator_.server(), "--curator-ca", curator_.ca(), "--curator-key",
                     CuratorKey(), "--study", "wells", "--tickets", tickets, "--admission",
                     folder_.path() + "/devices"});
    relay_.AddFlags(flags);
    ASSERT_TRUE(relay_.Start());
    ASSERT_TRUE(testing::Eventually([this] {
      return RunProgram({BinaryPath("coppice"), "health", "--server", relay_.server(), "--ca",
                         relay_.ca()})
                 .exit_code == 0;
    })) << relay_.log();
  }
  std::vector<std::string> SimulateLine() const {
    return {BinaryPath("coppice"),
            "collect",
            "simulate",
            "--study",
            "wells",
            "--data",
            rows_ + "/private.csv",
            "--curator-key",
            CuratorKey(),
            "--relay",
            relay_.server(),
            "--relay-key",
            relay_.key(),
            "--relay-ca",
            relay_.ca(),
            "--relay-token-file",
            folder_.path() + "/token",
            "--journal",
            folder_.path() + "/journal",
            "--json"};
  }
  nlohmann::json Study() { return curator_.CoppiceJson({"study", "show", "--study", "wells"}); }
  // Waits until every report that came was judged.
  nlohmann::json CountedStudy(int batches = 1) {
    nlohmann::json study;
    EXPECT_TRUE(testing::Eventually([&] {
      study = Study();
      return study.value("batches", 0) == batches && study.value("waiting", -1) == 0 &&
             study.contains("least_accepted");
    })) << study
        << relay_.log() << curator_.log();
    return study;
  }

  TempDir folder_;
  std::string rows_ = folder_.path() + "/rows";
  Daemon curator_{folder_.path()};
  RelayProgram relay_{folder_.path(), {}};
};

TEST_F(RelayedJobTest, EveryDeviceIsCountedAndTheCertificateTellsWhatTheirCrowdGives) {
  // No report may bypass the relay.
  const Outcome direct = curator_.Coppice(
      {"collect", "simulate", "--study", "wells", "--data", rows_ + "/private.csv"});
  EXPECT_EQ(direct.exit_code, 1);
  EXPECT_THAT(direct.err, HasSubstr("relay"));

  StartRelay(std::to_string(kDevices), {"--deal", "1h", "--collect", "2h"});
  const Outcome simulated = RunProgram(SimulateLine());
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err << relay_.log();
  const nlohmann::json told = nlohmann::json::parse(simulated.out);
  EXPECT_EQ(told["dealt"], kDevices);
  EXPECT_EQ(told["stored"], kDevices);

  // Every ticket of the pool is dealt and answered, so the batch goes at once.
  const nlohmann::json study = CountedStudy();
  EXPECT_EQ(study["accepted"], kDevices) << study;
  EXPECT_EQ(study["duplicate"], 0) << study;
  EXPECT_EQ(study["rejected"].size(), 0u) << study;
  EXPECT_EQ(study["least_accepted"], kDevices);

  curator_.CoppiceJson({"study", "seal", "--study", "wells"});
  curator_.CoppiceJson({"model", "build", "--study", "wells", "--model", "tree"});
  const nlohmann::json model = curator_.CoppiceJson({"model", "show", "--model", "tree"});
  EXPECT_EQ(model["epsilon"], 2.0);
  EXPECT_EQ(model["relay_honest_reports"], kDevices * 9 / 10);
  EXPECT_LT(model["relay_epsilon"], 1.0);
  EXPECT_GT(model["relay_epsilon"], 0.0);
  EXPECT_EQ(model["relay_batches"], 1);
  const std::string file = folder_.path() + "/model.json";
  ASSERT_EQ(curator_.Coppice({"model", "export", "--model", "tree", "--output", file}).exit_code,
            0);
  const Outcome verified = RunProgram(
      {BinaryPath("coppice"), "model", "verify", "--file", file, "--curator-key", CuratorKey()});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out + verified.err, HasSubstr("relay"));
}

TEST_F(RelayedJobTest, KilledRelaysAndCuratorsLoseAndRepeatNothing) {
  // A crash of the relay skips up to 1,000 tickets, so the pool has room for two crashes.
  StartRelay("4000", {"--deal", "40s", "--collect", "45s", "--metrics-listen", "127.0.0.1:0"});
  Process simulation(SimulateLine());
  for (int kill = 0; kill < 2; ++kill) {
    // Counts for the current process only.
    const auto stored = [this] {
      return ValueOf(GetPage(relay_.metrics_port(), "/metrics"),
                     R"(coppice_relay_reports_total{study="wells",outcome="stored"})");
    };
    ASSERT_TRUE(testing::Eventually([&] { return stored() >= 100; })) << simulation.err();
    relay_.Kill();
    EXPECT_TRUE(simulation.Running()) << "no device was left to meet the kill";
    ASSERT_TRUE(relay_.Start());
  }
  // The curator is not needed while reports are collected.
  curator_.Kill();
  ASSERT_EQ(simulation.Wait(), 0) << simulation.err() << relay_.log();
  const int stored = nlohmann::json::parse(simulation.out())["stored"];
  EXPECT_EQ(stored, kDevices);
  relay_.Kill();
  ASSERT_TRUE(relay_.Start());

  ASSERT_TRUE(curator_.Start());
  ASSERT_TRUE(testing::Eventually([this] { return Study().value("batches", 0) > 0; }))
      << relay_.log();
  for (int kill = 0; kill < 3; ++kill) {
    curator_.Kill();
    ASSERT_TRUE(curator_.Start());
  }
  const nlohmann::json study = CountedStudy();
  EXPECT_EQ(study["accepted"], stored) << study;
  EXPECT_EQ(study["received"], stored) << study;
  EXPECT_EQ(study["duplicate"], 0) << study;
  EXPECT_EQ(study["rejected"].size(), 0u) << study;
}

TEST_F(RelayedJobTest, ABatchThatIsTooSmallIsSeenByNobody) {
  StartRelay("2000", {"--deal", "4s", "--collect", "5s"});
  std::vector<std::string> line = SimulateLine();
  line.insert(line.end(), {"--limit", "30"});
  const Outcome simulated = RunProgram(line);
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  ASSERT_TRUE(testing::Eventually([this] {
    return relay_.log().find("erased") != std::string::npos;
  })) << relay_.log();
  const nlohmann::json study = Study();
  EXPECT_EQ(study["received"], 0);
  EXPECT_EQ(study["batches"], 0);
}

}  // namespace
}  // namespace coppice
