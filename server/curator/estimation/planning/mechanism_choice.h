// Chooses a study's mechanism for `auto`, by how much a report says about a label and how large it
// is.
//
// The least noise in a leaf's margin decides, since the margin alone decides a label, or in a
// number. Among those within two fifths of it the smallest report wins, then the one with which a
// liar moves least. Every input is public: epsilon, the shape of the forest and a limit on the
// payload.
//
// Small trees that correct a predictor (partition rule random_cut) need masses as well: with
// margins alone, the error of a leaf's mass, which public rows have to stand in for, counts in
// proportion to how sure the predictor is. The noise of a margin does not show that. Found on five
// sets with 200 public rows: one bit lowered the log loss by .0042, .0047 and .0059 at epsilon =
// 1, 1.5 and 2, and a set of cells by .0038, .0058 and .0083.
//
// Errors     InvalidArgument if no mechanism fits the limit; the message has the smallest payload.
// Source     docs/research/mechanisms.md#choice.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_MECHANISM_CHOICE_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_MECHANISM_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/tree.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/terms/report_form.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// The cost of a mechanism to a study over one forest.
struct MechanismCost {
  MechanismKind kind = MechanismKind::kLaplaceSplit;
  Budget epsilon;
  // See MarginNoise(); mean over the trees. Where reports are about a number alone, the variance of
  // one that lies half-way between the middle of its range and an end.
  double margin_noise = 0;
  size_t payload_bytes = 0;  // of the tree with the most leaves
  // The most that one report, honest or not, can add to the margin of a leaf.
  double margin_influence = 0;
  double two_sided_mass = 0;  // LocalMechanism::TwoSidedMass(), largest of all trees
  bool margins_only = false;  // LocalMechanism::margins_only()
};

// What payloads are about.
struct ReportSubject {
  Forest forest;
  uint32_t outputs = 0;  // Schema::num_outputs()
  bool is_number_alone = false;

  // Of reports of this form in a study with this schema.
  static ReportSubject Of(const ReportForm& form, const Schema& schema, const Forest& forest);
};

// InvalidArgument if the mechanism cannot serve the forest.
StatusOr<MechanismCost> CostOf(MechanismKind kind, const Budget& epsilon,
                               const ReportSubject& subject);

struct MechanismChoice {
  MechanismCost cost;
  std::string why;  // one line
};

// What reports are for.
enum class ReportPurpose {
  kMargins,     // to find the margins of a forest's leaves
  kCorrection,  // to correct a predictor
};
// The purpose of reports in a partition by this rule; `labels_alone` if they name no leaf.
ReportPurpose PurposeOf(SplitRule rule, bool labels_alone);

// `max_payload_bytes`: 0 for no limit.
StatusOr<MechanismChoice> ChooseMechanism(const Budget& epsilon, const ReportSubject& subject,
                                          size_t max_payload_bytes,
                                          ReportPurpose purpose = ReportPurpose::kMargins);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_MECHANISM_CHOICE_H_
