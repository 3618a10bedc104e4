#include "common/predictor/tree_grower.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/schema/cut_between.h"

namespace coppice {
namespace {

constexpr double kMissingNumber = -std::numeric_limits<double>::infinity();

// A gain below this part of a cell's squares is rounding, and so is the difference of two gains.
constexpr double kRounding = 1e-10;

// A random cut takes the rows with a missing number off all others with this chance.
constexpr uint64_t kMissingCutOneIn = 8;

double MissingCategory(const Feature& feature) { return feature.other() + 1; }

double ValueToSortBy(const Feature& feature, double value) {
  if (!IsMissing(value)) return value;
  return feature.type == FeatureType::kNumeric ? kMissingNumber : MissingCategory(feature);
}

// What two sides of a cell know about their rows, updated row by row as a cut moves through the
// cell. A side of W rows whose answers add up to the vector S has squares |S|^2 / W around its own
// mean; the more the two sides' squares exceed the cell's, the less is left unexplained. With
// one-hot vectors of classes this is the Gini criterion. |S|^2 is kept, not summed anew: a row more
// changes it by a single product, however many classes there are.

// Rows of each class.
class ClassSides {
 public:
  ClassSides(const TreeTargets& targets, absl::Span<const uint32_t> drawn)
      : labels_(targets.labels),
        drawn_(drawn),
        all_(targets.classes),
        left_by_class_(targets.classes) {}

  // Makes these rows the cell, all of them on the right.
  void SetCell(absl::Span<const uint32_t> rows) {
    std::fill(all_.begin(), all_.end(), 0.0);
    rows_ = all_squares_ = 0;
    for (const uint32_t row : rows) {
      const double count = drawn_[row];
      double& of_class = all_[labels_[row]];
      all_squares_ += count * (2 * of_class + count);
      of_class += count;
      rows_ += count;
    }
    is_pure_ = all_[labels_[rows[0]]] >= rows_;
    right_by_class_ = all_;
    MoveAllBack({});
  }

  void MoveLeft(uint32_t row) {
    const double count = drawn_[row];
    double& on_left = left_by_class_[labels_[row]];
    double& on_right = right_by_class_[labels_[row]];
    left_squares_ += count * (2 * on_left + count);
    right_squares_ -= count * (2 * on_right - count);
    on_left += count;
    on_right -= count;
    left_ += count;
  }
  // `moved` are the rows on the left.
  void MoveAllBack(absl::Span<const uint32_t> moved) {
    for (const uint32_t row : moved) {
      left_by_class_[labels_[row]] = 0;
      right_by_class_[labels_[row]] = all_[labels_[row]];
    }
    left_ = left_squares_ = 0;
    right_squares_ = all_squares_;
  }

  double Gain() const {
    return left_squares_ / left_ + right_squares_ / (rows_ - left_) - all_squares_ / rows_;
  }
  double rounding() const { return kRounding * rows_; }
  bool is_pure() const { return is_pure_; }
  double rows() const { return rows_; }
  double left() const { return left_; }

 private:
  const absl::Span<const uint32_t> labels_;
  const absl::Span<const uint32_t> drawn_;
  std::vector<double> all_, left_by_class_, right_by_class_;
  double rows_ = 0, all_squares_ = 0;
  double left_ = 0, left_squares_ = 0, right_squares_ = 0;
  bool is_pure_ = false;
};

// Whether the numbers in a cell are the same, from the sum of their squares and the square of their
// sum, over the cell's rows.
bool AreEqual(double squares, double squared_sum, double rows) {
  constexpr double kEqual = 1e-12;
  return squares - squared_sum / rows <= kEqual * squares;
}

// One number per row.
class NumberSides {
 public:
  NumberSides(const TreeTargets& targets, absl::Span<const uint32_t> drawn)
      : numbers_(targets.numbers), drawn_(drawn) {}

  void SetCell(absl::Span<const uint32_t> rows) {
    rows_ = sum_ = squares_ = 0;
    for (const uint32_t row : rows) {
      const double count = drawn_[row];
      rows_ += count;
      sum_ += count * numbers_[row];
      squares_ += count * numbers_[row] * numbers_[row];
    }
    MoveAllBack({});
  }
  void MoveLeft(uint32_t row) {
    const double count = drawn_[row];
    left_ += count;
    left_sum_ += count * numbers_[row];
  }
  void MoveAllBack(absl::Span<const uint32_t> /*moved*/) { left_ = left_sum_ = 0; }

  double Gain() const {
    const double right_sum = sum_ - left_sum_;
    return left_sum_ * left_sum_ / left_ + right_sum * right_sum / (rows_ - left_) -
           sum_ * sum_ / rows_;
  }
  double rounding() const { return kRounding * squares_; }
  bool is_pure() const { return AreEqual(squares_, sum_ * sum_, rows_); }
  double rows() const { return rows_; }
  double left() const { return left_; }

 private:
  const absl::Span<const double> numbers_;
  const absl::Span<const uint32_t> drawn_;
  double rows_ = 0, sum_ = 0, squares_ = 0;
  double left_ = 0, left_sum_ = 0;
};

// Several numbers per row, whose gains add up. With L and T the vectors of sums on the left and in
// the cell, the right has |T - L|^2 = |T|^2 - 2 T L + |L|^2; a row's product with T is the same for
// every feature, so a step costs one product of vectors.
class VectorSides {
 public:
  VectorSides(const TreeTargets& targets, absl::Span<const uint32_t> drawn)
      : numbers_(targets.numbers.data()),
        columns_(targets.columns),
        drawn_(drawn),
        sum_(columns_),
        left_sum_(columns_),
        row_squares_(drawn.size()),
        row_products_(drawn.size()) {
    for (size_t row = 0; row < drawn.size(); ++row) {
      const double* numbers = NumbersOf(row);
      row_squares_[row] = std::inner_product(numbers, numbers + columns_, numbers, 0.0);
    }
  }

  void SetCell(absl::Span<const uint32_t> rows) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    rows_ = squares_ = 0;
    for (const uint32_t row : rows) {
      const double count = drawn_[row];
      const double* numbers = NumbersOf(row);
      rows_ += count;
      squares_ += count * row_squares_[row];
      for (size_t k = 0; k < columns_; ++k) sum_[k] += count * numbers[k];
    }
    for (const uint32_t row : rows) {
      row_products_[row] = std::inner_product(sum_.begin(), sum_.end(), NumbersOf(row), 0.0);
    }
    squared_sum_ = std::inner_product(sum_.begin(), sum_.end(), sum_.begin(), 0.0);
    MoveAllBack({});
  }
  void MoveLeft(uint32_t row) {
    const double count = drawn_[row];
    const double* numbers = NumbersOf(row);
    double product = 0;
    for (size_t k = 0; k < columns_; ++k) {
      product += left_sum_[k] * numbers[k];
      left_sum_[k] += count * numbers[k];
    }
    left_ += count;
    left_squares_ += count * (2 * product + count * row_squares_[row]);
    left_times_all_ += count * row_products_[row];
  }
  void MoveAllBack(absl::Span<const uint32_t> /*moved*/) {
    std::fill(left_sum_.begin(), left_sum_.end(), 0.0);
    left_ = left_squares_ = left_times_all_ = 0;
  }

  double Gain() const {
    const double right_squares = squared_sum_ - 2 * left_times_all_ + left_squares_;
    return left_squares_ / left_ + right_squares / (rows_ - left_) - squared_sum_ / rows_;
  }
  double rounding() const { return kRounding * squares_; }
  bool is_pure() const { return AreEqual(squares_, squared_sum_, rows_); }
  double rows() const { return rows_; }
  double left() const { return left_; }

 private:
  const double* NumbersOf(size_t row) const { return numbers_ + row * columns_; }

  const double* const numbers_;
  const size_t columns_;
  const absl::Span<const uint32_t> drawn_;
  std::vector<double> sum_, left_sum_;
  std::vector<double> row_squares_, row_products_;  // by row; the latter of the cell's rows
  double rows_ = 0, squares_ = 0, squared_sum_ = 0;
  double left_ = 0, left_squares_ = 0, left_times_all_ = 0;
};

// The best cut that was found so far in a cell.
struct FoundCut {
  double gain = 0;  // 0: none
  SplitKind kind = SplitKind::kLeaf;
  uint32_t feature = 0;
  double low = 0;   // numeric: the cut lies above this value,
  double high = 0;  // and at most at this one; category: the code
};

}  // namespace

struct GrowerMemory {
  struct Cell {
    uint32_t node = 0;
    uint32_t depth = 0;
    uint32_t begin = 0;  // positions in the lists of rows
    uint32_t end = 0;

    size_t size() const { return end - begin; }
  };

  std::vector<uint32_t> rows;                // the drawn rows, cell after cell
  std::vector<std::vector<uint32_t>> lists;  // the same by feature, in its order; only best cuts
  std::vector<uint8_t> goes_left;            // by row, for the current cut
  std::vector<uint32_t> on_right;            // scratch
  std::vector<uint32_t> features;            // in the order in which they are tried
  std::vector<Cell> cells;                   // a queue
};

namespace {

template <typename Sides>
class Growth {
  using Cell = GrowerMemory::Cell;

 public:
  Growth(const SortedFeatures& features, Sides sides, const GrowOptions& options,
         PublicRandom& random, GrowerMemory& memory, GrownTree& tree)
      : features_(features),
        sides_(std::move(sides)),
        options_(options),
        max_leaves_(std::min(options.max_leaves, kMaxNodes / 2)),
        random_(random),
        memory_(memory),
        tree_(tree) {}

  void Run() {
    tree_.nodes.assign(1, Node{});
    memory_.cells.assign(1, {.end = static_cast<uint32_t>(memory_.rows.size())});
    for (const uint32_t row : memory_.rows) tree_.leaf_of_row[row] = 0;
    for (size_t next = 0; next < memory_.cells.size() && leaves_ < max_leaves_; ++next) {
      const Cell cell = memory_.cells[next];
      FindCut(cell);
      if (best_.gain > 0) Divide(cell);
    }
  }

 private:
  absl::Span<const uint32_t> Part(const std::vector<uint32_t>& list, const Cell& cell) const {
    return absl::MakeConstSpan(list).subspan(cell.begin, cell.size());
  }

  void FindCut(const Cell& cell) {
    best_ = {};
    if (cell.size() < 2 || cell.depth == kMaxModelDepth) return;
    sides_.SetCell(Part(memory_.rows, cell));
    if (sides_.is_pure() || sides_.rows() < 2.0 * options_.min_rows) return;
    uint32_t tried = 0;
    for (size_t i = 0; i < memory_.features.size(); ++i) {
      if (tried >= options_.features_per_cell && best_.gain > 0) return;
      std::swap(memory_.features[i],
                memory_.features[i + random_.Below(memory_.features.size() - i)]);
      if (TryFeature(memory_.features[i], cell)) ++tried;
    }
  }

  // Returns false if the feature is constant in the cell.
  bool TryFeature(uint32_t feature, const Cell& cell) {
    const SortedFeatures::Column& column = features_.columns()[feature];
    if (options_.rule == CutRule::kBest) {
      const absl::Span<const uint32_t> sorted = Part(memory_.lists[feature], cell);
      if (column.values[sorted.front()] == column.values[sorted.back()]) return false;
      column.is_numeric ? TryThresholds(feature, column.values, sorted)
                        : TryCategories(feature, column.values, sorted);
      return true;
    }
    const absl::Span<const uint32_t> rows = Part(memory_.rows, cell);
    return column.is_numeric ? TryRandomThreshold(feature, column.values, rows)
                             : TryRandomCategory(feature, column.values, rows);
  }

  void TryThresholds(uint32_t feature, const std::vector<double>& values,
                     absl::Span<const uint32_t> sorted) {
    const double most = sides_.rows() - options_.min_rows;
    double value = values[sorted.front()];
    size_t moved = 0;
    for (; moved + 1 < sorted.size() && sides_.left() <= most;) {
      sides_.MoveLeft(sorted[moved++]);
      const double next = values[sorted[moved]];
      if (next == value) continue;
      KeepIfBetter({.kind = SplitKind::kNumeric, .feature = feature, .low = value, .high = next});
      value = next;
    }
    sides_.MoveAllBack(sorted.first(moved));
  }

  void TryCategories(uint32_t feature, const std::vector<double>& values,
                     absl::Span<const uint32_t> sorted) {
    for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
      const double category = values[sorted[begin]];
      for (; end < sorted.size() && values[sorted[end]] == category; ++end) {
        sides_.MoveLeft(sorted[end]);
      }
      KeepIfBetter({.kind = SplitKind::kCategory, .feature = feature, .high = category});
      sides_.MoveAllBack(sorted.subspan(begin, end - begin));
    }
  }

  bool TryRandomThreshold(uint32_t feature, const std::vector<double>& values,
                          absl::Span<const uint32_t> rows) {
    double low = std::numeric_limits<double>::infinity(), high = kMissingNumber;
    bool any_missing = false;
    for (const uint32_t row : rows) {
      const double value = values[row];
      any_missing = any_missing || value == kMissingNumber;
      if (value != kMissingNumber) low = std::min(low, value);
      high = std::max(high, value);
    }
    if (high == kMissingNumber || (low == high && !any_missing)) return false;
    FoundCut cut = {
        .kind = SplitKind::kNumeric, .feature = feature, .low = kMissingNumber, .high = low};
    if (low < high && !(any_missing && random_.Below(kMissingCutOneIn) == 0)) {
      const double drawn = low + (high - low) * random_.Unit();
      cut.low = cut.high = drawn > low && drawn <= high ? drawn : high;
    }
    for (const uint32_t row : rows) MoveLeftIf(values[row] < cut.high, row);
    KeepIfBetter(cut);
    sides_.MoveAllBack(rows);
    return true;
  }

  bool TryRandomCategory(uint32_t feature, const std::vector<double>& values,
                         absl::Span<const uint32_t> rows) {
    const double category = values[rows[random_.Below(rows.size())]];
    if (std::all_of(rows.begin(), rows.end(),
                    [&](uint32_t row) { return values[row] == category; })) {
      return false;
    }
    for (const uint32_t row : rows) MoveLeftIf(values[row] == category, row);
    KeepIfBetter({.kind = SplitKind::kCategory, .feature = feature, .high = category});
    sides_.MoveAllBack(rows);
    return true;
  }

  void MoveLeftIf(bool moves, uint32_t row) {
    if (moves) sides_.MoveLeft(row);
  }

  void KeepIfBetter(FoundCut cut) {
    if (sides_.left() < options_.min_rows || sides_.rows() - sides_.left() < options_.min_rows) {
      return;
    }
    cut.gain = sides_.Gain();
    if (cut.gain > best_.gain + sides_.rounding()) best_ = cut;
  }

  Node NodeOfBest() const {
    const Feature& feature = features_.schema().features()[best_.feature];
    Node node = {.kind = best_.kind, .feature = best_.feature};
    const bool of_missing = best_.kind == SplitKind::kNumeric
                                ? best_.low == kMissingNumber
                                : best_.high == MissingCategory(feature);
    if (of_missing) {
      node.kind = SplitKind::kMissing;
    } else if (best_.kind == SplitKind::kCategory) {
      node.threshold = best_.high;
    } else {
      node.missing_left = true;
      node.threshold = best_.low < best_.high ? CutBetween(feature, best_.low, best_.high)
                       : feature.integer      ? WholeCut(best_.high)
                                              : best_.high;
    }
    return node;
  }

  void Divide(const Cell& cell) {
    const std::vector<double>& values = features_.columns()[best_.feature].values;
    uint32_t left_rows = 0;
    for (const uint32_t row : Part(memory_.rows, cell)) {
      const double value = values[row];
      const bool left = best_.kind == SplitKind::kNumeric ? IsBelowCut(value) : value == best_.high;
      memory_.goes_left[row] = left ? 1 : 0;
      left_rows += left ? 1 : 0;
    }
    const auto first = static_cast<uint32_t>(tree_.nodes.size());
    Node& node = tree_.nodes[cell.node];
    node = NodeOfBest();
    node.left = first;
    node.right = first + 1;
    tree_.nodes.resize(first + 2);
    Separate(memory_.rows, cell);
    const uint32_t middle = cell.begin + left_rows;
    for (uint32_t i = cell.begin; i < cell.end; ++i) {
      tree_.leaf_of_row[memory_.rows[i]] = i < middle ? first : first + 1;
    }
    if (++leaves_ == max_leaves_) return;
    for (std::vector<uint32_t>& list : memory_.lists) Separate(list, cell);
    memory_.cells.push_back({first, cell.depth + 1, cell.begin, middle});
    memory_.cells.push_back({first + 1, cell.depth + 1, middle, cell.end});
  }

  // Two values are on the sides on which they were found, whatever rounding did to the threshold.
  bool IsBelowCut(double value) const {
    return best_.low < best_.high ? value <= best_.low : value < best_.high;
  }

  // Moves the rows that go left to the front of the cell and keeps their order.
  void Separate(std::vector<uint32_t>& list, const Cell& cell) {
    size_t left = cell.begin, right = 0;
    for (size_t i = cell.begin; i < cell.end; ++i) {
      const uint32_t row = list[i];
      list[left] = row;
      memory_.on_right[right] = row;
      left += memory_.goes_left[row];
      right += 1 - memory_.goes_left[row];
    }
    std::copy_n(memory_.on_right.begin(), right, list.begin() + static_cast<std::ptrdiff_t>(left));
  }

  const SortedFeatures& features_;
  Sides sides_;
  const GrowOptions& options_;
  const uint32_t max_leaves_;
  PublicRandom& random_;
  GrowerMemory& memory_;
  GrownTree& tree_;
  uint32_t leaves_ = 1;
  FoundCut best_;
};

}  // namespace

SortedFeatures::SortedFeatures(const Table& rows) : rows_(rows) {
  const std::vector<Feature>& features = rows.schema().features();
  columns_.resize(features.size());
  for (size_t f = 0; f < features.size(); ++f) {
    Column& column = columns_[f];
    column.is_numeric = features[f].type == FeatureType::kNumeric;
    column.values.reserve(rows.num_rows());
    for (const double value : rows.column(f)) {
      column.values.push_back(ValueToSortBy(features[f], value));
    }
    column.order.resize(rows.num_rows());
    std::iota(column.order.begin(), column.order.end(), 0u);
    std::stable_sort(column.order.begin(), column.order.end(),
                     [&](uint32_t a, uint32_t b) { return column.values[a] < column.values[b]; });
  }
}

TreeGrower::TreeGrower(const SortedFeatures& features)
    : features_(features), memory_(std::make_unique<GrowerMemory>()) {}

TreeGrower::~TreeGrower() = default;

void TreeGrower::Grow(const TreeTargets& targets, absl::Span<const uint32_t> drawn,
                      const GrowOptions& options, PublicRandom& random, GrownTree& tree) {
  GrowerMemory& memory = *memory_;
  const auto keep_drawn = [&](const std::vector<uint32_t>& from, std::vector<uint32_t>& to) {
    to.clear();
    std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                 [&](uint32_t row) { return drawn[row] > 0; });
  };
  memory.features.resize(features_.columns().size());
  std::iota(memory.features.begin(), memory.features.end(), 0u);
  memory.rows.resize(features_.num_rows());
  std::iota(memory.rows.begin(), memory.rows.end(), 0u);
  memory.rows.erase(std::remove_if(memory.rows.begin(), memory.rows.end(),
                                   [&](uint32_t row) { return drawn[row] == 0; }),
                    memory.rows.end());
  memory.lists.resize(options.rule == CutRule::kBest ? features_.columns().size() : 0);
  for (size_t f = 0; f < memory.lists.size(); ++f) {
    keep_drawn(features_.columns()[f].order, memory.lists[f]);
  }
  memory.goes_left.resize(features_.num_rows());
  memory.on_right.resize(features_.num_rows());
  tree.leaf_of_row.resize(features_.num_rows());
  const auto grow = [&](auto sides) {
    Growth(features_, std::move(sides), options, random, memory, tree).Run();
  };
  if (targets.are_classes()) {
    grow(ClassSides(targets, drawn));
  } else if (targets.columns == 1) {
    grow(NumberSides(targets, drawn));
  } else {
    grow(VectorSides(targets, drawn));
  }
}

void DrawBootstrap(absl::Span<const uint32_t> from, PublicRandom& random,
                   std::vector<uint32_t>& drawn) {
  std::fill(drawn.begin(), drawn.end(), 0u);
  for (size_t i = 0; i < from.size(); ++i) ++drawn[from[random.Below(from.size())]];
}

StatusOr<FinishedTree> FinishTree(absl::Span<const Node> grown, const Schema& schema,
                                  uint32_t max_leaves) {
  const size_t size = std::min<uint64_t>(grown.size(), NodesOfLeaves(max_leaves));
  std::vector<Node> nodes(grown.begin(), grown.begin() + static_cast<std::ptrdiff_t>(size));
  for (Node& node : nodes) {
    if (node.left >= size) node = Node{};
  }
  FinishedTree finished;
  std::vector<uint32_t> waiting = {0};  // numbers the leaves from left to right
  while (!waiting.empty()) {
    const uint32_t at = waiting.back();
    waiting.pop_back();
    if (nodes[at].kind == SplitKind::kLeaf) {
      finished.node_of_leaf.push_back(at);
    } else {
      waiting.insert(waiting.end(), {nodes[at].right, nodes[at].left});
    }
  }
  COPPICE_ASSIGN_OR_RETURN(finished.tree, Tree::Create(std::move(nodes), schema));
  return finished;
}

}  // namespace coppice
