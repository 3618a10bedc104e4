#include "server/curator/estimation/counts/consistent_counts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/public_values.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {
namespace {

constexpr double kEstimateUnit = 1 << 20;
constexpr double kVarianceUnit = 1 << 10;
constexpr size_t kReports = 0, kElsewhere = 1, kThere = 2, kEstimates = 3;

// Second moments, over the classes, of what a report adds to the margin of a leaf: one that its row
// is not in, and the one that it is in.
struct MarginMoments {
  double elsewhere = 0;
  double there = 0;
};

// A number half-way between the middle of its range and an end stands for all numbers where their
// moments differ.
MarginMoments MomentsOf(const LocalMechanism& mechanism) {
  if (mechanism.window()) {
    constexpr double kPlace = 0.75;
    constexpr double kSquare = 0.25;  // of the margin there
    const double moment = mechanism.MarginVariance(kPlace) + kSquare;
    return {.elsewhere = moment, .there = moment};
  }
  const auto classes = static_cast<double>(mechanism.domain().classes);
  std::vector<NoiseVariance> noise;
  double more = 0;  // extra in the row's own leaf
  for (uint32_t k = 0; k < mechanism.domain().classes; ++k) {
    const NoiseVariance& of_class = noise.emplace_back(mechanism.Variance(k));
    const auto of = [&](const NoiseVariance::Hit& hit) {
      return hit.label + hit.leaf / (classes * classes) - 2 * hit.covariance / classes;
    };
    const double mean = (of(of_class.hit) + (classes - 1) * of(of_class.beside)) / classes;
    more = std::max(more, classes * classes / (classes - 1) * mean);
  }
  const double elsewhere = MarginNoise(noise);
  return {.elsewhere = elsewhere, .there = std::max(elsewhere + more + 1, 0.0)};
}

// A split by a public feature sends a report to one side, a split by a private feature to both.
size_t MostConsistentLeaves(const Tree& tree, const Schema& schema) {
  const absl::Span<const Node> nodes = tree.nodes();
  std::vector<size_t> most(nodes.size(), 1);
  for (size_t at = nodes.size(); at-- > 0;) {
    const Node& node = nodes[at];
    if (node.kind == SplitKind::kLeaf) continue;
    const size_t left = most[node.left], right = most[node.right];
    most[at] = schema.features()[node.feature].is_public ? std::max(left, right) : left + right;
  }
  return most[0];
}

int64_t Rounded(double value, double unit) { return std::llround(value * unit); }
int64_t RoundedUp(double value, double unit) {
  return static_cast<int64_t>(std::ceil(value * unit));
}

}  // namespace

MechanismsBySize::MechanismsBySize(MechanismKind kind, const Budget& epsilon, const Domain& largest)
    : kind_(kind), epsilon_(epsilon), largest_(largest), by_leaves_(largest.leaves + size_t{1}) {}

StatusOr<std::shared_ptr<MechanismsBySize>> MechanismsBySize::Create(MechanismKind kind,
                                                                     const Budget& epsilon,
                                                                     const Domain& largest) {
  COPPICE_RETURN_IF_ERROR(MakeLocalMechanism(kind, epsilon, largest).status());
  return std::shared_ptr<MechanismsBySize>(new MechanismsBySize(kind, epsilon, largest));
}

const LocalMechanism& MechanismsBySize::For(uint32_t leaves) {
  const MutexLock lock(mutex_);
  std::unique_ptr<LocalMechanism>& made = by_leaves_[leaves];
  // A mechanism that can be made for the most leaves can be made for fewer.
  if (made == nullptr) {
    Domain domain = largest_;
    domain.leaves = leaves;
    made = *MakeLocalMechanism(kind_, epsilon_, domain);
  }
  return *made;
}

ConsistentCounter::ConsistentCounter(const Tree& tree, std::shared_ptr<const Schema> schema,
                                     std::shared_ptr<MechanismsBySize> mechanisms)
    : tree_(tree),
      schema_(std::move(schema)),
      mechanisms_(std::move(mechanisms)),
      leaves_(tree.num_leaves()),
      most_leaves_(MostConsistentLeaves(tree, *schema_)),
      margins_only_(mechanisms_->For(1).margins_only()),
      stride_(kEstimates + (margins_only_ ? 1 : mechanisms_->classes())) {}

std::vector<uint32_t> ConsistentCounter::LeavesOf(RowView row) const {
  return ConsistentLeaves(tree_, *schema_, row);
}

void ConsistentCounter::AddChecked(absl::Span<const uint32_t> leaves, const Contribution& report,
                                   absl::Span<int64_t> sums) const {
  const LocalMechanism& mechanism = MechanismFor(leaves.size());
  std::vector<int64_t> own(mechanism.sum_size());
  mechanism.AddAll({report}, absl::MakeSpan(own));
  const LeafCounts said = mechanism.Estimate(own, 1);
  const MarginMoments moments = MomentsOf(mechanism);
  for (uint32_t at = 0; at < leaves.size(); ++at) {
    const absl::Span<int64_t> leaf = sums.subspan(leaves[at] * stride_, stride_);
    leaf[kReports] += 1;
    leaf[kElsewhere] += RoundedUp(moments.elsewhere, kVarianceUnit);
    leaf[kThere] += RoundedUp(moments.there, kVarianceUnit);
    if (margins_only_) {
      leaf[kEstimates] += Rounded(2 * said.at(at, 1), kEstimateUnit);
      continue;
    }
    for (uint32_t k = 0; k < said.classes; ++k) {
      leaf[kEstimates + k] += Rounded(said.at(at, k), kEstimateUnit);
    }
  }
}

std::vector<double> ConsistentCounter::ReportsAbout(const TreeSums& sums) const {
  std::vector<double> reports;
  for (size_t leaf = 0; leaf < leaves_; ++leaf) {
    reports.push_back(static_cast<double>(sums.sums[leaf * stride_ + kReports]));
  }
  return reports;
}

std::vector<uint64_t> ConsistentCounter::ReportsAtNodes(absl::Span<const int64_t> sums) const {
  const absl::Span<const Node> nodes = tree_.nodes();
  std::vector<uint64_t> at_node(nodes.size());
  for (size_t at = nodes.size(); at-- > 0;) {
    const Node& node = nodes[at];
    if (node.kind == SplitKind::kLeaf) {
      const size_t leaf = tree_.first_leaf(static_cast<uint32_t>(at));
      at_node[at] = static_cast<uint64_t>(sums[leaf * stride_ + kReports]);
      continue;
    }
    const bool is_public = schema_->features()[node.feature].is_public;
    at_node[at] = at_node[node.left] + (is_public ? at_node[node.right] : 0);
  }
  return at_node;
}

TreeSums ConsistentCounter::OfAllCopies(const TreeSums& by_value) const {
  TreeSums all = {.sums = std::vector<int64_t>(sum_size()), .reports = by_value.reports};
  for (size_t i = 0; i < by_value.sums.size(); ++i) {
    all.sums[i % sum_size()] += by_value.sums[i];
  }
  return all;
}

TreeSums ConsistentCounter::OfCopy(const TreeSums& by_value, uint32_t copy) const {
  const auto of_copy = absl::MakeConstSpan(by_value.sums).subspan(copy * sum_size(), sum_size());
  return {.sums = {of_copy.begin(), of_copy.end()}, .reports = ReportsAtNodes(of_copy)[0]};
}

LeafCounts ConsistentCounter::Estimate(const TreeSums& sums) const {
  LeafCounts counts = {
      .classes = mechanisms_->classes(), .leaf = std::vector<double>(leaves_), .label = {}};
  for (size_t leaf = 0; leaf < leaves_; ++leaf) {
    const int64_t* estimates = &sums.sums[leaf * stride_ + kEstimates];
    if (margins_only_) {
      const double half = static_cast<double>(*estimates) / kEstimateUnit / 2;
      counts.label.insert(counts.label.end(), {-half, half});
      continue;
    }
    for (uint32_t k = 0; k < counts.classes; ++k) {
      const double count = static_cast<double>(estimates[k]) / kEstimateUnit;
      counts.label.push_back(count);
      counts.leaf[leaf] += count;
    }
  }
  return counts;
}

StatusOr<PrivateCounts> ConsistentCounter::Counts(const TreeSums& sums,
                                                  const PublicCounts& public_counts) const {
  if (sums.sums.size() != sum_size() || public_counts.consistent_share.size() != leaves_) {
    return InvalidArgumentError(StrCat("there are ", sums.sums.size(), " sums and shares of ",
                                       public_counts.consistent_share.size(),
                                       " leaves, but a tree with ", leaves_,
                                       " leaves and public features has ", sum_size(), " sums"));
  }
  PrivateCounts result;
  result.reports = sums.reports;
  result.has_masses = !margins_only_;
  result.counts = Estimate(sums);
  const uint32_t classes = result.counts.classes;
  for (uint32_t k = 0; k < classes; ++k) {
    result.noise.push_back(MechanismFor(most_leaves_).Variance(k));
  }
  ConsistentEvidence& evidence = result.consistent.emplace();
  evidence.reports = ReportsAbout(sums);
  for (size_t at = 0; at < leaves_; ++at) {
    const auto leaf = absl::MakeConstSpan(sums.sums).subspan(at * stride_, stride_);
    const double share = public_counts.consistent_share[at];
    const double rows = evidence.rows.emplace_back(share * evidence.reports[at]);
    evidence.variance.push_back((share * static_cast<double>(leaf[kThere]) +
                                 (1 - share) * static_cast<double>(leaf[kElsewhere])) /
                                kVarianceUnit);
    if (!margins_only_) continue;
    result.counts.leaf[at] = rows;
    for (uint32_t k = 0; k < classes; ++k) result.counts.label[at * classes + k] += rows / classes;
  }
  return result;
}

std::vector<double> ConsistentShares(const Tree& tree, const Table& public_rows,
                                     absl::Span<const uint64_t> rows_in_leaf) {
  constexpr double kPathRows = 2;  // weight of the path's shares, in rows
  const Schema& schema = public_rows.schema();
  std::vector<double> consistent(tree.num_leaves());
  Row row;
  for (size_t i = 0; i < public_rows.num_rows(); ++i) {
    public_rows.CopyRow(i, row);
    for (const uint32_t leaf : ConsistentLeaves(tree, schema, row)) consistent[leaf] += 1;
  }
  const absl::Span<const Node> nodes = tree.nodes();
  std::vector<double> rows(nodes.size());
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    rows[tree.leaf_node(leaf)] = static_cast<double>(rows_in_leaf[leaf]);
  }
  for (size_t at = nodes.size(); at-- > 0;) {
    if (nodes[at].kind != SplitKind::kLeaf) rows[at] = rows[nodes[at].left] + rows[nodes[at].right];
  }
  std::vector<double> path(nodes.size(), 1);
  for (size_t at = 0; at < nodes.size(); ++at) {
    const Node& node = nodes[at];
    if (node.kind == SplitKind::kLeaf) continue;
    const bool is_public = schema.features()[node.feature].is_public;
    for (const uint32_t child : {node.left, node.right}) {
      path[child] = path[at] * (is_public ? 1 : (rows[child] + 0.5) / (rows[at] + 1));
    }
  }
  std::vector<double> shares;
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    const uint32_t node = tree.leaf_node(leaf);
    shares.push_back((rows[node] + kPathRows * path[node]) / (consistent[leaf] + kPathRows));
  }
  return shares;
}

StatusOr<std::vector<ConsistentEvidence>> ExpectEvidence(const Forest& forest,
                                                         const Table& public_rows,
                                                         MechanismKind kind, const Budget& epsilon,
                                                         double devices) {
  const Schema& schema = public_rows.schema();
  const double reports_per_row = devices / static_cast<double>(forest.size()) /
                                 static_cast<double>(std::max<size_t>(public_rows.num_rows(), 1));
  std::map<size_t, MarginMoments> moments_of;  // by number of leaves
  std::vector<ConsistentEvidence> expected;
  Row row;
  for (const Tree& tree : forest) {
    const uint32_t leaves = tree.num_leaves();
    const PublicCounts counts = CountPublicRows(tree, public_rows);
    const Domain largest = {.leaves = static_cast<uint32_t>(MostConsistentLeaves(tree, schema)),
                            .classes = schema.num_outputs()};
    COPPICE_ASSIGN_OR_RETURN(const auto mechanisms,
                             MechanismsBySize::Create(kind, epsilon, largest));
    const std::vector<double> shares = ConsistentShares(tree, public_rows, counts.leaf);
    ConsistentEvidence& of_tree = expected.emplace_back();
    of_tree.reports.resize(leaves);
    of_tree.rows.resize(leaves);
    of_tree.variance.resize(leaves);
    for (size_t i = 0; i < public_rows.num_rows(); ++i) {
      public_rows.CopyRow(i, row);
      const std::vector<uint32_t> about = ConsistentLeaves(tree, schema, row);
      auto [known, is_new] = moments_of.try_emplace(about.size());
      if (is_new) {
        known->second = MomentsOf(mechanisms->For(static_cast<uint32_t>(about.size())));
      }
      const MarginMoments& moments = known->second;
      for (const uint32_t leaf : about) {
        const double share = shares[leaf];
        of_tree.reports[leaf] += reports_per_row;
        of_tree.rows[leaf] += reports_per_row * share;
        of_tree.variance[leaf] +=
            reports_per_row * (share * moments.there + (1 - share) * moments.elsewhere);
      }
    }
  }
  return expected;
}

}  // namespace coppice::curator
