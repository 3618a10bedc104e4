// A real coppice-relay.

#ifndef COPPICE_TESTS_INTEGRATION_RELAY_PROGRAM_H_
#define COPPICE_TESTS_INTEGRATION_RELAY_PROGRAM_H_

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/device/grpc/connect.h"
#include "tests/integration/process.h"
#include "tests/support/eventually.h"

namespace coppice::testing {

class RelayProgram {
 public:
  // Makes certificates in `folder`/relay-certs, and the relay's key and deals in `folder`/relay.
  // `flags` are what it needs besides: the curator, the deal, and who is admitted.
  RelayProgram(std::string folder, std::vector<std::string> flags)
      : folder_(std::move(folder)), flags_(std::move(flags)) {
    const Outcome certs = RunProgram({SourcePath("deploy/make-certs.sh"), certs_dir()});
    EXPECT_EQ(certs.exit_code, 0) << certs.err;
    const Outcome key =
        RunProgram({BinaryPath("coppice-relay"), "keygen", "--data-dir", data_dir()});
    EXPECT_EQ(key.exit_code, 0) << key.err;
    key_ = key.out.substr(0, key.out.find('\n'));
  }

  std::vector<std::string> CommandLine() const {
    std::vector<std::string> line = {BinaryPath("coppice-relay"),
                                     "--data-dir",
                                     data_dir(),
                                     "--listen",
                                     "127.0.0.1:" + port_,
                                     "--tls-cert",
                                     certs_dir() + "/server.crt",
                                     "--tls-key",
                                     certs_dir() + "/server.key",
                                     "--port-file",
                                     folder_ + "/relay-port"};
    line.insert(line.end(), flags_.begin(), flags_.end());
    return line;
  }
  void AddFlags(const std::vector<std::string>& flags) {
    flags_.insert(flags_.end(), flags.begin(), flags.end());
  }

  // Starts and waits until it serves, on a free port the first time and the same one after.
  bool Start() {
    std::filesystem::remove(folder_ + "/relay-port");
    process_ = std::make_unique<Process>(CommandLine());
    const bool serves = Eventually([this] {
      return std::filesystem::exists(folder_ + "/relay-port") || !process_->Running();
    });
    if (!serves || !process_->Running()) {
      ADD_FAILURE() << "coppice-relay did not start: " << process_->err();
      return false;
    }
    port_ = ReadWhole(folder_ + "/relay-port");
    port_.erase(port_.find_last_not_of('\n') + 1);
    return true;
  }
  void Kill() {
    process_->Signal(SIGKILL);
    process_->Wait();
  }
  int Stop() {
    process_->Signal(SIGTERM);
    return process_->Wait();
  }
  void Signal(int signal) const { process_->Signal(signal); }

  // The port of --metrics-listen or --http-listen, from the log; 0 if there is none.
  int metrics_port() const { return PortAfter(" metrics listen"); }
  int http_port() const { return PortAfter(" http listen"); }

  const std::string& key() const { return key_; }  // the public key
  std::string server() const { return "127.0.0.1:" + port_; }
  int port() const { return std::stoi(port_); }
  std::string log() const { return process_->err(); }
  std::string data_dir() const { return folder_ + "/relay"; }
  std::string certs_dir() const { return folder_ + "/relay-certs"; }
  std::string ca() const { return certs_dir() + "/ca.crt"; }
  ConnectOptions connection() const { return {.server = server(), .ca_file = ca()}; }

 private:
  int PortAfter(const std::string& text) const {
    const std::string lines = log(), before = "port=";
    const size_t line = lines.find(text);
    const size_t at = lines.find(before, line);
    return line == std::string::npos ? 0 : std::stoi(lines.substr(at + before.size()));
  }

  std::string folder_;
  std::vector<std::string> flags_;
  std::string key_;
  std::string port_ = "0";
  std::unique_ptr<Process> process_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_RELAY_PROGRAM_H_
