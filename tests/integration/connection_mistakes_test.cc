// Common mistakes on the command line and about the connection: each is answered with one line that
// says what is wrong, where, and what to do. The lines are compared word for word.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "common/base/text.h"
#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Process;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::TempDir;
using ::testing::MatchesRegex;

// A server that is not a curator, on a port of its own, up when the constructor returns.
class Stranger {
 public:
  explicit Stranger(std::vector<std::string> command) : port_(testing::FreePort()) {
    for (std::string& word : command) {
      if (word == "PORT") word = StrCat(port_);
    }
    process_ = std::make_unique<Process>(command);
    EXPECT_TRUE(testing::Eventually([&] { return Answers() || !process_->Running(); }));
    EXPECT_TRUE(process_->Running()) << process_->err();
  }
  // Serves TLS with the certificate in `folder`.
  static Stranger WithTls(const std::string& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> command = {"/usr/bin/openssl",
                                        "s_server",
                                        "-quiet",
                                        "-accept",
                                        "PORT",
                                        "-cert",
                                        folder + "/server.crt",
                                        "-key",
                                        folder + "/server.key"};
    command.insert(command.end(), more.begin(), more.end());
    return Stranger(std::move(command));
  }

  std::string at(const std::string& host = "127.0.0.1") const { return StrCat(host, ":", port_); }

 private:
  bool Answers() const {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = testing::LoopbackAddress(port_);
    const int failed =
        connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    close(descriptor);
    return failed == 0;
  }

  int port_;
  std::unique_ptr<Process> process_;
};

class ConnectionMistakesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempDir>();
    MakeCertificates({Certs("good")});
    MakeCertificates({Certs("other")});
    MakeCertificates({"--force-dates", "20200101000000Z", "20200201000000Z", Certs("old")});
    MakeCertificates({"--force-dates", "20900101000000Z", "20910101000000Z", Certs("early")});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static void MakeCertificates(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {SourcePath("deploy/make-certs.sh")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    ASSERT_EQ(RunProgram(command).exit_code, 0);
  }
  static std::string Certs(const std::string& name) { return folder_->path() + "/" + name; }
  static std::string Ca(const std::string& name) { return Certs(name) + "/ca.crt"; }

  static Outcome Coppice(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("coppice"));
    return RunProgram(arguments);
  }
  // What `study list` prints about a connection that fails.
  static std::string Fault(const std::string& server, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"study", "list", "--server", server, "--timeout", "10"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = Coppice(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  static std::string WrongUsage(const std::vector<std::string>& arguments) {
    const Outcome outcome = Coppice(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }

  static std::unique_ptr<TempDir> folder_;
};
std::unique_ptr<TempDir> ConnectionMistakesTest::folder_;

TEST_F(ConnectionMistakesTest, AServerThatIsDown) {
  const std::string server = StrCat("127.0.0.1:", testing::FreePort());
  const std::string line = "coppice: nobody answers at " + server +
                           ": connection refused; check --server, and that coppiced runs there\n";
  EXPECT_EQ(Fault(server, {"--ca", Ca("good")}), line);
  EXPECT_EQ(Fault(server, {"--insecure"}), line);
}

TEST_F(ConnectionMistakesTest, AServerWhoseNameNobodyKnows) {
  EXPECT_THAT(Fault("curator.invalid:8443", {"--ca", Ca("good")}),
              MatchesRegex("coppice: nobody answers at curator.invalid:8443: the name "
                           "curator.invalid is not known \\([^)]+\\); check the spelling of "
                           "--server\n"));
}

TEST_F(ConnectionMistakesTest, NoAuthorityAndAnUnknownOne) {
  const Stranger server = Stranger::WithTls(Certs("good"), {"-alpn", "h2"});
  const std::string signed_by = "coppice: cannot trust " + server.at() +
                                ": its certificate is signed by \"Coppice test authority\", ";
  EXPECT_EQ(Fault(server.at(), {}),
            signed_by +
                "which this machine does not know; name that CA's certificate with --ca FILE or "
                "COPPICE_CA\n");
  EXPECT_EQ(Fault(server.at(), {"--ca", Ca("other")}),
            signed_by + "but by no CA in " + Ca("other") +
                " (--ca); get the CA's certificate from the server's operator\n");
}

TEST_F(ConnectionMistakesTest, ACertificateThatHasExpiredOrIsNotValidYet) {
  const Stranger old = Stranger::WithTls(Certs("old"), {"-alpn", "h2"});
  EXPECT_EQ(Fault(old.at(), {"--ca", Ca("old")}),
            "coppice: cannot trust " + old.at() +
                ": its certificate expired on 2020-02-01T00:00:00Z; the server's operator must "
                "renew it\n");
  const Stranger early = Stranger::WithTls(Certs("early"), {"-alpn", "h2"});
  EXPECT_EQ(Fault(early.at(), {"--ca", Ca("early")}),
            "coppice: cannot trust " + early.at() +
                ": its certificate is not valid before 2090-01-01T00:00:00Z; check this machine's "
                "clock\n");
}

TEST_F(ConnectionMistakesTest, ACertificateForAnotherName) {
  const Stranger server = Stranger::WithTls(Certs("good"), {"-alpn", "h2"});
  EXPECT_EQ(Fault(server.at("127.0.0.2"), {"--ca", Ca("good")}),
            "coppice: cannot trust " + server.at("127.0.0.2") +
                ": its certificate is for localhost, 127.0.0.1, ::1, not for 127.0.0.2; connect to "
                "a name that it is valid for (--server), or have it renewed for this one\n");
}

TEST_F(ConnectionMistakesTest, AServerThatAsksForAClientCertificate) {
  const Stranger server = Stranger::WithTls(
      Certs("good"),
      {"-alpn", "h2", "-Verify", "1", "-verify_return_error", "-CAfile", Ca("good")});
  EXPECT_EQ(Fault(server.at(), {"--ca", Ca("good")}),
            "coppice: " + server.at() +
                " refuses the TLS connection: it asks for a client certificate; give one with "
                "--cert and --key\n");
  const std::string certificate = Certs("other") + "/client.crt";
  EXPECT_EQ(Fault(server.at(), {"--ca", Ca("good"), "--cert", certificate, "--key",
                                Certs("other") + "/client.key"}),
            "coppice: " + server.at() +
                " refuses the TLS connection: it does not accept the "
                "certificate " +
                certificate +
                " (--cert); ask the server's operator for one that its --client-ca signed\n");
}

TEST_F(ConnectionMistakesTest, NoTlsWhereThereIsSomeAndTheOtherWayRound) {
  const Stranger tls = Stranger::WithTls(Certs("good"), {"-alpn", "h2"});
  EXPECT_EQ(Fault(tls.at(), {"--insecure"}), "coppice: " + tls.at() +
                                                 " uses TLS, which --insecure turns off; leave "
                                                 "--insecure out, and name the CA with --ca\n");
  const Stranger web = Stranger::WithTls(Certs("good"), {"-www"});
  EXPECT_EQ(
      Fault(web.at(), {"--ca", Ca("good")}),
      "coppice: " + web.at() + " uses TLS, but not gRPC; name the port where coppiced listens\n");
  const Stranger plain({"/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "PORT"});
  EXPECT_EQ(Fault(plain.at(), {"--ca", Ca("good")}),
            "coppice: " + plain.at() +
                " does not use TLS (wrong version number); name the port where coppiced listens, "
                "or add --insecure if it runs without TLS on this machine\n");
}

// The environment names a proxy for as long as this lives.
class ProxyVariables {
 public:
  ProxyVariables(const std::string& proxy, const std::string& excepted) {
    setenv("https_proxy", proxy.c_str(), 1);
    setenv("no_proxy", excepted.c_str(), 1);
  }
  ~ProxyVariables() {
    unsetenv("https_proxy");
    unsetenv("no_proxy");
  }
  ProxyVariables(const ProxyVariables&) = delete;
  ProxyVariables& operator=(const ProxyVariables&) = delete;
};

// Answers CONNECT, whatever the address, with a connection to the port of its argument.
constexpr char kTunnel[] = R"(
import socket, sys, threading
def carry(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = listening.accept()
    head = b""
    while b"\r\n\r\n" not in head and (data := client.recv(1)):
        head += data
    if not head.startswith(b"CONNECT "):
        client.close()
        continue
    server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    for pair in ((client, server), (server, client)):
        threading.Thread(target=carry, args=pair, daemon=True).start()
)";

TEST_F(ConnectionMistakesTest, AProxyThatIsDownIsNotTakenForTheCurator) {
  const std::string proxy = StrCat("127.0.0.1:", testing::FreePort());
  const ProxyVariables variables("http://ann:s3cr3t@" + proxy, "");
  EXPECT_EQ(Fault("curator.invalid:8443", {"--ca", Ca("good")}),
            "coppice: nobody answers at the proxy " + proxy +
                " (https_proxy), which leads to curator.invalid:8443: connection refused; check "
                "https_proxy, or set no_proxy=curator.invalid to connect without a proxy\n");
}

TEST_F(ConnectionMistakesTest, AProxyThatRefuses) {
  const Stranger proxy({"/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "PORT"});
  const ProxyVariables variables("http://" + proxy.at(), "");
  EXPECT_THAT(Fault("curator.invalid:8443", {"--ca", Ca("good")}),
              MatchesRegex("coppice: the proxy " + proxy.at() +
                           " \\(https_proxy\\) does not connect to curator.invalid:8443: it "
                           "answers 501 [^;]+; ask its operator, or check https_proxy, .*\n"));
}

TEST_F(ConnectionMistakesTest, WhatIsBehindAProxyIsExplainedAsWithoutOne) {
  const Stranger server = Stranger::WithTls(Certs("good"), {"-alpn", "h2"});
  const std::string port = server.at().substr(server.at().rfind(':') + 1);
  const Stranger proxy({"/usr/bin/python3", "-c", kTunnel, "PORT", port});
  const ProxyVariables variables("http://" + proxy.at(), "");
  EXPECT_EQ(Fault("curator.invalid:8443", {"--ca", Ca("good")}),
            "coppice: cannot trust curator.invalid:8443: its certificate is for localhost, "
            "127.0.0.1, ::1, not for curator.invalid; connect to a name that it is valid for "
            "(--server), or have it renewed for this one\n");
}

TEST_F(ConnectionMistakesTest, AHostThatIsExceptedIsReachedWithoutTheProxy) {
  const std::string proxy = StrCat("127.0.0.1:", testing::FreePort());
  for (const char* excepted : {"*", " curator.invalid", "other,*.invalid"}) {
    const ProxyVariables variables("http://" + proxy, excepted);
    EXPECT_THAT(Fault("curator.invalid:8443", {"--ca", Ca("good")}),
                MatchesRegex("coppice: nobody answers at curator.invalid:8443: the name "
                             "curator.invalid is not known .*\n"))
        << excepted;
  }
}

// gRPC's server ends the connection without an alert, after a handshake that succeeded.
TEST_F(ConnectionMistakesTest, ACuratorThatAsksForAClientCertificate) {
  const std::string folder = folder_->path() + "/mutual";
  std::filesystem::create_directories(folder);
  Daemon daemon(folder);
  daemon.AddFlags({"--client-ca", folder + "/certs/ca.crt"});
  ASSERT_TRUE(daemon.Start());
  EXPECT_EQ(Fault(daemon.server(), {"--ca", daemon.ca()}),
            "coppice: " + daemon.server() +
                " refuses the TLS connection: it asks for a client certificate; give one with "
                "--cert and --key\n");
  const std::string certificate = Certs("other") + "/client.crt";
  EXPECT_EQ(Fault(daemon.server(), {"--ca", daemon.ca(), "--cert", certificate, "--key",
                                    Certs("other") + "/client.key"}),
            "coppice: " + daemon.server() +
                " refuses the TLS connection: it does not accept the certificate " + certificate +
                " (--cert); ask the server's operator for one that its --client-ca signed\n");
}

// A deadline says what waits longer.
TEST_F(ConnectionMistakesTest, AServerThatNeverAnswers) {
  const Stranger silent({"/usr/bin/python3", "-c",
                         "import socket, sys, time\n"
                         "listening = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
                         "time.sleep(600)",
                         "PORT"});
  const Outcome outcome =
      Coppice({"study", "list", "--server", silent.at(), "--insecure", "--timeout", "0.5"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(
      outcome.err,
      MatchesRegex("coppice: " + silent.at() +
                   " did not answer in time: .*; allow more time with --timeout SECONDS\n"));
}

TEST_F(ConnectionMistakesTest, AnIdThatIsNotThere) {
  const std::string folder = folder_->path() + "/daemon";
  std::filesystem::create_directories(folder);
  Daemon daemon(folder);
  ASSERT_TRUE(daemon.Start());
  const std::pair<std::string, std::string> nouns[] = {{"study", "study"},
                                                       {"model", "model"},
                                                       {"dataset", "dataset"},
                                                       {"job", "train"},
                                                       {"endpoint", "endpoint"}};
  for (const auto& [what, noun] : nouns) {
    const Outcome outcome = daemon.Coppice({noun, "show", "--" + what, "none"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, MatchesRegex("coppice: there is no " + what +
                                          " none \\(request id [0-9a-f]+\\); `coppice " + noun +
                                          " list` lists those there are\n"));
  }
  const Outcome job = daemon.Coppice(
      {"train", "submit", "--dataset", "none", "--algorithm", "spe", "--epsilon", "1"});
  EXPECT_EQ(job.exit_code, 1);
  EXPECT_THAT(job.err, MatchesRegex("coppice: there is no dataset none \\(request id [0-9a-f]+\\); "
                                    "`coppice dataset list` lists those there are\n"));
}

TEST_F(ConnectionMistakesTest, NoServerAndAnAddressThatIsNone) {
  EXPECT_EQ(WrongUsage({"study", "list"}),
            "coppice: --server is required (Where coppiced listens); COPPICE_SERVER can set it "
            "too. See `coppice study list --help`.\n");
  EXPECT_EQ(WrongUsage({"study", "list", "--server", "nowhere"}),
            "coppice: --server: the server must be HOST:PORT with a port from 1 to 65535, and an "
            "IPv6 address in brackets. See `coppice study list --help`.\n");
}

TEST_F(ConnectionMistakesTest, AWrongEpsilonOrIdOrName) {
  EXPECT_EQ(WrongUsage({"study", "create", "--epsilon", "0"}),
            "coppice: --epsilon: needs a number from 0.01 to 20, such as 0.5 or 2, not \"0\". See "
            "`coppice study create --help`.\n");
  EXPECT_EQ(WrongUsage({"train", "submit", "--epsilon", "one"}),
            "coppice: --epsilon: needs a number from 0.000000001 to 1000000, such as 0.5 or 2, "
            "not \"one\". See `coppice train submit --help`.\n");
  EXPECT_EQ(WrongUsage({"study", "show", "--study", "My Study"}),
            "coppice: --study: needs 1 to 63 of a-z 0-9 - _, starting with a letter or digit, not "
            "\"My Study\". See `coppice study show --help`.\n");
  EXPECT_EQ(
      WrongUsage({"model", "show", "--format", "pdf"}),
      "coppice: --format: needs one of text, dot, svg, votes, html, not \"pdf\". See `coppice "
      "model show --help`.\n");
}

TEST_F(ConnectionMistakesTest, AnUnknownNounVerbOrFlag) {
  EXPECT_EQ(WrongUsage({"studdy", "list"}),
            "coppice: unknown noun \"studdy\"; did you mean \"study\"? See `coppice --help`.\n");
  EXPECT_EQ(WrongUsage({"study", "crate"}),
            "coppice: unknown verb \"crate\"; did you mean \"create\"? See `coppice study "
            "--help`.\n");
  EXPECT_EQ(WrongUsage({"dataset", "craete", "--help"}),
            "coppice: unknown verb \"craete\"; did you mean \"create\"? See `coppice dataset "
            "--help`.\n");
  EXPECT_EQ(WrongUsage({"study", "show", "--sudy", "s1"}),
            "coppice: unknown flag \"--sudy\"; did you mean \"--study\"? See `coppice study show "
            "--help`.\n");
  EXPECT_EQ(WrongUsage({"study", "show", "s1"}),
            "coppice: \"s1\" does not follow a flag; give a value after its flag, such as --study "
            "ID. See `coppice study show --help`.\n");
  const Outcome daemon = RunProgram({BinaryPath("coppiced"), "--data-drr", "x"});
  EXPECT_EQ(daemon.exit_code, 2);
  EXPECT_EQ(daemon.err,
            "coppiced: unknown flag \"--data-drr\"; did you mean \"--data-dir\"? See `coppiced "
            "--help`.\n");
  for (const char* program : {"coppiced", "coppice-relay", "coppice-lab"}) {
    if (!std::filesystem::exists(BinaryPath(program))) continue;  // the relay is a build option
    const Outcome help = RunProgram({BinaryPath(program), "manaul", "--help"});
    EXPECT_EQ(help.exit_code, 2) << "no help for a command that is not there";
    EXPECT_EQ(help.err, StrCat(program,
                               ": unknown command \"manaul\"; did you mean \"manual\"? See "
                               "`",
                               program, " --help`.\n"));
    EXPECT_EQ(help.out, "");
  }
  const Outcome lab = RunProgram({BinaryPath("coppice-lab"), "centrall"});
  EXPECT_EQ(lab.exit_code, 2);
  EXPECT_EQ(lab.err,
            "coppice-lab: unknown command \"centrall\"; did you mean \"central\"? See "
            "`coppice-lab --help`.\n");
}

}  // namespace
}  // namespace coppice
