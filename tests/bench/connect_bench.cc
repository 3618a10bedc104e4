// Measures devices that each connect to a running coppiced, send one report and leave once it is
// durable. Compares them with bare OpenSSL handshakes (gRPC does its TLS by OpenSSL too) with the
// same certificate (P-256), and with handshakes alone against the daemon; in turns, with full and
// with resumed handshakes.
//
//   connect_bench --server 127.0.0.1:PORT --certs DIR --study ID [--devices N] [--at-once N]
//                 [--rounds N]

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/bench/ready_reports.h"
#include "tests/bench/tls_client.h"

namespace coppice {
namespace {

struct Flags {
  std::string server, certs, study;
  size_t devices = 2000;  // per kind and round
  size_t at_once = 8;
  int rounds = 7;
};

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "connect_bench: %s\n", what);
  std::exit(1);
}

// Completes handshakes and does nothing else, on as many threads as gRPC would use.
class BareServer {
 public:
  BareServer(const std::string& certs, size_t threads)
      : context_(SSL_CTX_new(TLS_server_method())) {
    const std::string certificate = certs + "/server.crt", key = certs + "/server.key";
    if (SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
      Fail("--certs holds no server.crt and server.key");
    SSL_CTX_set_alpn_select_cb(context_.get(), SelectHttp2, nullptr);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, any, size) != 0 || listen(listener_, 1024) != 0 ||
        getsockname(listener_, any, &size) != 0)
      Fail("no port to be had");
    port_ = ntohs(address.sin_port);
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Accept(); });
  }
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;
  ~BareServer() {
    shutdown(listener_, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }

  int port() const { return port_; }

 private:
  static int SelectHttp2(SSL* /*ssl*/, const unsigned char** out, unsigned char* size,
                         const unsigned char* in, unsigned int in_size, void* /*argument*/) {
    if (in_size < 3) return SSL_TLSEXT_ERR_NOACK;
    *out = in + 1;
    *size = in[0];
    return SSL_TLSEXT_ERR_OK;
  }

  void Accept() {
    for (;;) {
      const int descriptor = accept(listener_, nullptr, nullptr);
      if (descriptor < 0) return;
      const int on = 1;  // as gRPC does
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      SSL* const ssl = SSL_new(context_.get());
      TlsConnection connection(descriptor, ssl);
      SSL_set_fd(ssl, descriptor);
      std::string byte;
      // A device leaves once it can resume; the byte tells it that the session was sent.
      if (SSL_accept(ssl) == 1 && connection.Write("!")) connection.Read(1, byte);
    }
  }

  std::unique_ptr<SSL_CTX, SslDeleter> context_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<std::thread> threads_;
};

// Plays one device; false if it failed.
using Device = std::function<bool(size_t index)>;

double DevicesPerSecond(const Flags& flags, const Device& device) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<size_t> next{0}, failed{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < flags.at_once; ++i) {
    threads.emplace_back([&] {
      for (size_t index = next++; index < flags.devices; index = next++) {
        if (!device(index)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed > 0) Fail(("devices failed: " + std::to_string(failed)).c_str());
  return static_cast<double>(flags.devices) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Fleet {
 public:
  Fleet(const Flags& flags, const TlsClient& client, int daemon, int bare)
      : flags_(flags), client_(client), daemon_(daemon), bare_(bare) {}

  void Measure(bool resumed) {
    std::vector<double> bare, connecting, reporting, of_bare, of_connecting;
    for (int round = 0; round < flags_.rounds; ++round) {
      const auto calls =
          MakeReadyReports(flags_.server, flags_.certs + "/ca.crt", flags_.study, flags_.devices);
      const TlsSession bare_session = resumed ? BareSession() : nullptr;
      const TlsSession session = resumed ? DaemonSession() : nullptr;
      bare.push_back(
          DevicesPerSecond(flags_, [&](size_t) { return Handshake(bare_, bare_session.get()); }));
      connecting.push_back(
          DevicesPerSecond(flags_, [&](size_t) { return Handshake(daemon_, session.get()); }));
      reporting.push_back(DevicesPerSecond(
          flags_, [&](size_t index) { return Report(calls[index], session.get()); }));
      of_bare.push_back(reporting.back() / bare.back());
      of_connecting.push_back(reporting.back() / connecting.back());
    }
    std::printf(
        "{\"resumed\":%s,\"at_once\":%zu,\"bare_per_second\":%.0f,\"connecting_per_second\":%.0f,"
        "\"reporting_per_second\":%.0f,\"of_bare\":%.2f,\"of_connecting\":%.2f}\n",
        resumed ? "true" : "false", flags_.at_once, Median(bare), Median(connecting),
        Median(reporting), Median(of_bare), Median(of_connecting));
    std::fflush(stdout);
  }

 private:
  TlsSession BareSession() const {
    const auto connection = client_.Connect(bare_, nullptr);
    std::string byte;
    if (connection == nullptr || !connection->Read(1, byte)) Fail("no bare handshake");
    connection->Leave();
    return connection->Session();
  }

  TlsSession DaemonSession() const {
    const auto connection = client_.Connect(daemon_, nullptr);
    std::string frame_head;
    if (connection == nullptr || !connection->Write(OneCall("/grpc.health.v1.Health/Check", "")) ||
        !connection->Read(9, frame_head))
      Fail("no handshake with the daemon");
    connection->Leave();
    return connection->Session();
  }

  // Reads the server's first bytes, by which its last flight has been processed.
  bool Handshake(int port, SSL_SESSION* session) const {
    const auto connection = client_.Connect(port, session);
    std::string byte;
    if (connection == nullptr || connection->resumed() != (session != nullptr)) return false;
    if (!connection->Read(1, byte)) return false;
    connection->Leave();
    return true;
  }

  bool Report(const testing::SealedReportsCall& call, SSL_SESSION* session) const {
    const auto connection = client_.Connect(daemon_, session);
    if (connection == nullptr || connection->resumed() != (session != nullptr)) return false;
    if (!connection->Write(
            OneCall("/coppice.v1.ReportService/SubmitReports", call.request().SerializeAsString())))
      return false;
    const std::optional<std::string> answer = ReadAnswer(*connection);
    v1::SubmitReportsResponse response;
    connection->Leave();
    return answer.has_value() && response.ParseFromString(*answer) && call.Accepted(response) == 1;
  }

  const Flags& flags_;
  const TlsClient& client_;
  const int daemon_, bare_;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Devices that connect, report and leave, beside bare TLS handshakes",
               "connect_bench");
  app.add_option("--server", flags.server, "Where coppiced listens, 127.0.0.1:PORT")->required();
  app.add_option("--certs", flags.certs, "Its folder, made by deploy/make-certs.sh")->required();
  app.add_option("--study", flags.study, "Id of an open study")->required();
  app.add_option("--devices", flags.devices, "Devices of each kind and round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  app.add_option("--at-once", flags.at_once, "Devices at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Rounds; medians are printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);  // write() reports the failure
  const int daemon = std::stoi(flags.server.substr(flags.server.rfind(':') + 1));
  const TlsClient client(flags.certs + "/ca.crt");
  const BareServer bare(flags.certs, flags.at_once);
  Fleet fleet(flags, client, daemon, bare.port());
  fleet.Measure(/*resumed=*/false);
  fleet.Measure(/*resumed=*/true);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
