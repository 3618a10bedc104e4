// A real coppiced with TLS and RocksDB, and the real command line against it.

#ifndef COPPICE_TESTS_INTEGRATION_DAEMON_H_
#define COPPICE_TESTS_INTEGRATION_DAEMON_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "nlohmann/json.hpp"
#include "tests/integration/process.h"
#include "tests/support/eventually.h"

namespace coppice::testing {

class Daemon {
 public:
  // Puts certificates into `folder`/certs (made once) and the store into `data_dir` or
  // `folder`/store. A `data_dir` that is a URI names the store's database.
  explicit Daemon(std::string folder, std::string data_dir = "")
      : folder_(std::move(folder)),
        data_dir_(data_dir.empty() ? folder_ + "/store" : std::move(data_dir)) {
    if (!std::filesystem::exists(folder_ + "/certs")) {
      const Outcome made = RunProgram({SourcePath("deploy/make-certs.sh"), folder_ + "/certs"});
      EXPECT_EQ(made.exit_code, 0) << made.err;
    }
  }

  std::vector<std::string> CommandLine(const std::string& listen) const {
    std::vector<std::string> line = {BinaryPath("coppiced"),
                                     StoreFlag(),
                                     data_dir_,
                                     "--listen",
                                     listen,
                                     "--tls-cert",
                                     folder_ + "/certs/server.crt",
                                     "--tls-key",
                                     folder_ + "/certs/server.key",
                                     "--port-file",
                                     folder_ + "/port"};
    line.insert(line.end(), more_flags_.begin(), more_flags_.end());
    return line;
  }
  // Takes effect at the next start, in the place of a free port.
  void SetPort(const std::string& port) { port_ = port; }
  // Takes effect at the next start.
  void AddFlags(const std::vector<std::string>& flags) {
    more_flags_.insert(more_flags_.end(), flags.begin(), flags.end());
  }

  // Starts and waits until it serves, on a free port the first time and the same one after. If it
  // does not come up, fails the test with the daemon's log and returns false.
  bool Start() {
    std::filesystem::remove(folder_ + "/port");
    std::vector<std::string> command = CommandLine("127.0.0.1:" + port_);
    command.insert(command.end(), more_flags.begin(), more_flags.end());
    command.insert(command.begin(), environment_.begin(), environment_.end());
    process_ = std::make_unique<Process>(command);
    const bool ended = !Eventually(
        [&] { return std::filesystem::exists(folder_ + "/port") || !process_->Running(); });
    if (ended || !process_->Running()) {
      ADD_FAILURE() << "coppiced did not start: " << process_->err();
      return false;
    }
    port_ = ReadWhole(folder_ + "/port");
    port_.erase(port_.find_last_not_of('\n') + 1);
    return true;
  }
  // Puts its wall clock ahead from the next start on.
  void MoveClock(absl::Duration by) {
    const std::string file = folder_ + "/clock";
    std::ofstream(file) << absl::ToInt64Seconds(by);
    environment_ = {"/usr/bin/env", "LD_PRELOAD=" + BinaryPath("../tests/libcoppice_test_clock.so"),
                    "COPPICE_TEST_CLOCK=" + file};
  }
  // Ends it as a crash does.
  void Kill() {
    process_->Signal(SIGKILL);
    process_->Wait();
  }
  // Stops every thread, as a machine that gives it no time would.
  void Pause() { process_->Signal(SIGSTOP); }
  void Resume() { process_->Signal(SIGCONT); }
  // Stops it as an operator would; returns the exit code.
  int Stop() {
    process_->Signal(SIGTERM);
    return process_->Wait();
  }

  void Signal(int signal) const { process_->Signal(signal); }
  // Has it read its files again, and waits until its log says `text` once more.
  void ReloadUntil(const std::string& text) const {
    const size_t before = log().size();
    Signal(SIGHUP);
    EXPECT_TRUE(Eventually([&] { return log().find(text, before) != std::string::npos; })) << text;
  }
  // Waits until it ends by itself; returns the exit code.
  int Wait() { return process_->Wait(); }

  const std::string& port() const { return port_; }
  std::string server() const { return "127.0.0.1:" + port_; }
  std::string ca() const { return folder_ + "/certs/ca.crt"; }
  std::string log() const { return process_->err(); }
  const std::string& data_dir() const { return data_dir_; }
  std::string StoreFlag() const {
    return data_dir_.starts_with("postgresql:") ? "--store" : "--data-dir";
  }
  ConnectOptions connection() const { return {.server = server(), .ca_file = ca()}; }

  // Runs `coppice` with `arguments` against this daemon.
  Outcome Coppice(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), BinaryPath("coppice"));
    for (const std::string& argument :
         {std::string("--server"), server(), std::string("--ca"), ca()}) {
      arguments.push_back(argument);
    }
    return RunProgram(arguments);
  }
  // Returns the JSON object that it prints; fails the test unless it exits with 0.
  nlohmann::json CoppiceJson(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Outcome outcome = Coppice(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(json.is_object()) << outcome.out;
    return json;
  }

  // Flags for later starts; a test may replace them.
  std::vector<std::string> more_flags;

 private:
  std::string folder_;
  std::string data_dir_;
  std::string port_ = "0";
  std::vector<std::string> more_flags_;
  std::vector<std::string> environment_;  // a program that sets it
  std::unique_ptr<Process> process_;
};

// Writes public.csv, private.csv, test.csv and schema.json of the synthetic pair to `folder`.
inline void Synthesize(const std::string& folder, const std::string& sizes) {
  const Outcome outcome = RunProgram(
      {BinaryPath("coppice-lab"), "synthesize", "--output-dir", folder, "--synthetic", sizes});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_DAEMON_H_
