#include "server/curator/partition/from_schema.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/cut_between.h"
#include "server/curator/partition/split_search.h"

namespace coppice::curator {
namespace {

// The middles of equal parts of a range, or the codes of a vocabulary in equal parts.
double ValueAt(const Feature& feature, size_t place) {
  if (feature.type != FeatureType::kNumeric) {
    return static_cast<double>(place * feature.values.size() / kSchemaRows);
  }
  const double part = (static_cast<double>(place) + 0.5) / static_cast<double>(kSchemaRows);
  // Rounding must neither leave the range nor tell equal ends apart.
  const double value =
      std::clamp(feature.min + (feature.max - feature.min) * part, feature.min, feature.max);
  return feature.integer ? std::round(value) : value;
}

// The remaining part of a feature in a cell. Lengths are as in grow_tree.cc.
struct Edge {
  double length = 0;
  double low = 0, high = 0;  // numeric
  size_t next = 0;           // categorical: the categories before it have left
};

// Rounds the edge to the whole numbers inside it; a single one cannot be cut.
void HoldToWhole(Edge& edge) {
  edge.low = std::ceil(edge.low);
  edge.high = std::floor(edge.high);
  if (edge.low == edge.high) edge.length = 0;
}

struct OpenCell {
  uint32_t node = 0;
  uint32_t depth = 0;
  std::vector<Edge> edges;
};

class SchemaGrower {
 public:
  SchemaGrower(const Schema& schema, const PartitionOptions& options, PublicRandom& random)
      : schema_(schema), options_(options), random_(random) {
    OpenCell root;
    for (const Feature& feature : schema.features()) {
      const bool flat = feature.type == FeatureType::kNumeric && !(feature.min < feature.max);
      root.edges.push_back({.length = flat ? 0.0 : 1.0, .low = feature.min, .high = feature.max});
    }
    cells_.push_back(std::move(root));
    nodes_.emplace_back();
  }

  StatusOr<Tree> Grow(const CancelCheck& cancel) && {
    while (!cells_.empty()) {
      COPPICE_RETURN_IF_ERROR(cancel());
      const OpenCell cell = std::move(cells_.back());
      cells_.pop_back();
      if (cell.depth == options_.max_depth || LongestOf(cell) == 0) continue;
      if (nodes_.size() + 2 > kMaxNodes / options_.trees) {
        return InvalidArgumentError(StrCat("the partition would have more than ", kMaxNodes,
                                           " nodes: lower max_depth or use fewer trees"));
      }
      Divide(cell, ChooseFeature(cell));
    }
    return Tree::Create(std::move(nodes_), schema_);
  }

 private:
  static double LongestOf(const OpenCell& cell) {
    double longest = 0;
    for (const Edge& edge : cell.edges) longest = std::max(longest, edge.length);
    return longest;
  }

  uint32_t ChooseFeature(const OpenCell& cell) {
    const double longest = LongestOf(cell);
    std::vector<uint32_t> features;
    for (uint32_t f = 0; f < cell.edges.size(); ++f) {
      if (cell.edges[f].length >= longest - kTie) features.push_back(f);
    }
    return options_.rule == SplitRule::kRandomMaxEdge ? features[random_.Below(features.size())]
                                                      : features.front();
  }

  void Divide(const OpenCell& cell, uint32_t feature) {
    const auto left = static_cast<uint32_t>(nodes_.size());
    Node node{.missing_left = true, .feature = feature, .left = left, .right = left + 1};
    OpenCell left_cell{.node = left, .depth = cell.depth + 1, .edges = cell.edges};
    OpenCell right_cell{.node = left + 1, .depth = cell.depth + 1, .edges = cell.edges};
    Edge& on_left = left_cell.edges[feature];
    Edge& on_right = right_cell.edges[feature];
    const Feature& cut = schema_.features()[feature];
    if (cut.type == FeatureType::kNumeric) {
      node.kind = SplitKind::kNumeric;
      node.threshold = CutBetween(cut, on_left.low, on_left.high);
      on_left.high = on_right.low = node.threshold;
      on_left.length = on_right.length = on_left.length / 2;
      if (cut.integer) {
        HoldToWhole(on_left);
        HoldToWhole(on_right);
      }
    } else {
      // All categories of the vocabulary and "other".
      const size_t all = schema_.features()[feature].values.size() + 1;
      node.kind = SplitKind::kCategory;
      node.threshold = static_cast<double>(on_right.next++);
      const size_t remaining = all - on_right.next;
      on_right.length =
          remaining > 1 ? static_cast<double>(remaining) / static_cast<double>(all) : 0;
      on_left.length = 0;
    }
    nodes_[cell.node] = node;
    nodes_.resize(nodes_.size() + 2);
    cells_.push_back(std::move(right_cell));
    cells_.push_back(std::move(left_cell));
  }

  const Schema& schema_;
  const PartitionOptions& options_;
  PublicRandom& random_;
  std::vector<Node> nodes_;
  std::vector<OpenCell> cells_;  // a stack: depth first, left before right
};

}  // namespace

StatusOr<Table> RowsFromSchema(const std::shared_ptr<const Schema>& schema, uint64_t seed) {
  if (schema->num_features() > kMaxFeaturesFromSchema) {
    return InvalidArgumentError(StrCat("a partition without public rows takes at most ",
                                       kMaxFeaturesFromSchema, " features, and the schema has ",
                                       schema->num_features()));
  }
  std::vector<std::vector<double>> columns;
  for (size_t f = 0; f < schema->num_features(); ++f) {
    PublicRandom random(seed, f);
    std::vector<size_t> places(kSchemaRows);
    std::iota(places.begin(), places.end(), size_t{0});
    for (size_t i = kSchemaRows; i > 1; --i) std::swap(places[i - 1], places[random.Below(i)]);
    std::vector<double>& column = columns.emplace_back();
    for (const size_t place : places) column.push_back(ValueAt(schema->features()[f], place));
  }
  Table table(schema);
  table.Reserve(kSchemaRows);
  Row row(schema->num_features());
  for (size_t i = 0; i < kSchemaRows; ++i) {
    for (size_t f = 0; f < row.size(); ++f) row[f] = columns[f][i];
    if (const std::optional<Target>& target = schema->target()) {
      table.AppendTarget(row, target->min + target->span() / 2);
    } else {
      table.Append(row, /*label=*/0);
    }
  }
  return table;
}

StatusOr<Tree> GrowTreeFromSchema(const Schema& schema, const PartitionOptions& options,
                                  PublicRandom& random, const CancelCheck& cancel) {
  return SchemaGrower(schema, options, random).Grow(cancel);
}

}  // namespace coppice::curator
