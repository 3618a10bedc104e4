#include "server/trainers/boosting/narrow_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/parallel.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/core/shares.h"

namespace coppice::trainers {
namespace {

// Rows in a window, as shares of all: "none" wins over windows of fewer. From half of the rows on,
// columns are narrowed that fill their bounds (cod-rna); at three quarters those development tables
// are that have long tails (california, spambase), and lose nothing by it.
constexpr double kEnough = 0.75;
// What half the width is worth in rows, so that a narrow window wins over a wide one with the same
// rows; a sixteenth is worth nothing.
constexpr double kWorthOfHalf = 0.02, kWorthless = 16;
// Nats for all rows. "None" is ahead of what even rows fill, a sixteenth, by .69 of them, and
// thousands of windows need log(1000) = 7 of that, and as much again to be rare; what holds nearly
// all rows is ahead of "none" by .2 of them.
constexpr double kWindowNats = 25;
// Fewer would pay more than a fortieth for a question that may well have no answer.
constexpr double kMinWindowNats = 1000;
constexpr double kLeastNarrowing = 1e-4;
constexpr uint32_t kMaxSelections = 64;
// Windows stop at this part of the declared bounds, far above the distance of neighbouring doubles.
constexpr double kNarrowest = 0x1p-32;
constexpr double kNarrowestOfIntegers = 4;
// A quarter of the rows may lie outside: lines go on for as much as a window's width on either
// side. With half of it diamonds, the depth of which has a short middle and long tails, lose .04 of
// their RMSE at epsilon 4.
constexpr double kMargin = 1;
// Columns whose values are in memory together, 8 bytes each: half of what a table takes in bins
// later. Fewer ask for more passes over the rows.
constexpr size_t kColumnsAtOnce = kNarrowingBytesOfRow / sizeof(double);

// Returns what is worth the rows of `share` to a selection.
double NatsOf(double rows, const BudgetShare& share) {
  const Budget epsilon = share.is_concentrated() ? share.rho().ForSelection() : share.budget();
  return rows * epsilon.epsilon();
}

// Returns the part of a share that a selection needs: rho pays for the square.
double PartOf(double nats, const BudgetShare& share) {
  const double part = kWindowNats / nats;
  return std::max(share.is_concentrated() ? part * part : part, kLeastNarrowing);
}

StatusOr<Schema> WithFeatures(const Schema& schema, std::vector<Feature> features) {
  if (schema.target()) {
    return Schema::CreateRegression(std::move(features), schema.label(), *schema.target());
  }
  return Schema::Create(std::move(features), schema.label(), schema.classes());
}

}  // namespace

WindowSearch::WindowSearch(const RowBlocks& rows, double counted, WindowParts parts,
                           uint32_t threads)
    : rows_(&rows),
      counted_(counted),
      parts_(std::move(parts)),
      threads_(threads),
      features_(rows.schema().features()) {
  for (uint32_t f = 0; f < features_.size(); ++f) {
    if (features_[f].type != FeatureType::kNumeric) continue;
    const double span = features_[f].max - features_[f].min;
    if (!(span > 0)) continue;
    columns_.push_back(
        Column{.declared = features_[f],
               .feature = f,
               .least_width = features_[f].integer ? kNarrowestOfIntegers : kNarrowest * span});
  }
}

StatusOr<WindowSearch> WindowSearch::Create(const RowBlocks& rows, double counted,
                                            WindowParts parts, uint32_t threads) {
  WindowSearch search(rows, counted, std::move(parts), threads);
  const absl::Span<Column> columns = absl::MakeSpan(search.columns_);
  for (size_t first = 0; first < columns.size(); first += kColumnsAtOnce) {
    COPPICE_RETURN_IF_ERROR(search.Offer(columns.subspan(first, kColumnsAtOnce)));
  }
  return search;
}

Status WindowSearch::Offer(absl::Span<Column> columns) const {
  std::vector<std::vector<double>> values(columns.size());
  for (std::vector<double>& of_column : values) of_column.reserve(rows_->num_rows());
  COPPICE_RETURN_IF_ERROR(rows_->ForEach([&](const Table& block) {
    for (size_t c = 0; c < columns.size(); ++c) {
      for (const double value : block.column(columns[c].feature)) {
        if (!IsMissing(value)) values[c].push_back(value);
      }
    }
    return OkStatus();
  }));
  return RunInParallel(columns.size(), threads_, [&](size_t c) {
    std::sort(values[c].begin(), values[c].end());
    OfferWindows(values[c], columns[c]);
    values[c] = {};
    return OkStatus();
  });
}

namespace {

// Returns how many of the values, which rise, are the most frequent one.
int64_t LongestRun(absl::Span<const double> values) {
  size_t longest = 0, first = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != values[first]) first = i;
    longest = std::max(longest, i + 1 - first);
  }
  return static_cast<int64_t>(longest);
}

}  // namespace

void WindowSearch::OfferWindows(absl::Span<const double> values, Column& column) const {
  const Feature& feature = features_[column.feature];
  column.windows.clear();
  column.scores.clear();
  std::vector<uint32_t> offered(parts_.of_all.begin(), parts_.of_all.end());
  if (feature != column.declared) offered.push_back(parts_.of_narrowed);
  for (const uint32_t parts : offered) {
    const double width = (feature.max - feature.min) / parts;
    if (!(width >= column.least_width)) continue;
    const auto worth = std::llround(kWorthOfHalf * counted_ * std::log2(parts / kWorthless));
    for (uint32_t step = 0; step + 1 < 2 * parts; ++step) {
      const double low = feature.min + width / 2 * step;
      const NumberRange window = {.low = low, .high = low + width};
      const auto first = std::lower_bound(values.begin(), values.end(), window.low);
      const auto end = std::lower_bound(first, values.end(), window.high);
      const auto inside = values.subspan(static_cast<size_t>(first - values.begin()),
                                         static_cast<size_t>(end - first));
      column.windows.push_back(window);
      column.scores.push_back(static_cast<int64_t>(inside.size()) - LongestRun(inside) + worth);
    }
  }
}

std::vector<int64_t> WindowSearch::Scores() const {
  std::vector<int64_t> scores = {std::llround(kEnough * counted_)};
  for (const Column& column : columns_) {
    scores.insert(scores.end(), column.scores.begin(), column.scores.end());
  }
  return scores;
}

Status WindowSearch::Narrow(size_t candidate) {
  for (Column& column : columns_) {
    if (candidate <= column.windows.size()) {
      Feature& feature = features_[column.feature];
      const NumberRange& window = column.windows[candidate - 1];
      const double low = feature.integer ? std::floor(window.low) : window.low;
      const double high = feature.integer ? std::ceil(window.high) : window.high;
      feature.min = std::max(feature.min, low);
      feature.max = std::min(feature.max, high);
      return Offer(absl::Span<Column>(&column, 1));
    }
    candidate -= column.windows.size();
  }
  return OkStatus();
}

std::vector<Feature> WindowSearch::Features() const {
  std::vector<Feature> features = features_;
  for (const Column& column : columns_) {
    Feature& feature = features[column.feature];
    if (feature == column.declared) continue;
    const double margin = kMargin * (feature.max - feature.min);
    feature.min = std::max(feature.min - margin, column.declared.min);
    feature.max = std::min(feature.max + margin, column.declared.max);
    if (feature.integer) feature.min = std::floor(feature.min);
    if (feature.integer) feature.max = std::ceil(feature.max);
  }
  return features;
}

StatusOr<NarrowedBounds> NarrowBounds(const RowBlocks& rows, double counted,
                                      const BudgetShare& left, PrivateReleaser& releaser,
                                      uint32_t threads) {
  NarrowedBounds narrowed{.schema = rows.schema(), .left = left};
  const double nats = NatsOf(counted, left);
  if (!(nats >= kMinWindowNats)) return narrowed;
  COPPICE_ASSIGN_OR_RETURN(WindowSearch search, WindowSearch::Create(rows, counted, {}, threads));
  if (search.empty()) return narrowed;
  const double part = PartOf(nats, left);
  const auto most = static_cast<uint32_t>(
      std::min<double>(kMaxSelections, std::floor(kMaxNarrowingShare / part)));
  const StatusOr<TwoShares> first = Divide(left, part);
  if (!first.ok()) return narrowed;  // too small to be divided
  const uint64_t cost = first->part.amount();
  for (uint32_t i = 0; i < most; ++i) {
    COPPICE_ASSIGN_OR_RETURN(narrowed.left, left.WithAmount(left.amount() - (i + 1) * cost));
    COPPICE_ASSIGN_OR_RETURN(const size_t chosen,
                             releaser.Select(search.Scores(), first->part, /*range=*/1));
    if (chosen == 0) break;
    COPPICE_RETURN_IF_ERROR(search.Narrow(chosen));
  }
  std::vector<Feature> features = search.Features();
  for (size_t f = 0; f < features.size(); ++f) {
    if (features[f] != rows.schema().features()[f]) ++narrowed.columns;
  }
  COPPICE_ASSIGN_OR_RETURN(narrowed.schema, WithFeatures(rows.schema(), std::move(features)));
  return narrowed;
}

StatusOr<Schema> ExtendNarrowed(const Schema& schema, const Schema& narrowed,
                                absl::Span<const DerivedFeature> derived) {
  COPPICE_ASSIGN_OR_RETURN(const Schema extended, ExtendSchema(schema, derived));
  std::vector<Feature> features = extended.features();
  std::copy(narrowed.features().begin(), narrowed.features().end(), features.begin());
  for (size_t i = 0; i < derived.size(); ++i) {
    Feature& feature = features[schema.num_features() + i];
    feature.min = feature.max = 0;
    for (const DerivedTerm& term : derived[i]) {
      const Feature& part = schema.features()[term.feature];
      const Feature& between = narrowed.features()[term.feature];
      const double low = (between.min - part.min) / (part.max - part.min);
      const double high = (between.max - part.min) / (part.max - part.min);
      feature.min += term.minus ? -high : low;
      feature.max += term.minus ? -low : high;
    }
  }
  return WithFeatures(schema, std::move(features));
}

}  // namespace coppice::trainers
