#include "server/trainers/boosting/narrow_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

WindowSearch::WindowSearch(const Table& rows, double counted, WindowParts parts)
    : rows_(rows), counted_(counted), parts_(parts), features_(rows.schema().features()) {
  for (uint32_t f = 0; f < features_.size(); ++f) {
    if (features_[f].type != FeatureType::kNumeric) continue;
    if (!(features_[f].max - features_[f].min > 0)) continue;
    const double span = features_[f].max - features_[f].min;
    Column& column = columns_.emplace_back(
        Column{.declared = features_[f],
               .feature = f,
               .least_width = features_[f].integer ? kNarrowestOfIntegers : kNarrowest * span});
    Offer(column);
  }
}

std::vector<WindowSearch::Run> WindowSearch::RunsOf(uint32_t feature) const {
  std::vector<double> values(rows_.column(feature).begin(), rows_.column(feature).end());
  std::erase_if(values, IsMissing);
  std::sort(values.begin(), values.end());
  std::vector<Run> runs;
  for (const double value : values) {
    if (runs.empty() || runs.back().value != value) runs.push_back({.value = value});
    ++runs.back().rows;
  }
  return runs;
}

void WindowSearch::Offer(Column& column) const {
  const Feature& feature = features_[column.feature];
  column.windows.clear();
  column.scores.clear();
  const std::vector<Run> runs = RunsOf(column.feature);
  std::vector<uint32_t> offered(parts_.of_all.begin(), parts_.of_all.end());
  if (feature != column.declared) offered.push_back(parts_.of_narrowed);
  for (const uint32_t parts : offered) {
    const double width = (feature.max - feature.min) / parts;
    if (!(width >= column.least_width)) continue;
    const auto worth = std::llround(kWorthOfHalf * counted_ * std::log2(parts / kWorthless));
    for (uint32_t step = 0; step + 1 < 2 * parts; ++step) {
      const double low = feature.min + width / 2 * step;
      const NumberRange window = {.low = low, .high = low + width};
      const auto before = [](const Run& run, double edge) { return run.value < edge; };
      const auto first = std::lower_bound(runs.begin(), runs.end(), window.low, before);
      const auto end = std::lower_bound(first, runs.end(), window.high, before);
      int64_t all = 0, most = 0;
      for (auto run = first; run != end; ++run) {
        all += run->rows;
        most = std::max(most, run->rows);
      }
      column.windows.push_back(window);
      column.scores.push_back(all - most + worth);
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

void WindowSearch::Narrow(size_t candidate) {
  for (Column& column : columns_) {
    if (candidate <= column.windows.size()) {
      Feature& feature = features_[column.feature];
      const NumberRange& window = column.windows[candidate - 1];
      const double low = feature.integer ? std::floor(window.low) : window.low;
      const double high = feature.integer ? std::ceil(window.high) : window.high;
      feature.min = std::max(feature.min, low);
      feature.max = std::min(feature.max, high);
      Offer(column);
      return;
    }
    candidate -= column.windows.size();
  }
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

StatusOr<NarrowedBounds> NarrowBounds(const Table& rows, double counted, const BudgetShare& left,
                                      PrivateReleaser& releaser) {
  NarrowedBounds narrowed{.schema = rows.schema(), .left = left};
  const double nats = NatsOf(counted, left);
  if (!(nats >= kMinWindowNats)) return narrowed;
  WindowSearch search(rows, counted);
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
    search.Narrow(chosen);
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
