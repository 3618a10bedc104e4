// Compares a unary call over HTTP (JSON and protobuf) with one over gRPC: latency on one kept TLS
// connection, and the daemon's processor time per call. The three take turns, so that other work on
// the machine affects them alike.
//
//   coppiced ... --listen 127.0.0.1:8443 --http-listen 127.0.0.1:8080 &
//   http_bench --server localhost:8443 --http-port 8080 --ca ca.crt --pid $! --study studies/ID

#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "coppice/v1/study.grpc.pb.h"
#include "tests/support/http_client.h"

namespace coppice {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::string server, ca, study;
  int http_port = 0, pid = 0, calls = 2000, rounds = 10;
};

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Processor time of all its threads in microseconds, to a clock tick.
double ProcessorMicros(int pid) {
  const std::string stat = ReadWhole("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct Way {
  std::string name;
  std::function<bool()> call;
  std::vector<double> micros{};
  double processor_micros = 0;
};

void Run(const Flags& flags, std::vector<Way>& ways) {
  for (int round = 0; round <= flags.rounds; ++round) {  // the first one warms up
    for (Way& way : ways) {
      const double before = ProcessorMicros(flags.pid);
      for (int i = 0; i < flags.calls; ++i) {
        const auto begun = Clock::now();
        if (!way.call()) {
          std::fprintf(stderr, "http_bench: a call by %s failed\n", way.name.c_str());
          std::exit(1);
        }
        const std::chrono::duration<double, std::micro> passed = Clock::now() - begun;
        if (round > 0) way.micros.push_back(passed.count());
      }
      if (round > 0) way.processor_micros += ProcessorMicros(flags.pid) - before;
    }
  }
}

void Print(const char* what, std::vector<Way>& ways) {
  std::printf("%s\n%-12s %10s %10s %14s %12s\n", what, "", "p50 us", "p99 us", "daemon CPU us",
              "CPU / gRPC");
  for (Way& way : ways) {
    std::sort(way.micros.begin(), way.micros.end());
    const auto calls = static_cast<double>(way.micros.size());
    std::printf("%-12s %10.0f %10.0f %14.1f %12.2f\n", way.name.c_str(),
                way.micros[way.micros.size() / 2], way.micros[way.micros.size() * 99 / 100],
                way.processor_micros / calls, way.processor_micros / ways[0].processor_micros);
  }
}

template <typename Request, typename GrpcCall>
void Compare(const Flags& flags, const char* method, const Request& request, GrpcCall grpc_call) {
  const testing::HttpTls tls;
  testing::HttpClient json_client(flags.http_port, &tls), proto_client(flags.http_port, &tls);
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(request, &json);
  const std::string path = std::string("/coppice.v1.StudyService/") + method;
  const auto send = [&path](testing::HttpClient& client, const char* type,
                            const std::string& body) {
    return client.Send("POST", path, {{"Content-Type", type}}, body).status == 200;
  };
  std::vector<Way> ways = {
      {.name = "gRPC", .call = grpc_call},
      {.name = "HTTP, proto",
       .call =
           [&] { return send(proto_client, "application/proto", request.SerializeAsString()); }},
      {.name = "HTTP, JSON", .call = [&] { return send(json_client, "application/json", json); }}};
  Run(flags, ways);
  Print(method, ways);
}

void CompareAll(const Flags& flags) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ReadWhole(flags.ca);
  const auto stub =
      v1::StudyService::NewStub(grpc::CreateChannel(flags.server, grpc::SslCredentials(options)));
  const v1::ListStudiesRequest list;
  Compare(flags, "ListStudies", list, [&] {
    grpc::ClientContext context;
    v1::ListStudiesResponse response;
    return stub->ListStudies(&context, list, &response).ok();
  });
  if (flags.study.empty()) return;
  v1::GetStudyRequest get;
  get.set_name(flags.study);
  Compare(flags, "GetStudy", get, [&] {
    grpc::ClientContext context;
    v1::GetStudyResponse response;
    return stub->GetStudy(&context, get, &response).ok();
  });
  v1::GetOfferRequest offer;
  offer.set_name(flags.study);
  offer.set_tickets(1);
  Compare(flags, "GetOffer", offer, [&] {
    grpc::ClientContext context;
    v1::GetOfferResponse response;
    return stub->GetOffer(&context, offer, &response).ok();
  });
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  CLI::App app("What a unary call costs over HTTP and over gRPC");
  coppice::Flags flags;
  app.add_option("--server", flags.server, "HOST:PORT of gRPC")->required();
  app.add_option("--http-port", flags.http_port, "Port of HTTP on this machine")->required();
  app.add_option("--ca", flags.ca, "PEM file")->required();
  app.add_option("--pid", flags.pid, "Of the daemon")->required();
  app.add_option("--study", flags.study, "studies/ID, for calls about one");
  app.add_option("--calls", flags.calls, "In a row");
  app.add_option("--rounds", flags.rounds, "Of each way");
  CLI11_PARSE(app, argc, argv);
  coppice::CompareAll(flags);
  return 0;
}
