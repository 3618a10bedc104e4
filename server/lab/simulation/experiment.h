// One simulated study in one process: grow the public partition, let every private row answer once
// through its mechanism, estimate, and score on test rows.
//
// Guarantee  none for the printed accuracies: a score on private rows is itself a release. The sums
//            are as private as a real study's, from the same code and the same random source.
// Source     docs/research/reproduction.md.

#ifndef COPPICE_SERVER_LAB_SIMULATION_EXPERIMENT_H_
#define COPPICE_SERVER_LAB_SIMULATION_EXPERIMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/table.h"
#include "common/evaluation/class_evaluation.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/tree/model.h"
#include "common/tree/tree.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/estimation/smooth_basis.h"
#include "server/curator/inspection/alarms.h"
#include "server/curator/label_only/label_only.h"
#include "server/curator/partition/partition.h"
#include "server/curator/partition/public_random.h"
#include "server/lab/simulation/liars.h"

namespace coppice::lab {

struct CollectOptions {
  curator::PartitionOptions partition;
  // The size of the trees is chosen from the public rows (forest_size.h); hybrid rule only.
  bool choose_size = false;
  // Unset: chosen for the forest (mechanism_choice.h).
  std::optional<MechanismKind> mechanism;
  // Unset: exact counts, no privacy whatever.
  std::optional<Budget> epsilon;
  // Set: some of the private rows' devices lie. Needs an epsilon.
  std::optional<LiarOptions> liars;
  // Where a number is to be predicted; chosen if unset (number_labels.h).
  std::optional<NumberRange> rounding{};
};

// The curator's side of a finished study, before any estimate.
struct SimulatedStudy {
  Forest forest;
  std::vector<curator::PrivateCounts> private_counts;  // one per tree
  std::vector<curator::PublicCounts> public_counts;    // one per tree
  std::shared_ptr<const curator::SmoothBasis> basis;   // set by the first smooth estimate
  // Set where all features are public: the reports are labels, and private_counts are of none.
  std::optional<curator::LabelReports> labels;
  std::shared_ptr<const Table> claimed_rows;  // those of `labels`, where liars claim other values
  std::optional<MechanismKind> mechanism;     // that reports came from; none without privacy
  size_t report_bytes = 0;                    // of one report; 0 without privacy
  size_t leaves = 0;                          // of all trees
  std::vector<curator::Alarm> alarms;         // that the reports raise or not; see alarms.h
};

// Of numbers, rows are as RowsOfStudy() has them. Each private row answers in one tree, chosen by
// `assignment`. Who lies, and how, hangs on the partition's seed alone, so that a study with liars
// has the rows and trees of the one without. The private rows must outlive the study.
absl::StatusOr<SimulatedStudy> Collect(const Table& public_rows, const Table& private_rows,
                                       const CollectOptions& options,
                                       curator::PublicRandom& assignment, PrivateRandom& noise);

// Predictions for all leaves, predictions[tree][leaf].
using ForestPredictions = std::vector<std::vector<LeafPrediction>>;
absl::StatusOr<ForestPredictions> EstimateForest(SimulatedStudy& study, const Table& public_rows,
                                                 const curator::EstimatorOptions& options);

// For a study of labels: kSmooth alone.
absl::StatusOr<curator::LabelOnlyFit> EstimateLabels(SimulatedStudy& study,
                                                     const Table& public_rows,
                                                     const curator::EstimatorOptions& options);

// The leaf of every row of a table in every tree, found once and scored often.
class LocatedRows {
 public:
  LocatedRows(const Forest& forest, const Table& rows);

  // Of labels and probabilities as of Model::Predict().
  ClassScores Evaluate(const ForestPredictions& predictions) const;

 private:
  Prediction Predict(const ForestPredictions& predictions, size_t row) const;

  uint32_t classes_;
  std::vector<std::vector<uint32_t>> leaf_;  // leaf_[tree][row]
  std::vector<uint32_t> labels_;
};

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SIMULATION_EXPERIMENT_H_
