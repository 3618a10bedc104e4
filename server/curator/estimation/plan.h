// What accuracy to expect of a study before any report is collected, from public rows alone.
//
// The public labels give a posterior over the class margin (smooth_model.h, beta = 1: public labels
// like the private ones). Margins are drawn from it; for each, reports are drawn in coordinates, as
// many and as noisy as asked about, and what the estimate makes of them is scored against the
// margin at the public rows. That gives the gain over public labels alone. The level is the
// estimator's on public rows held out, in turns.
//
// An interval is of 90 %. The accuracy's is for rows like the public ones: the level's (few public
// rows say little of it) and the gain's spread. The gain's is paired: each draw scores both
// estimates against one margin at the same rows, so that the level drops out; how the rows differ
// in what they gain stays. docs/research/accuracy.md has how often both held.
//
// A plan does not see that private rows may be of another population than the public ones; then
// reports are worth more than is said here. Without labels there is no level: only what reports are
// worth. Every input is public. Simulation noise is drawn from `seed`: no privacy rests on it.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_PLAN_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "server/curator/estimation/mechanism_choice.h"
#include "server/curator/estimation/smooth_basis.h"
#include "server/curator/estimation/smooth_model.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

struct Interval {
  double low = 0;
  double mean = 0;
  double high = 0;
};

// One study that could be made. Errors of numbers are in their units.
struct StudyForecast {
  Interval accuracy;  // of classes; all 0 without public labels
  Interval rmse;      // of numbers, instead
  Interval gain;      // over public labels alone, at the same rows: accuracy more, rmse less
  double equivalent_rows = 0;  // what the reports are worth, in public rows
  // The most that one device can move the score of one public row (a margin, -1 to 1, or a number),
  // however it lies, with everything else fixed; 0 if there are too many public rows to compute it,
  // and where features are public.
  double influence = 0;
};

// What a study would lose were one of its public features private.
struct FeatureWorth {
  std::string name;
  double gain = 0;  // see StudyForecast; 0 without public labels
  double equivalent_rows = 0;
};

// Errors     InvalidArgument: no public row, options out of range, a mechanism that does not fit;
//            and what `cancel` says, which is asked between folds, draws and cells.
// Threads    immutable after Create(); safe to share.
// Source     docs/research/mechanisms.md#plan.
class Planner {
 public:
  struct Options {
    PartitionOptions partition;  // of the hybrid rule; its size is chosen
    double expected_devices = kUnknownDevices;
    uint64_t seed = 1;
    // Where a number is to be predicted; chosen if unset (number_labels.h).
    std::optional<NumberRange> rounding{};
    // What `partition`, then of any rule, has grown into in a study that exists; null: its size is
    // chosen, and it is grown.
    std::shared_ptr<const Forest> forest{};

    static constexpr double kUnknownDevices = 10'000;
  };

  static absl::StatusOr<Planner> Create(const Table& public_rows, const Budget& epsilon,
                                        const Options& options, const CancelCheck& cancel = {});

  const PartitionOptions& partition() const { return partition_; }
  const Forest& forest() const { return forest_; }
  size_t public_rows() const { return basis_.rows(); }
  bool predicts_numbers() const { return basis_.has_numbers(); }
  double effective_cells() const { return basis_.effective_cells(); }
  // The accuracy of public labels alone, or, of numbers, the root of the mean squared error.
  Interval public_only() const;

  // `cost` is of the planner's forest: see CostOf() and ChooseMechanism().
  // With the public features of the public rows' schema, then with those of `schema`, which differs
  // from it in nothing else.
  absl::StatusOr<StudyForecast> Forecast(double devices, const MechanismCost& cost,
                                         const CancelCheck& cancel = {}) const;
  absl::StatusOr<StudyForecast> ForecastAs(std::shared_ptr<const Schema> schema, double devices,
                                           const MechanismCost& cost,
                                           const CancelCheck& cancel = {}) const;
  // For the public features that the forest asks about, at most kMaxFeatureWorths of them, those
  // that it asks about most; the largest gain first.
  absl::StatusOr<std::vector<FeatureWorth>> WorthOfPublicFeatures(
      double devices, const MechanismCost& cost, const CancelCheck& cancel = {}) const;
  absl::StatusOr<MechanismCost> Cost(const Budget& epsilon, std::optional<MechanismKind> mechanism,
                                     size_t max_payload_bytes) const;

 private:
  Planner(const Table& rows, SmoothBasis basis) : rows_(rows), basis_(std::move(basis)) {}
  struct Truth;
  // Coordinates that a study's estimate finds of a truth, column after column.
  using Estimate = std::function<absl::StatusOr<std::vector<double>>(const Truth&)>;

  absl::Status DrawTruths(uint64_t seed, const CancelCheck& cancel);
  absl::StatusOr<StudyForecast> ForecastPrivate(double devices, const MechanismCost& cost,
                                                const CancelCheck& cancel) const;
  absl::Status AddGain(const Estimate& estimate, const CancelCheck& cancel,
                       StudyForecast& forecast) const;
  std::vector<double> ScoresAtRows(absl::Span<const double> truth,
                                   absl::Span<const double> predicted) const;
  // `gain` and its `spread` are squared margins.
  void SetRmse(double gain, double spread, StudyForecast& forecast) const;
  double NumberPerMargin() const;
  // How far the mean of held_out_ may be off, with 90 % confidence.
  double SpreadOfLevel() const;
  double InfluenceOf(absl::Span<const double> report_variance, double devices,
                     double margin_influence) const;

  Table rows_;
  SmoothBasis basis_;
  PartitionOptions partition_;
  Forest forest_;
  // What public labels alone score on rows held out in turns: 1 for a hit, or, of numbers, the
  // squared error with its sign changed.
  double held_out_ = 0;
  double held_out_deviation_ = 0;  // of one row
  // A margin drawn from the posterior of the public labels.
  struct Truth {
    Hyperparameters setting;
    std::vector<std::vector<double>> theta;  // theta[column][j]
    std::vector<std::vector<double>> noise;  // standard normal, of reports in the same shape
    std::vector<double> at_rows;             // see SmoothBasis::AtRows(), by column
    std::vector<double> public_scores;       // of public labels alone, by row looked at
    uint64_t seed = 0;                       // of noise in other shapes
  };
  std::vector<Truth> truths_;
};

inline constexpr size_t kMaxFeatureWorths = 8;

// A gain of less than this is not worth asking anybody: of accuracy, or, of numbers, this share of
// the error that public labels alone have.
inline constexpr double kWorthwhileGain = 0.005;
inline constexpr double kWorthwhileShare = 0.01;

// Whether reports help in studies with these gains on such a partition, in a sentence. Numbers have
// the error of public labels alone.
std::string Advice(absl::Span<const double> gains, const PartitionOptions& partition,
                   std::optional<double> public_rmse = std::nullopt);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_PLAN_H_
