#include "server/trainers/boosting/column_parts.h"

#include <algorithm>

namespace coppice::trainers {
namespace {

class PartPlanter {
 public:
  PartPlanter(const ColumnParts& parts, const FeatureBins& bins, uint32_t first_part,
              std::vector<Node>& nodes, std::vector<uint32_t>& part_of_node)
      : parts_(parts),
        bins_(bins),
        first_part_(first_part),
        nodes_(nodes),
        part_of_node_(part_of_node) {}

  void Runs(uint32_t at, uint32_t first, uint32_t end) {
    if (end - first == 1) {
      part_of_node_[at] = first_part_ + first;
      return;
    }
    const uint32_t middle = first + (end - first) / 2;
    Ask(at, {.kind = SplitKind::kNumeric,
             .missing_left = true,
             .feature = parts_.column,
             .threshold = bins_.cuts[parts_.first_bins[middle - 1] - 1]});
    const Node asked = nodes_[at];
    Runs(asked.left, first, middle);
    Runs(asked.right, middle, end);
  }
  void Categories(uint32_t at) {
    uint32_t part = first_part_;
    for (const uint32_t category : parts_.categories) {
      Ask(at, {.kind = SplitKind::kCategory,
               .feature = parts_.column,
               .threshold = static_cast<double>(category)});
      part_of_node_[nodes_[at].left] = part++;
      at = nodes_[at].right;
    }
    part_of_node_[at] = part;
  }

 private:
  void Ask(uint32_t at, const Node& question) {
    const auto left = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(left + 2);
    part_of_node_.resize(left + 2);
    nodes_[at] = question;
    nodes_[at].left = left;
    nodes_[at].right = left + 1;
  }

  const ColumnParts& parts_;
  const FeatureBins& bins_;
  const uint32_t first_part_;
  std::vector<Node>& nodes_;
  std::vector<uint32_t>& part_of_node_;
};

}  // namespace

std::vector<uint32_t> EvenRuns(const FeatureBins& bins, const Feature& feature, uint32_t first,
                               uint32_t end, uint32_t runs) {
  // Returns where a bin begins; the last one ends at a bound. There may be cuts beyond bounds that
  // were narrowed.
  const auto edge = [&](uint32_t bin) {
    if (bin == 0) return feature.min;
    if (bin >= bins.known) return feature.max;
    return std::clamp(bins.cuts[bin - 1], feature.min, feature.max);
  };
  const double low = edge(first), width = edge(end) - low;
  std::vector<uint32_t> run_of_bin;
  uint32_t run = 0, last_place = 0;
  for (uint32_t bin = first; bin < end; ++bin) {
    const double middle = (edge(bin) + edge(bin + 1)) / 2;
    const double part = width > 0 ? (middle - low) / width : 0;
    const auto place = static_cast<uint32_t>(std::clamp(part * runs, 0.0, runs - 1.0));
    if (bin > first && place != last_place) ++run;
    last_place = place;
    run_of_bin.push_back(run);
  }
  return run_of_bin;
}

std::vector<uint32_t> FirstBins(const std::vector<uint32_t>& run_of_bin, uint32_t first) {
  std::vector<uint32_t> firsts;
  for (uint32_t i = 1; i < run_of_bin.size(); ++i) {
    if (run_of_bin[i] != run_of_bin[i - 1]) firsts.push_back(first + i);
  }
  return firsts;
}

void PlantParts(const ColumnParts& parts, const FeatureBins& bins, uint32_t at, uint32_t first_part,
                std::vector<Node>& nodes, std::vector<uint32_t>& part_of_node) {
  PartPlanter planting(parts, bins, first_part, nodes, part_of_node);
  if (parts.categories.empty()) {
    planting.Runs(at, 0, static_cast<uint32_t>(parts.first_bins.size() + 1));
  } else {
    planting.Categories(at);
  }
}

}  // namespace coppice::trainers
