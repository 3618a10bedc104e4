#include "server/trainers/boosting/boost_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/trainers/boosting/narrow_bounds.h"

namespace coppice::trainers {
namespace {

constexpr uint32_t kEvenCuts = 31;
// Mostly numeric tables use the most cuts that keep a node's bins, which cost time, and its sums,
// one per output, which cost memory, within these limits. The largest number also needs enough rows
// per class to tell cuts apart: docs/research/cuts.md.
constexpr std::array<uint32_t, 2> kFineCuts = {511, 255};
constexpr uint64_t kMaxFineBins = uint64_t{1} << 13;
constexpr uint64_t kMaxFineSums = uint64_t{1} << 17;
constexpr double kMinInformation511 = 64;  // rows per class, times epsilon
// Free of charge, and enough for bounds a million times as wide as the rows. Eight lose adult, its
// bounds 10^4 times wider, .013 of accuracy at epsilon 1; in tight tables more cost nothing that
// shows.
constexpr int kHalvings = 20;
// Found bounds may still be sixteen times as wide as the rows.
constexpr uint32_t kNarrowCuts = 127;
constexpr uint32_t kObliqueBins = 64;
constexpr size_t kOfEachSize = 32;  // pairs, and triples
constexpr uint64_t kSeed = 20220914;

// Returns the smallest number above `cut`: "below it" means "at most the cut".
double JustAbove(double cut) {
  return std::nextafter(cut, std::numeric_limits<double>::infinity());
}

std::vector<double> CutsBetween(const Feature& feature, uint32_t even) {
  const double low = feature.min, high = feature.max, span = high - low;
  std::vector<double> cuts;
  for (uint32_t i = 1; i <= even; ++i) cuts.push_back(low + span * i / (even + 1));
  const double zero = low < 0 && high > 0 ? 0 : low;
  cuts.push_back(zero);
  for (int k = 1; k <= kHalvings; ++k) {
    cuts.push_back(zero + std::ldexp(high - zero, -k));
    cuts.push_back(zero - std::ldexp(zero - low, -k));
  }
  std::erase_if(cuts, [&](double cut) { return cut < low || cut >= high; });
  return cuts;
}

std::vector<double> NumericCuts(const Feature& feature, uint32_t even, const Feature& narrowed) {
  if (!(feature.max - feature.min > 0)) return {};
  std::vector<double> cuts = CutsBetween(feature, narrowed == feature ? even : kEvenCuts);
  if (narrowed != feature) {
    const std::vector<double> more = CutsBetween(narrowed, std::max(even, kNarrowCuts));
    cuts.insert(cuts.end(), more.begin(), more.end());
  }
  for (double& cut : cuts) cut = feature.integer ? WholeCut(JustAbove(cut)) : JustAbove(cut);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

FeatureBins Numeric(std::vector<double> cuts) {
  FeatureBins bins{.type = FeatureType::kNumeric, .cuts = std::move(cuts)};
  bins.known = static_cast<uint32_t>(bins.cuts.size() + 1);
  return bins;
}

// Counts the signed sums of `size` of the features, in which the first has no minus.
uint64_t NumberOf(uint64_t features, uint64_t size) {
  if (features < size) return 0;
  return size == 2 ? features * (features - 1) : features * (features - 1) * (features - 2) / 6 * 4;
}

void AddOblique(const std::vector<uint32_t>& numeric, size_t size,
                std::vector<DerivedFeature>& derived) {
  const uint64_t wanted = std::min<uint64_t>(kOfEachSize, NumberOf(numeric.size(), size));
  std::set<std::vector<std::pair<uint32_t, bool>>> drawn;
  uint64_t counter = kSeed + size;
  while (drawn.size() < wanted) {
    std::set<uint32_t> features;
    while (features.size() < size) {
      features.insert(numeric[SplitMix(++counter) % numeric.size()]);
    }
    std::vector<std::pair<uint32_t, bool>> terms;
    for (const uint32_t feature : features) {
      terms.emplace_back(feature, !terms.empty() && SplitMix(++counter) % 2 == 1);
    }
    if (!drawn.insert(terms).second) continue;
    DerivedFeature& added = derived.emplace_back();
    for (const auto& [feature, minus] : terms) {
      added.push_back({.feature = feature, .minus = minus});
    }
  }
}

// Returns the numeric features of a mostly numeric table that has at least two; else none.
std::vector<uint32_t> MostlyNumeric(const Schema& schema) {
  std::vector<uint32_t> numeric;
  size_t categorical = 0;
  for (uint32_t f = 0; f < schema.num_features(); ++f) {
    const Feature& feature = schema.features()[f];
    if (feature.type == FeatureType::kCategorical) ++categorical;
    if (feature.type == FeatureType::kNumeric && feature.min < feature.max) numeric.push_back(f);
  }
  if (numeric.size() < std::max<size_t>(2 * categorical, 2)) numeric.clear();
  return numeric;
}

uint32_t EvenCuts(const Schema& schema, double information) {
  const uint64_t numeric = MostlyNumeric(schema).size();
  if (numeric == 0) return kEvenCuts;
  const uint64_t classes = schema.target() ? 1 : schema.num_classes();
  const uint64_t outputs = classes == 2 ? 1 : classes;
  const bool tells_apart = information >= kMinInformation511 * static_cast<double>(classes);
  for (const uint32_t cuts : kFineCuts) {
    if (cuts == kFineCuts[0] && !tells_apart) continue;
    const uint64_t bins = numeric * (cuts + 1);
    if (bins <= kMaxFineBins && bins * outputs <= kMaxFineSums) return cuts;
  }
  return kEvenCuts;
}

std::vector<DerivedFeature> ObliqueFeatures(const std::vector<uint32_t>& numeric) {
  std::vector<DerivedFeature> derived;
  AddOblique(numeric, 2, derived);
  AddOblique(numeric, 3, derived);
  return derived;
}

FeatureBins ObliqueBins(const Feature& feature) {
  std::vector<double> cuts;
  const double span = feature.max - feature.min;
  for (uint32_t i = 1; i < kObliqueBins; ++i) cuts.push_back(feature.min + span * i / kObliqueBins);
  return Numeric(std::move(cuts));
}

// Puts columns together, those of many bins first, each where there is room for it.
std::vector<JointColumn> PutTogether(const std::vector<FeatureBins>& bins) {
  std::vector<uint32_t> by_size(bins.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](uint32_t a, uint32_t b) { return bins[a].size() > bins[b].size(); });
  std::vector<JointColumn> joint;
  for (const uint32_t column : by_size) {
    const size_t size = bins[column].size();
    const auto room = std::find_if(joint.begin(), joint.end(), [&](const JointColumn& other) {
      return other.bins * size <= kMaxJointBins;
    });
    JointColumn& into = room == joint.end() ? joint.emplace_back() : *room;
    into.members.push_back({.column = column, .bins = size, .stride = into.bins});
    into.bins *= size;
  }
  std::stable_sort(joint.begin(), joint.end(),
                   [](const JointColumn& a, const JointColumn& b) { return a.bins < b.bins; });
  return joint;
}

BinColumn Combine(const BinnedRows& rows, const JointColumn& joint) {
  constexpr size_t kAtOnce = 1024;
  std::array<uint16_t, kAtOnce> bins, combined;
  BinColumn combinations(joint.bins, rows.num_rows());
  for (size_t first = 0; first < rows.num_rows(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, rows.num_rows() - first);
    std::fill(combined.begin(), combined.end(), uint16_t{0});
    for (const JointColumn::Member& member : joint.members) {
      rows.column(member.column).Get(first, absl::MakeSpan(bins).first(count));
      for (size_t i = 0; i < count; ++i) {
        combined[i] = static_cast<uint16_t>(combined[i] + bins[i] * member.stride);
      }
    }
    combinations.Set(first, absl::MakeConstSpan(combined).first(count));
  }
  return combinations;
}

}  // namespace

StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema, double information,
                                          const Schema& narrowed) {
  return BoostColumnsWithCuts(schema, EvenCuts(schema, information), narrowed);
}

StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema, double information) {
  return PublicBoostColumns(schema, information, schema);
}

StatusOr<BoostColumns> BoostColumnsWithCuts(const Schema& schema, uint32_t even_cuts,
                                            const Schema& narrowed) {
  BoostColumns columns;
  COPPICE_ASSIGN_OR_RETURN(columns.bins, PublicBins(schema, /*cuts=*/1));
  for (size_t f = 0; f < schema.num_features(); ++f) {
    const Feature& feature = schema.features()[f];
    if (feature.type == FeatureType::kNumeric) {
      columns.bins[f] = Numeric(NumericCuts(feature, even_cuts, narrowed.features()[f]));
    }
  }
  columns.derived = ObliqueFeatures(MostlyNumeric(schema));
  COPPICE_ASSIGN_OR_RETURN(const Schema extended,
                           ExtendNarrowed(schema, narrowed, columns.derived));
  for (size_t f = schema.num_features(); f < extended.num_features(); ++f) {
    columns.bins.push_back(ObliqueBins(extended.features()[f]));
  }
  return columns;
}

std::vector<FeatureBins> MostBoostBins(const Schema& schema, const BoostColumns& columns) {
  // Besides those that a column has whose bounds are not narrowed: the narrowed one's.
  constexpr uint32_t kMore = kEvenCuts + kNarrowCuts + 2 * (2 * kHalvings + 1);
  std::vector<FeatureBins> most = columns.bins;
  for (size_t f = 0; f < schema.num_features(); ++f) {
    if (!most[f].cuts.empty()) most[f].known += kMore;
  }
  return most;
}

void AddSumsOfMember(const JointColumn::Member& member, absl::Span<const int64_t> joint,
                     absl::Span<int64_t> sums) {
  for (size_t at = 0; at < joint.size();) {
    for (size_t bin = 0; bin < member.bins; ++bin) {
      for (size_t i = 0; i < member.stride; ++i) sums[bin] += joint[at++];
    }
  }
}

JointColumns::JointColumns(const BinnedRows& rows) : rows_(rows), joint_(PutTogether(rows.bins())) {
  for (JointColumn& joint : joint_) {
    if (joint.members.size() == 1) {
      joint.bin_of_row = &rows.column(joint.members[0].column);
    } else {
      joint.bin_of_row = &combinations_.emplace_back(Combine(rows, joint));
    }
  }
}

}  // namespace coppice::trainers
