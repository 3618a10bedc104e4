#include "server/daemon/config/flags.h"

#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "server/daemon/transport/console.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

DaemonFlags WithTls() {
  DaemonFlags flags;
  flags.store.data_dir = "data";
  flags.listen.tls_cert = "server.crt";
  flags.listen.tls_key = "server.key";
  return flags;
}

DaemonFlags Insecure(const std::string& listen) {
  DaemonFlags flags;
  flags.store.data_dir = "data";
  flags.listen.insecure = true;
  flags.listen.address = listen;
  return flags;
}

auto IsWrong(const char* text) { return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)); }

TEST(LocationOfTest, OneFlagSaysWhereTheStoreIs) {
  ASSERT_OK_AND_ASSIGN(const storage::StoreLocation folder, LocationOf("", "dir"));
  EXPECT_EQ(folder.address(), "dir");
  ASSERT_OK_AND_ASSIGN(const storage::StoreLocation same, LocationOf("rocksdb:dir", ""));
  EXPECT_EQ(same.address(), "dir");
  ASSERT_OK_AND_ASSIGN(const storage::StoreLocation database, LocationOf("postgresql://h/db", ""));
  EXPECT_TRUE(database.is_postgres());
  EXPECT_THAT(LocationOf("", "").status(), IsWrong("--store is missing"));
  EXPECT_THAT(LocationOf("rocksdb:dir", "dir").status(), IsWrong("give only one of them"));
  EXPECT_THAT(LocationOf("dir", "").status(), IsWrong("--store: a store is rocksdb:DIR"));
}

TEST(CheckFlagsTest, TlsWithAPolicyServesAnyAddress) {
  DaemonFlags flags = WithTls();
  flags.listen.policy = "policy.json";
  for (const char* listen : {"127.0.0.1:8443", "0.0.0.0:0", "[::]:65535", "curator.example:1"}) {
    flags.listen.address = listen;
    EXPECT_OK(CheckFlags(flags)) << listen;
  }
}

TEST(CheckFlagsTest, WithoutAPolicyTlsServesTheLoopbackOnly) {
  DaemonFlags flags = WithTls();
  for (const char* listen : {"127.0.0.1:1", "localhost:1", "[::1]:1"}) {
    flags.listen.address = listen;
    EXPECT_OK(CheckFlags(flags)) << listen;
  }
  for (const char* listen : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "curator.example:1"}) {
    flags.listen.address = listen;
    EXPECT_THAT(CheckFlags(flags), IsWrong("needs --policy FILE")) << listen;
  }
}

TEST(CheckFlagsTest, InsecureTakesNoPolicy) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.listen.policy = "policy.json";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure cannot be used with --policy"));
}

TEST(CheckFlagsTest, InsecureServesTheLoopbackOnly) {
  for (const char* listen : {"127.0.0.1:1", "localhost:1", "[::1]:1"}) {
    EXPECT_OK(CheckFlags(Insecure(listen))) << listen;
  }
  for (const char* listen :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example:1", "127.example:1"}) {
    EXPECT_THAT(CheckFlags(Insecure(listen)), IsWrong("--insecure needs a loopback address"))
        << listen;
  }
}

TEST(CheckFlagsTest, HttpHasTheRulesOfTheOtherPort) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
  flags.web.listen = "0.0.0.0:2";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure needs a loopback address in --http-listen"));
  flags = WithTls();
  flags.web.listen = "0.0.0.0:2";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-listen 0.0.0.0:2 is open to other machines"));
  flags.listen.policy = "policy.json";
  EXPECT_OK(CheckFlags(flags));
  flags.web.listen = "8080";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-listen needs HOST:PORT"));
}

TEST(CheckFlagsTest, TheConsoleIsServedByHttp) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.console = "somewhere";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--console needs --http-listen HOST:PORT"));
  flags.web.listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
  flags.web.listen.clear();
  flags.web.console = kNoFolder;
  EXPECT_OK(CheckFlags(flags));
}

TEST(CheckFlagsTest, TheDocumentationIsServedByHttp) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.site = "somewhere";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--site needs --http-listen HOST:PORT"));
  flags.web.listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
}

TEST(LoadSiteTest, ReadsTheFolderThatTheFlagNamesIfAny) {
  const coppice::testing::TempDir folder;
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.listen = "127.0.0.1:2";
  flags.web.site = folder.path() + "/none";
  EXPECT_THAT(LoadSite(flags.web),
              StatusIs(StatusCode::kNotFound, ::testing::AllOf(::testing::StartsWith("--site "),
                                                               HasSubstr("--site none"))));
  flags.web.site = kNoFolder;
  EXPECT_EQ(*LoadSite(flags.web), nullptr);
  flags.web.site = folder.path();
  for (const char* name : {"/index.html", "/searchindex.js"}) {
    std::ofstream(folder.path() + name) << "x";
  }
  EXPECT_NE(*LoadSite(flags.web), nullptr);
}

TEST(LoadConsoleTest, ReadsTheFolderThatTheFlagNamesIfAny) {
  const coppice::testing::TempDir folder;
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.console = folder.path() + "/none";
  EXPECT_EQ(*LoadConsole(flags.web), nullptr) << "there is no port to serve it at";
  flags.web.listen = "127.0.0.1:2";
  EXPECT_THAT(LoadConsole(flags.web),
              StatusIs(StatusCode::kNotFound, ::testing::AllOf(::testing::StartsWith("--console "),
                                                               HasSubstr("--console none"))));
  flags.web.console = kNoFolder;
  EXPECT_EQ(*LoadConsole(flags.web), nullptr);
  flags.web.console = folder.path();
  std::filesystem::create_directory(folder.path() + "/assets");
  std::ofstream(folder.path() + "/index.html") << "<!doctype html>";
  EXPECT_NE(*LoadConsole(flags.web), nullptr);
}

DaemonFlags InFleet() {
  DaemonFlags flags = WithTls();
  flags.store.data_dir.clear();
  flags.store.location = "postgresql://h/db";
  flags.fleet.address = "a.example:8443";
  return flags;
}

TEST(CheckFlagsTest, AFleetSharesADatabaseAndItsCuratorsHaveAddresses) {
  EXPECT_OK(CheckFlags(InFleet()));
  const struct {
    void (*change)(DaemonFlags& flags);
    const char* wrong;
  } cases[] = {
      {[](DaemonFlags& flags) { flags.store.location = "rocksdb:dir"; }, "share a database"},
      {[](DaemonFlags& flags) { flags.fleet.address = "nonsense"; },
       "--fleet-address needs HOST:PORT"},
      {[](DaemonFlags& flags) { flags.fleet.address = "a.example:0"; }, "is known"},
      {[](DaemonFlags& flags) { flags.fleet.address = "0.0.0.0:8443"; }, "is known"},
      {[](DaemonFlags& flags) { flags.fleet.address = "[::]:8443"; }, "is known"},
      {[](DaemonFlags& flags) { flags.self_test = true; },
       "--self-test cannot be used with --fleet-address"},
  };
  for (const auto& one : cases) {
    DaemonFlags flags = InFleet();
    one.change(flags);
    EXPECT_THAT(CheckFlags(flags), IsWrong(one.wrong));
  }
}

TEST(CheckFlagsTest, OriginsAreAsBrowsersSendThem) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.web.allow_origin = {"https://lab.example"};
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-allow-origin needs --http-listen"));
  flags.web.listen = "127.0.0.1:2";
  flags.web.allow_origin = {"https://lab.example", "http://127.0.0.1:3000", "https://[::1]:1"};
  EXPECT_OK(CheckFlags(flags));
  for (const char* bad :
       {"*", "null", "lab.example", "https://", "https://lab.example/", "https://LAB.example",
        "https://*.example", "https://a b", "ftp://lab.example", "https://user@lab.example", ""}) {
    flags.web.allow_origin = {bad};
    EXPECT_THAT(CheckFlags(flags), IsWrong("must be an origin as browsers send it")) << bad;
  }
}

TEST(CheckFlagsTest, WithoutCertificatesItSaysHowToMakeThem) {
  DaemonFlags flags = WithTls();
  flags.listen.tls_cert.clear();
  flags.listen.tls_key.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("deploy/make-certs.sh DIR"));
}

TEST(CheckFlagsTest, BreakingTheKeyChainNeedsANewKeyAndNoNextKey) {
  DaemonFlags flags = WithTls();
  flags.signing.break_chain = true;
  EXPECT_THAT(CheckFlags(flags), IsWrong("--break-key-chain needs --signing-key"));
  flags.signing.key = "new.pem";
  EXPECT_OK(CheckFlags(flags));
  flags.signing.next_key = "next.pem";
  EXPECT_THAT(CheckFlags(flags), IsWrong("cannot be used with --next-signing-key"));
}

TEST(CheckFlagsTest, CertificateAndKeyComeTogether) {
  DaemonFlags flags = WithTls();
  flags.listen.tls_key.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("--tls-cert needs --tls-key"));
  flags = WithTls();
  flags.listen.tls_cert.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("--tls-key needs --tls-cert"));
}

TEST(CheckFlagsTest, InsecureAndCertificatesContradict) {
  DaemonFlags flags = WithTls();
  flags.listen.insecure = true;
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure cannot be used with --tls-cert"));
}

TEST(CheckFlagsTest, ListenWantsHostAndPort) {
  for (const char* listen : {"", "8443", ":8443", "localhost", "localhost:", "localhost:x",
                             "localhost:-1", "localhost:65536", "::1:8443"}) {
    EXPECT_THAT(CheckFlags(Insecure(listen)), IsWrong("--listen needs")) << listen;
  }
}

TEST(ParseFlagsTest, SetsTheFieldsOfTheFlagsGiven) {
  const char* argv[] = {"coppiced", "--data-dir",  "d",     "--insecure", "--listen",
                        "[::1]:0",  "--log-level", "error", "--json"};
  DaemonFlags flags;
  EXPECT_EQ(ParseFlags(std::size(argv), argv, flags), -1);
  EXPECT_EQ(flags.store.data_dir, "d");
  EXPECT_EQ(flags.listen.address, "[::1]:0");
  EXPECT_EQ(flags.log.level, LogLevel::kError);
  EXPECT_TRUE(flags.listen.insecure && flags.log.json && !flags.check_config);
}

TEST(ParseFlagsTest, WrongUsageIsExitCodeTwo) {
  const char* unknown[] = {"coppiced", "--data-dir", "d", "--insecure", "--bogus"};
  const char* missing[] = {"coppiced", "--insecure"};
  const char* level[] = {"coppiced", "--data-dir", "d", "--insecure", "--log-level", "loud"};
  DaemonFlags flags, nothing;
  EXPECT_EQ(ParseFlags(std::size(unknown), unknown, flags), kExitUsage);
  EXPECT_EQ(ParseFlags(std::size(missing), missing, nothing), kExitUsage);
  EXPECT_EQ(ParseFlags(std::size(level), level, flags), kExitUsage);
}

TEST(ParseFlagsTest, TicketsAreLimitedUnlessTheRateIsZero) {
  const char* by_default[] = {"coppiced", "--data-dir", "d", "--insecure"};
  const char* given[] = {"coppiced", "--data-dir",     "d", "--insecure", "--ticket-rate",
                         "0.5",      "--ticket-burst", "20"};
  const char* none[] = {"coppiced", "--data-dir", "d", "--insecure", "--ticket-rate", "0"};
  const char* wrong[] = {"coppiced", "--data-dir", "d", "--insecure", "--ticket-burst", "0"};
  DaemonFlags flags;
  EXPECT_EQ(ParseFlags(std::size(by_default), by_default, flags), -1);
  EXPECT_EQ(flags.curator.tickets.rate, 10'000);
  EXPECT_EQ(flags.curator.tickets.burst, 100'000);
  EXPECT_EQ(ParseFlags(std::size(given), given, flags), -1);
  EXPECT_EQ(flags.curator.tickets.rate, 0.5);
  EXPECT_EQ(flags.curator.tickets.burst, 20);
  EXPECT_EQ(ParseFlags(std::size(none), none, flags), -1);
  EXPECT_EQ(flags.curator.tickets.rate, 0);
  EXPECT_EQ(ParseFlags(std::size(wrong), wrong, flags), kExitUsage);
}

TEST(ParseFlagsTest, TrainingJobsAreOneUnlessSaidAndAtMostSixtyFour) {
  const auto parse = [](const char* jobs, DaemonFlags& flags) {
    const char* const arguments[] = {"coppiced",   "--data-dir",      "data",
                                     "--insecure", "--training-jobs", jobs};
    return ParseFlags(jobs == nullptr ? 4 : 6, arguments, flags);
  };
  DaemonFlags by_default, none, many;
  EXPECT_EQ(parse(nullptr, by_default), -1);
  EXPECT_EQ(by_default.curator.training_jobs, 1u);
  EXPECT_EQ(parse("0", none), -1);
  EXPECT_EQ(none.curator.training_jobs, 0u);
  for (const char* wrong : {"65", "-1", "some"}) EXPECT_EQ(parse(wrong, many), kExitUsage) << wrong;
}

TEST(ParseFlagsTest, TrainingThreadsAreOneUnlessSaidAndNeverNone) {
  const auto parse = [](const char* threads, DaemonFlags& flags) {
    const char* const arguments[] = {"coppiced",   "--data-dir",         "data",
                                     "--insecure", "--training-threads", threads};
    return ParseFlags(threads == nullptr ? 4 : 6, arguments, flags);
  };
  DaemonFlags by_default, four, wrong;
  EXPECT_EQ(parse(nullptr, by_default), -1);
  EXPECT_EQ(by_default.curator.training_threads, 1u);
  EXPECT_EQ(parse("4", four), -1);
  EXPECT_EQ(four.curator.training_threads, 4u);
  for (const char* bad : {"0", "257", "some"}) EXPECT_EQ(parse(bad, wrong), kExitUsage) << bad;
}

TEST(ParseFlagsTest, LimitsTakeUnitsAndRefuseWhatWouldStopService) {
  const auto parse = [](const char* flag, const char* value, DaemonFlags& flags) {
    const char* const arguments[] = {"coppiced", "--data-dir", "data", "--insecure", flag, value};
    return ParseFlags(6, arguments, flags);
  };
  DaemonFlags flags;
  EXPECT_EQ(parse("--max-queued-bytes", "8MiB", flags), -1);
  EXPECT_EQ(flags.curator.limits.OfStudies().queued_bytes, size_t{8} << 20);
  EXPECT_EQ(parse("--max-message-bytes", "2097152", flags), -1);
  EXPECT_EQ(flags.transport.max_message_bytes, uint64_t{2} << 20);
  EXPECT_EQ(parse("--max-spool-bytes", "8GiB", flags), -1);
  EXPECT_EQ(flags.curator.limits.OfStudies().spool.bytes, uint64_t{8} << 30);
  EXPECT_EQ(parse("--max-relay-spool-bytes", "1GiB", flags), -1);
  EXPECT_EQ(flags.curator.limits.OfStudies().spool.bytes_per_relay, uint64_t{1} << 30);
  EXPECT_EQ(parse("--max-report-rate", "1000", flags), -1);
  EXPECT_EQ(flags.curator.limits.OfStudies().reports_per_second, 1000u);
  EXPECT_EQ(parse("--max-report-rate", "0", flags), -1);
  DaemonFlags wrong;
  EXPECT_EQ(parse("--max-report-rate", "999", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-report-rate", "-1", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-message-bytes", "1000", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-message-bytes", "2GiB", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-queued-bytes", "many", wrong), kExitUsage);
}

}  // namespace
}  // namespace coppice::daemon
