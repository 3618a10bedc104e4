// A real HAProxy with the configuration that is shipped, before the curators of a fleet.

#ifndef COPPICE_TESTS_INTEGRATION_BALANCER_H_
#define COPPICE_TESTS_INTEGRATION_BALANCER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/integration/process.h"
#include "tests/support/free_port.h"

namespace coppice::testing {

class Balancer {
 public:
  static constexpr char kMissing[] = "haproxy is not installed: deploy/fleet/packages.txt";
  static bool IsInstalled() { return access(kProgram, X_OK) == 0; }

  // Sends connections to the one of `servers`, as HOST:PORT, that says it is ready. `ca` is the
  // file of the servers' authority; empty: they serve without TLS. Keeps its configuration in
  // `folder`.
  Balancer(const std::string& folder, const std::vector<std::string>& servers,
           const std::string& ca = "")
      : port_(FreePort()) {
    std::string lines;
    for (size_t i = 0; i < servers.size(); ++i) {
      StrAppend(&lines, "server curator", i, " ", servers[i], "\n  ");
    }
    const std::string listen = StrCat("127.0.0.1:", port_);
    std::string configuration =
        StrReplaceAll(ReadWhole(SourcePath("deploy/fleet/haproxy.cfg")),
                      {{"  stats socket @FOLDER@/haproxy.sock mode 600 level admin\n", ""},
                       {"@ADDRESS@:8443", listen},
                       {"@CA@", ca},
                       {"@SERVERS@", lines}});
    if (ca.empty()) {
      const size_t begin = configuration.find(kTls);
      EXPECT_NE(begin, std::string::npos) << "haproxy.cfg asks by TLS in other words";
      configuration.erase(begin, sizeof(kTls) - 1);
      configuration.erase(configuration.find("ca-file "), sizeof("ca-file ") - 1);
    }
    const std::string path = folder + "/haproxy.cfg";
    std::ofstream(path) << configuration;
    process_ = std::make_unique<Process>(std::vector<std::string>{kProgram, "-db", "-f", path});
  }

  int port() const { return port_; }
  std::string server() const { return StrCat("127.0.0.1:", port_); }
  std::string log() const { return process_->out() + process_->err(); }

 private:
  static constexpr char kProgram[] = "/usr/sbin/haproxy";
  static constexpr char kTls[] = "check-ssl check-alpn h2 verify required ";

  const int port_;
  std::unique_ptr<Process> process_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_BALANCER_H_
