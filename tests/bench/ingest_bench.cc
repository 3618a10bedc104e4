// Measures how fast the curator takes reports, against the least that any server must do. One
// loopback stream with TLS sends the same bytes to be parsed and dropped, and to be opened, judged,
// counted and made durable. Both servers run in this process and take turns, so they share whatever
// else the machine is doing.
//
//   ingest_bench [--reports N] [--batch N] [--rounds N] [--certs DIR] [--store STORE] [--sealed]

#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/device/privatizer.h"
#include "common/base/public_random.h"
#include "common/privacy/openssl_random.h"
#include "coppice/v1/report.grpc.pb.h"
#include "server/curator/studies/studies.h"
#include "server/process/certificates.h"
#include "server/process/connections.h"
#include "server/serving/grpc/services.h"
#include "server/serving/reports/report_handlers.h"
#include "server/store/vault/keyed_store.h"
#include "tests/support/sealed_reports.h"

namespace coppice {
namespace {

struct Flags {
  size_t reports = 200'000;  // per round
  size_t batch = 250;        // reports per message
  int rounds = 5;
  std::string certs;  // as deploy/make-certs.sh makes them
  std::string store;  // rocksdb:DIR or postgresql://HOST/DATABASE
  bool sealed = false;
};

// Parses each message, as any server must, and drops it.
class DroppingService final : public v1::ReportService::CallbackService {
 public:
  grpc::ServerBidiReactor<v1::StreamReportsRequest, v1::StreamReportsResponse>* StreamReports(
      grpc::CallbackServerContext* /*context*/) override {
    class Reactor final
        : public grpc::ServerBidiReactor<v1::StreamReportsRequest, v1::StreamReportsResponse> {
     public:
      Reactor() { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (!ok) return Finish(grpc::Status::OK);
        response_.set_sealed_outcomes(std::string(300, 'x'));
        StartWrite(&response_);
      }
      void OnWriteDone(bool ok) override {
        if (!ok) return Finish(grpc::Status::OK);
        StartRead(&request_);
      }
      void OnDone() override { delete this; }

     private:
      v1::StreamReportsRequest request_;
      v1::StreamReportsResponse response_;
    };
    return new Reactor();
  }
};

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Server {
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<v1::ReportService::Stub> stub;
  int port = 0;
};

std::unique_ptr<v1::ReportService::Stub> Connect(int port, const std::string& certs) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadFile(certs + "/ca.crt");
  return v1::ReportService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(tls)));
}

Server Serve(const std::function<void(grpc::ServerBuilder&)>& add_services,
             const std::string& certs) {
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({.private_key = ReadFile(certs + "/server.key"),
                                    .cert_chain = ReadFile(certs + "/server.crt")});
  grpc::ServerBuilder builder;
  Server result;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &result.port);
  SetConnectionLimits(builder);
  add_services(builder);
  result.server = builder.BuildAndStart();
  result.stub = Connect(result.port, certs);
  return result;
}

// Processor time of the whole process, client included, in microseconds.
double CpuMicroseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

struct Speed {
  double per_second = 0;        // reports
  double cpu_microseconds = 0;  // per report
};

struct Messages {
  std::vector<v1::StreamReportsRequest> requests;
  std::vector<testing::SealedReportsCall> calls;
  size_t batch;  // reports in each
};

// Sends all messages over one stream and reads answers meanwhile. Where they are sealed, counts
// what was accepted, and takes all to be otherwise.
Speed Stream(v1::ReportService::Stub& stub, const Messages& messages, bool sealed) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu_before = CpuMicroseconds();
  grpc::ClientContext context;
  const auto stream = stub.StreamReports(&context);
  size_t accepted = 0;
  std::thread reader([&] {
    v1::StreamReportsResponse response;
    for (size_t i = 0; stream->Read(&response); ++i) {
      accepted += sealed ? messages.calls[i].Accepted(response) : messages.batch;
    }
  });
  for (const v1::StreamReportsRequest& request : messages.requests) stream->Write(request);
  const size_t reports = messages.requests.size() * messages.batch;
  stream->WritesDone();
  reader.join();
  const grpc::Status status = stream->Finish();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!status.ok() || accepted != reports) {
    std::fprintf(stderr, "ingest_bench: %zu of %zu accepted; %s\n", accepted, reports,
                 status.error_message().c_str());
    std::exit(1);
  }
  const auto count = static_cast<double>(reports);
  return {.per_second = count / seconds,
          .cpu_microseconds = (CpuMicroseconds() - cpu_before) / count};
}

// 1000 rows on the unit square: 256 leaves at most.
std::shared_ptr<const Table> PublicRows() {
  auto schema = std::make_shared<const Schema>(
      *Schema::Create({{.name = "x1", .min = 0, .max = 1, .values = {}},
                       {.name = "x2", .min = 0, .max = 1, .values = {}}},
                      "y", {"0", "1"}));
  auto rows = std::make_shared<Table>(schema);
  PublicRandom random(1);
  for (int i = 0; i < 4000; ++i) {
    rows->Append(Row{random.Unit(), random.Unit()}, static_cast<uint32_t>(random.Below(2)));
  }
  return rows;
}

// Messages with fresh tickets, so that every report is new to the curator.
Messages MakeMessages(curator::Studies& studies, const curator::StudyInfo& study,
                      const Flags& flags, const std::vector<std::string>& payloads) {
  Messages messages{.requests = {}, .calls = {}, .batch = flags.batch};
  const DirectKey key = studies.ProveKeys("")->direct;
  size_t made = 0;
  while (made < flags.reports) {
    v1::SealedReports message;
    message.set_study("studies/" + study.id);
    message.set_fingerprint(std::string(study.fingerprint.begin(), study.fingerprint.end()));
    const auto offer = studies.MakeOffer(study.id, static_cast<uint32_t>(flags.batch));
    for (const Ticket& ticket : offer->tickets) {
      v1::Report& report = *message.add_reports();
      report.set_ticket(ticket.ToBytes());
      report.set_payload(payloads[made++ % payloads.size()]);
    }
    messages.calls.emplace_back(key, message, testing::ReportBytesOf(offer->manifest->bytes));
    messages.requests.push_back(messages.calls.back().request<v1::StreamReportsRequest>());
  }
  return messages;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void Measure(MechanismKind mechanism, const Flags& flags, curator::Studies& studies,
             Server& dropping, Server& counting) {
  const Budget epsilon = *Budget::Parse("1");
  const curator::StudyInfo study =
      *studies.Create({.id = "",
                       .request_id = std::string(MechanismName(mechanism)),
                       .public_rows = PublicRows(),
                       .partition = {.max_depth = 8},
                       .epsilon = epsilon,
                       .mechanism = mechanism});
  const Privatizer privatizer =
      *Privatizer::Create(*study.terms, study.fingerprint, AllTrees(*study.forest));
  OpenSslRandom random;
  std::vector<std::string> payloads;
  for (int i = 0; i < 1000; ++i) {
    payloads.push_back(privatizer.Privatize({{0.001 * i, 0.5}, 1}, Ticket{}, random)->payload);
  }
  std::vector<double> dropped, counted, ratios, dropped_cpu, counted_cpu;
  for (int round = 0; round < flags.rounds; ++round) {
    const auto messages = MakeMessages(studies, study, flags, payloads);
    const Speed drop = Stream(*dropping.stub, messages, /*sealed=*/false);
    const Speed count = Stream(*counting.stub, messages, /*sealed=*/true);
    dropped.push_back(drop.per_second);
    counted.push_back(count.per_second);
    dropped_cpu.push_back(drop.cpu_microseconds);
    counted_cpu.push_back(count.cpu_microseconds);
    ratios.push_back(counted.back() / dropped.back());
  }
  std::printf(
      "{\"mechanism\":\"%s\",\"leaves\":%u,\"payload_bytes\":%zu,\"dropped_per_second\":%.0f,"
      "\"counted_per_second\":%.0f,\"ratio\":%.2f,\"dropped_cpu_us\":%.2f,\"counted_cpu_us\":%.2f}"
      "\n",
      std::string(MechanismName(mechanism)).c_str(), study.forest->front().num_leaves(),
      payloads[0].size(), Median(dropped), Median(counted), Median(ratios), Median(dropped_cpu),
      Median(counted_cpu));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Reports a second over one TLS stream: parsed and dropped, against counted and durable",
      "ingest_bench");
  app.add_option("--reports", flags.reports, "Reports of one round")->capture_default_str();
  app.add_option("--batch", flags.batch, "Reports a message")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Rounds; medians are printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--certs", flags.certs, "Folder made by deploy/make-certs.sh")->required();
  app.add_option("--store", flags.store,
                 "rocksdb:DIR, on the disk to measure, or postgresql://HOST/DATABASE")
      ->required();
  app.add_flag("--sealed", flags.sealed, "Seal the store's private records, as --key-file does");
  CLI11_PARSE(app, argc, argv);

  const auto location = storage::StoreLocation::Parse(flags.store);
  if (!location.ok()) {
    std::fprintf(stderr, "ingest_bench: %s\n", location.status().ToString().c_str());
    return 2;
  }
  if (!location->is_postgres()) std::filesystem::create_directories(location->address());
  vault::KeyOptions keys;
  if (flags.sealed) keys.keys = *vault::KeyFile::Parse(std::string(64, '7'));
  const auto store = vault::OpenKeyedStore(*location, keys);
  if (!store.ok()) {
    std::fprintf(stderr, "ingest_bench: %s\n", store.status().ToString().c_str());
    return 1;
  }
  models::Models models;
  const auto studies = *curator::Studies::Open(**store, models, [] { return int64_t{0}; });
  DroppingService drop;
  const service::ResourceGuard guard(
      [&](std::string_view, std::string_view) { return std::optional<owners::Resource>(); });
  service::ReportHandlers count(*studies, guard);
  service::HandlerRegistry registry(guard);
  count.Register(registry);
  service::WorkerPool pool(/*threads=*/1, /*max_waiting=*/16);
  service::MessageIntake intake;
  rpc::Services services(registry,
                         service::Lanes{.pool = pool,
                                        .builds = pool,
                                        .previews = pool,
                                        .plans = pool,
                                        .openings = pool,
                                        .evaluations = pool,
                                        .intake = intake},
                         [](const grpc::CallbackServerContext&, std::string_view) {
                           return owners::Caller::Operator();
                         });
  Server dropping =
      Serve([&](grpc::ServerBuilder& builder) { builder.RegisterService(&drop); }, flags.certs);
  Server counting =
      Serve([&](grpc::ServerBuilder& builder) { services.RegisterWith(builder); }, flags.certs);
  for (const MechanismKind mechanism :
       {MechanismKind::kLaplaceSplit, MechanismKind::kOptimizedUnary}) {
    Measure(mechanism, flags, *studies, dropping, counting);
  }
  counting.server->Shutdown();
  dropping.server->Shutdown();
  studies->Drain();
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
