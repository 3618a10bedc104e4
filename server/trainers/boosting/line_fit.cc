#include "server/trainers/boosting/line_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/table.h"
#include "server/trainers/core/noise_of_sums.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

constexpr double kMomentShare = 0.4;  // of the lines' share; the rest pays for their gradients
constexpr double kMinPivot = 0.3;     // relative to the ridge: below it noise dominates
// Bounds the values of a half-solved system, so that no sum overflows whatever noise does to the
// moments. Meaningful rows and slopes stay far below it.
constexpr double kMaxPartial = 1e15;

// Returns the middle of a bin on a scale from -kLineUnit to kLineUnit.
int32_t PlaceOf(const Feature& feature, const FeatureBins& bins, uint32_t bin) {
  const double low = bin == 0 ? feature.min : bins.cuts[bin - 1];
  const double high = bin == bins.cuts.size() ? feature.max : bins.cuts[bin];
  const double share = ((low - feature.min) + (high - feature.min)) / (feature.max - feature.min);
  const auto place = static_cast<int32_t>(std::lround((share - 1) * kLineUnit));
  return std::clamp(place, -kLineUnit, kLineUnit);
}

double Hold(double x, double most) { return std::clamp(x, -most, most); }

// Computes the terms of one row after the other.
class Terms {
 public:
  Terms(const BinnedRows& rows, absl::Span<const Line> lines)
      : rows_(rows), lines_(lines), terms_(lines.size() + 1, kLineUnit) {}

  absl::Span<const int32_t> Of(size_t row) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      terms_[i + 1] = lines_[i].places[rows_.column(lines_[i].column)[row]];
    }
    return terms_;
  }

 private:
  const BinnedRows& rows_;
  absl::Span<const Line> lines_;
  std::vector<int32_t> terms_;
};

}  // namespace

std::vector<Line> PublicLines(const Schema& schema, const std::vector<FeatureBins>& bins) {
  std::vector<Line> lines;
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    if (bins[f].type != FeatureType::kNumeric || bins[f].cuts.empty()) continue;
    Line& line = lines.emplace_back(Line{.column = f});
    for (uint32_t bin = 0; bin < bins[f].ordinary(); ++bin) {
      line.places.push_back(PlaceOf(schema.features()[f], bins[f], bin));
    }
    line.places.push_back(0);  // missing
  }
  return lines;
}

Sensitivity MomentSensitivity(uint64_t terms) {
  constexpr auto kLargest = static_cast<uint64_t>(kLineUnit) * kLineUnit;
  const uint64_t pairs = terms * (terms + 1) / 2;
  return {.l1 = kLargest * pairs, .l2_squared = kLargest * kLargest * pairs};
}

Sensitivity LineSensitivity(const Sensitivity& residuals, uint64_t terms) {
  constexpr auto kLargest = static_cast<uint64_t>(kLineUnit);
  return {.l1 = residuals.l1 * kLargest * terms,
          .l2_squared = residuals.l2_squared * kLargest * kLargest * terms};
}

std::vector<int64_t> SumMoments(const BinnedRows& rows, absl::Span<const Line> lines) {
  const size_t count = lines.size() + 1;
  std::vector<int64_t> sums(count * (count + 1) / 2);
  Terms terms(rows, lines);
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (!rows.regression() && rows.labels()[row] == kUnlabelled) continue;
    const absl::Span<const int32_t> of_row = terms.Of(row);
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i; j < count; ++j) sums[at++] += of_row[i] * of_row[j];
    }
  }
  return sums;
}

std::vector<int64_t> SumAlongLines(const BinnedRows& rows, absl::Span<const Line> lines,
                                   const Residuals& residuals) {
  const size_t count = lines.size() + 1;
  std::vector<int64_t> sums(residuals.size() * count);
  Terms terms(rows, lines);
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    const absl::Span<const int32_t> of_row = terms.Of(row);
    for (size_t output = 0; output < residuals.size(); ++output) {
      const int64_t residual = residuals[output][row];
      int64_t* const at = &sums[output * count];
      for (size_t i = 0; i < count; ++i) at[i] += residual * of_row[i];
    }
  }
  return sums;
}

double MomentNoise(double scale, uint64_t terms) {
  const double deviation = scale / (kLineUnit * kLineUnit) * std::sqrt(2.0);
  return 2 * std::sqrt(static_cast<double>(terms)) * deviation;
}

Curvature::Curvature(const Measurement& moments, uint64_t terms, double ridge)
    : terms_(terms), moments_(terms * terms) {
  size_t at = 0;
  for (size_t i = 0; i < terms_; ++i) {
    for (size_t j = i; j < terms_; ++j) {
      const double moment = static_cast<double>(moments.sums[at++]) / (kLineUnit * kLineUnit);
      moments_[i * terms_ + j] = moments_[j * terms_ + i] = moment;
    }
  }
  double added = std::max(ridge * MomentNoise(moments.scale, terms), 1.0);
  while (!Factorize(added)) added *= 2;
}

bool Curvature::Factorize(double ridge) {
  factor_ = moments_;
  for (size_t i = 0; i < terms_; ++i) factor_[i * terms_ + i] += ridge;
  for (size_t i = 0; i < terms_; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = factor_[i * terms_ + j];
      for (size_t k = 0; k < j; ++k) rest -= factor_[i * terms_ + k] * factor_[j * terms_ + k];
      if (i == j && !(rest > kMinPivot * ridge)) return false;
      factor_[i * terms_ + j] = i == j ? std::sqrt(rest) : rest / factor_[j * terms_ + j];
    }
  }
  return true;
}

std::vector<double> Curvature::Solve(std::vector<double> sums) const {
  for (size_t i = 0; i < terms_; ++i) {
    for (size_t k = 0; k < i; ++k) sums[i] -= factor_[i * terms_ + k] * sums[k];
    sums[i] = Hold(sums[i] / factor_[i * terms_ + i], kMaxPartial);
  }
  for (size_t i = terms_; i-- > 0;) {
    for (size_t k = i + 1; k < terms_; ++k) sums[i] -= factor_[k * terms_ + i] * sums[k];
    sums[i] = Hold(sums[i] / factor_[i * terms_ + i], kMaxSlope);
  }
  return sums;
}

StatusOr<LineShares> DivideForLines(const BudgetShare& lines, uint32_t steps,
                                    const Sensitivity& residuals, uint64_t terms) {
  COPPICE_ASSIGN_OR_RETURN(const TwoShares parts, Divide(lines, kMomentShare));
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare step, EqualShare(parts.rest, steps));
  COPPICE_ASSIGN_OR_RETURN(const double of_moments,
                           NoiseScale(MomentSensitivity(terms), parts.part));
  COPPICE_ASSIGN_OR_RETURN(const double of_step,
                           NoiseScale(LineSensitivity(residuals, terms), step));
  if (!(std::max(of_moments, of_step) < kMaxScale)) {
    return InvalidArgumentError("epsilon is too small for lines: use a larger one");
  }
  return LineShares{.moments = parts.part, .step = step, .steps = steps};
}

StatusOr<double> MomentNoise(const LineShares& shares, uint64_t terms) {
  COPPICE_ASSIGN_OR_RETURN(const double scale,
                           NoiseScale(MomentSensitivity(terms), shares.moments));
  return MomentNoise(scale, terms);
}

namespace {

// The lines of one task, while they are fitted.
class LineFit {
 public:
  LineFit(const BinnedRows& rows, absl::Span<const Line> lines, Curvature curvature, int64_t unit,
          BoostTask& task)
      : rows_(rows),
        lines_(lines),
        curvature_(std::move(curvature)),
        unit_(static_cast<double>(unit)),
        task_(task),
        kind_(task.kind()),
        residuals_(kind_.outputs, std::vector<int32_t>(rows.num_rows())),
        bin_of_(rows.num_rows()),
        fitted_{.constant = ColumnScores(1, kind_.outputs), .lines = {}, .noise_factor = {}} {
    fitted_.constant.terms[0] = 1;
    for (const Line& line : lines) {
      ColumnScores& of_line = fitted_.lines.emplace_back(line.places.size(), kind_.outputs);
      for (size_t bin = 0; bin < line.places.size(); ++bin) {
        of_line.terms[bin] = static_cast<double>(line.places[bin]) / kLineUnit;
      }
    }
  }

  Status Step(const BudgetShare& share, PrivateReleaser& releaser) {
    task_.Fill(residuals_);
    COPPICE_ASSIGN_OR_RETURN(
        const Measurement measured,
        releaser.Measure(SumAlongLines(rows_, lines_, residuals_),
                         LineSensitivity(kind_.sensitivity, lines_.size() + 1), share));
    scale_ = measured.scale;
    ++steps_;
    const Slopes slopes = SlopesOf(measured.sums);
    // Slopes are linear in the sums, so their noise has no mean. NoiseFactor() has its spread.
    const std::vector<OutputNoise> noise = releaser.NoiseOf(
        measured, [this](const Measurement& sums) { return SlopesOf(sums.sums); },
        [&] { return std::vector<OutputNoise>(slopes.size()); });
    return Move(slopes, noise);
  }

  FittedLines Take() && {
    fitted_.noise_factor = NoiseFactor();
    return std::move(fitted_);
  }

 private:
  using Slopes = std::vector<double>;  // of the first output, term after term, then of the next

  size_t terms() const { return lines_.size() + 1; }
  // Returns a sum of residuals along a line, in units of the slopes that it asks for.
  double SumUnit() const { return kind_.line_step / (unit_ * kLineUnit); }

  Slopes SlopesOf(absl::Span<const int64_t> sums) const {
    Slopes slopes;
    for (size_t output = 0; output < kind_.outputs; ++output) {
      std::vector<double> lacks;
      for (const int64_t sum : sums.subspan(output * terms(), terms())) {
        lacks.push_back(SumUnit() * static_cast<double>(sum));
      }
      const std::vector<double> solved = curvature_.Solve(std::move(lacks));
      slopes.insert(slopes.end(), solved.begin(), solved.end());
    }
    return slopes;
  }

  Status Move(const Slopes& slopes, absl::Span<const OutputNoise> noise) {
    std::fill(bin_of_.begin(), bin_of_.end(), 0u);
    COPPICE_RETURN_IF_ERROR(MoveTerm(0, slopes, noise, fitted_.constant));
    for (size_t i = 0; i < lines_.size(); ++i) {
      const BinColumn& bins = rows_.column(lines_[i].column);
      std::copy(bins.begin(), bins.end(), bin_of_.begin());
      COPPICE_RETURN_IF_ERROR(MoveTerm(i + 1, slopes, noise, fitted_.lines[i]));
    }
    return OkStatus();
  }

  // Adds one term's slopes in each of its bins. Of their noise it adds only the mean: it spreads
  // together with that of the other terms.
  Status MoveTerm(size_t term, const Slopes& slopes, absl::Span<const OutputNoise> noise,
                  ColumnScores& scores) {
    std::vector<std::vector<double>> added(scores.terms.size());
    for (size_t bin = 0; bin < added.size(); ++bin) {
      for (size_t output = 0; output < kind_.outputs; ++output) {
        const size_t at = output * terms() + term;
        added[bin].push_back(slopes[at] * scores.terms[bin]);
        scores.weights[bin][output] += added[bin][output];
        scores.noise[bin][output].mean += noise[at].mean * scores.terms[bin];
      }
    }
    return task_.Add(bin_of_, added);
  }

  // Slopes are linear in the noise of their sums, and add up over the steps.
  std::vector<double> NoiseFactor() const {
    const double deviation = SumUnit() * scale_ * std::sqrt(2.0 * steps_);
    // One score makes two outputs, which it moves as far in opposite directions.
    const double of_output =
        kind_.outputs == 1 ? deviation * std::abs(task_.Outputs({1.0})[0]) : deviation;
    std::vector<double> factor;
    for (size_t term = 0; term < terms(); ++term) {
      std::vector<double> one(terms());
      one[term] = of_output;
      const std::vector<double> solved = curvature_.Solve(std::move(one));
      factor.insert(factor.end(), solved.begin(), solved.end());
    }
    return factor;
  }

  const BinnedRows& rows_;
  absl::Span<const Line> lines_;
  const Curvature curvature_;
  const double unit_;
  BoostTask& task_;
  const ResidualKind kind_;
  Residuals residuals_;
  std::vector<uint32_t> bin_of_;  // scratch
  FittedLines fitted_;
  double scale_ = 0;  // of the noise of a step's sums
  int steps_ = 0;
};

}  // namespace

StatusOr<FittedLines> FitLines(const BinnedRows& rows, absl::Span<const Line> lines,
                               const LineShares& shares, int64_t unit, BoostTask& task,
                               PrivateReleaser& releaser) {
  const uint64_t terms = lines.size() + 1;
  COPPICE_ASSIGN_OR_RETURN(
      const Measurement moments,
      releaser.Measure(SumMoments(rows, lines), MomentSensitivity(terms), shares.moments));
  LineFit fitting(rows, lines, Curvature(moments, terms, task.kind().line_ridge), unit, task);
  for (uint32_t step = 0; step < shares.steps; ++step) {
    COPPICE_RETURN_IF_ERROR(fitting.Step(shares.step, releaser));
  }
  return std::move(fitting).Take();
}

}  // namespace coppice::trainers
