// Public arithmetic on the sums of a study that shows when somebody chooses trees or columns, or
// pushes labels. It names nobody and refuses nothing: what to do about it is the operator's.
//
// tree       the tree whose count is the least likely. Null law: tickets draw trees uniformly, so
//            each count is binomial(N, 1/T). There is none for a forest of one tree.
// column     likewise the column, over all trees whose mechanism has as many: their counts are
//            added up column by column. Null law: binomial(reports of those trees, 1/columns).
//            There is none for mechanisms without columns, nor for studies with public features.
// margin     of two classes: the mean label margin, sum of all N(leaf, 1) - N(leaf, 0) over N. It
//            is an unbiased estimate of a number in [-1, 1]. With more classes it is `share`: the
//            class whose share of the reports is farthest outside [0, 1].
//
// The margin's law assumes NoiseVariance as stated; for local_hashing that is rows spread evenly.
// Alarms miss false labels (nobody can tell them from true ones), and pushes too small to show: see
// docs/threat-model.md. They are post-processing of randomized sums: costs none, may be repeated.
// They take one estimate of every tree: about linear in the sums.
//
// Guarantee  a study whose devices are all honest raises each alarm with probability at most
//            kFalseAlarm at one look, whatever their rows: tails are bounded by Chernoff (counts)
//            and Bennett (margins, with the variance of the mechanism and the largest report that
//            is accepted), times the number of counts or classes looked at and both sides. Each
//            further look at a growing study is a chance of its own.
// Errors     none. The sums must be of their mechanisms' sizes.
// Source     docs/threat-model.md#alarms.

#ifndef COPPICE_SERVER_CURATOR_INSPECTION_ALARMS_H_
#define COPPICE_SERVER_CURATOR_INSPECTION_ALARMS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
#include "server/curator/estimation/consistent_counts.h"
#include "server/curator/estimation/estimator.h"

namespace coppice::curator {

inline constexpr double kFalseAlarm = 1e-4;

struct Alarm {
  std::string name;   // "tree", "column", "margin", "share"
  double value = 0;   // standard errors from what is expected, or outside its interval
  double chance = 1;  // that honest devices come as far: an upper bound
  bool raised = false;
  std::string text;  // one line: what is seen, what is expected, and if raised, what it means
};

// One tree of a study. Borrowed.
struct TreeReports {
  const LocalMechanism* mechanism = nullptr;
  const TreeSums* sums = nullptr;
  // If any, the sums are this counter's. They do not tell columns apart.
  const ConsistentCounter* counter = nullptr;
};

// Those that apply; none before the first report.
std::vector<Alarm> ComputeAlarms(absl::Span<const TreeReports> trees,
                                 double false_alarm = kFalseAlarm);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INSPECTION_ALARMS_H_
