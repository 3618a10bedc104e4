// Sends reports over one stream at a steady rate to a running coppiced: the load under which
// predictions are timed. Reports are made beforehand, so that the machine spends little on them but
// their way.
//
//   stream_bench --server HOST:PORT --ca FILE --study ID --rate N --seconds N [--batch N]
//
// Prints "streaming" when the first message leaves, and at the end how many reports were accepted.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "coppice/v1/report.grpc.pb.h"
#include "tests/bench/ready_reports.h"

namespace coppice {
namespace {

struct Flags {
  std::string server, ca, study;
  size_t rate = 0;  // reports per second
  size_t seconds = 0;
  size_t batch = 250;
};

// Sends each message when it is due; while the curator is busy, that message and later ones wait.
void Send(const std::vector<testing::SealedReportsCall>& calls, const Flags& flags,
          grpc::ClientReaderWriter<v1::StreamReportsRequest, v1::StreamReportsResponse>& stream) {
  const std::chrono::duration<double> between(static_cast<double>(flags.batch) /
                                              static_cast<double>(flags.rate));
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < calls.size(); ++i) {
    std::this_thread::sleep_until(start + static_cast<double>(i) * between);
    if (!stream.Write(calls[i].request<v1::StreamReportsRequest>())) break;
  }
  stream.WritesDone();
}

void Run(const Flags& flags) {
  const auto calls = MakeReadyReports(flags.server, flags.ca, flags.study,
                                      flags.rate * flags.seconds, flags.batch);
  const auto stub = v1::ReportService::NewStub(ConnectAlone(flags.server, flags.ca));
  std::printf("streaming\n");
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  const auto stream = stub->StreamReports(&context);
  std::thread sender([&] { Send(calls, flags, *stream); });
  size_t accepted = 0;
  v1::StreamReportsResponse response;
  for (size_t i = 0; stream->Read(&response); ++i) accepted += calls[i].Accepted(response);
  sender.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok() || accepted != flags.rate * flags.seconds) {
    std::fprintf(stderr, "stream_bench: %zu of %zu accepted; %s\n", accepted,
                 flags.rate * flags.seconds, status.error_message().c_str());
    std::exit(1);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("{\"accepted\":%zu,\"reports_per_second\":%.0f}\n", accepted,
              static_cast<double>(accepted) / took.count());
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("A steady stream of reports to a running coppiced", "stream_bench");
  app.add_option("--server", flags.server, "Where coppiced listens, HOST:PORT")->required();
  app.add_option("--ca", flags.ca, "PEM file of its certificate's CA")->required();
  app.add_option("--study", flags.study, "Id of an open study")->required();
  app.add_option("--rate", flags.rate, "Reports a second")
      ->required()
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--seconds", flags.seconds, "For so long; all reports are made before")
      ->required()
      ->check(CLI::Range(1, 3600));
  app.add_option("--batch", flags.batch, "Reports in one message")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Run(flags);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
