// Compares a small prediction with a call that does nothing (it lists endpoints, of which there are
// none), in turns over one connection to a running coppiced. Run it again while a job trains and
// reports stream in: docs/research/performance.md has the commands. `stolen` is the share of the
// machine's processors that its host gave to others meanwhile: calls are slow where it is large.
//
//   predict_bench --server HOST:PORT --ca FILE --model ID [--rows N] [--calls N] [--rounds N]

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "coppice/v1/model.grpc.pb.h"
#include "tests/bench/machine_time.h"

namespace coppice {
namespace {

struct Flags {
  std::string server, ca, model;
  int rows = 1;
  int calls = 2000;  // per kind and round
  int rounds = 5;
};

using Stub = v1::ModelService::Stub;

std::shared_ptr<grpc::Channel> Connect(const Flags& flags) {
  std::ifstream stream(flags.ca);
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = {std::istreambuf_iterator<char>(stream), {}};
  return grpc::CreateChannel(flags.server, grpc::SslCredentials(tls));
}

void CheckOk(const grpc::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "predict_bench: %s\n", status.error_message().c_str());
  std::exit(1);
}

// A row in the middle of every feature, repeated as often as asked for.
v1::PredictRequest MakeRequest(Stub& stub, const Flags& flags) {
  v1::GetModelRequest request;
  request.set_name("models/" + flags.model);
  v1::GetModelResponse response;
  grpc::ClientContext context;
  CheckOk(stub.GetModel(&context, request, &response));
  v1::Row row;
  for (const v1::Feature& feature : response.model().schema().features()) {
    row.add_values(feature.has_numeric() ? (feature.numeric().min() + feature.numeric().max()) / 2
                                         : 0);
  }
  v1::PredictRequest predict;
  predict.set_name(request.name());
  for (int i = 0; i < flags.rows; ++i) *predict.add_rows() = row;
  return predict;
}

double Microseconds(const std::function<grpc::Status(grpc::ClientContext&)>& call) {
  const auto start = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  CheckOk(call(context));
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double Quantile(std::vector<double> times, double q) {
  const auto at = times.begin() + static_cast<long>(q * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

void Measure(Stub& stub, const v1::PredictRequest& request, const Flags& flags) {
  std::vector<double> empty, predict;
  v1::ListEndpointsRequest nothing;
  nothing.set_page_token("zzzzzzzzzzzzzzzz");
  const MachineTime before = MachineTime::Now();
  for (int i = 0; i < flags.calls; ++i) {
    v1::ListEndpointsResponse none;
    empty.push_back(Microseconds([&](grpc::ClientContext& context) {
      return stub.ListEndpoints(&context, nothing, &none);
    }));
    v1::PredictResponse response;
    predict.push_back(Microseconds(
        [&](grpc::ClientContext& context) { return stub.Predict(&context, request, &response); }));
  }
  const double stolen = MachineTime::Now().Since(before).StolenShare();
  const double median = Quantile(predict, 0.5), empty_median = Quantile(empty, 0.5);
  const double p99 = Quantile(predict, 0.99);
  std::printf(
      "{\"rows\":%d,\"empty_median_us\":%.0f,\"empty_p99_us\":%.0f,\"predict_median_us\":%.0f,"
      "\"predict_p99_us\":%.0f,\"median_ratio\":%.2f,\"p99_over_median\":%.2f,\"stolen\":%.2f}\n",
      flags.rows, empty_median, Quantile(empty, 0.99), median, p99, median / empty_median,
      p99 / median, stolen);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Time of a small prediction beside that of a call that does nothing",
               "predict_bench");
  app.add_option("--server", flags.server, "Where coppiced listens, HOST:PORT")->required();
  app.add_option("--ca", flags.ca, "PEM file of its certificate's CA")->required();
  app.add_option("--model", flags.model, "Id of the model")->required();
  app.add_option("--rows", flags.rows, "Rows of one prediction")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--calls", flags.calls, "Calls of each kind and round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Lines to print")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto stub = v1::ModelService::NewStub(Connect(flags));
  const v1::PredictRequest request = MakeRequest(*stub, flags);
  for (int round = 0; round < flags.rounds; ++round) Measure(*stub, request, flags);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
