// A PostgreSQL server of a test's own: a fresh cluster in a temporary folder, on a Unix socket
// alone, run by an unprivileged user. Debian's package postgresql-15 has the programs.

#ifndef COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_
#define COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/storage/postgres/connection.h"
#include "tests/integration/process.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {

class PostgresServer {
 public:
  static constexpr char kBin[] = "/usr/lib/postgresql/15/bin";

  // Where it is false tests skip themselves, and say so.
  static bool IsInstalled() { return std::filesystem::exists(absl::StrCat(kBin, "/initdb")); }
  static constexpr char kSkipped[] =
      "no PostgreSQL server to test with: install the packages of tests/packages.txt";

  // One for all tests of a program.
  static PostgresServer& Shared() {
    static PostgresServer server;
    return server;
  }

  PostgresServer() {
    if (const passwd* user = UserToRunAs(); user != nullptr) {
      runs_as_ = absl::StrCat(user->pw_uid);
      EXPECT_EQ(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid), 0);
    }
    Run({"/initdb", "-D", data_, "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C",
         "--no-sync"});
    Start();
  }
  ~PostgresServer() { Stop("immediate"); }

  void Start() {
    Run({"/pg_ctl", "-D", data_, "-w", "-l", folder_.path() + "/log", "-o",
         absl::StrCat(
             "-k ", folder_.path(),
             " -c listen_addresses='' -c shared_buffers=32MB -c recovery_init_sync_method=syncfs"),
         "start"});
  }
  // `mode` is smart, fast, or immediate, which is as if the machine lost its power.
  void Stop(const std::string& mode) { Run({"/pg_ctl", "-D", data_, "-w", "-m", mode, "stop"}); }

  // A new, empty database.
  std::string NewDatabase() {
    const std::string name = absl::StrCat("test", ++databases_);
    Execute(Uri("postgres"), absl::StrCat("CREATE DATABASE ", name));
    return Uri(name);
  }
  std::string Uri(const std::string& database) const {
    return absl::StrCat("postgresql:///", database, "?host=", folder_.path(), "&user=owner");
  }
  // A setting of the whole server, at once.
  void Set(const std::string& setting) {
    Execute(Uri("postgres"), "ALTER SYSTEM " + setting);
    Execute(Uri("postgres"), "SELECT pg_reload_conf()");
  }

  static void Execute(const std::string& uri, const std::string& sql) {
    const auto connection = storage::Connection::Open(uri);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const absl::Status done = (*connection)->RunScript(sql);
    EXPECT_TRUE(done.ok()) << sql << ": " << done;
  }
  // The one number that `sql`, which casts it to bigint, finds.
  static int64_t Number(const std::string& uri, const std::string& sql) {
    const auto connection = storage::Connection::Open(uri);
    if (!connection.ok()) return -1;
    const auto found = (*connection)->Run({.sql = sql.c_str()});
    return found.ok() && found->rows() == 1 ? found->Int64(0, 0) : -1;
  }

 private:
  // Null unless this is root, whom the server refuses.
  static const passwd* UserToRunAs() {
    if (geteuid() != 0) return nullptr;
    const passwd* user = getpwnam("postgres");
    return user != nullptr ? user : getpwnam("nobody");
  }

  void Run(std::vector<std::string> command) {
    command[0] = kBin + command[0];
    if (!runs_as_.empty()) {
      const std::vector<std::string> as = {"/usr/bin/setpriv", "--reuid", runs_as_,
                                           "--clear-groups", "--"};
      command.insert(command.begin(), as.begin(), as.end());
    }
    const Outcome outcome = RunProgram(command);
    if (outcome.exit_code != 0) ADD_FAILURE() << command.back() << ": " << outcome.err;
  }

  TempDir folder_;
  const std::string data_ = folder_.path() + "/data";
  std::string runs_as_;
  int databases_ = 0;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_
