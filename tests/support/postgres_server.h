// A test's own PostgreSQL server: a fresh cluster in a temporary folder, or a streaming replica of
// one, only on a Unix socket unless it serves TLS, run by an unprivileged user. Debian's package
// postgresql-15 has the programs.

#ifndef COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_
#define COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/connection.h"
#include "tests/integration/process.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {

class PostgresServer {
 public:
  static constexpr char kBin[] = "/usr/lib/postgresql/15/bin";

  // If false, tests skip themselves with kMissing (missing_package.h).
  static bool IsInstalled() { return std::filesystem::exists(StrCat(kBin, "/initdb")); }
  static constexpr char kMissing[] =
      "no PostgreSQL server to test with: install the packages of tests/packages.txt";

  // One server for all tests of a program.
  static PostgresServer& Shared() {
    static PostgresServer server;
    return server;
  }

  PostgresServer() {
    GiveFolderAway();
    Run({"/initdb", "-D", data_, "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C",
         "--no-sync"});
    Start();
  }
  // A replica of `primary`, which knows it by `name`. It has the primary's current settings.
  PostgresServer(const PostgresServer& primary, const std::string& name) {
    GiveFolderAway();
    Run({"/pg_basebackup", "-D", data_, "-R", "--checkpoint=fast", "--no-sync", "-d",
         StrCat("host=", primary.folder_.path(), " port=", primary.port_,
                " user=owner application_name=", name)});
    Start();
  }
  ~PostgresServer() {
    Resume();
    Stop("immediate");
  }

  // A connection that has not authenticated, as over a link that hangs, delays an immediate stop
  // until its time to authenticate is over.
  void Start() {
    Run({"/pg_ctl", "-D", data_, "-w", "-l", folder_.path() + "/log", "-o",
         StrCat("-k ", folder_.path(), " -p ", port_, " ", network_,
                " -c shared_buffers=32MB -c recovery_init_sync_method=syncfs",
                " -c authentication_timeout=5s"),
         "start"});
    stopped_ = false;
  }
  // `mode` is smart, fast, or immediate; the last acts like a loss of power.
  void Stop(const std::string& mode) {
    if (!std::exchange(stopped_, true)) Run({"/pg_ctl", "-D", data_, "-w", "-m", mode, "stop"});
  }
  void Promote() { Run({"/pg_ctl", "-D", data_, "-w", "promote"}); }

  // Stops and continues all of its processes, as if the machine stood still.
  void Pause() {
    paused_ = Processes();
    for (const pid_t process : paused_) kill(process, SIGSTOP);
  }
  void Resume() {
    for (const pid_t process : paused_) kill(process, SIGCONT);
    paused_.clear();
  }

  // Serves TLS on `port` of localhost from now on, with server.crt and server.key of `folder`.
  void ServeTls(const std::string& folder, int port) {
    for (const char* name : {"/server.crt", "/server.key"}) {
      std::filesystem::copy_file(folder + name, data_ + name);
      GiveAway(data_ + name);
    }
    Stop("fast");
    port_ = port;
    network_ = "-c listen_addresses=localhost -c ssl=on";
    Start();
  }

  // Creates an empty database, and returns its URI.
  std::string NewDatabase() {
    const std::string name = StrCat("test", ++databases_);
    Execute(Uri("postgres"), StrCat("CREATE DATABASE ", name));
    return Uri(name);
  }
  std::string Uri(const std::string& database) const { return UriOf(database, {this}); }
  // Returns the URI of a database that several servers have.
  static std::string UriOf(const std::string& database,
                           const std::vector<const PostgresServer*>& servers) {
    std::vector<std::string> hosts, ports;
    for (const PostgresServer* server : servers) {
      hosts.push_back(server->folder_.path());
      ports.push_back(StrCat(server->port_));
    }
    return StrCat("postgresql:///", database, "?host=", StrJoin(hosts, ","),
                  "&port=", StrJoin(ports, ","), "&user=owner");
  }
  // Changes a setting of the whole server. New sessions have it at once, and others after their
  // next statement; the process that orders commits to wait for replicas learns of it a little
  // later.
  void Set(const std::string& setting) {
    const std::string uri = Uri("postgres");
    const auto loaded = [&] {
      return Number(uri, "SELECT (extract(epoch FROM pg_conf_load_time()) * 1000000)::bigint");
    };
    Execute(uri, "ALTER SYSTEM " + setting);
    const int64_t before = loaded();
    Execute(uri, "SELECT pg_reload_conf()");
    EXPECT_TRUE(Eventually([&] { return loaded() > before; }));
  }

  static void Execute(const std::string& uri, const std::string& sql) {
    const auto connection = storage::Connection::Open(uri);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const Status done = (*connection)->RunScript(sql);
    EXPECT_TRUE(done.ok()) << sql << ": " << done;
  }
  // Returns the one number that `sql`, which casts it to bigint, selects.
  static int64_t Number(const std::string& uri, const std::string& sql) {
    const auto connection = storage::Connection::Open(uri);
    if (!connection.ok()) return -1;
    const auto found = (*connection)->Run({.sql = sql.c_str()});
    return found.ok() && found->rows() == 1 ? found->Int64(0, 0) : -1;
  }

 private:
  // Null unless this is root, as whom the server refuses to run.
  static const passwd* UserToRunAs() {
    if (geteuid() != 0) return nullptr;
    const passwd* user = getpwnam("postgres");
    return user != nullptr ? user : getpwnam("nobody");
  }

  void GiveFolderAway() {
    if (const passwd* user = UserToRunAs(); user != nullptr) {
      runs_as_ = StrCat(user->pw_uid);
      GiveAway(folder_.path());
    }
  }
  static void GiveAway(const std::string& path) {
    const passwd* user = UserToRunAs();
    if (user == nullptr) return;
    EXPECT_EQ(chown(path.c_str(), user->pw_uid, user->pw_gid), 0);
  }

  // The first process is the one that started the others.
  std::vector<pid_t> Processes() const {
    pid_t first = 0;
    std::ifstream(data_ + "/postmaster.pid") >> first;
    if (first <= 1) return {};  // it has ended
    std::vector<pid_t> found = {first};
    pid_t child = 0;
    std::ifstream children(StrCat("/proc/", first, "/task/", first, "/children"));
    while (children >> child) found.push_back(child);
    return found;
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
  int port_ = 5432;
  std::string network_ = "-c listen_addresses=''";
  bool stopped_ = true;
  std::vector<pid_t> paused_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_POSTGRES_SERVER_H_
