// Measures devices that each connect to a running coppice-relay, take an offer, send one report and
// leave once it is stored. Compares them with devices that make as many empty calls to a gRPC
// server which does nothing; in turns, with full handshakes and the same certificate.
//
//   relay_bench --relay 127.0.0.1:PORT --certs DIR --study ID [--devices N] [--at-once N]
//               [--rounds N]
//
// The relay must admit everybody (--admit-all) and have more tickets than devices times rounds.
// Reports have the right length but are not sealed for anybody, which a relay cannot tell.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "coppice/v1/relay.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/bench/tls_client.h"

namespace coppice {
namespace {

constexpr char kTerms[] = "/coppice.v1.RelayService/GetRelayTerms";
constexpr char kTake[] = "/coppice.v1.RelayService/TakeOffer";
constexpr char kSubmit[] = "/coppice.v1.RelayService/SubmitSealedReport";
constexpr size_t kSealedBytesMore = 2 + 16;  // the payload's length, and the tag

struct RelayBenchFlags {
  std::string relay, certs, study;
  size_t devices = 2000;  // per kind and round
  size_t at_once = 8;
  int rounds = 7;
};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "relay_bench: %s\n", what.c_str());
  std::exit(1);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Answers every call with no bytes.
class EmptyAnswer final : public grpc::ServerGenericBidiReactor {
 public:
  EmptyAnswer() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartWriteAndFinish(&answer_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer request_;
  grpc::Slice nothing_;
  grpc::ByteBuffer answer_{&nothing_, 1};
};

class EmptyService final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new EmptyAnswer();  // deletes itself
  }
};

class EmptyServer {
 public:
  explicit EmptyServer(const std::string& certs) {
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back(
        {ReadAll(certs + "/server.key"), ReadAll(certs + "/server.crt")});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) Fail("--certs holds no server.crt and server.key, or no port is free");
  }
  int port() const { return port_; }

 private:
  EmptyService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// Makes call `number` of a connection; 0 opens it.
std::optional<std::string> Call(TlsConnection& connection, const char* path,
                                const std::string& message, uint32_t number) {
  const std::string bytes = number == 0 ? OneCall(path, message) : NextCall(path, message, number);
  if (!connection.Write(bytes)) return std::nullopt;
  return ReadAnswer(connection);
}

class RelayDevices {
 public:
  RelayDevices(const TlsClient& client, int port, const std::string& study)
      : client_(client), port_(port) {
    v1::GetRelayTermsRequest asked;
    asked.set_study("studies/" + study);
    const auto connection = client_.Connect(port_, nullptr);
    if (connection == nullptr) Fail("nobody answers at --relay, or its certificate is another's");
    const auto answer = Call(*connection, kTerms, asked.SerializeAsString(), 0);
    v1::GetRelayTermsResponse response;
    v1::RelayTerms terms;
    v1::Manifest manifest;
    if (!answer.has_value() || !response.ParseFromString(*answer) ||
        !terms.ParseFromString(response.relay_terms()) ||
        !manifest.ParseFromString(response.manifest().manifest()))
      Fail("the relay has no deal of --study that is open");
    take_.set_study(asked.study());
    take_.set_epoch(terms.epoch());
    ciphertext_bytes_ = manifest.sealed_payload_bytes() + kSealedBytesMore;
    offer_bytes_ = terms.offer_bytes();
  }

  uint32_t offer_bytes() const { return offer_bytes_; }

  bool Answer() const {
    const auto connection = client_.Connect(port_, nullptr);
    if (connection == nullptr) return false;
    const auto taken = Call(*connection, kTake, take_.SerializeAsString(), 0);
    v1::TakeOfferResponse offer;
    if (!taken.has_value() || !offer.ParseFromString(*taken)) return false;
    const auto stored = Call(*connection, kSubmit, ReportFor(offer.envelope()), 1);
    connection->Leave();
    v1::SubmitSealedReportResponse response;
    return stored.has_value() && response.ParseFromString(*stored) &&
           response.outcome() == v1::SUBMIT_OUTCOME_STORED;
  }

 private:
  std::string ReportFor(const std::string& envelope) const {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(envelope[i]);
    v1::RelayedOffer offer;
    if (!offer.ParseFromString(envelope.substr(4, length))) return "";
    v1::SubmitSealedReportRequest report;
    report.set_epoch(take_.epoch());
    report.set_ticket(offer.ticket());
    report.set_claim(offer.claim());
    report.set_encapsulated(std::string(32, 'e'));
    report.set_ciphertext(std::string(ciphertext_bytes_, 'c'));
    return report.SerializeAsString();
  }

  const TlsClient& client_;
  const int port_;
  v1::TakeOfferRequest take_;
  size_t ciphertext_bytes_ = 0;
  uint32_t offer_bytes_ = 0;
};

// The same number of calls to a server that does nothing.
bool CallEmpty(const TlsClient& client, int port) {
  const auto connection = client.Connect(port, nullptr);
  if (connection == nullptr) return false;
  const bool called =
      Call(*connection, kTake, "", 0).has_value() && Call(*connection, kSubmit, "", 1).has_value();
  connection->Leave();
  return called;
}

double PerSecond(const RelayBenchFlags& flags, const std::function<bool()>& device) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<size_t> next{0}, failed{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < flags.at_once; ++i) {
    threads.emplace_back([&] {
      while (next++ < flags.devices) failed += !device();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed > 0) Fail("devices failed: " + std::to_string(failed));
  return static_cast<double>(flags.devices) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int Main(int argc, char** argv) {
  RelayBenchFlags flags;
  CLI::App app("Devices that connect to a relay, answer and leave, beside empty calls",
               "relay_bench");
  app.add_option("--relay", flags.relay, "Where coppice-relay listens, 127.0.0.1:PORT")->required();
  app.add_option("--certs", flags.certs, "Its folder, made by deploy/make-certs.sh")->required();
  app.add_option("--study", flags.study, "Id of a study that it deals")->required();
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
  const TlsClient client(flags.certs + "/ca.crt");
  const RelayDevices devices(client, std::stoi(flags.relay.substr(flags.relay.rfind(':') + 1)),
                             flags.study);
  const EmptyServer empty(flags.certs);
  std::vector<double> calling, answering, share;
  for (int round = 0; round < flags.rounds; ++round) {
    calling.push_back(PerSecond(flags, [&] { return CallEmpty(client, empty.port()); }));
    answering.push_back(PerSecond(flags, [&] { return devices.Answer(); }));
    share.push_back(answering.back() / calling.back());
  }
  std::printf(
      "{\"at_once\":%zu,\"offer_bytes\":%u,\"empty_per_second\":%.0f,\"answering_per_second\":%.0f,"
      "\"of_empty\":%.2f}\n",
      flags.at_once, devices.offer_bytes(), Median(calling), Median(answering), Median(share));
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
