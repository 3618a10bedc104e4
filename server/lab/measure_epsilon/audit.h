// A black-box audit: bounds from below how much privacy something loses, from its outputs alone.
//
// If an event has probabilities p and q under two neighbouring inputs, epsilon is at least log((p -
// delta) / q). The pair of inputs and the event, a set of outputs, are chosen on one part of the
// trials; p and q are bounded on others (Clopper and Pearson 1934, one side each), so that choosing
// costs no confidence.
//
// Guarantee  epsilon_lower_bound exceeds the true epsilon with probability at most 1 - confidence,
//            over the audit's own trials. It does not say how much larger epsilon is: the audit
//            misses what no event within reach of the trials shows, and an event of probability
//            below about 10 / trials is out of reach.
// Threads    spreads trials over `threads`, each with its own OpenSslRandom.
// Source     Jagielski, Ullman, Oprea 2020, with exact bounds; docs/research/checking.md#audit.

#ifndef COPPICE_SERVER_LAB_MEASURE_EPSILON_AUDIT_H_
#define COPPICE_SERVER_LAB_MEASURE_EPSILON_AUDIT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"
#include "server/trainers/core/trainer.h"

namespace coppice::lab {

struct AuditSubject {
  std::string name;
  // Any two of the inputs 0..inputs-1 must be neighbours.
  uint32_t inputs = 2;
  // Returns what an observer sees, or a summary of it: a function of the output alone. The fewer
  // different summaries there are, the more the trials say about each. Called from several threads.
  std::function<StatusOr<std::string>(uint32_t input, PrivateRandom& random)> run;
};

struct AuditOptions {
  uint64_t trials = 4'000'000;  // of each of the two inputs
  double confidence = 0.999999;
  double delta = 0;  // what the claim allows
  uint32_t threads = 2;
};

struct AuditResult {
  double epsilon_lower_bound = 0;
  double confidence = 0;
  uint64_t trials = 0;  // all that were run
  // How the bound arose: the event had this many hits in `tested` trials of each input.
  uint32_t likely_input = 0;
  uint32_t unlikely_input = 0;
  uint64_t tested = 0;
  uint64_t likely_hits = 0;
  uint64_t unlikely_hits = 0;
};

// InvalidArgument for fewer than 1000 trials, a confidence outside (0, 1) or a delta outside [0,
// 1); otherwise the errors of the subject.
StatusOr<AuditResult> RunAudit(const AuditSubject& subject, const AuditOptions& options);

// Audits a mechanism over its whole domain. The summary of an output is what it adds to each sum,
// clamped to -1..2: a device's true value there is 0 or 1. `mechanism` must outlive the subject.
AuditSubject SubjectOf(const LocalMechanism& mechanism);

// Audits a central trainer on two neighbouring tables of at most four rows: one tree of one level
// over one feature. The observer sees the split and those of the leaves' weights in which the
// tables differ, clamped to -1..2. The row in which the tables differ moves the scores of the
// tree's two splits apart by their whole range, and may be alone in its leaf: that is the worst
// case. InvalidArgument for an algorithm that is not private, or too small an epsilon. `trainer`
// must outlive the subject.
StatusOr<AuditSubject> SubjectOf(const trainers::Trainer& trainer, const Budget& epsilon);

// Deals this many tickets to as many devices: the n-th device gets the ticket at [n]. Each ticket
// must occur once.
using Dealer =
    std::function<StatusOr<std::vector<uint32_t>>(uint32_t tickets, PrivateRandom& random)>;
// Makes every deal equally likely.
StatusOr<std::vector<uint32_t>> DealUniformly(uint32_t tickets, PrivateRandom& random);

// Returns how likely each ticket is the first device's, from the dealer's own deals, of which it
// makes many. The shares are equal unless the deals show otherwise, because chance differences
// would blur a test. InvalidArgument for a dealer that does not deal every ticket.
StatusOr<std::vector<double>> LearnDeal(const Dealer& dealer, uint32_t tickets);

inline constexpr uint32_t kMaxAuditedReports = 1000;

// Audits what a curator sees of a batch that came through a relay: every ticket with its column and
// its answer, and no device. All devices except the first have one row, known to the curator; the
// inputs are two rows of the first device, both different from that row where the domain allows it.
// The summary of an output is the likelihood ratio of the two inputs, which is the
// strongest test (Neyman and Pearson). The curator knows how `dealer` deals, from its own deals,
// but not what it dealt. InvalidArgument for fewer than 2 or more than kMaxAuditedReports reports,
// or a dealer that does not deal every ticket. `mechanism` must outlive the subject.
StatusOr<AuditSubject> SubjectOfBatch(const LocalMechanism& mechanism, uint32_t reports,
                                      const Dealer& dealer = DealUniformly);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_MEASURE_EPSILON_AUDIT_H_
