#include "server/curator/estimation/inspection/alarms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"

namespace coppice::curator {
namespace {

// Counts that are uniform if nobody chooses.
using Counts = std::vector<uint64_t>;

// n KL(seen / n || p): a binomial count comes this far on its side with probability at most
// exp(-this).
double Surprise(double seen, double n, double p) {
  const auto term = [](double x, double expected) {
    return x == 0 ? 0 : x * std::log(x / expected);
  };
  return term(seen, n * p) + term(n - seen, n * (1 - p));
}

// The least likely count seen so far.
struct Extreme {
  size_t at = 0;  // its position among `choices`
  size_t choices = 0;
  double seen = 0, expected = 0, deviation = 0;
  double surprise = -1;

  void Consider(const Counts& counts) {
    double all = 0;
    for (const uint64_t count : counts) all += static_cast<double>(count);
    const double p = 1 / static_cast<double>(counts.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto count = static_cast<double>(counts[i]);
      const double its = Surprise(count, all, p);
      if (its <= surprise) continue;
      *this = {.at = i,
               .choices = counts.size(),
               .seen = count,
               .expected = all * p,
               .deviation = std::sqrt(all * p * (1 - p)),
               .surprise = its};
    }
  }
};

void SetChance(double log_chance, double false_alarm, Alarm& alarm) {
  alarm.chance = std::exp(std::min(log_chance, 0.0));
  alarm.raised = alarm.chance < false_alarm;
}

// The end of the text of a raised alarm.
std::string Verdict(const Alarm& alarm, const char* what) {
  if (!alarm.raised) return "";
  return absl::StrFormat(": %s (chance below %.0e)", what, std::max(alarm.chance, 1e-99));
}

// Applies the bound for `looks` counts in all.
Alarm CountAlarm(const char* name, const Extreme& extreme, size_t looks, double false_alarm) {
  Alarm alarm;
  alarm.name = name;
  alarm.value = extreme.deviation > 0 ? (extreme.seen - extreme.expected) / extreme.deviation : 0;
  SetChance(std::log(2.0 * static_cast<double>(looks)) - extreme.surprise, false_alarm, alarm);
  const std::string verdict = StrCat("somebody chooses ", name, "s");
  alarm.text = absl::StrFormat("%s %d of %d has %.0f reports where %.0f +- %.0f are expected%s",
                               name, extreme.at, extreme.choices, extreme.seen, extreme.expected,
                               extreme.deviation, Verdict(alarm, verdict.c_str()));
  return alarm;
}

std::optional<Alarm> TreeAlarm(absl::Span<const TreeReports> trees, double false_alarm) {
  if (trees.size() < 2) return std::nullopt;
  Counts counts;
  for (const TreeReports& tree : trees) counts.push_back(tree.sums->reports);
  Extreme extreme;
  extreme.Consider(counts);
  return CountAlarm("tree", extreme, counts.size(), false_alarm);
}

// A mechanism with columns counts each report under one symbol of its column.
void AddColumns(const TreeReports& tree, Counts& counts) {
  const std::vector<int64_t>& sums = tree.sums->sums;
  const size_t symbols = sums.size() / counts.size();
  for (size_t i = 0; i < sums.size(); ++i) counts[i / symbols] += static_cast<uint64_t>(sums[i]);
}

std::optional<Alarm> ColumnAlarm(absl::Span<const TreeReports> trees, double false_alarm) {
  if (trees[0].counter != nullptr) return std::nullopt;
  std::map<uint32_t, Counts> groups;  // by number of columns
  for (const TreeReports& tree : trees) {
    const uint32_t columns = tree.mechanism->columns();
    if (columns < 2) continue;
    Counts& counts = groups.try_emplace(columns, Counts(columns)).first->second;
    AddColumns(tree, counts);
  }
  if (groups.empty()) return std::nullopt;
  Extreme extreme;
  size_t looks = 0;
  for (const auto& [columns, counts] : groups) {
    extreme.Consider(counts);
    looks += columns;
  }
  return CountAlarm("column", extreme, looks, false_alarm);
}

// The estimate of a sum over reports, and the bound on its error.
struct Total {
  double estimate = 0;
  double variance = 0;
  double largest = 0;  // the most that one report adds beyond its mean

  void Add(double of_tree, double variance_of_tree, double largest_of_tree) {
    estimate += of_tree;
    variance += variance_of_tree;
    largest = std::max(largest, largest_of_tree);
  }
  // Bennett: the logarithm of a bound on the probability that the error is at least `error`.
  double LogChance(double error) const {
    if (error <= 0) return 0;
    const double u = largest * error / variance;
    return -variance / (largest * largest) * ((1 + u) * std::log1p(u) - u);
  }
};

// The noise that one report adds to a sum over the leaves that it is about.
struct ReportNoise {
  double of_leaf = 0;  // variance, for each leaf
  double of_hit = 0;   // variance, once
  double largest = 0;  // the most beyond its mean
};

// The noise in the sum of margins. Leaves add up: where they depend on each other, both classes do
// so alike, which cancels.
ReportNoise MarginNoiseOf(const LocalMechanism& mechanism) {
  const NoiseVariance noise[] = {mechanism.Variance(0), mechanism.Variance(1)};
  double hit = 0;  // in the row's own leaf, whatever its class
  for (const size_t k : {0, 1}) {
    hit = std::max(hit, 2 * (noise[k].hit.label + noise[1 - k].beside.label) - noise[k].hit.leaf);
  }
  return {.of_leaf = 2 * (noise[0].label + noise[1].label) - noise[0].leaf,
          .of_hit = hit,
          .largest = mechanism.MaxInfluence().total + 1};
}

// The noise in the sum of counts of one class. Where leaves depend on each other, one makes another
// less likely.
ReportNoise ShareNoiseOf(const LocalMechanism& mechanism, uint32_t k) {
  const NoiseVariance noise = mechanism.Variance(k);
  return {.of_leaf = noise.label,
          .of_hit = std::max(noise.hit.label, 0.0),
          .largest = mechanism.MaxInfluence().total + 1};
}

// One tree's estimates, the number of leaves that its reports are about, and their mechanisms.
struct LabelEvidence {
  explicit LabelEvidence(const TreeReports& tree)
      : reports(static_cast<double>(tree.sums->reports)) {
    if (tree.counter == nullptr) {
      counts = tree.mechanism->Estimate(tree.sums->sums, tree.sums->reports);
      leaves = reports * tree.mechanism->domain().leaves;
      mechanisms.push_back(tree.mechanism);
      return;
    }
    counts = tree.counter->Estimate(*tree.sums);
    for (const double about : tree.counter->ReportsAbout(*tree.sums)) leaves += about;
    for (size_t size = 1; size <= tree.counter->most_leaves(); ++size) {
      mechanisms.push_back(&tree.counter->MechanismFor(size));
    }
  }

  // Adds the estimate with the worst noise of all mechanisms.
  template <typename NoiseOf>
  void AddTo(Total& total, double estimate, NoiseOf noise_of) const {
    ReportNoise worst;
    for (const LocalMechanism* mechanism : mechanisms) {
      const ReportNoise noise = noise_of(*mechanism);
      worst.of_leaf = std::max(worst.of_leaf, noise.of_leaf);
      worst.of_hit = std::max(worst.of_hit, noise.of_hit);
      worst.largest = std::max(worst.largest, noise.largest);
    }
    total.Add(estimate, leaves * worst.of_leaf + reports * worst.of_hit, worst.largest);
  }

  double reports = 0;
  double leaves = 0;  // over all reports
  LeafCounts counts;
  std::vector<const LocalMechanism*> mechanisms;
};

// Bounds on a sum whose true mean over reports lies in [least, 1].
struct MeanBounds {
  double mean = 0, error = 0, outside = 0;  // outside: distance from [least, 1]
  double log_chance = 0;                    // for one side

  MeanBounds(const Total& total, double reports, double least)
      : mean(total.estimate / reports),
        error(std::sqrt(total.variance) / reports),
        outside(std::max({mean - 1, least - mean, 0.0})),
        log_chance(total.LogChance(outside * reports)) {}
};

Alarm IntervalAlarm(const char* name, const std::string& subject, const char* bounds,
                    const MeanBounds& interval, double sides, double false_alarm) {
  Alarm alarm;
  alarm.name = name;
  if (interval.outside > 0) alarm.value = interval.outside / interval.error;
  SetChance(std::log(sides) + interval.log_chance, false_alarm, alarm);
  alarm.text = absl::StrFormat("%s is %.2f +- %.2f and lies in %s if all are honest%s", subject,
                               interval.mean, interval.error, bounds,
                               Verdict(alarm, "somebody pushes labels"));
  return alarm;
}

Alarm LabelAlarm(absl::Span<const TreeReports> trees, double reports, double false_alarm) {
  const uint32_t classes = trees[0].mechanism->domain().classes;
  std::vector<Total> totals(classes);  // by class; for two classes, only the margin of class 1
  for (const TreeReports& tree : trees) {
    const LabelEvidence evidence(tree);
    std::vector<double> of_class(classes);
    const std::vector<double>& labels = evidence.counts.label;
    for (size_t i = 0; i < labels.size(); ++i) of_class[i % classes] += labels[i];
    if (classes == 2) {
      evidence.AddTo(totals[1], of_class[1] - of_class[0], MarginNoiseOf);
      continue;
    }
    for (uint32_t k = 0; k < classes; ++k) {
      evidence.AddTo(totals[k], of_class[k],
                     [k](const LocalMechanism& mechanism) { return ShareNoiseOf(mechanism, k); });
    }
  }
  if (classes == 2) {
    return IntervalAlarm("margin", "the mean label margin", "[-1, 1]",
                         MeanBounds(totals[1], reports, -1), 2, false_alarm);
  }
  uint32_t worst = 0;
  for (uint32_t k = 1; k < classes; ++k) {
    if (MeanBounds(totals[k], reports, 0).log_chance <
        MeanBounds(totals[worst], reports, 0).log_chance) {
      worst = k;
    }
  }
  return IntervalAlarm("share", StrCat("the share of class ", worst), "[0, 1]",
                       MeanBounds(totals[worst], reports, 0), 2.0 * classes, false_alarm);
}

}  // namespace

std::vector<Alarm> ComputeAlarms(absl::Span<const TreeReports> trees, double false_alarm) {
  std::vector<Alarm> alarms;
  double reports = 0;
  for (const TreeReports& tree : trees) reports += static_cast<double>(tree.sums->reports);
  if (reports == 0) return alarms;
  for (auto* count_alarm : {TreeAlarm, ColumnAlarm}) {
    std::optional<Alarm> alarm = count_alarm(trees, false_alarm);
    if (alarm.has_value()) alarms.push_back(*std::move(alarm));
  }
  alarms.push_back(LabelAlarm(trees, reports, false_alarm));
  return alarms;
}

}  // namespace coppice::curator
