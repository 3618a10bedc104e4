#include <sys/statvfs.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/process/readings.h"
#include "server/relay/daemon/upkeep.h"
#include "server/relay/service/relay_service.h"

namespace coppice::relay {
namespace {

using metrics::Reading;
using metrics::Readings;

double FreeBytes(const std::string& data_dir) {
  struct statvfs status {};
  if (statvfs(data_dir.c_str(), &status) != 0) return 0;
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
}

// One value per study and label.
struct StudyValue {
  const char* label_value;
  uint64_t StudyTotals::*value;
};

Readings::Reader ReadTotals(const Relay& relay, const char* label, std::vector<StudyValue> values) {
  return [&relay, label, values = std::move(values)] {
    std::vector<Reading> readings;
    for (const StudyTotals& study : relay.totals()) {
      for (const StudyValue& value : values) {
        Reading& reading = readings.emplace_back();
        reading.labels.push_back({"study", study.study});
        if (label != nullptr) reading.labels.push_back({label, value.label_value});
        reading.value = static_cast<double>(study.*value.value);
      }
    }
    return readings;
  };
}

const char* PhaseName(StudyTotals::Phase phase) {
  switch (phase) {
    case StudyTotals::Phase::kOpening:
      return "opening";
    case StudyTotals::Phase::kDealing:
      return "dealing";
    case StudyTotals::Phase::kCollecting:
      return "collecting";
    case StudyTotals::Phase::kEnded:
      break;
  }
  return "ended";
}

void AddStudyTotals(const Relay& relay, Readings& readings) {
  readings.AddGauges("coppice_relay_phase", "1 for the phase that a study's deal is in.", [&relay] {
    std::vector<Reading> phases;
    for (const StudyTotals& study : relay.totals()) {
      phases.push_back(
          {.labels = {{"study", study.study}, {"phase", PhaseName(study.phase)}}, .value = 1});
    }
    return phases;
  });
  readings.AddCounters("coppice_relay_tickets_dealt_total", "Tickets that devices were given.",
                       ReadTotals(relay, nullptr, {{"", &StudyTotals::dealt}}));
  readings.AddCounters("coppice_relay_reports_total", "Answers to sealed reports, by outcome.",
                       ReadTotals(relay, "outcome",
                                  {{"stored", &StudyTotals::stored},
                                   {"conflict", &StudyTotals::conflict},
                                   {"closed", &StudyTotals::closed},
                                   {"unknown", &StudyTotals::unknown},
                                   {"bad_length", &StudyTotals::bad_length}}));
  readings.AddCounters("coppice_relay_batches_total", "Batches, by what became of them.",
                       ReadTotals(relay, "state",
                                  {{"delivered", &StudyTotals::delivered},
                                   {"dropped", &StudyTotals::dropped},
                                   {"refused", &StudyTotals::refused}}));
  readings.AddGauges("coppice_relay_batches_waiting",
                     "Batches that are closed and not yet at the curator.",
                     ReadTotals(relay, nullptr, {{"", &StudyTotals::waiting}}));
  readings.AddCounters(
      "coppice_relay_unknown_epochs_total", "Reports of no deal that is known here.", [&relay] {
        return std::vector<Reading>{{.value = static_cast<double>(relay.unknown_epochs())}};
      });
}

void AddServiceTotals(const RelayServer& server, Readings& readings) {
  readings.AddCounters(
      "coppice_relay_refused_total", "Calls that were refused, by reason.", [&server] {
        const ServiceTotals totals = server.totals();
        return std::vector<Reading>{
            {.labels = {{"reason", "admission"}},
             .value = static_cast<double>(totals.refused_by_admission)},
            {.labels = {{"reason", "load"}}, .value = static_cast<double>(totals.refused_by_load)}};
      });
}

void AddProcessTotals(const RelayParts& parts, const Readiness& readiness, Readings& readings) {
  readings.AddGauges("coppice_build_info", "1, with the version as a label.", [] {
    return std::vector<Reading>{{.labels = {{"version", COPPICE_VERSION}}, .value = 1}};
  });
  readings.AddGauges(
      "coppice_ready", "Whether a check of readiness passes: 1 or 0, by check.", [&readiness] {
        std::vector<Reading> checks;
        for (const auto& [name, passed] : readiness.Passed()) {
          checks.push_back({.labels = {{"check", name}}, .value = passed ? 1.0 : 0.0});
        }
        return checks;
      });
  if (parts.certificates != nullptr) {
    readings.AddGauge("coppice_certificate_expiry_seconds",
                      "When the server's certificate expires, in seconds since 1970.",
                      [certificates = parts.certificates] {
                        return absl::ToDoubleSeconds(certificates->expires() - absl::UnixEpoch());
                      });
  }
  readings.AddGauge("coppice_relay_disk_free_bytes", "What the disk of --data-dir has free.",
                    [data_dir = parts.flags.data_dir] { return FreeBytes(data_dir); });
  metrics::AddProcessReadings(readings);
}

}  // namespace

StatusOr<std::unique_ptr<metrics::MetricsPage>> ServeRelayMetrics(const RelayParts& parts,
                                                                  const Readiness& readiness) {
  if (parts.flags.metrics_listen.empty()) return nullptr;
  COPPICE_ASSIGN_OR_RETURN(const std::string password,
                           metrics::LoadMetricsPassword(parts.flags.metrics_password_file));
  const auto readings = std::make_shared<Readings>();
  AddStudyTotals(parts.relay, *readings);
  AddServiceTotals(parts.server, *readings);
  AddProcessTotals(parts, readiness, *readings);
  return metrics::MetricsPage::Serve(parts.flags.metrics_listen, {readings}, password);
}

}  // namespace coppice::relay
