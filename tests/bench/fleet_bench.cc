// Measures what a fleet costs and how fast it recovers (docs/research/performance.md has commands).
//
//   fleet_bench load --server A,B,C --study s1,s2 [--rate N] [--seconds N] [--batch N] [--ca FILE]
//     Streams fresh reports from each study to each server, at a steady rate in all, or without
//     --rate as fast as they are taken. A batch's time counts from when it was due.
//   fleet_bench fill --store STORE --study ID --tickets N [--group N]
//     Writes N spent tickets into the study of a store that no daemon has open, in groups as its
//     committer does.
//   fleet_bench takeover [--tickets N] [--rounds N] [--lease SECONDS] --rows DIR
//     Starts three curators behind HAProxy on a PostgreSQL of its own and times from the leader's
//     kill to the next accepted report. COPPICE_BIN_DIR is where the programs are.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/time/clock.h"
#include "client/device/grpc/connect.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/vault/keyed_store.h"
#include "tests/bench/ready_reports.h"
#include "tests/fleet/curators.h"
#include "tests/fleet/database.h"
#include "tests/support/collector.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using Clock = std::chrono::steady_clock;
using Messages = std::vector<testing::SealedReportsCall>;

constexpr uint32_t kTicketsACall = 1000;

struct Flags {
  std::vector<std::string> servers, studies;
  std::string ca, store, study, rows;
  size_t rate = 0, seconds = 10, batch = 250;
  uint64_t tickets = 0, group = 4096;
  int rounds = 5, lease = 10;
};

template <typename T>
T ValueOrExit(StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "fleet_bench: %s\n", value.status().ToString().c_str());
  std::exit(1);
}
void ExitUnless(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "fleet_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

ConnectOptions ConnectionTo(const std::string& server, const std::string& ca) {
  return {.server = server, .ca_file = ca, .insecure = ca.empty()};
}

std::vector<std::string> MakePayloads(const FetchedOffer& offer) {
  const Privatizer privatizer =
      ValueOrExit(Privatizer::Create(offer.terms, offer.fingerprint, offer.trees));
  OpenSslRandom random;
  std::vector<std::string> payloads;
  for (int i = 0; i < 500; ++i) {
    payloads.push_back(
        ValueOrExit(privatizer.Privatize({{0.002 * i, 0.5}, 1}, offer.tickets[0], random)).payload);
  }
  return payloads;
}

// Makes the messages of one stream.
Messages MakeMessages(const std::string& server, const std::string& study, size_t reports,
                      const Flags& flags) {
  const Collector collector =
      ValueOrExit(Collector::Create(ConnectionTo(server, flags.ca), RetryOptions{}));
  const FetchedOffer offer = ValueOrExit(collector.FetchForest(study, 1));
  const std::vector<std::string> payloads = MakePayloads(offer);
  const DirectKey key = FetchDirectKey(server, flags.ca);
  Messages messages;
  v1::SealedReports message;
  message.set_study("studies/" + study);
  message.set_fingerprint(std::string(offer.fingerprint.begin(), offer.fingerprint.end()));
  const auto seal = [&] {
    if (message.reports_size() > 0) messages.emplace_back(key, message);
    message.clear_reports();
  };
  for (size_t made = 0; made < reports;) {
    for (const Ticket& ticket : ValueOrExit(collector.FetchTickets(study, kTicketsACall))) {
      v1::Report& report = *message.add_reports();
      report.set_ticket(ticket.ToBytes());
      report.set_payload(payloads[made++ % payloads.size()]);
      if (static_cast<size_t>(message.reports_size()) == flags.batch) seal();
    }
  }
  seal();
  return messages;
}

struct StreamResult {
  size_t accepted = 0;
  std::vector<double> milliseconds{};  // per batch
  std::string error{};
};

// Sends each message when it is due.
StreamResult RunStream(const std::string& server, const Messages& messages, double rate,
                       const Flags& flags) {
  const auto stub =
      v1::ReportService::NewStub(ValueOrExit(Connect(ConnectionTo(server, flags.ca))));
  grpc::ClientContext context;
  const auto stream = stub->StreamReports(&context);
  const auto start = Clock::now();
  std::vector<Clock::time_point> due(messages.size(), start);
  if (rate > 0) {
    for (size_t i = 0; i < due.size(); ++i) {
      due[i] += std::chrono::nanoseconds(
          static_cast<int64_t>(1e9 * static_cast<double>(i * flags.batch) / rate));
    }
  }
  std::thread writer([&] {
    for (size_t i = 0; i < messages.size(); ++i) {
      std::this_thread::sleep_until(due[i]);
      if (!stream->Write(messages[i].request<v1::StreamReportsRequest>())) break;
    }
    stream->WritesDone();
  });
  StreamResult result;
  v1::StreamReportsResponse response;
  for (size_t i = 0; stream->Read(&response); ++i) {
    result.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - due[i]).count());
    result.accepted += messages[i].Accepted(response);
  }
  writer.join();
  if (const grpc::Status status = stream->Finish(); !status.ok()) {
    result.error = status.error_message();
  }
  return result;
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(q * static_cast<double>(values.size())))];
}

int Load(const Flags& flags) {
  const size_t streams = flags.servers.size() * flags.studies.size();
  const double rate = static_cast<double>(flags.rate) / static_cast<double>(streams);
  const size_t each = flags.rate > 0 ? flags.rate * flags.seconds / streams
                                     : static_cast<size_t>(flags.tickets) / streams;
  std::vector<std::string> servers;
  std::vector<Messages> messages(streams);
  std::vector<StreamResult> results(streams);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams; ++i) {
    servers.push_back(flags.servers[i % flags.servers.size()]);
    messages[i] = MakeMessages(servers[i], flags.studies[i / flags.servers.size()], each, flags);
  }
  const auto start = Clock::now();
  for (size_t i = 0; i < streams; ++i) {
    threads.emplace_back([&, i] { results[i] = RunStream(servers[i], messages[i], rate, flags); });
  }
  StreamResult all;
  size_t sent = 0;
  for (size_t i = 0; i < streams; ++i) {
    threads[i].join();
    all.accepted += results[i].accepted;
    all.milliseconds.insert(all.milliseconds.end(), results[i].milliseconds.begin(),
                            results[i].milliseconds.end());
    if (!results[i].error.empty()) all.error = results[i].error;
    for (const auto& message : messages[i]) sent += static_cast<size_t>(message.reports_size());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf(
      "{\"streams\":%zu,\"sent\":%zu,\"accepted\":%zu,\"reports_per_second\":%.0f,"
      "\"p50_milliseconds\":%.1f,\"p99_milliseconds\":%.1f,\"max_milliseconds\":%.1f}\n",
      streams, sent, all.accepted, static_cast<double>(all.accepted) / seconds,
      Quantile(all.milliseconds, 0.5), Quantile(all.milliseconds, 0.99),
      Quantile(all.milliseconds, 1));
  if (!all.error.empty()) std::fprintf(stderr, "fleet_bench: %s\n", all.error.c_str());
  return all.error.empty() && all.accepted == sent ? 0 : 1;
}

// Consecutive serials, as one run of a curator issues them.
std::string MakeSpent(uint64_t first, uint64_t group) {
  v1::SpentRecord record;
  v1::SpentRecord::Run& run = *record.add_runs();
  run.set_run(0x0123456789abcdef);
  run.add_steps(static_cast<int64_t>(first));
  for (uint64_t i = 1; i < group; ++i) run.add_steps(1);
  return record.SerializeAsString();
}

void Fill(const std::string& store_name, const std::string& study, uint64_t tickets,
          uint64_t group) {
  const auto location = ValueOrExit(storage::StoreLocation::Parse(store_name));
  const auto store = ValueOrExit(vault::OpenKeyedStore(location, {}));
  v1::CountsRecord counts;
  v1::SumsRecord sums;
  const auto read_counts = ValueOrExit(store->Get(curator::CountsKey(study)));
  const auto read_sums = ValueOrExit(store->Get(curator::SumsKey(study, 0)));
  if (!read_counts.has_value() || !read_sums.has_value() || !counts.ParseFromString(*read_counts) ||
      !sums.ParseFromString(*read_sums)) {
    ExitUnless(FailedPreconditionError("the study needs a report to begin with"));
  }
  for (uint64_t made = 0; made < tickets;) {
    storage::StoreBatch batch;
    for (int i = 0; i < 64 && made < tickets; ++i) {
      const uint64_t size = std::min(group, tickets - made);
      batch.Put(curator::SpentKey(study, counts.accepted()), MakeSpent(made + 1, size));
      counts.set_accepted(counts.accepted() + size);
      counts.set_received(counts.received() + size);
      sums.set_reports(sums.reports() + size);
      made += size;
    }
    batch.Put(curator::CountsKey(study), counts.SerializeAsString());
    batch.Put(curator::SumsKey(study, 0), sums.SerializeAsString());
    ExitUnless(store->Apply(batch));
  }
}

// Three curators with one study, which holds one report.
class Takeover {
 public:
  explicit Takeover(const Flags& flags)
      : flags_(flags),
        curators_({.lease = absl::Seconds(flags.lease),
                   .database = database_.Sockets(),
                   .database_name = database_.Make(),
                   .folder = folder_.path()}) {}

  int Run() {
    curators_.StartAll();
    MakeStudy();
    if (flags_.tickets > 0) {
      curators_.StopAll();
      Fill(database_.uri(), "s", flags_.tickets, flags_.group);
      curators_.StartAll();
    }
    std::vector<double> seconds;
    for (int round = 0; round < flags_.rounds; ++round) seconds.push_back(KillLeader());
    std::printf(
        "{\"spent_tickets\":%llu,\"lease_seconds\":%d,\"takeover_seconds\":{\"median\":%.2f,"
        "\"min\":%.2f,\"max\":%.2f,\"rounds\":%d}}\n",
        static_cast<unsigned long long>(flags_.tickets), flags_.lease, Quantile(seconds, 0.5),
        Quantile(seconds, 0), Quantile(seconds, 1), flags_.rounds);
    return 0;
  }

 private:
  void MakeStudy() {
    std::vector<std::string> command = {testing::BinaryPath("coppice"),
                                        "study",
                                        "create",
                                        "--study",
                                        "s",
                                        "--epsilon",
                                        "1",
                                        "--public",
                                        flags_.rows + "/public.csv",
                                        "--mechanism",
                                        "laplace_joint",
                                        "--depth",
                                        "4",
                                        "--schema",
                                        flags_.rows + "/schema.json",
                                        "--insecure",
                                        "--server",
                                        curators_.connection(0).server};
    while (testing::RunProgram(command).exit_code != 0) absl::SleepFor(absl::Milliseconds(100));
    Report(absl::InfiniteDuration());
  }

  // Goes through the balancer until a fresh report is accepted.
  void Report(absl::Duration patience) {
    const absl::Time until = absl::Now() + patience;
    while (absl::Now() < until) {
      curators_.Supervise();
      const Collector collector = ValueOrExit(Collector::Create(
          curators_.connection(0),
          {.deadline = absl::Seconds(2), .give_up_after = absl::ZeroDuration(), .diagnose = {}}));
      auto offer = collector.FetchForest("s", 1);
      if (offer.ok()) {
        OpenSslRandom random;
        const Privatizer privatizer =
            ValueOrExit(Privatizer::Create(offer->terms, offer->fingerprint, offer->trees));
        const PrivateReport report =
            ValueOrExit(privatizer.Privatize({{0.5, 0.5}, 1}, offer->tickets[0], random));
        const auto results = collector.Deliver({&report, 1});
        if (results.ok() && (*results)[0].delivery == Delivery::kAccepted) return;
      }
      absl::SleepFor(absl::Milliseconds(10));
    }
    ExitUnless(UnavailableError("no report is accepted"));
  }

  double KillLeader() {
    Report(absl::Minutes(10));
    const size_t leader = curators_.CuratorAt(database_.Leader()).value_or(0);
    // The kill falls at a random point of the lease.
    absl::SleepFor(absl::Milliseconds(1500 + std::rand() % 1000));
    const auto start = Clock::now();
    curators_.Kill(leader, absl::Seconds(1));
    Report(absl::Minutes(10));
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  const Flags flags_;
  testing::TempDir folder_;
  fleet_faults::Database database_;
  fleet_faults::Curators curators_;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Loads, fills and kills a fleet of curators", "fleet_bench");
  app.require_subcommand(1);
  CLI::App* load = app.add_subcommand("load", "Streams of reports through several curators");
  load->add_option("--server", flags.servers, "HOST:PORT,...")->delimiter(',')->required();
  load->add_option("--study", flags.studies, "Ids of open studies")->delimiter(',')->required();
  load->add_option("--rate", flags.rate, "Reports a second; 0: as many as are taken");
  load->add_option("--reports", flags.tickets, "How many, without a rate");
  load->add_option("--seconds", flags.seconds, "For so long, with a rate");
  load->add_option("--batch", flags.batch, "Reports a message")->check(CLI::Range(1, 1000));
  load->add_option("--ca", flags.ca, "PEM file; without it there is no TLS");
  CLI::App* fill = app.add_subcommand("fill", "Spent tickets into a store that no daemon uses");
  fill->add_option("--store", flags.store, "rocksdb:DIR or postgresql://...")->required();
  fill->add_option("--study", flags.study, "Id of a study with a report")->required();
  fill->add_option("--tickets", flags.tickets, "How many")->required();
  CLI::App* takeover = app.add_subcommand("takeover", "Time from a kill to the next report");
  takeover->add_option("--tickets", flags.tickets, "Spent before");
  takeover->add_option("--rounds", flags.rounds, "Kills");
  takeover->add_option("--lease", flags.lease, "Seconds");
  takeover->add_option("--rows", flags.rows, "Made by coppice-lab synthesize")->required();
  for (CLI::App* mode : {fill, takeover}) {
    mode->add_option("--group", flags.group, "Tickets a record")->check(CLI::Range(1, 65536));
  }
  CLI11_PARSE(app, argc, argv);
  if (load->parsed()) return Load(flags);
  if (takeover->parsed()) return Takeover(flags).Run();
  Fill(flags.store, flags.study, flags.tickets, flags.group);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  testing::InitGoogleTest();  // test helpers report failures through it
  return coppice::Main(argc, argv);
}
