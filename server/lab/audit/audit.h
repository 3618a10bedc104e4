// A black-box audit: how much privacy something loses at least, from its outputs alone.
//
// In two inputs that are neighbours an event has probabilities p and q; then epsilon is
// log((p - delta) / q) or more. The pair of inputs and the event, a set of outputs, are chosen on
// one part of the trials, and p and q bounded on others (Clopper and Pearson 1934, one side each),
// so that choosing costs no confidence.
//
// Guarantee  epsilon_lower_bound exceeds the true epsilon with probability 1 - confidence at most,
//            over the audit's own trials. It says nothing about how much larger epsilon is: what no
//            event in reach of the trials shows stays unseen, and an event of probability below
//            about 10 / trials is out of reach.
// Threads    spreads trials over `threads`, each with its own OpenSslRandom.
// Source     Jagielski, Ullman, Oprea 2020, with exact bounds; docs/research/checking.md#audit.

#ifndef COPPICE_SERVER_LAB_AUDIT_AUDIT_H_
#define COPPICE_SERVER_LAB_AUDIT_AUDIT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"
#include "server/trainers/core/trainer.h"

namespace coppice::lab {

struct AuditSubject {
  std::string name;
  // Any two of the inputs 0..inputs-1 are neighbours.
  uint32_t inputs = 2;
  // What an observer sees, or a summary of it: a function of the output alone. The fewer different
  // summaries there are, the more the trials say of each. Called from several threads at once.
  std::function<absl::StatusOr<std::string>(uint32_t input, PrivateRandom& random)> run;
};

struct AuditOptions {
  uint64_t trials = 4'000'000;  // of each of the two inputs
  double confidence = 0.999999;
  double delta = 0;  // that the claim allows for
  uint32_t threads = 2;
};

struct AuditResult {
  double epsilon_lower_bound = 0;
  double confidence = 0;
  uint64_t trials = 0;  // all that were run
  // How the bound came about: the event had these shares of `tested` trials each.
  uint32_t likely_input = 0;
  uint32_t unlikely_input = 0;
  uint64_t tested = 0;
  uint64_t likely_hits = 0;
  uint64_t unlikely_hits = 0;
};

// InvalidArgument for fewer than 1000 trials, a confidence outside (0, 1) or a delta outside [0,
// 1); what the subject returns otherwise.
absl::StatusOr<AuditResult> RunAudit(const AuditSubject& subject, const AuditOptions& options);

// A mechanism over its whole domain. An output is summarized by what it adds to each sum, held
// within -1..2: a device's true value is 0 or 1 there. `mechanism` must outlive the subject.
AuditSubject SubjectOf(const LocalMechanism& mechanism);

// A central trainer on two neighbouring tables of four rows at most: one tree of one level over one
// feature, of which the observer sees the split and those of the leaves' weights that the tables
// differ in, held within -1..2. The row that the tables differ in pulls the scores of the tree's
// two splits apart as far as their range, and may be alone in its leaf: as much is told of it as
// there is to tell. InvalidArgument for an algorithm that is not private, or too small an epsilon.
// `trainer` must outlive the subject.
absl::StatusOr<AuditSubject> SubjectOf(const trainers::Trainer& trainer, const Budget& epsilon);

// Deals so many tickets to as many devices: the n-th device to come gets the ticket at [n]. All
// tickets occur once.
using Dealer =
    std::function<absl::StatusOr<std::vector<uint32_t>>(uint32_t tickets, PrivateRandom& random)>;
// Every deal is equally likely.
absl::StatusOr<std::vector<uint32_t>> DealUniformly(uint32_t tickets, PrivateRandom& random);

inline constexpr uint32_t kMaxAuditedReports = 1000;

// What a curator sees of a batch that came through a relay: every ticket with its column and its
// answer, and no device. All devices but the first to come have one row, known to the curator; the
// inputs are two rows of that first one, as far from that row as the domain goes. An output is
// summarized by the likelihood ratio of the two inputs: no other test tells more (Neyman and
// Pearson). The curator knows how `dealer` deals, from deals of its own, and not what it dealt.
// InvalidArgument for fewer than 2 or more than kMaxAuditedReports reports, or a dealer that does
// not deal every ticket. `mechanism` must outlive the subject.
absl::StatusOr<AuditSubject> SubjectOfBatch(const LocalMechanism& mechanism, uint32_t reports,
                                            const Dealer& dealer = DealUniformly);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_AUDIT_AUDIT_H_
