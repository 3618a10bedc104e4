#include "server/curator/partition/hybrid_grower.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/cut_between.h"
#include "server/curator/partition/number_labels.h"
#include "server/curator/partition/split_search.h"

namespace coppice::curator {
namespace {

// Decreases of rows * entropy within this tie, so rounding never picks the split.
constexpr double kLevel = 1e-9;
constexpr double kCategorySpread = 0.5;

HybridRows::Column NumericColumn(absl::Span<const double> values) {
  HybridRows::Column column;
  column.numeric = true;
  const size_t rows = values.size();
  column.order.resize(rows);
  std::iota(column.order.begin(), column.order.end(), 0u);
  std::sort(column.order.begin(), column.order.end(), [values](uint32_t a, uint32_t b) {
    const bool a_missing = IsMissing(values[a]), b_missing = IsMissing(values[b]);
    if (a_missing || b_missing) return a_missing != b_missing ? a_missing : a < b;
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
  column.code.resize(rows);
  for (size_t begin = 0; begin < rows;) {
    const double value = values[column.order[begin]];
    size_t end = begin;
    while (end < rows && (values[column.order[end]] == value ||
                          (IsMissing(value) && IsMissing(values[column.order[end]])))) {
      column.code[column.order[end++]] = column.codes;
    }
    ++column.codes;
    column.value.push_back(value);
    column.rank.push_back(static_cast<double>(begin + end) / 2 / static_cast<double>(rows));
    begin = end;
  }
  return column;
}

HybridRows::Column CategoricalColumn(absl::Span<const double> values, const Feature& feature) {
  HybridRows::Column column;
  const auto missing = static_cast<uint32_t>(feature.values.size()) + 1;  // after "other"
  column.codes = missing + 1;
  column.code.reserve(values.size());
  for (const double value : values) {
    column.code.push_back(IsMissing(value) ? missing : static_cast<uint32_t>(value));
  }
  return column;
}

// The rows' numbers, standardized; all 0 if they do not differ.
std::vector<double> StandardNumbers(const Table& rows) {
  std::vector<double> numbers(rows.num_rows());
  const double deviation = PlaceDeviation(rows);
  if (deviation == 0) return numbers;
  double mean = 0;
  for (size_t i = 0; i < numbers.size(); ++i) mean += numbers[i] = PlaceOf(rows, i) / deviation;
  mean /= static_cast<double>(numbers.size());
  for (double& number : numbers) number -= mean;
  return numbers;
}

// A cut: rows with a code below `code` (numeric) or equal to it (categorical) go left.
struct Cut {
  uint32_t feature = 0;
  uint32_t code = 0;
  double merit = 0;  // larger is better
};

// The rows of a node: a range of positions in the grower's lists.
struct NodeRows {
  uint32_t node = 0;
  uint32_t depth = 0;
  size_t begin = 0;
  size_t end = 0;
};

class HybridGrower {
 public:
  HybridGrower(const HybridRows& rows, absl::Span<const uint32_t> drawn,
               const HybridOptions& options, PublicRandom& random, const CancelCheck& cancel)
      : rows_(rows),
        drawn_(drawn),
        options_(options),
        random_(random),
        cancel_(cancel),
        lists_(rows.columns().size()),
        goes_left_(rows.num_rows()),
        order_(rows.columns().size()),
        all_(rows.classes()),
        left_(rows.classes()) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (uint32_t row = 0; row < rows.num_rows(); ++row) {
      if (drawn[row] > 0) rows_in_bag_.push_back(row);
    }
    for (size_t f = 0; f < lists_.size(); ++f) {
      for (const uint32_t row : rows.columns()[f].order) {
        if (drawn[row] > 0) lists_[f].push_back(row);
      }
    }
  }

  StatusOr<Tree> Grow() {
    nodes_.emplace_back();
    cells_.push_back({.node = 0, .depth = 0, .begin = 0, .end = rows_in_bag_.size()});
    size_t leaves = 1;
    while (!cells_.empty() && (options_.max_leaves == 0 || leaves < options_.max_leaves)) {
      COPPICE_RETURN_IF_ERROR(cancel_());
      const NodeRows cell = cells_.front();
      cells_.pop_front();
      const std::optional<Cut> cut = FindCut(cell);
      if (!cut.has_value()) continue;
      if (nodes_.size() + 2 > kMaxNodes) {
        return InvalidArgumentError(
            StrCat("the partition would have more than ", kMaxNodes, " nodes: raise min_leaf"));
      }
      Divide(cell, *cut);
      ++leaves;
    }
    return Tree::Create(std::move(nodes_), rows_.schema());
  }

 private:
  std::optional<Cut> FindCut(const NodeRows& cell) {
    if (cell.depth == options_.max_depth) return std::nullopt;
    // Labels first. A mixed cell in which no cut lowers the impurity is cut by spread as well: two
    // features may say something together that neither says alone.
    Count(cell);
    if (total_ < 2 * uint64_t{options_.min_leaf}) return std::nullopt;
    if (options_.few_features) Shuffle();
    if (mixed_) {
      std::optional<Cut> cut = BestOf([&](uint32_t f) {
        return rows_.columns()[f].numeric ? BestThreshold(f, cell) : BestCategory(f, cell);
      });
      if (cut.has_value()) return cut;
    }
    return BestOf([&](uint32_t f) { return SpreadCut(f, cell); });
  }

  void Count(const NodeRows& cell) {
    all_.assign(all_.size(), 0);
    for (const uint32_t row : Rows(cell)) all_[rows_.label(row)] += drawn_[row];
    total_ = std::accumulate(all_.begin(), all_.end(), uint64_t{0});
    if (!rows_.numbers().empty()) return CountNumbers(cell);
    mixed_ = *std::max_element(all_.begin(), all_.end()) < total_;
    // n times the entropy of counts c that add up to n is n log n - sum c log c. Kept this way, a
    // row that changes sides changes two entries of a table, and the loop takes no logarithm.
    const absl::Span<const double> f = rows_.x_log_x();
    sum_all_ = 0;
    for (const uint64_t count : all_) sum_all_ += f[count];
    impurity_ = f[total_] - sum_all_;
  }

  void CountNumbers(const NodeRows& cell) {
    number_all_ = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const uint32_t row : Rows(cell)) {
      const double number = rows_.numbers()[row];
      number_all_ += drawn_[row] * number;
      low = std::min(low, number);
      high = std::max(high, number);
    }
    mixed_ = low < high;
  }

  void Shuffle() {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.Below(i)]);
  }

  // The best cut of the considered features: all of them, or the first third of a random order and
  // then one after another until one can be cut.
  template <typename Find>
  std::optional<Cut> BestOf(Find find) const {
    const size_t first = options_.few_features ? (order_.size() + 2) / 3 : order_.size();
    std::optional<Cut> best;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i >= first && best.has_value()) break;
      const std::optional<Cut> cut = find(order_[i]);
      if (cut.has_value() && (!best.has_value() || cut->merit > best->merit + kLevel)) best = cut;
    }
    return best;
  }

  bool LeavesEnough(uint64_t left) const {
    return left >= options_.min_leaf && total_ - left >= options_.min_leaf;
  }

  // Counts on the left and the two sums of c log c, updated one row at a time.
  struct Sides {
    uint64_t left = 0;
    double sum_left = 0;
    double sum_right = 0;
    double number_left = 0;
  };
  Sides Start() {
    left_.assign(left_.size(), 0);
    return {.left = 0, .sum_left = 0, .sum_right = sum_all_};
  }
  void MoveLeft(uint32_t label, uint64_t count, Sides& sides) {
    const absl::Span<const double> f = rows_.x_log_x();
    const uint64_t before = left_[label], rest = all_[label] - before;
    left_[label] = before + count;
    sides.left += count;
    sides.sum_left += f[before + count] - f[before];
    sides.sum_right += f[rest - count] - f[rest];
  }
  void MoveRowLeft(uint32_t row, Sides& sides) {
    MoveLeft(rows_.label(row), drawn_[row], sides);
    if (!rows_.numbers().empty()) sides.number_left += drawn_[row] * rows_.numbers()[row];
  }
  // The decrease of the sum of squares around each side's mean, which for numbers takes the place
  // of the entropy: sum y^2 is the same before and after, so only the squared sums remain.
  double DecreaseOfSquares(const Sides& sides) const {
    const auto all = static_cast<double>(total_), left = static_cast<double>(sides.left);
    const double number_right = number_all_ - sides.number_left;
    return sides.number_left * sides.number_left / left +
           number_right * number_right / (all - left) - number_all_ * number_all_ / all;
  }
  double Decrease(const Sides& sides) const {
    if (!rows_.numbers().empty()) return DecreaseOfSquares(sides);
    const absl::Span<const double> f = rows_.x_log_x();
    return impurity_ - (f[sides.left] - sides.sum_left) -
           (f[total_ - sides.left] - sides.sum_right);
  }

  std::optional<Cut> BestThreshold(uint32_t feature, const NodeRows& cell) {
    const HybridRows::Column& column = rows_.columns()[feature];
    const absl::Span<const uint32_t> rows = List(feature, cell);
    std::optional<Cut> best;
    Sides sides = Start();
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      MoveRowLeft(rows[i], sides);
      const uint32_t next = column.code[rows[i + 1]];
      if (column.code[rows[i]] == next || !LeavesEnough(sides.left)) continue;
      Keep({.feature = feature, .code = next, .merit = Decrease(sides)}, best);
    }
    return best;
  }

  std::optional<Cut> BestCategory(uint32_t feature, const NodeRows& cell) {
    const HybridRows::Column& column = rows_.columns()[feature];
    const size_t classes = all_.size();
    categories_.assign(column.codes * classes, 0);
    numbers_of_category_.assign(column.codes, 0);
    for (const uint32_t row : Rows(cell)) {
      categories_[column.code[row] * classes + rows_.label(row)] += drawn_[row];
      if (rows_.numbers().empty()) continue;
      numbers_of_category_[column.code[row]] += drawn_[row] * rows_.numbers()[row];
    }
    std::optional<Cut> best;
    for (uint32_t code = 0; code < column.codes; ++code) {
      Sides sides = Start();
      for (uint32_t k = 0; k < classes; ++k) MoveLeft(k, categories_[code * classes + k], sides);
      sides.number_left = numbers_of_category_[code];
      if (!LeavesEnough(sides.left)) continue;
      Keep({.feature = feature, .code = code, .merit = Decrease(sides)}, best);
    }
    return best;
  }

  static void Keep(const Cut& cut, std::optional<Cut>& best) {
    if (cut.merit > kLevel && (!best.has_value() || cut.merit > best->merit + kLevel)) best = cut;
  }

  // The most even cut of a feature, with the feature's spread as merit.
  std::optional<Cut> SpreadCut(uint32_t feature, const NodeRows& cell) {
    const HybridRows::Column& column = rows_.columns()[feature];
    std::optional<Cut> best;
    uint64_t best_gap = std::numeric_limits<uint64_t>::max();
    const auto consider = [&](uint32_t code, uint64_t left, double spread) {
      const uint64_t gap = left * 2 > total_ ? left * 2 - total_ : total_ - left * 2;
      if (!LeavesEnough(left) || gap >= best_gap) return;
      best_gap = gap;
      best = Cut{.feature = feature, .code = code, .merit = spread};
    };
    if (column.numeric) {
      const absl::Span<const uint32_t> rows = List(feature, cell);
      const double spread =
          column.rank[column.code[rows.back()]] - column.rank[column.code[rows.front()]];
      uint64_t left = 0;
      for (size_t i = 0; i + 1 < rows.size(); ++i) {
        left += drawn_[rows[i]];
        const uint32_t next = column.code[rows[i + 1]];
        if (column.code[rows[i]] != next) consider(next, left, spread);
      }
      return best;
    }
    categories_.assign(column.codes, 0);
    for (const uint32_t row : Rows(cell)) categories_[column.code[row]] += drawn_[row];
    for (uint32_t code = 0; code < column.codes; ++code) {
      consider(code, categories_[code], kCategorySpread);
    }
    return best;
  }

  void Divide(const NodeRows& cell, const Cut& cut) {
    const HybridRows::Column& column = rows_.columns()[cut.feature];
    uint64_t left_drawn = 0;
    size_t left_rows = 0;
    for (const uint32_t row : Rows(cell)) {
      const uint32_t code = column.code[row];
      const bool left = column.numeric ? code < cut.code : code == cut.code;
      goes_left_[row] = left ? 1 : 0;
      left_drawn += left ? drawn_[row] : 0;
      left_rows += left ? 1 : 0;
    }
    Node& node = nodes_[cell.node];
    node = MakeNode(cut, cell, left_drawn);
    node.left = static_cast<uint32_t>(nodes_.size());
    node.right = node.left + 1;
    const uint32_t left = node.left;
    nodes_.resize(nodes_.size() + 2);
    Separate(rows_in_bag_, cell);
    for (std::vector<uint32_t>& list : lists_) {
      if (!list.empty()) Separate(list, cell);
    }
    const size_t middle = cell.begin + left_rows;
    cells_.push_back({.node = left, .depth = cell.depth + 1, .begin = cell.begin, .end = middle});
    cells_.push_back({.node = left + 1, .depth = cell.depth + 1, .begin = middle, .end = cell.end});
  }

  Node MakeNode(const Cut& cut, const NodeRows& cell, uint64_t left_drawn) const {
    const HybridRows::Column& column = rows_.columns()[cut.feature];
    Node node;
    node.feature = cut.feature;
    const auto missing = static_cast<uint32_t>(
        column.numeric ? 0 : rows_.schema().features()[cut.feature].values.size() + 1);
    if (!column.numeric && cut.code == missing) {
      node.kind = SplitKind::kMissing;
      return node;
    }
    node.kind = column.numeric ? SplitKind::kNumeric : SplitKind::kCategory;
    node.threshold = column.numeric ? Threshold(cut, cell) : cut.code;
    const bool shows_missing = AnyMissing(column, missing, cell);
    node.missing_left = shows_missing ? column.numeric : left_drawn * 2 >= total_;
    return node;
  }

  // Half-way between the values on the two sides. If the left has missing values only, the lowest
  // number: only missing values are below it.
  double Threshold(const Cut& cut, const NodeRows& cell) const {
    const HybridRows::Column& column = rows_.columns()[cut.feature];
    const absl::Span<const uint32_t> rows = List(cut.feature, cell);
    const auto right = std::partition_point(
        rows.begin(), rows.end(), [&](uint32_t row) { return column.code[row] < cut.code; });
    const double below = column.value[column.code[*(right - 1)]];
    const double above = column.value[cut.code];
    return IsMissing(below) ? above
                            : CutBetween(rows_.schema().features()[cut.feature], below, above);
  }

  bool AnyMissing(const HybridRows::Column& column, uint32_t missing, const NodeRows& cell) const {
    if (column.numeric && !IsMissing(column.value[0])) return false;
    const absl::Span<const uint32_t> rows = Rows(cell);
    return std::any_of(rows.begin(), rows.end(),
                       [&](uint32_t row) { return column.code[row] == missing; });
  }

  absl::Span<const uint32_t> Rows(const NodeRows& cell) const {
    return absl::MakeConstSpan(rows_in_bag_).subspan(cell.begin, cell.end - cell.begin);
  }
  absl::Span<const uint32_t> List(uint32_t feature, const NodeRows& cell) const {
    return absl::MakeConstSpan(lists_[feature]).subspan(cell.begin, cell.end - cell.begin);
  }

  // Moves the rows that go left to the front of the cell and keeps their order.
  void Separate(std::vector<uint32_t>& list, const NodeRows& cell) {
    right_.clear();
    size_t next = cell.begin;
    for (size_t i = cell.begin; i < cell.end; ++i) {
      const uint32_t row = list[i];
      if (goes_left_[row] != 0) {
        list[next++] = row;
      } else {
        right_.push_back(row);
      }
    }
    std::copy(right_.begin(), right_.end(), list.begin() + static_cast<std::ptrdiff_t>(next));
  }

  const HybridRows& rows_;
  const absl::Span<const uint32_t> drawn_;
  const HybridOptions& options_;
  PublicRandom& random_;
  const CancelCheck& cancel_;
  std::vector<uint32_t> rows_in_bag_;
  std::vector<std::vector<uint32_t>> lists_;  // by feature, in its order; empty if categorical
  std::vector<uint8_t> goes_left_;            // by row, for the current cut
  std::vector<uint32_t> right_;               // scratch
  std::vector<uint32_t> order_;               // in which features are considered
  std::vector<Node> nodes_;
  std::deque<NodeRows> cells_;
  // Counts of the current cell.
  std::vector<uint64_t> all_, left_, categories_;
  std::vector<double> numbers_of_category_;
  uint64_t total_ = 0;
  bool mixed_ = false;
  double sum_all_ = 0, impurity_ = 0;
  double number_all_ = 0;
};

}  // namespace

HybridRows::HybridRows(const Table& rows, bool use_labels)
    : rows_(rows),
      classes_(use_labels && !rows.schema().target() ? rows.schema().num_classes() : 1),
      label_(rows.num_rows(), 0),
      x_log_x_(rows.num_rows() + 1, 0) {
  if (use_labels && rows.schema().target()) {
    numbers_ = StandardNumbers(rows);
  } else if (use_labels) {
    label_.assign(rows.labels().begin(), rows.labels().end());
  }
  for (size_t x = 2; x < x_log_x_.size(); ++x) {
    x_log_x_[x] = static_cast<double>(x) * std::log2(static_cast<double>(x));
  }
  for (size_t f = 0; f < rows.schema().num_features(); ++f) {
    const Feature& feature = rows.schema().features()[f];
    columns_.push_back(feature.type == FeatureType::kNumeric
                           ? NumericColumn(rows.column(f))
                           : CategoricalColumn(rows.column(f), feature));
  }
}

StatusOr<Tree> GrowHybridTree(const HybridRows& rows, absl::Span<const uint32_t> drawn,
                              const HybridOptions& options, PublicRandom& random,
                              const CancelCheck& cancel) {
  return HybridGrower(rows, drawn, options, random, cancel).Grow();
}

}  // namespace coppice::curator
