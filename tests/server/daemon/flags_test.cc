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
  flags.data_dir = "data";
  flags.tls_cert = "server.crt";
  flags.tls_key = "server.key";
  return flags;
}

DaemonFlags Insecure(const std::string& listen) {
  DaemonFlags flags;
  flags.data_dir = "data";
  flags.insecure = true;
  flags.listen = listen;
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
  EXPECT_THAT(LocationOf("rocksdb:dir", "dir").status(), IsWrong("leave one of them out"));
  EXPECT_THAT(LocationOf("dir", "").status(), IsWrong("--store: a store is rocksdb:DIR"));
}

TEST(CheckFlagsTest, TlsWithAPolicyServesAnyAddress) {
  DaemonFlags flags = WithTls();
  flags.policy = "policy.json";
  for (const char* listen : {"127.0.0.1:8443", "0.0.0.0:0", "[::]:65535", "curator.example:1"}) {
    flags.listen = listen;
    EXPECT_OK(CheckFlags(flags)) << listen;
  }
}

TEST(CheckFlagsTest, WithoutAPolicyTlsServesTheLoopbackOnly) {
  DaemonFlags flags = WithTls();
  for (const char* listen : {"127.0.0.1:1", "localhost:1", "[::1]:1"}) {
    flags.listen = listen;
    EXPECT_OK(CheckFlags(flags)) << listen;
  }
  for (const char* listen : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "curator.example:1"}) {
    flags.listen = listen;
    EXPECT_THAT(CheckFlags(flags), IsWrong("wants --policy FILE")) << listen;
  }
}

TEST(CheckFlagsTest, InsecureTakesNoPolicy) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.policy = "policy.json";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure wants no --policy"));
}

TEST(CheckFlagsTest, InsecureServesTheLoopbackOnly) {
  for (const char* listen : {"127.0.0.1:1", "localhost:1", "[::1]:1"}) {
    EXPECT_OK(CheckFlags(Insecure(listen))) << listen;
  }
  for (const char* listen :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example:1", "127.example:1"}) {
    EXPECT_THAT(CheckFlags(Insecure(listen)), IsWrong("--insecure wants a loopback address"))
        << listen;
  }
}

TEST(CheckFlagsTest, HttpHasTheRulesOfTheOtherPort) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.http_listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
  flags.http_listen = "0.0.0.0:2";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure wants a loopback address in --http-listen"));
  flags = WithTls();
  flags.http_listen = "0.0.0.0:2";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-listen 0.0.0.0:2 is open to other machines"));
  flags.policy = "policy.json";
  EXPECT_OK(CheckFlags(flags));
  flags.http_listen = "8080";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-listen wants HOST:PORT"));
}

TEST(CheckFlagsTest, TheConsoleIsServedByHttp) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.console = "somewhere";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--console wants --http-listen HOST:PORT"));
  flags.http_listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
  flags.http_listen.clear();
  flags.console = kNoFolder;
  EXPECT_OK(CheckFlags(flags));
}

TEST(CheckFlagsTest, TheDocumentationIsServedByHttp) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.site = "somewhere";
  EXPECT_THAT(CheckFlags(flags), IsWrong("--site wants --http-listen HOST:PORT"));
  flags.http_listen = "127.0.0.1:2";
  EXPECT_OK(CheckFlags(flags));
}

TEST(LoadSiteTest, ReadsWhatTheFlagNamesOrNothing) {
  const coppice::testing::TempDir folder;
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.http_listen = "127.0.0.1:2";
  flags.site = folder.path() + "/none";
  EXPECT_THAT(LoadSite(flags),
              StatusIs(StatusCode::kNotFound, ::testing::AllOf(::testing::StartsWith("--site "),
                                                               HasSubstr("--site none"))));
  flags.site = kNoFolder;
  EXPECT_EQ(*LoadSite(flags), nullptr);
  flags.site = folder.path();
  for (const char* name : {"/index.html", "/searchindex.js"}) {
    std::ofstream(folder.path() + name) << "x";
  }
  EXPECT_NE(*LoadSite(flags), nullptr);
}

TEST(LoadConsoleTest, ReadsWhatTheFlagNamesOrNothing) {
  const coppice::testing::TempDir folder;
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.console = folder.path() + "/none";
  EXPECT_EQ(*LoadConsole(flags), nullptr) << "there is no port to serve it at";
  flags.http_listen = "127.0.0.1:2";
  EXPECT_THAT(LoadConsole(flags),
              StatusIs(StatusCode::kNotFound, ::testing::AllOf(::testing::StartsWith("--console "),
                                                               HasSubstr("--console none"))));
  flags.console = kNoFolder;
  EXPECT_EQ(*LoadConsole(flags), nullptr);
  flags.console = folder.path();
  std::filesystem::create_directory(folder.path() + "/assets");
  std::ofstream(folder.path() + "/index.html") << "<!doctype html>";
  EXPECT_NE(*LoadConsole(flags), nullptr);
}

DaemonFlags InFleet() {
  DaemonFlags flags = WithTls();
  flags.data_dir.clear();
  flags.store = "postgresql://h/db";
  flags.fleet_address = "a.example:8443";
  return flags;
}

TEST(CheckFlagsTest, AFleetSharesADatabaseAndItsCuratorsHaveAddresses) {
  EXPECT_OK(CheckFlags(InFleet()));
  const struct {
    void (*change)(DaemonFlags& flags);
    const char* wrong;
  } cases[] = {
      {[](DaemonFlags& flags) { flags.store = "rocksdb:dir"; }, "share a database"},
      {[](DaemonFlags& flags) { flags.fleet_address = "nonsense"; },
       "--fleet-address wants HOST:PORT"},
      {[](DaemonFlags& flags) { flags.fleet_address = "a.example:0"; }, "is known"},
      {[](DaemonFlags& flags) { flags.fleet_address = "0.0.0.0:8443"; }, "is known"},
      {[](DaemonFlags& flags) { flags.fleet_address = "[::]:8443"; }, "is known"},
      {[](DaemonFlags& flags) { flags.self_test = true; }, "--self-test wants no --fleet-address"},
  };
  for (const auto& one : cases) {
    DaemonFlags flags = InFleet();
    one.change(flags);
    EXPECT_THAT(CheckFlags(flags), IsWrong(one.wrong));
  }
}

TEST(CheckFlagsTest, OriginsAreAsBrowsersSendThem) {
  DaemonFlags flags = Insecure("127.0.0.1:1");
  flags.http_allow_origin = {"https://lab.example"};
  EXPECT_THAT(CheckFlags(flags), IsWrong("--http-allow-origin wants --http-listen"));
  flags.http_listen = "127.0.0.1:2";
  flags.http_allow_origin = {"https://lab.example", "http://127.0.0.1:3000", "https://[::1]:1"};
  EXPECT_OK(CheckFlags(flags));
  for (const char* bad :
       {"*", "null", "lab.example", "https://", "https://lab.example/", "https://LAB.example",
        "https://*.example", "https://a b", "ftp://lab.example", "https://user@lab.example", ""}) {
    flags.http_allow_origin = {bad};
    EXPECT_THAT(CheckFlags(flags), IsWrong("wants an origin as browsers send it")) << bad;
  }
}

TEST(CheckFlagsTest, WithoutCertificatesItSaysHowToMakeThem) {
  DaemonFlags flags = WithTls();
  flags.tls_cert.clear();
  flags.tls_key.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("deploy/make-certs.sh DIR"));
}

TEST(CheckFlagsTest, ABrokenKeyChainNeedsTheNewKeyAlone) {
  DaemonFlags flags = WithTls();
  flags.break_key_chain = true;
  EXPECT_THAT(CheckFlags(flags), IsWrong("--break-key-chain wants --signing-key"));
  flags.signing_key = "new.pem";
  EXPECT_OK(CheckFlags(flags));
  flags.next_signing_key = "next.pem";
  EXPECT_THAT(CheckFlags(flags), IsWrong("no --next-signing-key"));
}

TEST(CheckFlagsTest, CertificateAndKeyComeTogether) {
  DaemonFlags flags = WithTls();
  flags.tls_key.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("--tls-cert wants --tls-key"));
  flags = WithTls();
  flags.tls_cert.clear();
  EXPECT_THAT(CheckFlags(flags), IsWrong("--tls-key wants --tls-cert"));
}

TEST(CheckFlagsTest, InsecureAndCertificatesContradict) {
  DaemonFlags flags = WithTls();
  flags.insecure = true;
  EXPECT_THAT(CheckFlags(flags), IsWrong("--insecure wants no --tls-cert"));
}

TEST(CheckFlagsTest, ListenWantsHostAndPort) {
  for (const char* listen : {"", "8443", ":8443", "localhost", "localhost:", "localhost:x",
                             "localhost:-1", "localhost:65536", "::1:8443"}) {
    EXPECT_THAT(CheckFlags(Insecure(listen)), IsWrong("--listen wants")) << listen;
  }
}

TEST(ParseFlagsTest, FillsWhatIsGiven) {
  const char* argv[] = {"coppiced", "--data-dir",  "d",     "--insecure", "--listen",
                        "[::1]:0",  "--log-level", "error", "--json"};
  DaemonFlags flags;
  EXPECT_EQ(ParseFlags(std::size(argv), argv, flags), -1);
  EXPECT_EQ(flags.data_dir, "d");
  EXPECT_EQ(flags.listen, "[::1]:0");
  EXPECT_EQ(flags.log_level, LogLevel::kError);
  EXPECT_TRUE(flags.insecure && flags.json && !flags.check_config);
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
  EXPECT_EQ(flags.ticket_limits.rate, 10'000);
  EXPECT_EQ(flags.ticket_limits.burst, 100'000);
  EXPECT_EQ(ParseFlags(std::size(given), given, flags), -1);
  EXPECT_EQ(flags.ticket_limits.rate, 0.5);
  EXPECT_EQ(flags.ticket_limits.burst, 20);
  EXPECT_EQ(ParseFlags(std::size(none), none, flags), -1);
  EXPECT_EQ(flags.ticket_limits.rate, 0);
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
  EXPECT_EQ(by_default.training_jobs, 1u);
  EXPECT_EQ(parse("0", none), -1);
  EXPECT_EQ(none.training_jobs, 0u);
  for (const char* wrong : {"65", "-1", "some"}) EXPECT_EQ(parse(wrong, many), kExitUsage) << wrong;
}

TEST(ParseFlagsTest, LimitsTakeUnitsAndRefuseWhatWouldStopService) {
  const auto parse = [](const char* flag, const char* value, DaemonFlags& flags) {
    const char* const arguments[] = {"coppiced", "--data-dir", "data", "--insecure", flag, value};
    return ParseFlags(6, arguments, flags);
  };
  DaemonFlags flags;
  EXPECT_EQ(parse("--max-queued-bytes", "8MiB", flags), -1);
  EXPECT_EQ(flags.limits.OfStudies().queued_bytes, size_t{8} << 20);
  EXPECT_EQ(parse("--max-stream-bytes", "2097152", flags), -1);
  EXPECT_EQ(flags.limits.OfStreams().max_stream_bytes, size_t{2} << 20);
  EXPECT_EQ(parse("--max-streams", "7", flags), -1);
  EXPECT_EQ(flags.limits.OfStreams().max_streams, 7u);
  EXPECT_EQ(parse("--max-spool-bytes", "8GiB", flags), -1);
  EXPECT_EQ(flags.limits.OfStudies().spool.bytes, uint64_t{8} << 30);
  EXPECT_EQ(parse("--max-relay-spool-bytes", "1GiB", flags), -1);
  EXPECT_EQ(flags.limits.OfStudies().spool.bytes_per_relay, uint64_t{1} << 30);
  EXPECT_EQ(parse("--max-report-rate", "1000", flags), -1);
  EXPECT_EQ(flags.limits.OfStudies().reports_per_second, 1000u);
  EXPECT_EQ(parse("--max-report-rate", "0", flags), -1);
  DaemonFlags wrong;
  EXPECT_EQ(parse("--max-report-rate", "999", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-report-rate", "-1", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-streams", "0", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-message-bytes", "1000", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-message-bytes", "2GiB", wrong), kExitUsage);
  EXPECT_EQ(parse("--max-queued-bytes", "many", wrong), kExitUsage);
}

}  // namespace
}  // namespace coppice::daemon
