// One simulated study in one process: it grows the public partition, lets every private row answer
// once through its mechanism, estimates, and scores on test rows.
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

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/evaluation/class_evaluation.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/estimation/correction/smooth.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/inspection/alarms.h"
#include "server/curator/estimation/labels/label_only.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/partition/partition.h"
#include "server/lab/simulation/liars.h"

namespace coppice::lab {

struct CollectOptions {
  curator::PartitionOptions partition;
  // Whether to choose the trees' size from the public rows (forest_size.h).
  bool choose_size = false;
  // Unset: chosen for the forest (mechanism_choice.h).
  std::optional<MechanismKind> mechanism;
  // Unset: exact counts, without any privacy.
  std::optional<Budget> epsilon;
  // If set, some of the private rows' devices lie. Needs an epsilon.
  std::optional<LiarOptions> liars;
  // For numbers; chosen if unset (number_labels.h). Leaves have no centres in a range that is set.
  std::optional<NumberRange> rounding{};
};

// The curator's side of a finished study, before any estimate.
struct SimulatedStudy {
  Forest forest;
  curator::PartitionOptions partition;                 // what it was grown by
  std::vector<curator::PrivateCounts> private_counts;  // one per tree
  std::vector<curator::PublicCounts> public_counts;    // one per tree
  // Set by the first estimate that needs them.
  std::shared_ptr<const curator::PooledBasis> basis;
  std::shared_ptr<const curator::SmoothEstimator> smooth;
  // Set if all features are public: the reports are labels, and private_counts count none.
  std::optional<curator::LabelReports> labels;
  std::shared_ptr<const Table> claimed_rows;  // the rows of `labels` if liars claim other values
  std::optional<MechanismKind> mechanism;     // of the reports; none without privacy
  size_t report_bytes = 0;                    // of one report; 0 without privacy
  size_t leaves = 0;                          // of all trees
  std::vector<curator::Alarm> alarms;         // raised or not; see alarms.h
};

// For numbers, the rows must come from RowsOfStudy(). Each private row answers in one tree, chosen
// by `assignment`. Who lies, and how, depends only on the partition's seed, so a study with liars
// has the rows and trees of the one without. The private rows must outlive the study.
StatusOr<SimulatedStudy> Collect(const Table& public_rows, const Table& private_rows,
                                 const CollectOptions& options, PublicRandom& assignment,
                                 PrivateRandom& noise);

// Returns predictions for all leaves, predictions[tree][leaf].
using ForestPredictions = std::vector<std::vector<LeafPrediction>>;
StatusOr<ForestPredictions> EstimateForest(SimulatedStudy& study, const Table& public_rows,
                                           const curator::EstimatorOptions& options);

// Public rows as they were given, and as the study's trees were grown on them: numbers are cut to a
// range.
struct LearnedRows {
  const Table& given;
  const Table& cut;
  std::optional<NumberRange> rounding{};
};

// For kSmooth, whose model has other trees than the study, whatever the reports are about.
StatusOr<Model> EstimateSmooth(SimulatedStudy& study, const LearnedRows& rows,
                               const curator::EstimatorOptions& options);

// The scores of any model of classes.
ClassScores EvaluateClasses(const Model& model, const Table& rows);

// For a study of labels; only kPooled is supported.
StatusOr<curator::LabelOnlyFit> EstimateLabels(SimulatedStudy& study, const Table& public_rows,
                                               const curator::EstimatorOptions& options);

// The leaf of every row of a table in every tree, found once and scored often.
class LocatedRows {
 public:
  LocatedRows(const Forest& forest, const Table& rows);

  // Scores labels and probabilities that are computed as in Model::Predict().
  ClassScores Evaluate(const ForestPredictions& predictions) const;

 private:
  Prediction Predict(const ForestPredictions& predictions, size_t row) const;

  uint32_t classes_;
  std::vector<std::vector<uint32_t>> leaf_;  // leaf_[tree][row]
  std::vector<uint32_t> labels_;
};

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SIMULATION_EXPERIMENT_H_
