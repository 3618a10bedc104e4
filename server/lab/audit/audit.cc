#include "server/lab/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <boost/math/distributions/binomial.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"

namespace coppice::lab {
namespace {

constexpr uint64_t kMinTrials = 1000;
// This part of the trials chooses the pair of inputs, and half of the rest the event.
constexpr uint64_t kPilotPart = 10;

using Counts = std::map<std::string, uint64_t>;  // of each output

absl::StatusOr<Counts> RunTrials(const AuditSubject& subject, uint32_t input, uint64_t trials) {
  OpenSslRandom random;
  Counts counts;
  for (uint64_t i = 0; i < trials; ++i) {
    COPPICE_ASSIGN_OR_RETURN(std::string output, subject.run(input, random));
    ++counts[std::move(output)];
  }
  return counts;
}

absl::StatusOr<Counts> RunInParallel(const AuditSubject& subject, uint32_t input, uint64_t trials,
                                     uint32_t threads) {
  std::vector<std::future<absl::StatusOr<Counts>>> parts;
  for (uint32_t i = 0; i < threads; ++i) {
    const uint64_t share = trials / threads + (i < trials % threads ? 1 : 0);
    parts.push_back(std::async(std::launch::async, RunTrials, std::cref(subject), input, share));
  }
  Counts all;
  absl::Status status;
  for (auto& part : parts) {
    const absl::StatusOr<Counts> counts = part.get();
    status.Update(counts.status());
    if (!counts.ok()) continue;
    for (const auto& [output, count] : *counts) all[output] += count;
  }
  if (!status.ok()) return status;
  return all;
}

struct Bound {
  double likely_at_least = 0;
  double unlikely_at_most = 1;

  double epsilon() const {
    return likely_at_least > 0 ? std::max(0.0, std::log(likely_at_least / unlikely_at_most)) : 0;
  }
};

// Each side fails with probability (1 - confidence) / 2 at most.
Bound BoundOf(uint64_t likely_hits, uint64_t unlikely_hits, uint64_t trials, double confidence) {
  using Binomial = boost::math::binomial_distribution<double>;
  const double miss = (1 - confidence) / 2;
  const auto n = static_cast<double>(trials);
  return {
      .likely_at_least = Binomial::find_lower_bound_on_p(n, static_cast<double>(likely_hits), miss,
                                                         Binomial::clopper_pearson_exact_interval),
      .unlikely_at_most = Binomial::find_upper_bound_on_p(
          n, static_cast<double>(unlikely_hits), miss, Binomial::clopper_pearson_exact_interval)};
}

struct Event {
  std::set<std::string> outputs;
  double promise = 0;  // the bound that it has on the trials it was chosen on
};

uint64_t CountOf(const Counts& counts, const std::string& output) {
  const auto found = counts.find(output);
  return found == counts.end() ? 0 : found->second;
}

// By Neyman and Pearson the best event holds the outputs with the largest ratios of probabilities,
// down to some ratio: all such events are tried.
Event ChooseEvent(const Counts& likely, const Counts& unlikely, uint64_t trials,
                  double confidence) {
  struct Candidate {
    const std::string* output;
    uint64_t likely, unlikely;
  };
  std::vector<Candidate> candidates;
  for (const auto& [output, count] : likely) {
    candidates.push_back({&output, count, CountOf(unlikely, output)});
  }
  // Half an occurrence more on each side keeps what was seen once or twice from leading.
  std::stable_sort(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return (static_cast<double>(a.likely) + 0.5) / (static_cast<double>(a.unlikely) + 1) >
               (static_cast<double>(b.likely) + 0.5) / (static_cast<double>(b.unlikely) + 1);
      });
  Event event;
  size_t taken = 0;
  uint64_t likely_hits = 0, unlikely_hits = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    likely_hits += candidates[i].likely;
    unlikely_hits += candidates[i].unlikely;
    const double promise = BoundOf(likely_hits, unlikely_hits, trials, confidence).epsilon();
    if (promise <= event.promise) continue;
    event.promise = promise;
    taken = i + 1;
  }
  for (size_t i = 0; i < taken; ++i) event.outputs.insert(*candidates[i].output);
  return event;
}

uint64_t HitsOf(const Event& event, const Counts& counts) {
  uint64_t hits = 0;
  for (const std::string& output : event.outputs) hits += CountOf(counts, output);
  return hits;
}

// The ordered pair of inputs whose best event promises most, on a few trials.
absl::StatusOr<std::pair<uint32_t, uint32_t>> ChooseInputs(const AuditSubject& subject,
                                                           uint64_t trials, uint32_t threads) {
  constexpr double kConfidence = 0.9;  // that of a guess
  std::vector<Counts> counts;
  for (uint32_t input = 0; input < subject.inputs; ++input) {
    COPPICE_ASSIGN_OR_RETURN(Counts of_input, RunInParallel(subject, input, trials, threads));
    counts.push_back(std::move(of_input));
  }
  std::pair<uint32_t, uint32_t> best = {0, 1};
  double best_promise = 0;
  for (uint32_t a = 0; a < subject.inputs; ++a) {
    for (uint32_t b = 0; b < subject.inputs; ++b) {
      if (a == b) continue;
      const double promise = ChooseEvent(counts[a], counts[b], trials, kConfidence).promise;
      if (promise <= best_promise) continue;
      best_promise = promise;
      best = {a, b};
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<AuditResult> RunAudit(const AuditSubject& subject, const AuditOptions& options) {
  if (options.trials < kMinTrials) {
    return absl::InvalidArgumentError(absl::StrCat("trials: must be at least ", kMinTrials));
  }
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return absl::InvalidArgumentError("confidence: must lie between 0 and 1");
  }
  if (subject.inputs < 2 || options.threads == 0) {
    return absl::InvalidArgumentError("an audit needs two inputs and a thread");
  }
  const uint64_t pilot = options.trials / kPilotPart;
  COPPICE_ASSIGN_OR_RETURN(const auto inputs, ChooseInputs(subject, pilot, options.threads));
  const uint64_t half = (options.trials - pilot) / 2;
  const auto run = [&](uint32_t input) {
    return RunInParallel(subject, input, half, options.threads);
  };
  COPPICE_ASSIGN_OR_RETURN(const Counts chosen_on_likely, run(inputs.first));
  COPPICE_ASSIGN_OR_RETURN(const Counts chosen_on_unlikely, run(inputs.second));
  const Event event = ChooseEvent(chosen_on_likely, chosen_on_unlikely, half, options.confidence);
  COPPICE_ASSIGN_OR_RETURN(const Counts likely, run(inputs.first));
  COPPICE_ASSIGN_OR_RETURN(const Counts unlikely, run(inputs.second));

  AuditResult result;
  result.confidence = options.confidence;
  result.trials = pilot * subject.inputs + 4 * half;
  result.likely_input = inputs.first;
  result.unlikely_input = inputs.second;
  result.tested = half;
  result.likely_hits = HitsOf(event, likely);
  result.unlikely_hits = HitsOf(event, unlikely);
  result.epsilon_lower_bound =
      BoundOf(result.likely_hits, result.unlikely_hits, half, options.confidence).epsilon();
  return result;
}

AuditSubject SubjectOf(const LocalMechanism& mechanism) {
  const Domain domain = mechanism.domain();
  return {.name = std::string(MechanismName(mechanism.kind())),
          .inputs = static_cast<uint32_t>(domain.cells()),
          .run = [&mechanism, domain](uint32_t input,
                                      PrivateRandom& random) -> absl::StatusOr<std::string> {
            uint64_t drawn = 0;  // as by a ticket; the sums show it
            if (mechanism.columns() > 1) {
              COPPICE_ASSIGN_OR_RETURN(drawn, random.UniformBelow(mechanism.columns()));
            }
            const auto column = static_cast<uint32_t>(drawn);
            const LeafLabel value = {.leaf = input / domain.classes,
                                     .label = input % domain.classes};
            COPPICE_ASSIGN_OR_RETURN(const std::string payload,
                                     mechanism.Randomize(value, column, random));
            std::vector<int64_t> sums(mechanism.sum_size());
            COPPICE_RETURN_IF_ERROR(mechanism.Add(payload, column, absl::MakeSpan(sums)));
            std::string summary;
            for (const int64_t sum : sums) {
              summary.push_back(static_cast<char>('1' + std::clamp<int64_t>(sum, -1, 2)));
            }
            return summary;
          }};
}

}  // namespace coppice::lab
