#include "server/daemon/operation/daemon_context.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "server/daemon/operation/self_test.h"
#include "server/process/readings.h"
#include "server/serving/access/method_table.h"
#include "server/serving/metrics/all_pages.h"
#include "server/serving/metrics/curator_readings.h"

namespace coppice::daemon {
namespace {

constexpr char kReadyMetric[] = "coppice_ready";
constexpr char kReadyHelp[] = "Whether a check of readiness passes: 1 or 0, by check.";

absl::Time NewestRecord(const Curator& curator) {
  int64_t newest = 0;
  metrics::ForEachOf([&](const Page& page) { return curator.studies.List(page); },
                     [&](const curator::StudyInfo& study) {
                       newest = std::max(newest, study.created_unix_seconds);
                     });
  metrics::ForEachOf([&](const Page& page) { return curator.datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       newest = std::max(newest, dataset.created_unix_seconds);
                     });
  metrics::ForEachOf([&](const Page& page) { return curator.jobs.List("", page); },
                     [&](const central::JobInfo& job) {
                       newest = std::max({newest, job.created_unix_seconds,
                                          job.started_unix_seconds, job.ended_unix_seconds});
                     });
  return absl::FromUnixSeconds(newest);
}

Status TestKeys(storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const TicketSeam tickets, TicketsOf(store));
  return TestTicketKey(tickets);
}

void AddStandbyReading(const StandbyAlarm* alarm, metrics::Readings& readings) {
  readings.AddGauges("coppice_standby_missing",
                     "1 while no synchronous replica of the store's database is there.", [alarm] {
                       const auto raised = alarm == nullptr ? std::nullopt : alarm->Raised();
                       if (!raised.has_value()) return std::vector<metrics::Reading>{};
                       return std::vector<metrics::Reading>{{.value = *raised ? 1.0 : 0.0}};
                     });
}

// For every daemon, with or without a loaded curator.
void AddBuildInfo(metrics::Readings& readings) {
  readings.AddGauges("coppice_build_info", "1, with the version as a label.", [] {
    return std::vector<metrics::Reading>{{.labels = {{"version", COPPICE_VERSION}}, .value = 1}};
  });
}

void AddLeads(bool leads, std::function<bool()> can_lead, metrics::Readings& readings) {
  readings.AddGauge("coppice_leads", "1 if this daemon works on the store, 0 if it stands by.",
                    [leads] { return leads ? 1 : 0; });
  readings.AddGauge(
      "coppice_can_lead",
      "1 if this daemon works on the store or, standing by, found nothing at its last "
      "look at the database that would keep it from that.",
      [can_lead = std::move(can_lead)] { return can_lead() ? 1 : 0; });
}

void AddDaemonReadings(const DaemonContext& daemon, const Readiness& readiness,
                       metrics::Readings& readings) {
  AddBuildInfo(readings);
  AddLeads(
      true, [] { return true; }, readings);
  readings.AddGauges(kReadyMetric, kReadyHelp, [&readiness] {
    std::vector<metrics::Reading> checks;
    for (const auto& [name, passed] : readiness.Passed()) {
      checks.push_back({.labels = {{"check", name}}, .value = passed ? 1.0 : 0.0});
    }
    return checks;
  });
  readings.AddGauges(
      "coppice_certificate_expiry_seconds",
      "When the server's certificate expires, in seconds since 1970.",
      [certificates = daemon.certificates] {
        if (certificates == nullptr) return std::vector<metrics::Reading>{};
        return std::vector<metrics::Reading>{
            {.value = absl::ToDoubleSeconds(certificates->expires() - absl::UnixEpoch())}};
      });
  AddStandbyReading(daemon.standby_alarm, readings);
}

}  // namespace

Status RunStartupSelfTest(const DaemonContext& daemon, absl::Duration clock_tolerance,
                          const Log& log) {
  const absl::Time begun = absl::Now();
  OpenSslRandom random;
  const std::vector<SelfTest> tests = {
      {"random", [&] { return TestRandomSource(random); }},
      {"sampler", [&] { return TestSamplers(random); }},
      {"store", [&] { return TestStore(daemon.store); }},
      {"keys", [&] { return TestKeys(daemon.store); }},
      {"clock",
       [&] { return TestClock(absl::Now(), NewestRecord(daemon.curator), clock_tolerance); }}};
  const std::vector<Status> failures = RunSelfTests(tests);
  for (const Status& failure : failures) {
    log.Error("self-test failed", {{"reason", std::string(failure.message())}});
  }
  if (!failures.empty()) {
    return FailedPreconditionError(
        StrCat(failures.size(), " of ", tests.size(), " self-tests failed; nothing is served"));
  }
  log.Info("self-test passed",
           {{"milliseconds", StrCat(absl::ToInt64Milliseconds(absl::Now() - begun))}});
  return OkStatus();
}

std::vector<ReadinessCheck> ReadinessChecks(const DaemonContext& daemon) {
  return {{"self-test", [] { return OkStatus(); }},  // a failure stops the start
          {"store", [&store = daemon.store] { return TestWriting(store); }},
          {"counts", [&studies = daemon.curator.studies] { return studies.Reconcile(); }},
          {"random",
           [random = std::make_shared<OpenSslRandom>()] { return TestRandomSource(*random); }}};
}

std::vector<std::string> ServedMethods() {
  std::vector<std::string> methods;
  for (const access::Method& method : access::AllMethods()) {
    methods.emplace_back(method.path.substr(1));
  }
  return methods;
}

StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeMetrics(
    const MetricsOptions& options, const DaemonContext& daemon, const Readiness& readiness,
    std::shared_ptr<prometheus::Registry> registry) {
  if (options.listen.empty()) return nullptr;
  COPPICE_ASSIGN_OR_RETURN(const std::string password,
                           metrics::LoadMetricsPassword(options.password_file));
  const auto readings = std::make_shared<metrics::Readings>();
  AddDaemonReadings(daemon, readiness, *readings);
  metrics::AddStudyReadings(daemon.curator.studies, *readings);
  metrics::AddDatasetReadings(daemon.curator.datasets, *readings);
  metrics::AddJobReadings(
      daemon.curator.jobs, [] { return absl::ToUnixSeconds(absl::Now()); }, *readings);
  metrics::AddProcessReadings(*readings);
  return metrics::MetricsPage::Serve(options.listen, {std::move(registry), readings}, password);
}

StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeStandbyMetrics(
    const MetricsOptions& options, std::function<bool()> can_lead) {
  if (options.listen.empty()) return nullptr;
  COPPICE_ASSIGN_OR_RETURN(const std::string password,
                           metrics::LoadMetricsPassword(options.password_file));
  const auto readings = std::make_shared<metrics::Readings>();
  AddBuildInfo(*readings);
  AddLeads(false, std::move(can_lead), *readings);
  metrics::AddProcessReadings(*readings);
  return metrics::MetricsPage::Serve(options.listen, {readings}, password);
}

}  // namespace coppice::daemon
