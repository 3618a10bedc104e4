#include "server/trainers/boosting/public/public_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/table.h"

namespace coppice::trainers {
namespace {

// All of these were found on the development tables of docs/research/auto.md.
constexpr size_t kLeastRowsForLines = 50;
constexpr size_t kMostTerms = 256;
constexpr size_t kMostSlopes = 4096;  // of all outputs: a step takes the cube of terms a time
constexpr size_t kLeastKnown = 5;     // numbers of a column
constexpr int64_t kLeastOfCategory = 3;
constexpr double kMostDeviations = 2.5;
constexpr int kPlaces = 32;  // between the farthest deviations
constexpr double kBoundQuantile = 0.75;

constexpr double kOffDiagonal = 0.9;
constexpr std::array<double, 6> kSlopeWidths = {.01, .02, .04, .08, .16, .32};
constexpr double kLikeliestSlope = 0.06;
constexpr double kSlopeVarianceOfClasses = 0.5, kSlopeVarianceOfNumbers = 0.3;
constexpr std::array<double, 4> kStepLengths = {1, 0.5, 0.2, 0};
constexpr double kMostSlope = 64;  // only noise reaches it
constexpr double kCurvatureOfCut = 0.1;

int32_t ToTerm(double standard) {
  if (!std::isfinite(standard)) return 0;
  const double cut = std::clamp(standard, -kMostDeviations, kMostDeviations);
  return static_cast<int32_t>(std::trunc(cut * kTermUnit));
}

struct MeanAndDeviation {
  double mean = 0, deviation = 0;
  size_t known = 0;
};
MeanAndDeviation Describe(absl::Span<const double> values) {
  MeanAndDeviation found;
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      found.mean += value;
      ++found.known;
    }
  }
  if (found.known == 0) return found;
  found.mean /= static_cast<double>(found.known);
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value - found.mean) * (value - found.mean);
  }
  found.deviation = std::sqrt(squares / static_cast<double>(found.known));
  return found;
}

uint64_t RootUp(uint64_t square) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(square)));
  while (root * root > square) --root;
  while (root * root < square) ++root;
  return root;
}

}  // namespace

PublicTerms::PublicTerms(const PublicStart& start) : start_(&start) {}

StatusOr<std::optional<PublicTerms>> PublicTerms::Create(const PublicStart& start) {
  const Schema& schema = start.rows().schema();
  if (start.rows().num_rows() < kLeastRowsForLines) return std::nullopt;
  PublicTerms terms(start);
  COPPICE_ASSIGN_OR_RETURN(terms.bins_, PublicBins(schema, /*cuts=*/1));
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    if (terms.bins_[f].type == FeatureType::kNumeric) terms.AddNumber(f);
  }
  COPPICE_ASSIGN_OR_RETURN(terms.public_rows_, BinnedRows::Create(start.rows(), terms.bins_));
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    if (terms.bins_[f].type == FeatureType::kCategorical) terms.AddCategories(f);
  }
  for (const std::vector<double>& scores : start.held_out()) {
    const MeanAndDeviation found = Describe(scores);
    terms.score_mean_.push_back(found.mean);
    terms.score_deviation_.push_back(std::max(found.deviation, 1e-4));
  }
  terms.count_ += start.outputs();
  if (terms.count_ > kMostTerms || terms.count_ * start.outputs() > kMostSlopes) {
    return std::nullopt;
  }
  terms.FindBounds();
  return terms;
}

// Cuts lie in even places between the farthest deviations, wherever the schema's bounds are.
void PublicTerms::AddNumber(uint32_t feature) {
  const Feature& declared = start_->rows().schema().features()[feature];
  const MeanAndDeviation found = Describe(start_->rows().column(feature));
  if (found.known < kLeastKnown || !(found.deviation > 1e-6 * (declared.max - declared.min))) {
    return;
  }
  FeatureBins& bins = bins_[feature];
  bins.cuts.clear();
  for (int i = 0; i <= kPlaces; ++i) {
    const double place = kMostDeviations * (2.0 * i / kPlaces - 1);
    const double cut = found.mean + place * found.deviation;
    if (cut > declared.min && cut < declared.max) bins.cuts.push_back(cut);
  }
  if (bins.cuts.empty()) return;
  bins.known = static_cast<uint32_t>(bins.cuts.size()) + 1;
  ColumnTerms& column = columns_.emplace_back(ColumnTerms{.column = feature});
  column.term_of_bin.assign(bins.size(), static_cast<int32_t>(count_));
  for (uint32_t bin = 0; bin < bins.known; ++bin) {
    const double low = bin == 0 ? declared.min : bins.cuts[bin - 1];
    const double high = bin + 1 == bins.known ? declared.max : bins.cuts[bin];
    const auto standard = [&](double x) {
      return std::clamp((x - found.mean) / found.deviation, -kMostDeviations, kMostDeviations);
    };
    column.place_of_bin.push_back(ToTerm((standard(low) + standard(high)) / 2));
  }
  column.place_of_bin.resize(bins.size(), 0);  // missing
  ++count_;
}

void PublicTerms::AddCategories(uint32_t feature) {
  const FeatureBins& bins = bins_[feature];
  std::vector<int64_t> counts(bins.size());
  for (const uint16_t bin : public_rows_.column(feature)) ++counts[bin];
  ColumnTerms column{.column = feature};
  column.term_of_bin.assign(bins.size(), -1);
  column.place_of_bin.assign(bins.size(), 0);
  const auto rows = static_cast<int64_t>(public_rows_.num_rows());
  bool has_term = false;
  for (uint32_t bin = 0; bin < bins.size(); ++bin) {
    if (counts[bin] < kLeastOfCategory || counts[bin] == rows) continue;
    column.term_of_bin[bin] = static_cast<int32_t>(count_++);
    column.place_of_bin[bin] = kTermUnit;
    has_term = true;
  }
  if (has_term) columns_.push_back(std::move(column));
}

void PublicTerms::TermsOf(const BinnedRows& rows, size_t row, const OutputScores& public_scores,
                          absl::Span<int32_t> terms) const {
  std::fill(terms.begin(), terms.end(), 0);
  terms[0] = kTermUnit;
  for (const ColumnTerms& column : columns_) {
    const uint16_t bin = rows.column(column.column)[row];
    if (column.term_of_bin[bin] >= 0) {
      terms[static_cast<size_t>(column.term_of_bin[bin])] = column.place_of_bin[bin];
    }
  }
  const size_t first = count_ - public_scores.size();
  for (size_t output = 0; output < public_scores.size(); ++output) {
    terms[first + output] = ToTerm(Standard(public_scores[output][row], output));
  }
}

// Rounded up.
uint64_t PublicTerms::NormOf(absl::Span<const int32_t> terms, bool is_concentrated) {
  uint64_t sum = 0;
  for (const int32_t term : terms) {
    const auto size = static_cast<uint64_t>(std::abs(term));
    sum += is_concentrated ? size * size : size;
  }
  return is_concentrated ? RootUp(sum) : sum;
}

// Whole numbers, rounded towards 0: each is at most bound / norm of what it was.
void PublicTerms::ScaleDown(absl::Span<int32_t> terms, bool is_concentrated) const {
  const uint64_t norm = NormOf(terms, is_concentrated), bound = Bound(is_concentrated);
  if (norm <= bound) return;
  for (int32_t& term : terms) {
    term = static_cast<int32_t>(term * static_cast<int64_t>(bound) / static_cast<int64_t>(norm));
  }
}

void PublicTerms::FindBounds() {
  std::vector<int32_t> terms(count_);
  for (const bool is_concentrated : {false, true}) {
    std::vector<uint64_t> norms;
    for (size_t row = 0; row < public_rows_.num_rows(); ++row) {
      TermsOf(public_rows_, row, start_->held_out(), absl::MakeSpan(terms));
      norms.push_back(NormOf(terms, is_concentrated));
    }
    std::sort(norms.begin(), norms.end());
    const auto place = static_cast<size_t>(kBoundQuantile * static_cast<double>(norms.size() - 1));
    (is_concentrated ? bound_l2_ : bound_l1_) = norms[place];
  }
}

Sensitivity PublicTerms::GradientSensitivity(const Sensitivity& residuals) const {
  return {.l1 = residuals.l1 * bound_l1_,
          .l2_squared = residuals.l2_squared * bound_l2_ * bound_l2_};
}

std::vector<int64_t> PublicTerms::SumGradient(const BinnedRows& rows,
                                              const OutputScores& public_scores,
                                              const Residuals& residuals,
                                              bool is_concentrated) const {
  std::vector<int64_t> sums(residuals.size() * count_);
  std::vector<int32_t> terms(count_);
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    TermsOf(rows, row, public_scores, absl::MakeSpan(terms));
    ScaleDown(absl::MakeSpan(terms), is_concentrated);
    for (size_t output = 0; output < residuals.size(); ++output) {
      const int64_t residual = residuals[output][row];
      for (size_t i = 0; i < count_; ++i) sums[output * count_ + i] += residual * terms[i];
    }
  }
  return sums;
}

std::vector<double> PublicTerms::PublicTermsOf(bool is_concentrated) const {
  std::vector<double> all;
  std::vector<int32_t> terms(count_);
  for (size_t row = 0; row < public_rows_.num_rows(); ++row) {
    TermsOf(public_rows_, row, start_->held_out(), absl::MakeSpan(terms));
    ScaleDown(absl::MakeSpan(terms), is_concentrated);
    for (const int32_t term : terms) all.push_back(static_cast<double>(term) / kTermUnit);
  }
  return all;
}

OutputScores PublicTerms::Along(const BinnedRows& rows, const OutputScores& public_scores,
                                absl::Span<const double> slopes) const {
  const size_t outputs = public_scores.size();
  OutputScores scores(outputs, std::vector<double>(rows.num_rows()));
  for (size_t output = 0; output < outputs; ++output) {
    const absl::Span<const double> of_output = slopes.subspan(output * count_, count_);
    std::vector<double>& added = scores[output];
    std::fill(added.begin(), added.end(), of_output[0]);
    for (const ColumnTerms& column : columns_) {
      std::vector<double> of_bin(column.term_of_bin.size());
      for (size_t bin = 0; bin < of_bin.size(); ++bin) {
        if (column.term_of_bin[bin] < 0) continue;
        of_bin[bin] = of_output[static_cast<size_t>(column.term_of_bin[bin])] *
                      column.place_of_bin[bin] / kTermUnit;
      }
      const BinColumn& bins = rows.column(column.column);
      for (size_t row = 0; row < added.size(); ++row) added[row] += of_bin[bins[row]];
    }
    for (size_t c = 0; c < outputs; ++c) {
      const double slope = of_output[count_ - outputs + c];
      for (size_t row = 0; row < added.size(); ++row) {
        added[row] += slope * Standard(public_scores[c][row], c);
      }
    }
  }
  return scores;
}

OutputScores PublicTerms::AlongPublicRows(absl::Span<const double> slopes) const {
  return Along(public_rows_, start_->held_out(), slopes);
}

PublicTerms::AsTrees PublicTerms::ToTrees(absl::Span<const double> slopes) const {
  const size_t outputs = start_->outputs();
  AsTrees trees{.constant = std::vector<double>(outputs),
                .factor = std::vector<double>(outputs * outputs)};
  for (const ColumnTerms& column : columns_) {
    ColumnScores scores(column.term_of_bin.size(), outputs);
    for (size_t bin = 0; bin < column.term_of_bin.size(); ++bin) {
      if (column.term_of_bin[bin] < 0) continue;
      for (size_t output = 0; output < outputs; ++output) {
        scores.weights[bin][output] =
            slopes[output * count_ + static_cast<size_t>(column.term_of_bin[bin])] *
            column.place_of_bin[bin] / kTermUnit;
      }
    }
    trees.columns.push_back(column.column);
    trees.of_columns.push_back(std::move(scores));
  }
  for (size_t output = 0; output < outputs; ++output) {
    trees.constant[output] = slopes[output * count_];
    for (size_t c = 0; c < outputs; ++c) {
      const double factor = slopes[output * count_ + count_ - outputs + c] / score_deviation_[c];
      trees.factor[output * outputs + c] = factor;
      trees.constant[output] -= factor * score_mean_[c];
    }
  }
  return trees;
}

size_t PublicTerms::num_columns() const { return columns_.size(); }

namespace {

// A symmetric positive definite matrix as the square of a lower triangle.
class CholeskyFactor {
 public:
  // False where noise or rounding leaves no such triangle.
  bool Compute(std::vector<double> matrix, size_t size) {
    size_ = size;
    lower_ = std::move(matrix);
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double rest = lower_[i * size + j];
        for (size_t k = 0; k < j; ++k) rest -= lower_[i * size + k] * lower_[j * size + k];
        if (i == j && !(rest > 1e-9)) return false;
        lower_[i * size + j] = i == j ? std::sqrt(rest) : rest / lower_[j * size + j];
      }
    }
    return true;
  }
  std::vector<double> Solve(std::vector<double> x) const {
    for (size_t i = 0; i < size_; ++i) {
      for (size_t k = 0; k < i; ++k) x[i] -= lower_[i * size_ + k] * x[k];
      x[i] /= lower_[i * size_ + i];
    }
    for (size_t i = size_; i-- > 0;) {
      for (size_t k = i + 1; k < size_; ++k) x[i] -= lower_[k * size_ + i] * x[k];
      x[i] /= lower_[i * size_ + i];
    }
    return x;
  }
  double HalfLogDeterminant() const {
    double sum = 0;
    for (size_t i = 0; i < size_; ++i) sum += std::log(lower_[i * size_ + i]);
    return sum;
  }

 private:
  size_t size_ = 0;
  std::vector<double> lower_;
};

// How fast each public row's residuals fall as its scores rise: [output][row].
OutputScores PublicCurvatures(const PublicStart& start, const OutputScores& scores) {
  OutputScores curvatures = scores;
  const size_t outputs = scores.size();
  for (size_t row = 0; row < scores[0].size(); ++row) {
    if (start.predicts_number()) {
      const bool is_cut = std::abs(start.numbers()[row] - scores[0][row]) >= 1;
      curvatures[0][row] = is_cut ? kCurvatureOfCut : 1;
      continue;
    }
    if (outputs == 1) {
      const double p = 1 / (1 + std::exp(-scores[0][row]));
      curvatures[0][row] = p * (1 - p) * 0.5 / std::max(p, 1 - p);
      continue;
    }
    std::vector<double> p;
    for (const std::vector<double>& of_class : scores) p.push_back(of_class[row]);
    Softmax(absl::MakeSpan(p));
    const double others = 1 - p[start.rows().label(row)];
    const double weight = others > 0 ? std::min(1.0, 0.5 / others) : 1;
    for (size_t k = 0; k < outputs; ++k) curvatures[k][row] = weight * p[k] * (1 - p[k]);
  }
  return curvatures;
}

// The slopes that a gradient asks for, with all widths of their prior.
class PublicLineStep {
 public:
  PublicLineStep(size_t terms, size_t outputs, double deviation, double variance_of_slope)
      : terms_(terms), deviation_(deviation), variance_of_slope_(variance_of_slope) {
    for (size_t i = 0; i < kSlopeWidths.size(); ++i) {
      const double off = std::log(kSlopeWidths[i] / kLikeliestSlope);
      likelihood_[i] = -off * off / 2;
      slopes_[i].resize(terms * outputs);
    }
  }

  void Add(size_t output, const std::vector<double>& curvature,
           const std::vector<double>& gradient) {
    const std::vector<double> square = Square(curvature);
    CholeskyFactor factor;
    for (size_t i = 0; i < kSlopeWidths.size(); ++i) {
      const double width = kSlopeWidths[i] * kSlopeWidths[i];
      std::vector<double> covariance(square);
      for (size_t at = 0; at < covariance.size(); ++at) {
        covariance[at] = width * covariance[at] + variance_of_slope_ * curvature[at];
      }
      for (size_t t = 0; t < terms_; ++t) covariance[t * terms_ + t] += deviation_ * deviation_;
      if (!factor.Compute(std::move(covariance), terms_)) {
        is_left_out_[i] = true;
        continue;
      }
      const std::vector<double> solved = factor.Solve(gradient);
      double fit = 0;
      for (size_t t = 0; t < terms_; ++t) fit += gradient[t] * solved[t];
      likelihood_[i] -= fit / 2 + factor.HalfLogDeterminant();
      for (size_t a = 0; a < terms_; ++a) {
        double slope = 0;
        for (size_t b = 0; b < terms_; ++b) slope += curvature[a * terms_ + b] * solved[b];
        slopes_[i][output * terms_ + a] = width * slope;
      }
    }
  }

  std::vector<double> Slopes() const {
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (size_t i = 0; i < kSlopeWidths.size(); ++i) {
      if (!is_left_out_[i]) most = std::max(most, likelihood_[i]);
    }
    std::vector<double> mean(slopes_[0].size());
    for (size_t i = 0; i < kSlopeWidths.size(); ++i) {
      if (is_left_out_[i]) continue;
      const double weight = std::exp(likelihood_[i] - most);
      total += weight;
      for (size_t at = 0; at < mean.size(); ++at) mean[at] += weight * slopes_[i][at];
    }
    for (double& slope : mean) {
      slope = std::isfinite(slope / total) ? std::clamp(slope / total, -kMostSlope, kMostSlope) : 0;
    }
    return mean;
  }

 private:
  std::vector<double> Square(const std::vector<double>& matrix) const {
    std::vector<double> square(matrix.size());
    for (size_t a = 0; a < terms_; ++a) {
      for (size_t k = 0; k < terms_; ++k) {
        const double entry = matrix[a * terms_ + k];
        if (entry == 0) continue;
        for (size_t b = 0; b < terms_; ++b)
          square[a * terms_ + b] += entry * matrix[k * terms_ + b];
      }
    }
    return square;
  }

  size_t terms_;
  double deviation_, variance_of_slope_;
  std::array<double, kSlopeWidths.size()> likelihood_{};
  std::array<bool, kSlopeWidths.size()> is_left_out_{};
  std::array<std::vector<double>, kSlopeWidths.size()> slopes_{};
};

std::vector<double> CurvatureMatrix(absl::Span<const double> public_terms, size_t terms,
                                    absl::Span<const double> curvatures, double rows) {
  std::vector<double> matrix(terms * terms);
  for (size_t row = 0; row < curvatures.size(); ++row) {
    const absl::Span<const double> z = public_terms.subspan(row * terms, terms);
    const double weight = rows / static_cast<double>(curvatures.size()) * curvatures[row];
    for (size_t a = 0; a < terms; ++a) {
      if (z[a] == 0) continue;
      for (size_t b = 0; b < terms; ++b) matrix[a * terms + b] += weight * z[a] * z[b];
    }
  }
  for (size_t a = 0; a < terms; ++a) {
    for (size_t b = 0; b < terms; ++b) {
      if (a != b) matrix[a * terms + b] *= kOffDiagonal;
    }
  }
  return matrix;
}

void AddScaled(double factor, const OutputScores& more, OutputScores& scores) {
  for (size_t output = 0; output < scores.size(); ++output) {
    for (size_t row = 0; row < scores[output].size(); ++row) {
      scores[output][row] += factor * more[output][row];
    }
  }
}

}  // namespace

StatusOr<std::vector<double>> FitPublicLines(const PublicStart& start, const PublicTerms& terms,
                                             const PrivateLineRows& rows,
                                             const PublicLineShares& shares,
                                             const AnswerQuality& quality, int64_t unit,
                                             BoostTask& task, OutputScores& public_now,
                                             PrivateReleaser& releaser) {
  const ResidualKind kind = task.kind();
  const bool is_concentrated = shares.gradient.is_concentrated();
  const std::vector<double> public_terms = terms.PublicTermsOf(is_concentrated);
  Residuals residuals(kind.outputs, std::vector<int32_t>(rows.rows.num_rows()));
  std::vector<double> all_slopes(kind.outputs * terms.count());
  for (uint32_t step = 0; step < kPublicLineSteps; ++step) {
    task.Fill(residuals);
    COPPICE_ASSIGN_OR_RETURN(
        const Measurement measured,
        releaser.Measure(
            terms.SumGradient(rows.rows, rows.public_scores, residuals, is_concentrated),
            terms.GradientSensitivity(kind.sensitivity), shares.gradient));
    const double of_sum = 1 / (static_cast<double>(unit) * kTermUnit);
    PublicLineStep found(
        terms.count(), kind.outputs, measured.scale * std::numbers::sqrt2 * of_sum,
        start.predicts_number() ? kSlopeVarianceOfNumbers : kSlopeVarianceOfClasses);
    const OutputScores curvatures = PublicCurvatures(start, public_now);
    for (size_t output = 0; output < kind.outputs; ++output) {
      std::vector<double> gradient;
      for (size_t t = 0; t < terms.count(); ++t) {
        gradient.push_back(static_cast<double>(measured.sums[output * terms.count() + t]) * of_sum);
      }
      found.Add(output,
                CurvatureMatrix(public_terms, terms.count(), curvatures[output], rows.count),
                gradient);
    }
    const std::vector<double> slopes = found.Slopes();
    OutputScores now = task.all_scores();
    const OutputScores along = terms.Along(rows.rows, rows.public_scores, slopes);
    std::vector<int64_t> sums;
    for (const double length : kStepLengths) sums.push_back(quality.SumOf(now, length, along));
    COPPICE_ASSIGN_OR_RETURN(const size_t place,
                             releaser.Select(sums, shares.length, kQualityUnit));
    const double length = kStepLengths[place];
    AddScaled(length, along, now);
    COPPICE_RETURN_IF_ERROR(task.StartAt(std::move(now)));
    AddScaled(length, terms.AlongPublicRows(slopes), public_now);
    for (size_t at = 0; at < slopes.size(); ++at) all_slopes[at] += length * slopes[at];
  }
  return all_slopes;
}

}  // namespace coppice::trainers
