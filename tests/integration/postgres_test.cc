// A real coppiced whose store is in a real PostgreSQL.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/integration/daemon.h"
#include "tests/integration/http_page.h"
#include "tests/support/eventually.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::GetPage;
using ::coppice::testing::Outcome;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::coppice::testing::ValueOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome Coppiced(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), BinaryPath("coppiced"));
  return RunProgram(arguments);
}

// The port that the log tells; 0 before it does.
int MetricsPort(const std::string& log) {
  static constexpr char kPort[] = " metrics port=";
  const size_t at = log.find(kPort);
  return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + sizeof(kPort) - 1);
}

class PostgresDaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    uri_ = PostgresServer::Shared().NewDatabase();
    Synthesize(Path("rows"), "private=1500,public=100,test=300");
  }

  std::string Path(const std::string& file) const { return folder_.path() + "/" + file; }

  void Collect(const Daemon& daemon) const {
    daemon.CoppiceJson({"study", "create", "--study", "s", "--public", Path("rows/public.csv"),
                        "--schema", Path("rows/schema.json"), "--epsilon", "2"});
    EXPECT_EQ(daemon.CoppiceJson({"collect", "simulate", "--study", "s", "--data",
                                  Path("rows/private.csv")})["accepted"],
              1500);
  }
  static int64_t AcceptedBy(const Daemon& daemon) {
    return daemon.CoppiceJson({"study", "show", "--study", "s"})["accepted"];
  }

  TempDir folder_;
  std::string uri_;
};

TEST_F(PostgresDaemonTest, AStudyIsCollectedAndItsModelPredictsAcrossRestarts) {
  Daemon daemon(folder_.path(), uri_);
  ASSERT_TRUE(daemon.Start());
  Collect(daemon);
  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("postgresql:///test"), Not(HasSubstr("user=owner"))));
  daemon.Kill();
  ASSERT_TRUE(daemon.Start());
  EXPECT_EQ(AcceptedBy(daemon), 1500);
  daemon.CoppiceJson({"study", "seal", "--study", "s"});
  daemon.CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  EXPECT_EQ(daemon.Stop(), 0);
  ASSERT_TRUE(daemon.Start());
  const auto score =
      daemon.CoppiceJson({"model", "evaluate", "--model", "m", "--data", Path("rows/test.csv")});
  EXPECT_GT(score["accuracy"], 0.5);
  const Outcome predicted =
      daemon.Coppice({"model", "predict", "--model", "m", "--data", Path("rows/test.csv")});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_THAT(Coppiced({"check", "--store", uri_}).err, HasSubstr("another daemon uses it"));
  EXPECT_EQ(daemon.Stop(), 0);
  const Outcome checked = Coppiced({"check", "--store", uri_});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("0 problems"));
}

// The first daemon is paused, and an operator gives the store to the second.
TEST_F(PostgresDaemonTest, ADaemonThatWasPausedWritesNothingOverItsSuccessor) {
  Daemon first(folder_.path(), uri_);
  ASSERT_TRUE(first.Start());
  Collect(first);
  first.Pause();
  const std::string other = Path("second");
  std::filesystem::create_directory(other);
  Daemon second(other, uri_);
  EXPECT_THAT(RunProgram(second.CommandLine("127.0.0.1:0")).err,
              HasSubstr("another daemon uses it"));
  PostgresServer::Execute(uri_,
                          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          "  WHERE application_name = 'coppiced'"
                          "  AND pid <> pg_backend_pid() AND datname = current_database()");
  ASSERT_TRUE(second.Start());
  second.CoppiceJson({"study", "seal", "--study", "s"});
  second.CoppiceJson({"model", "build", "--study", "s", "--model", "m"});
  const std::string records =
      "SELECT count(*) FROM coppice.coppice_records WHERE key < 'probe/' OR key > 'probe0'";
  const int64_t before = PostgresServer::Number(uri_, records);
  first.Resume();
  const Outcome late =
      first.Coppice({"study", "create", "--study", "late", "--public", Path("rows/public.csv"),
                     "--schema", Path("rows/schema.json"), "--epsilon", "2"});
  EXPECT_NE(late.exit_code, 0);
  // Readiness writes to the store every few seconds.
  EXPECT_TRUE(Eventually([&] { return first.log().find("not ready") != std::string::npos; }));
  EXPECT_THAT(first.log(), AllOf(HasSubstr("not ready check=store"), HasSubstr("another daemon")));
  EXPECT_EQ(PostgresServer::Number(uri_, records), before);
  EXPECT_EQ(AcceptedBy(second), 1500);
  first.Kill();
  EXPECT_EQ(second.Stop(), 0);
  EXPECT_EQ(Coppiced({"check", "--store", uri_}).exit_code, 0);
}

TEST_F(PostgresDaemonTest, TheAlarmStaysWhileNoSynchronousReplicaIsThere) {
  PostgresServer primary;
  const PostgresServer replica(primary, "replica");
  Daemon daemon(folder_.path(), primary.NewDatabase());
  daemon.AddFlags({"--metrics-listen", "127.0.0.1:0"});
  ASSERT_TRUE(daemon.Start());
  const auto standby_missing = [&] {
    const int port = MetricsPort(daemon.log());
    return ValueOf(GetPage(port, "/metrics"), "coppice_standby_missing");
  };
  ASSERT_TRUE(Eventually([&] { return standby_missing() == 1; })) << daemon.log();
  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("warning no synchronous standby"),
                                  HasSubstr("set synchronous_standby_names")));
  primary.Set("SET synchronous_standby_names = 'replica'");
  EXPECT_TRUE(Eventually([&] { return standby_missing() == 0; })) << daemon.log();
  EXPECT_THAT(daemon.log(), HasSubstr("synchronous standby is there"));
}

TEST_F(PostgresDaemonTest, AStoreIsCopiedEitherWay) {
  const std::string copy = Path("copy");
  {
    Daemon daemon(folder_.path());
    ASSERT_TRUE(daemon.Start());
    Collect(daemon);
    EXPECT_EQ(daemon.Stop(), 0);
  }
  const std::string source = StrCat("rocksdb:", Path("store"));
  const Outcome there = Coppiced({"copy", "--from", source, "--to", uri_, "--json"});
  ASSERT_EQ(there.exit_code, 0) << there.err;
  const Outcome again = Coppiced({"copy", "--from", source, "--to", uri_});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  const Outcome back =
      Coppiced({"copy", "--from", uri_, "--to", StrCat("rocksdb:", copy), "--json"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(there.out, back.out) << "the same records and digest";
  for (const std::string& store : {uri_, StrCat("rocksdb:", copy)}) {
    const Outcome checked = Coppiced({"check", "--store", store});
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  }
  Daemon daemon(folder_.path(), uri_);
  ASSERT_TRUE(daemon.Start());
  EXPECT_EQ(AcceptedBy(daemon), 1500);
}

TEST_F(PostgresDaemonTest, ACopyThatWasCutShortIsNoStore) {
  {
    Daemon daemon(folder_.path(), uri_);
    ASSERT_TRUE(daemon.Start());
    EXPECT_EQ(daemon.Stop(), 0);
  }
  // A copy writes this record last.
  PostgresServer::Execute(uri_, "DELETE FROM coppice.coppice_records WHERE key = 'meta/format'");
  Daemon daemon(folder_.path(), uri_);
  const Outcome started = RunProgram(daemon.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(started.exit_code, 1);
  EXPECT_THAT(started.err, HasSubstr("meta/format is missing"));
}

TEST_F(PostgresDaemonTest, CommandsSayWhichStoresTheyWorkOn) {
  const std::string secret = "postgresql://u:geheim@h/db";
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } cases[] = {
      {{"--insecure"}, "--store is missing"},
      {{"--store", uri_, "--data-dir", "d", "--insecure"}, "give only one of them"},
      {{"--store", "geheim", "--insecure"}, "rocksdb:DIR or postgresql://"},
      {{"check"}, "--store is missing"},
      {{"repair", "--store", secret, "--dry-run"}, "restore a base backup"},
      {{"backup", "--store", secret, "--to", "d"}, "pg_basebackup"},
  };
  for (const auto& one : cases) {
    const Outcome outcome = Coppiced(one.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(one.says), Not(HasSubstr("geheim"))));
  }
  EXPECT_EQ(Coppiced({"assign-owner", "--store", uri_, "--owner", "lab"}).exit_code, 1);
  EXPECT_THAT(Coppiced({"--store", "postgresql://u:geheim@localhost:1/db", "--insecure"}).err,
              AllOf(HasSubstr("postgresql://localhost:1/db"), Not(HasSubstr("geheim"))));
}

}  // namespace
}  // namespace coppice
