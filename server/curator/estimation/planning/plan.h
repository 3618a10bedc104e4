// Forecasts a study's accuracy from public rows alone, before any report is collected.
//
// What reports will add cannot be measured before they exist, but it can be simulated: everything
// that decides it is public, namely the forest, the noise of the mechanism, the number of devices,
// and a guess at the truth. For the truth the plan takes what the public labels leave possible,
// many draws of it rather than the best one: where the labels have settled the matter, reports add
// next to nothing in any draw, and where they have not, draws differ and reports decide.
//
// The public labels give a posterior over the class margin (pooled_model.h with beta = 1: public
// labels are like the private ones). The plan draws margins from it. For each it draws reports in
// coordinates, in the number and with the noise asked about, and scores their estimate against the
// margin at the public rows. That gives the gain over public labels alone. The level is the
// estimator's own on held-out public rows, by cross-validation.
//
// Where models will be corrected predictors (study_defaults.h), both are theirs: the level is the
// public predictor's on rows that it has not seen, and truths and their estimates are those of the
// correction (correction_forecast.h).
//
// Intervals cover 90 %. The accuracy's interval is for rows like the public ones: it combines the
// level's (few public rows say little of it) and the gain's spread. The gain's is paired: each draw
// scores both estimates against one margin at the same rows, so the level drops out and only the
// difference between rows stays. docs/research/accuracy.md has how often both held.
//
// A plan does not see that private rows may come from another population than the public ones;
// reports are then worth more than it says. Without labels there is no level, only the reports'
// worth. Every input is public. The simulation noise is drawn from `seed`: no privacy rests on it.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/estimation/correction/correction_forecast.h"
#include "server/curator/estimation/planning/mechanism_choice.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/estimation/pooled/pooled_model.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

struct Interval {
  double low = 0;
  double mean = 0;
  double high = 0;
};

// The forecast of one possible study. Errors of numbers are in the numbers' unit.
struct StudyForecast {
  Interval accuracy;  // for classes; all 0 without public labels
  Interval rmse;      // for numbers, instead
  Interval gain;      // over public labels alone, at the same rows: more accuracy, less rmse
  double equivalent_rows = 0;  // worth of the reports, in public rows
  // The most that one device, however it lies, can move the score of one public row (a margin, -1
  // to 1, or a number) with everything else fixed. 0 with public features, and if there are too
  // many public rows to compute it.
  double influence = 0;
};

// The loss of a study if one of its public features were private.
struct FeatureWorth {
  std::string name;
  double gain = 0;  // see StudyForecast; 0 without public labels
  double equivalent_rows = 0;
};

// Errors     InvalidArgument: no public row, options out of range, a mechanism that does not fit.
//            Also what `cancel` returns, which is called between folds, draws and cells.
// Threads    immutable after Create(); safe to share.
// Source     docs/research/mechanisms.md#plan.
class Planner {
 public:
  struct Options {
    PartitionOptions partition;  // for the rules hybrid and random_cut; its size is chosen
    double expected_devices = kUnknownDevices;
    uint64_t seed = 1;
    // The range to round numbers to if a number is predicted; chosen if unset (number_labels.h).
    std::optional<NumberRange> rounding{};
    // The forest of an existing study, grown from `partition` by any rule. Null: a forest is grown,
    // and its size chosen.
    std::shared_ptr<const Forest> forest{};

    static constexpr double kUnknownDevices = 10'000;
  };

  static StatusOr<Planner> Create(const Table& public_rows, const Budget& epsilon,
                                  const Options& options, const CancelCheck& cancel = {});

  const PartitionOptions& partition() const { return partition_; }
  const Forest& forest() const { return forest_; }
  size_t public_rows() const { return basis_.rows(); }
  bool predicts_numbers() const { return basis_.has_numbers(); }
  double effective_cells() const { return basis_.effective_cells(); }
  // The accuracy of public labels alone; for numbers, the root mean squared error.
  Interval public_only() const;

  // `cost` must be for the planner's forest: see CostOf() and ChooseMechanism(). Forecast() takes
  // the public features of the public rows' schema; ForecastAs() those of `schema`, which must
  // differ in nothing else.
  StatusOr<StudyForecast> Forecast(double devices, const MechanismCost& cost,
                                   const CancelCheck& cancel = {}) const;
  StatusOr<StudyForecast> ForecastAs(std::shared_ptr<const Schema> schema, double devices,
                                     const MechanismCost& cost,
                                     const CancelCheck& cancel = {}) const;
  // Covers the kMaxFeatureWorths public features that most nodes of the forest split by; the
  // largest gain comes first.
  StatusOr<std::vector<FeatureWorth>> WorthOfPublicFeatures(double devices,
                                                            const MechanismCost& cost,
                                                            const CancelCheck& cancel = {}) const;
  StatusOr<MechanismCost> Cost(const Budget& epsilon, std::optional<MechanismKind> mechanism,
                               size_t max_payload_bytes) const;

 private:
  Planner(const Table& rows, PooledBasis basis) : rows_(rows), basis_(std::move(basis)) {}
  struct Truth;
  // The coordinates that a study's estimate would find for a truth, column after column.
  using Estimate = std::function<StatusOr<std::vector<double>>(const Truth&)>;

  // `rows` have their numbers as they were given.
  Status PrepareCorrection(const Table& rows, const std::optional<NumberRange>& rounding,
                           uint64_t seed, const CancelCheck& cancel);
  Status DrawTruths(uint64_t seed, const CancelCheck& cancel);
  StatusOr<StudyForecast> ForecastPrivate(double devices, const MechanismCost& cost,
                                          const CancelCheck& cancel) const;
  Status AddGain(const Estimate& estimate, const CancelCheck& cancel,
                 StudyForecast& forecast) const;
  Status AddCorrection(absl::Span<const PrivateCounts> expected, const CancelCheck& cancel,
                       StudyForecast& forecast) const;
  // From the gains by draw, then row.
  void SetGain(const std::vector<std::vector<double>>& of_draws, StudyForecast& forecast) const;
  std::vector<double> ScoresAtRows(absl::Span<const double> truth,
                                   absl::Span<const double> predicted) const;
  // `gain` and its `spread` are squares in units of number_unit_.
  void SetRmse(double gain, double spread, StudyForecast& forecast) const;
  // Half-width of the 90 % interval of the mean held_out_.
  double SpreadOfLevel() const;
  double InfluenceOf(absl::Span<const double> report_variance, double devices,
                     double margin_influence) const;

  Table rows_;
  PooledBasis basis_;
  PartitionOptions partition_;
  Forest forest_;
  std::shared_ptr<const CorrectionForecast> correction_;  // of corrected predictors alone
  // Of numbers: what gains are the squares of, in the numbers' unit, and how far a prediction moves
  // if the place of an answer does.
  double number_unit_ = 0;
  double number_per_place_ = 0;
  // Score of public labels alone on held-out rows: 1 for a hit, or, for numbers, the squared error
  // with its sign changed.
  double held_out_ = 0;
  double held_out_deviation_ = 0;  // of one row
  // A margin drawn from the posterior of the public labels.
  struct Truth {
    Hyperparameters setting;
    std::vector<std::vector<double>> theta;  // theta[column][j]
    std::vector<std::vector<double>> noise;  // standard normal, of reports in the same shape
    std::vector<double> at_rows;             // see PooledBasis::AtRows(), by column
    std::vector<double> public_scores;       // of public labels alone, at each row of AtRows()
    uint64_t seed = 0;                       // of noise in other shapes
  };
  std::vector<Truth> truths_;
};

inline constexpr size_t kMaxFeatureWorths = 8;

// A smaller gain than this is not worth asking anybody: in accuracy, or, for numbers, as a share of
// the error that public labels alone have.
inline constexpr double kWorthwhileGain = 0.005;
inline constexpr double kWorthwhileShare = 0.01;

// Says in one sentence whether reports help, given the gains of some studies on one partition.
// `public_rmse` is the error of public labels alone; set it for numbers.
std::string Advice(absl::Span<const double> gains, const PartitionOptions& partition,
                   std::optional<double> public_rmse = std::nullopt);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_H_
