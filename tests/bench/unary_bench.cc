// Compares durable reports, one per call to a running coppiced, with a call that does nothing (it
// lists endpoints, of which there are none): in turns, with the same number of calls in flight over
// the same connections. A report waits for the disk, so few calls at once measure the disk alone.
// Requests are prepared bytes, sealed beforehand, and of an answer only the length is looked at, so
// neither protobuf's nor the cipher's cost to the client is in them. Each round's first answer is
// opened.
//
// A virtual machine's host takes processors away as it likes, so the share that it took is printed.
// Processor time per call is that of the whole machine: client and daemon run on it, and nothing
// else should.
//
//   unary_bench --server HOST:PORT --ca FILE --study ID [--calls N] [--at-once N]
//               [--connections N] [--rounds N]

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "coppice/v1/model.pb.h"
#include "coppice/v1/report.pb.h"
#include "tests/bench/machine_time.h"
#include "tests/bench/ready_reports.h"

namespace coppice {
namespace {

constexpr char kListEndpoints[] = "/coppice.v1.ModelService/ListEndpoints";
constexpr char kSubmitReports[] = "/coppice.v1.ReportService/SubmitReports";

struct Flags {
  std::string server, ca, study;
  size_t calls = 20'000;  // per kind and round
  size_t at_once = 400;
  size_t connections = 4;
  int rounds = 7;
};

// Starts one call; `done` gets whether it succeeded.
using StartCall = std::function<void(size_t index, std::function<void(bool)> done)>;

struct Speed {
  double per_second = 0;
  double cpu_microseconds = 0;  // of the whole machine, per call
};

// Keeps `at_once` calls in flight until `calls` have ended.
class CallLoop {
 public:
  CallLoop(const Flags& flags, StartCall start) : flags_(flags), start_(std::move(start)) {}

  Speed Run() {
    const MachineTime before = MachineTime::Now();
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < flags_.at_once; ++i) StartNext();
    std::unique_lock lock(mutex_);
    all_ended_.wait(lock, [&] { return ended_ == flags_.calls; });
    if (failed_ > 0) {
      std::fprintf(stderr, "unary_bench: %zu of %zu calls failed\n", failed_, flags_.calls);
      std::exit(1);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const auto calls = static_cast<double>(flags_.calls);
    return {.per_second = calls / took.count(),
            .cpu_microseconds = MachineTime::Now().Since(before).busy / calls * 1e6};
  }

 private:
  void StartNext() {
    size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      if (started_ == flags_.calls) return;
      index = started_++;
    }
    start_(index, [this](bool ok) { End(ok); });
  }

  void End(bool ok) {
    StartNext();
    const std::lock_guard lock(mutex_);
    if (!ok) ++failed_;
    if (++ended_ == flags_.calls) all_ended_.notify_one();
  }

  const Flags& flags_;
  const StartCall start_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  size_t started_ = 0, ended_ = 0, failed_ = 0;
};

using Stubs =
    std::vector<std::unique_ptr<grpc::GenericStub>>;  // one per connection; they take turns

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Whether an answer to call `index` is as it should be.
using IsDue = std::function<bool(size_t index, const std::string& answer)>;

// Calls `method` with the requests in turn.
StartCall CallsOf(const Stubs& stubs, const std::string& method,
                  const std::vector<grpc::ByteBuffer>& requests, const IsDue& is_due) {
  return [&stubs, &requests, method, is_due](size_t index, std::function<void(bool)> done) {
    struct Call {
      grpc::ClientContext context;
      grpc::ByteBuffer response;
    };
    auto call = std::make_shared<Call>();
    stubs[index % stubs.size()]->UnaryCall(
        &call->context, method, grpc::StubOptions(), &requests[index % requests.size()],
        &call->response, [call, index, is_due, done = std::move(done)](const grpc::Status& status) {
          done(status.ok() && is_due(index, TextOf(call->response)));
        });
  };
}

std::vector<grpc::ByteBuffer> EmptyCall() {
  v1::ListEndpointsRequest request;
  request.set_page_token("zzzzzzzzzzzzzzzz");
  return {BytesOf(request)};
}

std::vector<grpc::ByteBuffer> BytesOf(const std::vector<testing::SealedReportsCall>& calls) {
  std::vector<grpc::ByteBuffer> bytes;
  for (const testing::SealedReportsCall& call : calls) bytes.push_back(BytesOf(call.request()));
  return bytes;
}

IsDue AreAccepted(const std::vector<testing::SealedReportsCall>& calls) {
  return [&calls](size_t index, const std::string& answer) {
    v1::SubmitReportsResponse response;
    response.set_sealed_outcomes(std::string(seal::AnswerBytes(seal::Aead::kAes128Gcm, 1), '\0'));
    if (answer.size() != response.ByteSizeLong()) return false;
    return index > 0 || (response.ParseFromString(answer) && calls[index].Accepted(response) == 1);
  };
}

void Measure(const Flags& flags) {
  Stubs stubs;
  for (size_t i = 0; i < flags.connections; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(ConnectAlone(flags.server, flags.ca)));
  }
  const std::vector<grpc::ByteBuffer> empty_call = EmptyCall();
  std::vector<double> empty, report, ratios, empty_cpu, report_cpu, stolen;
  for (int round = 0; round < flags.rounds; ++round) {
    const auto calls = MakeReadyReports(flags.server, flags.ca, flags.study, flags.calls);
    const std::vector<grpc::ByteBuffer> report_calls = BytesOf(calls);
    const MachineTime before = MachineTime::Now();
    const Speed nothing =
        CallLoop(flags, CallsOf(stubs, kListEndpoints, empty_call,
                                [](size_t, const std::string& answer) { return answer.empty(); }))
            .Run();
    const Speed reports =
        CallLoop(flags, CallsOf(stubs, kSubmitReports, report_calls, AreAccepted(calls))).Run();
    stolen.push_back(MachineTime::Now().Since(before).StolenShare());
    empty.push_back(nothing.per_second);
    report.push_back(reports.per_second);
    ratios.push_back(reports.per_second / nothing.per_second);
    empty_cpu.push_back(nothing.cpu_microseconds);
    report_cpu.push_back(reports.cpu_microseconds);
  }
  std::printf(
      "{\"at_once\":%zu,\"empty_per_second\":%.0f,\"reports_per_second\":%.0f,\"ratio\":%.2f,"
      "\"least_ratio\":%.2f,\"most_ratio\":%.2f,\"empty_cpu_us\":%.1f,\"report_cpu_us\":%.1f,"
      "\"cpu_ratio\":%.2f,\"stolen\":%.2f}\n",
      flags.at_once, Median(empty), Median(report), Median(ratios),
      *std::min_element(ratios.begin(), ratios.end()),
      *std::max_element(ratios.begin(), ratios.end()), Median(empty_cpu), Median(report_cpu),
      Median(empty_cpu) / Median(report_cpu), Median(stolen));
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Reports a second, one a call, beside calls that do nothing", "unary_bench");
  app.add_option("--server", flags.server, "Where coppiced listens, HOST:PORT")->required();
  app.add_option("--ca", flags.ca, "PEM file of its certificate's CA")->required();
  app.add_option("--study", flags.study, "Id of an open study")->required();
  app.add_option("--calls", flags.calls, "Calls of each kind and round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  app.add_option("--at-once", flags.at_once, "Calls under way at a time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--connections", flags.connections, "Over so many connections; one takes 128")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Rounds; medians are printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Measure(flags);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
