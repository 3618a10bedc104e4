#include "server/serving/metrics/curator_readings.h"

#include <algorithm>
#include <array>
#include <compare>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/serving/metrics/all_pages.h"

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

// What may have a line of its own.
struct Candidate {
  std::string owner;
  bool is_unused;
  std::string id;

  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// The ids that have one: of each owner in turn the next.
std::set<std::string> ChooseNamed(std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end());
  std::map<std::string, std::deque<std::string>> waiting;
  for (Candidate& one : candidates) waiting[one.owner].push_back(std::move(one.id));
  std::set<std::string> named;
  while (!waiting.empty()) {
    for (auto owner = waiting.begin(); owner != waiting.end();) {
      if (named.size() == kMaxNamed) return named;
      named.insert(std::move(owner->second.front()));
      owner->second.pop_front();
      owner = owner->second.empty() ? waiting.erase(owner) : std::next(owner);
    }
  }
  return named;
}

std::vector<curator::StudyInfo> AllStudies(const curator::StudyCalls& studies) {
  std::vector<curator::StudyInfo> all;
  ForEachOf([&](const Page& page) { return studies.List(page); },
            [&](const curator::StudyInfo& info) { all.push_back(info); });
  return all;
}

std::set<std::string> NamedStudies(const std::vector<curator::StudyInfo>& studies) {
  constexpr auto kAccepted = static_cast<size_t>(curator::ReportOutcome::kAccepted);
  std::vector<Candidate> candidates;
  for (const curator::StudyInfo& info : studies) {
    candidates.push_back(
        {.owner = info.owner, .is_unused = info.outcomes[kAccepted] == 0, .id = info.id});
  }
  return ChooseNamed(std::move(candidates));
}

std::vector<central::DatasetInfo> AllDatasets(const central::Datasets& datasets) {
  std::vector<central::DatasetInfo> all;
  ForEachOf([&](const Page& page) { return datasets.List(page); },
            [&](const central::DatasetInfo& info) { all.push_back(info); });
  return all;
}

// Whether a dataset has rows is its owner's to know; what it was charged is on the page.
std::set<std::string> NamedDatasets(const std::vector<central::DatasetInfo>& datasets) {
  std::vector<Candidate> candidates;
  for (const central::DatasetInfo& info : datasets) {
    const ledger::Account& account = info.account;
    const bool is_unused = account.spent.epsilon_nanos == 0 && account.spent.delta_atto == 0;
    candidates.push_back({.owner = info.owner, .is_unused = is_unused, .id = info.id});
  }
  return ChooseNamed(std::move(candidates));
}

double Unnamed(size_t all) { return static_cast<double>(all - std::min(all, kMaxNamed)); }

std::vector<Reading> Reports(const curator::StudyCalls& studies) {
  std::vector<Reading> lines;
  Outcomes others{};
  const std::vector<curator::StudyInfo> all = AllStudies(studies);
  const std::set<std::string> named = NamedStudies(all);
  for (const curator::StudyInfo& info : all) {
    if (named.contains(info.id)) {
      AddLines(info.id, info.outcomes, lines);
      continue;
    }
    for (size_t i = 0; i < others.size(); ++i) others[i] += info.outcomes[i];
  }
  if (all.size() > named.size()) AddLines("_other", others, lines);
  lines.push_back({.labels = {{"study", "_unknown"}, {"outcome", "unknown_study"}},
                   .value = static_cast<double>(studies.ReportsOfNoStudy())});
  return lines;
}

// Only studies with a relay have a line.
std::vector<Reading> WaitingReports(const curator::StudyCalls& studies) {
  std::vector<curator::StudyInfo> all = AllStudies(studies);
  std::erase_if(all, [](const curator::StudyInfo& info) { return !info.relay.has_value(); });
  const std::set<std::string> named = NamedStudies(all);
  std::vector<Reading> lines;
  double others = 0;
  for (const curator::StudyInfo& info : all) {
    const auto waiting = static_cast<double>(info.relay->batches.waiting);
    if (named.contains(info.id)) {
      lines.push_back({.labels = {{"study", info.id}}, .value = waiting});
    } else {
      others += waiting;
    }
  }
  if (all.size() > named.size()) {
    lines.push_back({.labels = {{"study", "_other"}}, .value = others});
  }
  return lines;
}

// Alarms follow from the sums, which no reader of models may see anything of before they are final.
std::vector<Reading> RaisedAlarms(const curator::StudyCalls& studies) {
  std::vector<Reading> lines;
  std::map<std::string, double> others;
  const std::vector<curator::StudyInfo> all = AllStudies(studies);
  const std::set<std::string> named = NamedStudies(all);
  for (const curator::StudyInfo& info : all) {
    if (info.alarms_at_last_look == nullptr || !info.last_look_was_final) continue;
    for (const curator::Alarm& alarm : *info.alarms_at_last_look) {
      const double raised = alarm.raised ? 1 : 0;
      if (named.contains(info.id)) {
        lines.push_back({.labels = {{"study", info.id}, {"alarm", alarm.name}}, .value = raised});
      } else {
        others[alarm.name] += raised;
      }
    }
  }
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

std::vector<Reading> StudiesByState(const curator::StudyCalls& studies) {
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
    const std::vector<central::DatasetInfo> all = AllDatasets(datasets);
    const std::set<std::string> named = NamedDatasets(all);
    for (const central::DatasetInfo& info : all) {
      if (!named.contains(info.id)) continue;
      lines.push_back({.labels = {{"dataset", info.id}}, .value = amount(info.account)});
    }
    return lines;
  };
}

}  // namespace

void AddStudyReadings(const curator::StudyCalls& studies, Readings& readings) {
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
  readings.AddGauge("coppice_studies_unnamed",
                    "Studies without lines of their own, which are added up as _other.",
                    [&studies] { return Unnamed(AllStudies(studies).size()); });
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
  readings.AddGauge("coppice_datasets_unnamed", "Datasets that the page leaves out.",
                    [&datasets] { return Unnamed(AllDatasets(datasets).size()); });
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
