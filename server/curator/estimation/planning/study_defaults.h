// What the curator chooses where an operator leaves something open: the one place of a study's
// defaults. Terminal, Python and console send what they were given and nothing else; the answer
// (the study's partition, settings and terms, a model's certificate, the outlooks of a forecast)
// says what was chosen.
//
// Choices that depend on public rows are made elsewhere, and asked for here: the size of a forest
// (forest_size.h), the mechanism (mechanism_choice.h), the range of numbers (number_labels.h).

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_STUDY_DEFAULTS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_STUDY_DEFAULTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/schema/schema.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// A model of no reports says only what the public rows say, so it must be asked for.
inline constexpr uint64_t kDefaultMinReports = 1;
// A tenth of a relay's batch is assumed to hide nobody.
inline constexpr uint32_t kDefaultDishonestMillionths = 100'000;
// 1e-8, or a tenth of one in the smallest batch if that is less.
inline constexpr uint64_t kDefaultRelayDeltaAtto = 10'000'000'000;
// What a forecast is made for: each epsilon with each number of devices.
inline constexpr uint64_t kForecastEpsilonNanos[] = {500'000'000, 1'000'000'000, 2'000'000'000,
                                                     4'000'000'000, 8'000'000'000};
inline constexpr uint64_t kForecastDevices[] = {1'000, 10'000, 100'000};

// A partition as an operator asks for it: what is not given is open.
struct PartitionRequest {
  std::optional<SplitRule> rule{};
  std::optional<Criterion> criterion{};
  std::optional<uint32_t> max_depth{};
  std::optional<uint32_t> min_leaf{};
  std::optional<uint32_t> trees{};
  std::optional<uint64_t> seed{};
  uint32_t max_leaves = 0;
  bool use_labels = true;
  bool from_schema = false;
  std::string by_feature{};
};

struct PartitionChoice {
  PartitionOptions options;
  bool choose_size = false;  // by ChooseForestSize(), from the public rows
};

// Unless something else is asked for: trees by random_cut, small enough to correct a predictor that
// the same rows make (kCorrectionLeaves); in a study by a feature, the hybrid rule's forest, whose
// size the public rows decide. A single tree by
// the paper's rule where depth, least leaf or trees are given without a rule. Without labels only
// the hybrid rule has something to go by.
PartitionChoice ChoosePartition(const PartitionRequest& request);

// The estimator of a model that names none: `smooth` where the study's trees were grown to
// correct, `pooled` otherwise. It follows the partition, so a study keeps the one it began with.
EstimatorKind ChooseEstimator(const PartitionOptions& partition);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_STUDY_DEFAULTS_H_
