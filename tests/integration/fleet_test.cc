// Three real curators on one real PostgreSQL, over TLS.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"
#include "tests/integration/daemon.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
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

// A port that is free at this moment.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

bool WaitFor(const std::function<bool()>& what) {
  for (int i = 0; i < 3000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // real processes
  }
  return false;
}

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    uri_ = PostgresServer::Shared().NewDatabase();
    Synthesize(Path("rows"), "private=1500,public=100,test=300");
    ASSERT_EQ(RunProgram({SourcePath("deploy/make-certs.sh"), "--peers", Path("peers")}).exit_code,
              0);
    for (std::unique_ptr<Daemon>& curator : fleet_) curator = MakeCurator();
  }

  std::string Path(const std::string& file) const { return folder_.path() + "/" + file; }

  std::unique_ptr<Daemon> MakeCurator(const std::string& lease_seconds = "2") {
    const std::string folder = Path(StrCat("curator", made_++));
    std::filesystem::create_directory(folder);
    auto curator = std::make_unique<Daemon>(folder, uri_);
    peer_addresses_.push_back(StrCat("127.0.0.1:", FreePort()));
    curator->AddFlags({"--peer-listen", peer_addresses_.back(), "--peer-ca", Path("peers/ca.crt"),
                       "--peer-cert", Path("peers/server.crt"), "--peer-key",
                       Path("peers/server.key"), "--lease-seconds", lease_seconds});
    return curator;
  }
  void StartAll() {
    for (const std::unique_ptr<Daemon>& curator : fleet_) ASSERT_TRUE(curator->Start());
    ASSERT_TRUE(WaitFor([&] { return Leader() < kCurators; }));
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
  Daemon& Follower(size_t n = 0) const {
    const size_t leader = Leader();
    for (size_t i = 0; i < kCurators; ++i) {
      if (i != leader && !ended_[i] && n-- == 0) return *fleet_[i];
    }
    ADD_FAILURE() << "no follower is left";
    return *fleet_[0];
  }
  size_t WaitForLeaderAfter(size_t former) {
    ended_[former] = true;
    EXPECT_TRUE(WaitFor([&] { return Leader() < kCurators; })) << "nobody leads";
    return Leader();
  }

  void CreateStudy(const Daemon& curator) const {
    curator.CoppiceJson({"study", "create", "--study", "s", "--public", Path("rows/public.csv"),
                         "--schema", Path("rows/schema.json"), "--epsilon", "2"});
  }
  int64_t Simulate(const Daemon& curator) const {
    return curator.CoppiceJson({"collect", "simulate", "--study", "s", "--data",
                                Path("rows/private.csv"), "--again"})["accepted"];
  }
  static int64_t AcceptedBy(const Daemon& curator) {
    return curator.CoppiceJson({"study", "show", "--study", "s"})["accepted"];
  }

  TempDir folder_;
  std::string uri_;
  int made_ = 0;
  std::vector<std::string> peer_addresses_;  // fixed when they were made
  std::array<std::unique_ptr<Daemon>, kCurators> fleet_;
  std::array<bool, kCurators> ended_{};
};

TEST_F(FleetTest, EveryCuratorAnswersAndTheLeaderMayDie) {
  StartAll();
  CreateStudy(Follower(0));
  EXPECT_EQ(Simulate(Follower(1)), 1500);
  for (const std::unique_ptr<Daemon>& curator : fleet_) EXPECT_EQ(AcceptedBy(*curator), 1500);
  const size_t first = Leader();
  fleet_[first]->Kill();
  const size_t second = WaitForLeaderAfter(first);
  EXPECT_EQ(AcceptedBy(Follower()), 1500);
  EXPECT_EQ(Simulate(Follower()), 1500);
  ASSERT_TRUE(fleet_[first]->Start());  // a supervisor would do this
  ended_[first] = false;
  EXPECT_EQ(AcceptedBy(*fleet_[first]), 3000);
  EXPECT_THAT(fleet_[first]->log(), Not(HasSubstr("leading")));
  const Daemon& follower = *fleet_[first];
  follower.CoppiceJson({"study", "seal", "--study", "s"});
  follower.CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  EXPECT_GT(follower.CoppiceJson(
                {"model", "evaluate", "--model", "m", "--data", Path("rows/test.csv")})["accuracy"],
            0.5);
  EXPECT_EQ(Leader(), second);
  for (const std::unique_ptr<Daemon>& curator : fleet_) EXPECT_EQ(curator->Stop(), 0);
  const Outcome checked = RunProgram({BinaryPath("coppiced"), "check", "--store", uri_});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST_F(FleetTest, TheStatusSaysWhoLeadsWhoeverIsAsked) {
  StartAll();
  const size_t leader = Leader();
  for (const std::unique_ptr<Daemon>& curator : fleet_) {
    const auto status = curator->CoppiceJson({"admin", "status"});
    EXPECT_EQ(status["store"], "postgresql");
    EXPECT_TRUE(status["disk_free_bytes"].is_null());
    EXPECT_EQ(status["fleet"]["leader"], peer_addresses_[leader]);
    EXPECT_EQ(status["fleet"]["lease_seconds"], 2);
    EXPECT_GE(status["fleet"]["epoch"], 1);
    // All curators show the same certificate here.
    ASSERT_EQ(status["fleet"]["peers"].size(), 1u);
    EXPECT_EQ(status["fleet"]["peers"][0]["certificate"].get<std::string>().size(), 8u);
    EXPECT_LT(status["fleet"]["peers"][0]["seconds_since_call"], 60);
  }
  const Outcome people = fleet_[leader]->Coppice({"admin", "status"});
  EXPECT_THAT(people.out, HasSubstr("Curators that call:"));
}

TEST_F(FleetTest, ALeaderThatIsStoppedHandsOver) {
  StartAll();
  CreateStudy(Follower());
  const size_t first = Leader();
  EXPECT_EQ(fleet_[first]->Stop(), 0) << fleet_[first]->log();
  // A call that comes meanwhile waits, and no lease has to run out.
  EXPECT_EQ(Simulate(Follower()), 1500);
  WaitForLeaderAfter(first);
}

TEST_F(FleetTest, APausedLeaderAnswersNothingOldAndEnds) {
  StartAll();
  CreateStudy(Follower());
  const size_t first = Leader();
  fleet_[first]->Pause();
  const size_t second = WaitForLeaderAfter(first);
  EXPECT_EQ(Simulate(*fleet_[second]), 1500);
  fleet_[first]->Resume();
  const Outcome late = fleet_[first]->Coppice({"study", "show", "--study", "s", "--json"});
  if (late.exit_code == 0) {
    EXPECT_THAT(late.out, HasSubstr("1500"));  // the answer of the leader that it forwarded to
  }
  EXPECT_TRUE(WaitFor([&] { return fleet_[first]->log().find("lease lost") != std::string::npos; }))
      << fleet_[first]->log();
  EXPECT_EQ(fleet_[first]->Wait(), kExitLeaseLost);
  EXPECT_EQ(AcceptedBy(*fleet_[second]), 1500);
}

TEST_F(FleetTest, AccessIsTheLeadersWhoeverIsAsked) {
  const std::string policy = Path("policy.json");
  const Outcome token =
      RunProgram({BinaryPath("coppiced"), "token", "--name", "ops", "--role", "admin"});
  const size_t end = token.out.find('\n');
  const std::string secret = token.out.substr(0, end);
  std::ofstream(policy) << R"({"anonymous": ["device"], "tokens": [)" << token.out.substr(end + 1)
                        << "]}";
  for (const std::unique_ptr<Daemon>& curator : fleet_) curator->AddFlags({"--policy", policy});
  StartAll();
  std::ofstream(Path("token")) << secret;
  std::filesystem::permissions(Path("token"), std::filesystem::perms::owner_read);
  for (const std::unique_ptr<Daemon>& curator : fleet_) {
    EXPECT_NE(curator->Coppice({"study", "list"}).exit_code, 0);
    const Outcome listed = curator->Coppice({"study", "list", "--token-file", Path("token")});
    EXPECT_EQ(listed.exit_code, 0) << listed.err;
  }
}

// The database seems to have failed over to a lagging replica while the leader was dead.
TEST_F(FleetTest, AfterAFailoverThatNobodySawLedgersWait) {
  StartAll();
  const auto train = [this](const Daemon& curator) {
    return curator.Coppice(
        {"train", "submit", "--dataset", "d", "--algorithm", "spe", "--epsilon", "1"});
  };
  Follower().CoppiceJson({"dataset", "create", "--dataset", "d", "--data", Path("rows/private.csv"),
                          "--schema", Path("rows/schema.json"), "--epsilon-total", "3"});
  const Outcome first = train(Follower());
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const size_t leader = Leader();
  fleet_[leader]->Kill();
  PostgresServer::Execute(uri_, "UPDATE coppice.coppice_owner SET history = 'another'");
  const size_t next = WaitForLeaderAfter(leader);
  EXPECT_THAT(fleet_[next]->log(), HasSubstr("ledgers on hold datasets=d"));
  const Outcome refused = train(Follower());
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("must confirm the head"));
}

TEST_F(FleetTest, ACuratorWithAnotherLeaseHandsCallsOnAndDoesNotLead) {
  fleet_[0] = MakeCurator("1");
  ASSERT_TRUE(fleet_[1]->Start());
  ASSERT_TRUE(WaitFor([&] { return Leads(*fleet_[1]); }));
  ASSERT_TRUE(fleet_[0]->Start());
  CreateStudy(*fleet_[0]);
  EXPECT_EQ(AcceptedBy(*fleet_[0]), 0);
  EXPECT_THAT(fleet_[0]->log(), AllOf(HasSubstr("cannot lead"), HasSubstr("--lease-seconds"),
                                      Not(HasSubstr("leading"))));
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
