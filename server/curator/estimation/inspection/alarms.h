// Computes public statistics of a study's sums that show when somebody chooses trees or columns, or
// pushes labels. Alarms name nobody and refuse nothing: the operator decides what to do.
//
// A liar can send what he likes, but not without a trace where devices have no choice. Tickets draw
// the tree and the column, so their counts must look as if dice had fallen; and what a report says
// is bounded, so the mean of many honest ones cannot lie outside what labels can be. Both laws are
// known exactly, whatever the honest rows are. So an alarm needs no idea of what is usual, and its
// false alarms can be bounded.
//
// tree       the tree whose count is the least likely. Null law: tickets draw trees uniformly, so
//            each count is binomial(N, 1/T). A forest of one tree has no such alarm.
// column     likewise the column. Trees whose mechanisms have equally many columns add up their
//            counts column by column. Null law: binomial(reports of those trees, 1/columns).
//            Mechanisms without columns and studies with public features have no such alarm.
// margin     for two classes: the mean label margin, sum of all N(leaf, 1) - N(leaf, 0) over N. It
//            is an unbiased estimate of a number in [-1, 1]. With more classes it is `share`: the
//            class whose share of the reports is farthest outside [0, 1].
//
// The margin's law assumes NoiseVariance as stated; for local_hashing that means rows spread
// evenly. Alarms miss false labels (nobody can tell them from true ones) and pushes too small to
// show: see docs/threat-model.md. They are post-processing of randomized sums, which costs no
// privacy and may be repeated. They take one estimate of every tree: about linear in the sums.
//
// Guarantee  in a study whose devices are all honest each alarm is raised with probability at most
//            kFalseAlarm per look, whatever their rows: tails are bounded by Chernoff (counts) and
//            Bennett (margins, with the variance of the mechanism and the largest report that is
//            accepted), times the number of counts or classes looked at and both sides. Each
//            further look at a growing study is another chance.
// Errors     none. The sums must be of their mechanisms' sizes.
// Source     docs/threat-model.md#alarms.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_ALARMS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_ALARMS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

inline constexpr double kFalseAlarm = 1e-4;

struct Alarm {
  std::string name;   // "tree", "column", "margin", "share"
  double value = 0;   // standard errors from the expected value, or outside its interval
  double chance = 1;  // upper bound on the probability that honest devices come this far
  bool raised = false;
  std::string text;  // one line: seen, expected, and, if raised, the meaning
};

// One tree of a study. Borrowed.
struct TreeReports {
  const LocalMechanism* mechanism = nullptr;
  const TreeSums* sums = nullptr;
  // If set, the sums are this counter's, which do not tell columns apart.
  const ConsistentCounter* counter = nullptr;
};

// The alarms that apply; none before the first report.
std::vector<Alarm> ComputeAlarms(absl::Span<const TreeReports> trees,
                                 double false_alarm = kFalseAlarm);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_INSPECTION_ALARMS_H_
