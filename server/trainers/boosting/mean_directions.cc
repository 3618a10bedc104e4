#include "server/trainers/boosting/mean_directions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

// Chosen on optdigits and nine tables whose classes lie near (robot24, abalone, appliances and
// others cut into classes), in a prototype: shares are flat; with a larger pilot, and always, those
// lose one point of accuracy to three.
constexpr double kPilotShare = 0.05, kLargePilotShare = 0.1, kDirectionShare = 0.3;
constexpr double kSteepnessShare = 0.05;
// The deviation of what the pilot finds, for either pilot; see kFar for the unit.
constexpr double kMaxPilotNoise = 0.75, kMaxLargePilotNoise = 1.5;
// The mean squared distance of a class's mean from the middle, in squares of half a column: 7 for
// optdigits, 2.5 for appliances cut into twelve classes, at most 1.2 for the others.
constexpr double kFar = 3;
// Bounds of rows' norms, relative to the largest.
constexpr double kNormInEpsilon = 0.6, kNormInRho = 0.75;
constexpr std::array<double, 10> kSteepness = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256};
// Bounds scores, far beyond what rows say, so that only noise ever reaches it.
constexpr double kMaxDirection = 4;

// Returns the place between the bounds, halved with the place by halves towards zero.
int32_t DirectionPlace(const Feature& feature, const FeatureBins& bins, uint32_t bin) {
  const double low = bin == 0 ? feature.min : bins.cuts[bin - 1];
  const double high = bin == bins.cuts.size() ? feature.max : bins.cuts[bin];
  const double x = std::clamp((low + high) / 2, feature.min, feature.max);
  const double even = 2 * (x - feature.min) / (feature.max - feature.min) - 1;
  const bool has_signs = feature.min < 0 && feature.max > 0;
  const double zero = has_signs ? 0 : feature.min;
  const double span = x >= zero ? feature.max - zero : zero - feature.min;
  const double by_halves = std::log2(1 + 255 * std::abs(x - zero) / span) / 8;
  const double by_log = !has_signs ? 2 * by_halves - 1 : x >= zero ? by_halves : -by_halves;
  const auto place = static_cast<int32_t>(std::lround((even + by_log) / 2 * kLineUnit));
  return std::clamp(place, -kLineUnit, kLineUnit);
}

// The largest norm of a row's terms, in L1, or squared in L2.
int64_t MostOfTerms(uint64_t terms, bool in_rho) {
  const double count = static_cast<double>(terms);
  return in_rho ? std::llround(kNormInRho * kNormInRho * kLineUnit * kLineUnit * count)
                : std::llround(kNormInEpsilon * kLineUnit * count);
}

// Rounding towards 0, of products with a factor that is a little below the exact one, holds the
// norm in whole numbers.
void HoldNorm(absl::Span<int32_t> terms, bool in_rho) {
  int64_t norm = 0;
  for (const int32_t term : terms) norm += in_rho ? int64_t{term} * term : std::abs(term);
  const int64_t most = MostOfTerms(terms.size(), in_rho);
  if (norm <= most) return;
  const double part = static_cast<double>(most) / static_cast<double>(norm);
  const double factor = (in_rho ? std::sqrt(part) : part) * (1 - 1e-9);
  for (int32_t& term : terms) term = static_cast<int32_t>(term * factor);
}

// Sums of one measurement, and the variance of their noise, in rows.
struct MeasuredSums {
  std::vector<double> sums;
  double variance = 0;
};

double DirectionUnit() { return static_cast<double>(kResidualUnit) * kLineUnit; }

double VarianceOf(double scale) { return 2 * scale * scale / (DirectionUnit() * DirectionUnit()); }

std::vector<double> InRows(const Measurement& measured) {
  std::vector<double> sums;
  for (const int64_t sum : measured.sums) {
    sums.push_back(static_cast<double>(sum) / DirectionUnit());
  }
  return sums;
}

// Returns the gradient of a term by which all of a class's rows would differ from the middle by
// half a column.
double HalfAColumn(double rows, uint32_t classes) {
  const double others = 1 - 1.0 / classes;
  return 0.5 / others * rows / classes;
}

// Returns the deviation of the distance below, where all is noise.
double DistanceNoise(double variance, double half, uint64_t terms, uint32_t classes) {
  return std::sqrt(2 * static_cast<double>(terms - 1) / classes) * variance / (half * half);
}

// Tells whether the classes' means lie far enough from the middle of all rows.
bool AreFar(const MeasuredSums& pilot, double rows, uint64_t terms, uint32_t classes) {
  const double half = HalfAColumn(rows, classes);
  double squares = 0;
  for (size_t i = 0; i < pilot.sums.size(); ++i) {
    if (i % terms != 0) squares += pilot.sums[i] * pilot.sums[i] / (half * half);
  }
  const double distance =
      squares / classes - static_cast<double>(terms - 1) * pilot.variance / (half * half);
  return distance - 2 * DistanceNoise(pilot.variance, half, terms, classes) > kFar;
}

// Finds the scores' steepness and adds them up.
class DirectionFit {
 public:
  DirectionFit(const BinnedRows& rows, absl::Span<const Line> lines, uint32_t outputs)
      : rows_(rows), lines_(lines), outputs_(outputs) {}

  size_t terms() const { return lines_.size() + 1; }

  // Averages both measurements, by their precision, and fades each class's direction as James and
  // Stein do. `rows` is the released number.
  void SetSlopes(const Measurement& pilot, const Measurement& more, double rows,
                 const PrivateReleaser& releaser) {
    const std::vector<double> one = InRows(pilot), other = InRows(more);
    const double first = VarianceOf(pilot.scale), second = VarianceOf(more.scale);
    const double part = second / (first + second), variance = first * part;
    std::vector<double> factors;
    for (size_t output = 0; output < outputs_; ++output) {
      double squares = 0;
      for (size_t i = output * terms(); i < (output + 1) * terms(); ++i) {
        slopes_.push_back(part * one[i] + (1 - part) * other[i]);
        squares += slopes_.back() * slopes_.back();
      }
      const double noise = static_cast<double>(terms()) * variance;
      factors.push_back(squares > noise ? (1 - noise / squares) / rows : 0);
    }
    for (size_t i = 0; i < slopes_.size(); ++i) {
      slopes_[i] = std::clamp(slopes_[i] * factors[i / terms()], -kMaxDirection, kMaxDirection);
    }
    // Factors steer the fit, and are taken as they are.
    noise_.resize(slopes_.size());
    AddNoiseOf(pilot, part, factors, releaser);
    AddNoiseOf(more, 1 - part, factors, releaser);
  }

  // Returns the votes for every steepness: how near the rows' probabilities come to their classes.
  std::vector<int64_t> Votes() const {
    std::vector<int64_t> votes(kSteepness.size());
    std::vector<double> scores(outputs_), probabilities(outputs_);
    for (size_t row = 0; row < rows_.num_rows(); ++row) {
      const uint32_t label = rows_.labels()[row];
      if (label >= outputs_) continue;
      ScoresOf(row, scores);
      for (size_t i = 0; i < kSteepness.size(); ++i) {
        votes[i] += VoteOf(scores, kSteepness[i], label, probabilities);
      }
    }
    return votes;
  }

  FoundDirections Found(double steepness) const {
    FoundDirections found{.constant = ColumnScores(1, outputs_), .lines = {}};
    SetTerm(0, 0, 1, steepness, found.constant);
    for (size_t i = 0; i < lines_.size(); ++i) {
      ColumnScores& scores = found.lines.emplace_back(lines_[i].places.size(), outputs_);
      for (size_t bin = 0; bin < lines_[i].places.size(); ++bin) {
        SetTerm(i + 1, bin, static_cast<double>(lines_[i].places[bin]) / kLineUnit, steepness,
                scores);
      }
    }
    return found;
  }

 private:
  void AddNoiseOf(const Measurement& measured, double part, const std::vector<double>& factors,
                  const PrivateReleaser& releaser) {
    const auto slopes = [&](const Measurement& sums) {
      std::vector<double> scaled = InRows(sums);
      for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= part * factors[i / terms()];
      return scaled;
    };
    const std::vector<OutputNoise> noise = releaser.NoiseOf(measured, slopes, [&] {
      std::vector<OutputNoise> stated(measured.sums.size());
      for (size_t i = 0; i < stated.size(); ++i) {
        const double factor = part * factors[i / terms()];
        stated[i].variance = factor * factor * VarianceOf(measured.scale);
      }
      return stated;
    });
    AddNoise(noise, noise_);
  }

  void ScoresOf(size_t row, std::vector<double>& scores) const {
    for (size_t output = 0; output < outputs_; ++output) {
      const double* const slopes = &slopes_[output * terms()];
      double score = slopes[0];
      for (size_t i = 0; i < lines_.size(); ++i) {
        const int32_t place = lines_[i].places[rows_.column(lines_[i].column)[row]];
        score += slopes[i + 1] * (static_cast<double>(place) / kLineUnit);
      }
      scores[output] = score;
    }
  }

  // Returns 1 less half of Brier's score, in whole units from 0 to kVoteUnit.
  static int64_t VoteOf(const std::vector<double>& scores, double steepness, uint32_t label,
                        std::vector<double>& probabilities) {
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (size_t c = 0; c < scores.size(); ++c) {
      probabilities[c] = std::exp(steepness * (scores[c] - most));
      sum += probabilities[c];
    }
    double squares = 0;
    for (size_t c = 0; c < scores.size(); ++c) {
      const double off = probabilities[c] / sum - (c == label ? 1 : 0);
      squares += off * off;
    }
    const double vote = (1 - squares / 2) * kVoteUnit;
    return std::isfinite(vote) ? std::clamp<int64_t>(std::llround(vote), 0, kVoteUnit) : 0;
  }

  void SetTerm(size_t term, size_t bin, double place, double steepness,
               ColumnScores& scores) const {
    for (size_t output = 0; output < outputs_; ++output) {
      const size_t at = output * terms() + term;
      scores.weights[bin][output] = slopes_[at] * steepness * place;
      scores.noise[bin][output] = Scaled(noise_[at], steepness * place);
    }
  }

  const BinnedRows& rows_;
  absl::Span<const Line> lines_;
  const uint32_t outputs_;
  std::vector<double> slopes_;  // of the first output, term after term, then of the next
  std::vector<OutputNoise> noise_;
};

}  // namespace

std::vector<Line> PublicDirections(const Schema& schema, const std::vector<FeatureBins>& bins) {
  std::vector<Line> lines;
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    if (bins[f].type != FeatureType::kNumeric || bins[f].cuts.empty()) continue;
    Line& line = lines.emplace_back(Line{.column = f});
    for (uint32_t bin = 0; bin < bins[f].ordinary(); ++bin) {
      line.places.push_back(DirectionPlace(schema.features()[f], bins[f], bin));
    }
    line.places.push_back(0);  // missing
  }
  return lines;
}

Sensitivity DirectionSensitivity(const Sensitivity& residuals, uint64_t terms, bool in_rho) {
  const auto most = static_cast<uint64_t>(MostOfTerms(terms, in_rho));
  constexpr auto kLargest = static_cast<uint64_t>(kLineUnit);
  // The norm that is not held is at most what the terms allow.
  return {.l1 = residuals.l1 * (in_rho ? kLargest * terms : most),
          .l2_squared = residuals.l2_squared * (in_rho ? most : kLargest * kLargest * terms)};
}

std::vector<int64_t> SumDirections(const BinnedRows& rows, absl::Span<const Line> lines,
                                   const Residuals& residuals, bool in_rho) {
  std::vector<int32_t> terms(lines.size() + 1);
  std::vector<int64_t> sums(residuals.size() * terms.size());
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    terms[0] = kLineUnit;
    for (size_t i = 0; i < lines.size(); ++i) {
      terms[i + 1] = lines[i].places[rows.column(lines[i].column)[row]];
    }
    HoldNorm(absl::MakeSpan(terms), in_rho);
    for (size_t output = 0; output < residuals.size(); ++output) {
      const int64_t residual = residuals[output][row];
      int64_t* const at = &sums[output * terms.size()];
      for (size_t i = 0; i < terms.size(); ++i) at[i] += residual * terms[i];
    }
  }
  return sums;
}

StatusOr<std::optional<DirectionPlan>> PlanDirections(const BudgetShare& whole, double rows,
                                                      uint32_t classes, uint64_t terms) {
  const Sensitivity sensitivity = DirectionSensitivity(ClassTask({}, classes)->kind().sensitivity,
                                                       terms, whole.is_concentrated());
  const double half = HalfAColumn(rows, classes);
  for (const auto& [share, most] :
       {std::pair{kPilotShare, kMaxPilotNoise}, std::pair{kLargePilotShare, kMaxLargePilotNoise}}) {
    const StatusOr<TwoShares> pilot = Divide(whole, share);
    if (!pilot.ok()) return std::nullopt;  // too small to be divided
    const StatusOr<TwoShares> more = Divide(pilot->rest, (kDirectionShare - share) / (1 - share));
    if (!more.ok()) return std::nullopt;
    const StatusOr<TwoShares> last = Divide(more->rest, kSteepnessShare / (1 - kDirectionShare));
    if (!last.ok()) return std::nullopt;
    const StatusOr<double> scale = NoiseScale(sensitivity, pilot->part);
    if (!scale.ok() || !(*scale < kMaxScale)) return std::nullopt;
    if (DistanceNoise(VarianceOf(*scale), half, terms, classes) > most) continue;
    return DirectionPlan{.pilot = pilot->part,
                         .more = more->part,
                         .steepness = last->part,
                         .trees_after_pilot = pilot->rest,
                         .trees = last->rest};
  }
  return std::nullopt;
}

StatusOr<std::optional<FoundDirections>> FindDirections(const BinnedRows& rows,
                                                        absl::Span<const Line> lines,
                                                        const DirectionPlan& plan, double counted,
                                                        BoostTask& task,
                                                        PrivateReleaser& releaser) {
  const ResidualKind kind = task.kind();
  const bool in_rho = plan.pilot.is_concentrated();
  Residuals residuals(kind.outputs, std::vector<int32_t>(rows.num_rows()));
  task.Fill(residuals);
  const std::vector<int64_t> sums = SumDirections(rows, lines, residuals, in_rho);
  const uint64_t terms = lines.size() + 1;
  const Sensitivity sensitivity = DirectionSensitivity(kind.sensitivity, terms, in_rho);
  COPPICE_ASSIGN_OR_RETURN(const Measurement pilot,
                           releaser.Measure(sums, sensitivity, plan.pilot));
  if (!AreFar({.sums = InRows(pilot), .variance = VarianceOf(pilot.scale)}, counted, terms,
              kind.outputs)) {
    return std::nullopt;
  }
  COPPICE_ASSIGN_OR_RETURN(const Measurement more, releaser.Measure(sums, sensitivity, plan.more));
  DirectionFit fit(rows, lines, kind.outputs);
  fit.SetSlopes(pilot, more, counted, releaser);
  COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                           releaser.Select(fit.Votes(), plan.steepness, kVoteUnit));
  FoundDirections found = fit.Found(kSteepness[chosen]);
  COPPICE_RETURN_IF_ERROR(task.AddToAll(found.constant.weights[0]));
  for (size_t i = 0; i < lines.size(); ++i) {
    const BinColumn& bins = rows.column(lines[i].column);
    COPPICE_RETURN_IF_ERROR(task.Add(bins.Widened(), found.lines[i].weights));
  }
  return found;
}

}  // namespace coppice::trainers
