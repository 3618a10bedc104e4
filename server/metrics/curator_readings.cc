#include "server/metrics/curator_readings.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "server/metrics/all_pages.h"

namespace coppice::metrics {
namespace {

constexpr double kPerNano = 1e-9;
constexpr double kPerAtto = 1e-18;

// Indexed by the outcomes' numbers; null where unused.
constexpr std::array<const char*, 11> kOutcomes = {
    nullptr,      "accepted",    "duplicate", "unknown_study", "sealed",    "stale_fingerprint",
    "bad_ticket", "bad_payload", "expired",   "bad_seal",      "unknown_id"};
static_assert(kOutcomes.size() == curator::kNumReportOutcomes);

constexpr std::array<const char*, 4> kStudyStates = {"", "open", "sealed", "built"};
// Open: not known to have ended before today.
constexpr std::array<const char*, 6> kJobStates = {"",     "open",   nullptr,
                                                   "done", "failed", "cancelled"};
constexpr int64_t kDay = 86400;  // in seconds

using Outcomes = std::array<uint64_t, curator::kNumReportOutcomes>;

void AddLines(const std::string& study, const Outcomes& outcomes, std::vector<Reading>& lines) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (kOutcomes[i] == nullptr) continue;
    lines.push_back({.labels = {{"study", study}, {"outcome", kOutcomes[i]}},
                     .value = static_cast<double>(outcomes[i])});
  }
}

std::vector<Reading> Reports(const curator::Studies& studies) {
  std::vector<Reading> lines;
  Outcomes others{};
  size_t named = 0;
  ForEachOf([&](const Page& page) { return studies.List(page); },
            [&](const curator::StudyInfo& info) {
              if (named++ < kMaxNamed) return AddLines(info.id, info.outcomes, lines);
              for (size_t i = 0; i < others.size(); ++i) others[i] += info.outcomes[i];
            });
  if (named > kMaxNamed) AddLines("_other", others, lines);
  lines.push_back({.labels = {{"study", "_unknown"}, {"outcome", "unknown_study"}},
                   .value = static_cast<double>(studies.ReportsOfNoStudy())});
  return lines;
}

// Only studies with a relay have a line.
std::vector<Reading> WaitingReports(const curator::Studies& studies) {
  std::vector<Reading> lines;
  double others = 0;
  size_t named = 0;
  ForEachOf([&](const Page& page) { return studies.List(page); },
            [&](const curator::StudyInfo& info) {
              if (!info.relay.has_value()) return;
              const auto waiting = static_cast<double>(info.relay->batches.waiting);
              if (named++ < kMaxNamed) {
                lines.push_back({.labels = {{"study", info.id}}, .value = waiting});
              } else {
                others += waiting;
              }
            });
  if (named > kMaxNamed) lines.push_back({.labels = {{"study", "_other"}}, .value = others});
  return lines;
}

// Alarms follow from the sums, which no reader of models may see anything of before they are final.
std::vector<Reading> RaisedAlarms(const curator::Studies& studies) {
  std::vector<Reading> lines;
  std::map<std::string, double> others;
  size_t named = 0;
  ForEachOf([&](const Page& page) { return studies.List(page); },
            [&](const curator::StudyInfo& info) {
              const bool is_named = named++ < kMaxNamed;
              if (info.alarms_at_last_look == nullptr || !info.last_look_was_final) return;
              for (const curator::Alarm& alarm : *info.alarms_at_last_look) {
                const double raised = alarm.raised ? 1 : 0;
                if (is_named) {
                  lines.push_back(
                      {.labels = {{"study", info.id}, {"alarm", alarm.name}}, .value = raised});
                } else {
                  others[alarm.name] += raised;
                }
              }
            });
  for (const auto& [alarm, raised] : others) {
    lines.push_back({.labels = {{"study", "_other"}, {"alarm", alarm}}, .value = raised});
  }
  return lines;
}

// Counts by state, including states without any.
template <size_t kStates>
std::vector<Reading> ByState(const std::array<const char*, kStates>& names,
                             const std::map<size_t, uint64_t>& counts) {
  std::vector<Reading> lines;
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i] == nullptr) continue;
    const auto count = counts.find(i);
    lines.push_back({.labels = {{"state", names[i]}},
                     .value = count == counts.end() ? 0 : static_cast<double>(count->second)});
  }
  return lines;
}

std::vector<Reading> StudiesByState(const curator::Studies& studies) {
  std::map<size_t, uint64_t> counts;
  ForEachOf([&](const Page& page) { return studies.List(page); },
            [&](const curator::StudyInfo& info) { ++counts[static_cast<size_t>(info.state)]; });
  return ByState(kStudyStates, counts);
}

// The time a job ends reveals something about its rows, so the page shows it from the next day on.
// The same holds for jobs queued behind it.
std::vector<Reading> JobsByState(const central::Jobs& jobs, int64_t now) {
  std::map<size_t, uint64_t> counts;
  ForEachOf([&](const Page& page) { return jobs.List("", page); },
            [&](const central::JobInfo& info) {
              const bool is_told =
                  central::HasEnded(info.state) && info.ended_unix_seconds / kDay < now / kDay;
              ++counts[is_told ? static_cast<size_t>(info.state) : 1];
            });
  return ByState(kJobStates, counts);
}

template <typename Amount>
Readings::Reader OfAccounts(const central::Datasets& datasets, Amount amount) {
  return [&datasets, amount] {
    std::vector<Reading> lines;
    for (const central::DatasetInfo& info : datasets.List({.size = kMaxNamed, .after = ""})) {
      lines.push_back({.labels = {{"dataset", info.id}}, .value = amount(info.account)});
    }
    return lines;
  };
}

}  // namespace

void AddStudyReadings(const curator::Studies& studies, Readings& readings) {
  readings.AddCounters("coppice_reports_total", "Reports received, by study and outcome.",
                       [&studies] { return Reports(studies); });
  readings.AddGauges("coppice_study_alarms",
                     "Whether a sealed study raised an alarm: 1 or 0, by alarm.",
                     [&studies] { return RaisedAlarms(studies); });
  readings.AddGauges("coppice_sealed_reports_waiting",
                     "Reports that a relay has handed over and that are not opened yet, by study.",
                     [&studies] { return WaitingReports(studies); });
  readings.AddGauge("coppice_spool_bytes",
                    "Disk that relays' batches have taken that are not counted yet.",
                    [&studies] { return static_cast<double>(studies.SpoolBytes()); });
  readings.AddGauges("coppice_studies", "Studies, by state.",
                     [&studies] { return StudiesByState(studies); });
  readings.AddGauge("coppice_intake_queued_bytes",
                    "Memory of reports that wait to be stored, or are being stored.",
                    [&studies] { return static_cast<double>(studies.QueuedBytes()); });
}

void AddDatasetReadings(const central::Datasets& datasets, Readings& readings) {
  readings.AddGauges("coppice_dataset_epsilon_spent", "Epsilon charged to a dataset.",
                     OfAccounts(datasets, [](const ledger::Account& account) {
                       return static_cast<double>(account.spent.epsilon_nanos) * kPerNano;
                     }));
  readings.AddGauges("coppice_dataset_epsilon_left",
                     "Epsilon of the largest single release that a dataset has room for.",
                     OfAccounts(datasets, [](const ledger::Account& account) {
                       return static_cast<double>(account.left.epsilon_nanos) * kPerNano;
                     }));
  // zCDP budgets are spent in rho; the deltas of single jobs do not add up.
  readings.AddGauges(
      "coppice_dataset_delta_spent", "Delta charged to a dataset, under basic composition.",
      OfAccounts(datasets, [](const ledger::Account& account) {
        const bool adds_up = account.cap.composition == ledger::Composition::kBasic;
        return adds_up ? static_cast<double>(account.spent.delta_atto) * kPerAtto : 0.0;
      }));
  readings.AddGauges("coppice_dataset_delta_left",
                     "Delta that a dataset has left for releases with one.",
                     OfAccounts(datasets, [](const ledger::Account& account) {
                       return static_cast<double>(account.left.delta_atto) * kPerAtto;
                     }));
}

void AddJobReadings(const central::Jobs& jobs, std::function<int64_t()> clock, Readings& readings) {
  readings.AddGauges("coppice_jobs",
                     "Training jobs that ended before today (UTC), by how, and open: all others.",
                     [&jobs, clock = std::move(clock)] { return JobsByState(jobs, clock()); });
}

}  // namespace coppice::metrics
