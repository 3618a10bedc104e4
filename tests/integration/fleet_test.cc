// Three real curators on one real PostgreSQL behind a real HAProxy, over TLS.

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "tests/integration/balancer.h"
#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Balancer;
using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::FreePort;
using ::coppice::testing::Outcome;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kCurators = 3;
constexpr int kExitLeaseLost = 75;

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    SKIP_UNLESS_INSTALLED(Balancer::IsInstalled(), Balancer::kMissing);
    uri_ = PostgresServer::Shared().NewDatabase();
    Synthesize(Path("rows"), "private=1500,public=100,test=300");
    ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), Path("certs")}).exit_code, 0);
    for (std::unique_ptr<Daemon>& curator : fleet_) curator = MakeCurator();
  }

  std::string Path(const std::string& file) const { return folder_.path() + "/" + file; }

  // All have the same certificate, as behind one balancer.
  std::unique_ptr<Daemon> MakeCurator(const std::string& lease_seconds = "2") {
    const std::string folder = Path(StrCat("curator", addresses_.size()));
    std::filesystem::create_directory(folder);
    std::filesystem::copy(Path("certs"), folder + "/certs");
    auto curator = std::make_unique<Daemon>(folder, uri_);
    const std::string port = StrCat(FreePort());
    curator->SetPort(port);
    addresses_.push_back("127.0.0.1:" + port);
    curator->AddFlags({"--fleet-address", addresses_.back(), "--lease-seconds", lease_seconds});
    return curator;
  }
  void StartAll() {
    for (const std::unique_ptr<Daemon>& curator : fleet_) ASSERT_TRUE(curator->Start());
    balancer_ = std::make_unique<Balancer>(folder_.path(), addresses_, Path("certs/ca.crt"));
    ASSERT_TRUE(Eventually([&] { return Leader() < kCurators; }));
  }

  static bool Leads(const Daemon& curator) {
    return curator.log().find("serving the fleet") != std::string::npos;
  }
  // The number of the leader; kCurators if there is none.
  size_t Leader() const {
    size_t i = 0;
    while (i < kCurators && (ended_[i] || !Leads(*fleet_[i]))) ++i;
    return i;
  }
  Daemon& Standby() const {
    const size_t leader = Leader();
    for (size_t i = 0; i < kCurators; ++i) {
      if (i != leader && !ended_[i]) return *fleet_[i];
    }
    ADD_FAILURE() << "no standby is left";
    return *fleet_[0];
  }
  size_t WaitForLeaderAfter(size_t former) {
    ended_[former] = true;
    EXPECT_TRUE(Eventually([&] { return Leader() < kCurators; })) << "nobody leads";
    return Leader();
  }

  // Runs `coppice` through the balancer; with `tries` again until it succeeds.
  Outcome Coppice(std::vector<std::string> arguments, int tries = 600) const {
    arguments.insert(arguments.begin(), BinaryPath("coppice"));
    for (const std::string& word : {std::string("--server"), balancer_->server(),
                                    std::string("--ca"), Path("certs/ca.crt")}) {
      arguments.push_back(word);
    }
    Outcome outcome;
    Eventually([&] {
      outcome = RunProgram(arguments);
      return outcome.exit_code == 0 || --tries == 0;
    });
    return outcome;
  }
  nlohmann::json CoppiceJson(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Outcome outcome = Coppice(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }

  void CreateStudy() const {
    CoppiceJson({"study", "create", "--study", "s", "--public", Path("rows/public.csv"), "--schema",
                 Path("rows/schema.json"), "--epsilon", "2"});
  }
  int64_t Simulate() const {
    return CoppiceJson({"collect", "simulate", "--study", "s", "--data", Path("rows/private.csv"),
                        "--again"})["accepted"];
  }
  int64_t Accepted() const { return CoppiceJson({"study", "show", "--study", "s"})["accepted"]; }

  TempDir folder_;
  std::string uri_;
  std::vector<std::string> addresses_;  // in the order in which they were made
  std::array<std::unique_ptr<Daemon>, kCurators> fleet_;
  std::array<bool, kCurators> ended_{};
  std::unique_ptr<Balancer> balancer_;
};

TEST_F(FleetTest, TheBalancerFindsTheLeaderAlsoAfterItsDeath) {
  StartAll();
  CreateStudy();
  EXPECT_EQ(Simulate(), 1500);
  const size_t first = Leader();
  fleet_[first]->Kill();
  const size_t second = WaitForLeaderAfter(first);
  EXPECT_EQ(Accepted(), 1500);
  EXPECT_EQ(Simulate(), 1500);
  ASSERT_TRUE(fleet_[first]->Start());  // a supervisor would do this
  ended_[first] = false;
  EXPECT_EQ(Accepted(), 3000);
  EXPECT_THAT(fleet_[first]->log(), Not(HasSubstr("leading")));
  CoppiceJson({"study", "seal", "--study", "s"});
  CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  EXPECT_GT(CoppiceJson(
                {"model", "evaluate", "--model", "m", "--data", Path("rows/test.csv")})["accuracy"],
            0.5);
  EXPECT_EQ(Leader(), second);
  for (const std::unique_ptr<Daemon>& curator : fleet_) EXPECT_EQ(curator->Stop(), 0);
  const Outcome checked = RunProgram({BinaryPath("coppiced"), "check", "--store", uri_});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST_F(FleetTest, OnlyTheLeaderIsReadyAndAStandbyAnswersNothingElse) {
  StartAll();
  const size_t leader = Leader();
  ASSERT_TRUE(Eventually([&] { return fleet_[leader]->Coppice({"health"}).exit_code == 0; }));
  for (size_t i = 0; i < kCurators; ++i) {
    EXPECT_EQ(fleet_[i]->Coppice({"health", "--alive"}).exit_code, 0);
    if (i == leader) continue;
    EXPECT_NE(fleet_[i]->Coppice({"health"}).exit_code, 0);
    const Outcome refused = fleet_[i]->Coppice({"study", "list", "--timeout", "1"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.err, HasSubstr("stands by"));
  }
}

TEST_F(FleetTest, TheStatusSaysWhoLeads) {
  StartAll();
  const auto status = CoppiceJson({"admin", "status"});
  EXPECT_EQ(status["store"], "postgresql");
  EXPECT_TRUE(status["disk_free_bytes"].is_null());
  EXPECT_EQ(status["fleet"]["leader"], addresses_[Leader()]);
  EXPECT_EQ(status["fleet"]["lease_seconds"], 2);
  EXPECT_GE(status["fleet"]["epoch"], 1);
}

TEST_F(FleetTest, ALeaderThatIsStoppedHandsOver) {
  StartAll();
  CreateStudy();
  const size_t first = Leader();
  EXPECT_EQ(fleet_[first]->Stop(), 0) << fleet_[first]->log();
  WaitForLeaderAfter(first);
  EXPECT_EQ(Simulate(), 1500);
}

TEST_F(FleetTest, APausedLeaderAnswersNothingOldAndEnds) {
  StartAll();
  CreateStudy();
  const size_t first = Leader();
  fleet_[first]->Pause();
  WaitForLeaderAfter(first);
  EXPECT_EQ(Simulate(), 1500);
  fleet_[first]->Resume();
  const Outcome late =
      fleet_[first]->Coppice({"study", "show", "--study", "s", "--json", "--timeout", "1"});
  EXPECT_NE(late.exit_code, 0) << late.out;
  EXPECT_TRUE(Eventually([&] {
    return fleet_[first]->log().find("lease lost") != std::string::npos;
  })) << fleet_[first]->log();
  EXPECT_EQ(fleet_[first]->Wait(), kExitLeaseLost);
  EXPECT_EQ(Accepted(), 1500);
}

// The database seems to have failed over to a lagging replica while the leader was dead.
TEST_F(FleetTest, AfterAFailoverThatNobodySawLedgersWait) {
  StartAll();
  CoppiceJson({"dataset", "create", "--dataset", "d", "--data", Path("rows/private.csv"),
               "--schema", Path("rows/schema.json"), "--epsilon-total", "3"});
  const std::vector<std::string> train = {"train",       "submit", "--dataset", "d",
                                          "--algorithm", "spe",    "--epsilon", "1"};
  const Outcome first = Coppice(train);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const size_t leader = Leader();
  fleet_[leader]->Kill();
  PostgresServer::Execute(uri_, "UPDATE coppice.coppice_owner SET history = 'another'");
  const size_t next = WaitForLeaderAfter(leader);
  EXPECT_THAT(fleet_[next]->log(), HasSubstr("ledgers on hold datasets=d"));
  Coppice({"health"});
  const Outcome refused = Coppice(train, /*tries=*/1);
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("must confirm the head"));
}

TEST_F(FleetTest, ACuratorWithAnotherLeaseStandsByAndDoesNotLead) {
  fleet_[0] = MakeCurator("1");
  ASSERT_TRUE(fleet_[1]->Start());
  ASSERT_TRUE(Eventually([&] { return Leads(*fleet_[1]); }));
  ASSERT_TRUE(fleet_[0]->Start());
  EXPECT_TRUE(
      Eventually([&] { return fleet_[0]->log().find("cannot lead") != std::string::npos; }));
  EXPECT_THAT(fleet_[0]->log(), AllOf(HasSubstr("--lease-seconds"), Not(HasSubstr("leading"))));
}

TEST_F(FleetTest, ASingleDaemonDoesNotWorkBesideAFleet) {
  StartAll();
  const std::string folder = Path("alone");
  std::filesystem::create_directory(folder);
  Daemon alone(folder, uri_);
  const Outcome refused = RunProgram(alone.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("fleet"));
}

}  // namespace
}  // namespace coppice
