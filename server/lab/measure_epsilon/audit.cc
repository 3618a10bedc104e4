#include "server/lab/measure_epsilon/audit.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <boost/math/distributions/binomial.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice::lab {
namespace {

constexpr uint64_t kMinTrials = 1000;
// One tenth of the trials chooses the pair of inputs. Half of the rest chooses the event: one half
// of these orders the outputs, the other decides how many of them to take.
constexpr uint64_t kPilotPart = 10;

using Counts = std::map<std::string, uint64_t>;  // of each output

StatusOr<Counts> RunTrials(const AuditSubject& subject, uint32_t input, uint64_t trials) {
  OpenSslRandom random;
  Counts counts;
  for (uint64_t i = 0; i < trials; ++i) {
    COPPICE_ASSIGN_OR_RETURN(std::string output, subject.run(input, random));
    ++counts[std::move(output)];
  }
  return counts;
}

StatusOr<Counts> RunInParallel(const AuditSubject& subject, uint32_t input, uint64_t trials,
                               uint32_t threads) {
  std::vector<std::future<StatusOr<Counts>>> parts;
  for (uint32_t i = 0; i < threads; ++i) {
    const uint64_t share = trials / threads + (i < trials % threads ? 1 : 0);
    parts.push_back(std::async(std::launch::async, RunTrials, std::cref(subject), input, share));
  }
  Counts all;
  Status status;
  for (auto& part : parts) {
    const StatusOr<Counts> counts = part.get();
    status.Update(counts.status());
    if (!counts.ok()) continue;
    for (const auto& [output, count] : *counts) all[output] += count;
  }
  if (!status.ok()) return status;
  return all;
}

// The confidence of a bound, and the delta that the claim allows.
struct AuditClaim {
  double confidence = 0;
  double delta = 0;
};

// Bounds epsilon from below. Each side fails with probability at most (1 - confidence) / 2.
double LowerBound(uint64_t likely_hits, uint64_t unlikely_hits, uint64_t trials,
                  const AuditClaim& claim) {
  using Binomial = boost::math::binomial_distribution<double>;
  const double miss = (1 - claim.confidence) / 2;
  const auto n = static_cast<double>(trials);
  const double likely_at_least = Binomial::find_lower_bound_on_p(
      n, static_cast<double>(likely_hits), miss, Binomial::clopper_pearson_exact_interval);
  if (likely_at_least <= claim.delta) return 0;
  const double unlikely_at_most = Binomial::find_upper_bound_on_p(
      n, static_cast<double>(unlikely_hits), miss, Binomial::clopper_pearson_exact_interval);
  return std::max(0.0, std::log((likely_at_least - claim.delta) / unlikely_at_most));
}

struct Event {
  std::set<std::string> outputs;
  double promise = 0;  // its bound on the trials on which it was chosen
};

uint64_t CountOf(const Counts& counts, const std::string& output) {
  const auto found = counts.find(output);
  return found == counts.end() ? 0 : found->second;
}

// The outputs of the two inputs, over the same number of trials of each.
struct Sample {
  Counts likely, unlikely;
};

// Returns the outputs of `sample`, those with the largest ratios of probabilities first.
std::vector<std::string> ByRatio(const Sample& sample) {
  std::vector<std::pair<double, std::string>> outputs;
  for (const auto& [output, count] : sample.likely) {
    // Adding half an occurrence on each side keeps outputs seen once or twice from leading.
    outputs.emplace_back((static_cast<double>(count) + 0.5) /
                             (static_cast<double>(CountOf(sample.unlikely, output)) + 1),
                         output);
  }
  std::stable_sort(outputs.begin(), outputs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> ordered;
  for (auto& [ratio, output] : outputs) ordered.push_back(std::move(output));
  return ordered;
}

// By Neyman and Pearson the best event contains the outputs with the largest ratios of
// probabilities, down to some ratio: this tries all such events. Separate trials measure them:
// otherwise thousands of rare outputs that only one input happened to have would promise too much.
Event ChooseEvent(const Sample& ordering, const Sample& measuring, uint64_t trials,
                  const AuditClaim& claim) {
  const std::vector<std::string> outputs = ByRatio(ordering);
  Event event;
  size_t taken = 0;
  uint64_t likely_hits = 0, unlikely_hits = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    likely_hits += CountOf(measuring.likely, outputs[i]);
    unlikely_hits += CountOf(measuring.unlikely, outputs[i]);
    const double promise = LowerBound(likely_hits, unlikely_hits, trials, claim);
    if (promise <= event.promise) continue;
    event.promise = promise;
    taken = i + 1;
  }
  event.outputs.insert(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(taken));
  return event;
}

uint64_t HitsOf(const Event& event, const Counts& counts) {
  uint64_t hits = 0;
  for (const std::string& output : event.outputs) hits += CountOf(counts, output);
  return hits;
}

// Returns the ordered pair of inputs whose best event promises most, on a few trials.
StatusOr<std::pair<uint32_t, uint32_t>> ChooseInputs(const AuditSubject& subject, uint64_t trials,
                                                     double delta, uint32_t threads) {
  const AuditClaim guess = {.confidence = 0.9, .delta = delta};
  std::vector<Counts> ordering, measuring;
  for (uint32_t input = 0; input < subject.inputs; ++input) {
    for (std::vector<Counts>* counts : {&ordering, &measuring}) {
      COPPICE_ASSIGN_OR_RETURN(Counts of_input, RunInParallel(subject, input, trials / 2, threads));
      counts->push_back(std::move(of_input));
    }
  }
  std::pair<uint32_t, uint32_t> best = {0, 1};
  double best_promise = 0;
  for (uint32_t a = 0; a < subject.inputs; ++a) {
    for (uint32_t b = 0; b < subject.inputs; ++b) {
      if (a == b) continue;
      const double promise =
          ChooseEvent({ordering[a], ordering[b]}, {measuring[a], measuring[b]}, trials / 2, guess)
              .promise;
      if (promise <= best_promise) continue;
      best_promise = promise;
      best = {a, b};
    }
  }
  return best;
}

}  // namespace

StatusOr<AuditResult> RunAudit(const AuditSubject& subject, const AuditOptions& options) {
  if (options.trials < kMinTrials) {
    return InvalidArgumentError(StrCat("trials: must be at least ", kMinTrials));
  }
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return InvalidArgumentError("confidence: must lie between 0 and 1");
  }
  if (!(options.delta >= 0 && options.delta < 1)) {
    return InvalidArgumentError("delta: must be 0 or more, and below 1");
  }
  if (subject.inputs < 2 || options.threads == 0) {
    return InvalidArgumentError("an audit needs two inputs and a thread");
  }
  const uint64_t pilot = options.trials / kPilotPart;
  const AuditClaim claim = {.confidence = options.confidence, .delta = options.delta};
  COPPICE_ASSIGN_OR_RETURN(auto inputs,
                           ChooseInputs(subject, pilot, options.delta, options.threads));
  const uint64_t half = (options.trials - pilot) / 2;
  const auto sample = [&](uint64_t trials) -> StatusOr<Sample> {
    Sample drawn;
    COPPICE_ASSIGN_OR_RETURN(drawn.likely,
                             RunInParallel(subject, inputs.first, trials, options.threads));
    COPPICE_ASSIGN_OR_RETURN(drawn.unlikely,
                             RunInParallel(subject, inputs.second, trials, options.threads));
    return drawn;
  };
  COPPICE_ASSIGN_OR_RETURN(const Sample ordering, sample(half / 2));
  COPPICE_ASSIGN_OR_RETURN(const Sample measuring, sample(half - half / 2));
  Event event = ChooseEvent(ordering, measuring, half - half / 2, claim);
  // Such a short pilot may have mistaken which input is the likely one.
  Event other_way = ChooseEvent({ordering.unlikely, ordering.likely},
                                {measuring.unlikely, measuring.likely}, half - half / 2, claim);
  if (other_way.promise > event.promise) {
    std::swap(inputs.first, inputs.second);
    event = std::move(other_way);
  }
  COPPICE_ASSIGN_OR_RETURN(const Sample tested, sample(half));

  AuditResult result;
  result.confidence = options.confidence;
  result.trials = pilot * subject.inputs + 4 * half;
  result.likely_input = inputs.first;
  result.unlikely_input = inputs.second;
  result.tested = half;
  result.likely_hits = HitsOf(event, tested.likely);
  result.unlikely_hits = HitsOf(event, tested.unlikely);
  result.epsilon_lower_bound = LowerBound(result.likely_hits, result.unlikely_hits, half, claim);
  return result;
}

AuditSubject SubjectOf(const LocalMechanism& mechanism) {
  const Domain domain = mechanism.domain();
  return {
      .name = std::string(MechanismName(mechanism.kind())),
      .inputs = static_cast<uint32_t>(domain.cells()),
      .run = [&mechanism, domain](uint32_t input, PrivateRandom& random) -> StatusOr<std::string> {
        uint64_t drawn = 0;  // drawn as for a ticket; the sums show it
        if (mechanism.columns() > 1) {
          COPPICE_ASSIGN_OR_RETURN(drawn, random.UniformBelow(mechanism.columns()));
        }
        const auto column = static_cast<uint32_t>(drawn);
        const LeafLabel value = {.leaf = input / domain.classes, .label = input % domain.classes};
        COPPICE_ASSIGN_OR_RETURN(const std::string payload,
                                 mechanism.Randomize(value, column, random));
        std::vector<int64_t> sums(mechanism.sum_size());
        COPPICE_RETURN_IF_ERROR(mechanism.Add(payload, column, absl::MakeSpan(sums)));
        // The tails of Laplace noise are lumped, as each value of them is rare; other reports add
        // to few sums by little, which is all shown.
        const bool has_tails = mechanism.adds_laplace_noise();
        std::string summary;
        for (const int64_t sum : sums) {
          summary.push_back(
              static_cast<char>('1' + (has_tails ? std::clamp<int64_t>(sum, -1, 2) : sum)));
        }
        return summary;
      }};
}

}  // namespace coppice::lab
