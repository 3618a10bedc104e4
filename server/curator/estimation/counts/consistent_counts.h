// Adds up the reports about the consistent leaves of one tree, and estimates counts from the sums.
//
// In a study with public features a report covers the leaves that its public values allow
// (common/terms/public_values.h), with a mechanism for that number of leaves. The curator finds the
// same leaves, estimates from the one report how likely the row is in each, and adds that up leaf
// by leaf. A leaf that a report cannot be about gets nothing from it, and so no noise.
//
// Each estimate is unbiased given the public values, whatever their number of leaves, because its
// mechanism is one for exactly that number. Unbiased estimates may be added up although they come
// from different mechanisms; only their variances differ, so these are added up as well.
//
// Sums are whole numbers, so that their order does not matter: estimates in units of 2^-20, each
// rounded to the nearest, variances in units of 2^-10, rounded up.
//
// Guarantee  post-processing of randomized payloads and of values in the clear.
// Errors     Counts(): InvalidArgument for sums of another size.
// Threads    safe to share.
// Source     docs/research/mechanisms.md#public-features.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_CONSISTENT_COUNTS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_CONSISTENT_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/contribution.h"
#include "common/model/tree.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {

// The mechanism of a study for every number of leaves, each made on first use.
class MechanismsBySize {
 public:
  // InvalidArgument if there is none for `largest`, which has the most leaves.
  static StatusOr<std::shared_ptr<MechanismsBySize>> Create(MechanismKind kind,
                                                            const Budget& epsilon,
                                                            const Domain& largest);

  // From 1 to the most leaves.
  const LocalMechanism& For(uint32_t leaves);
  uint32_t classes() const { return largest_.classes; }

 private:
  MechanismsBySize(MechanismKind kind, const Budget& epsilon, const Domain& largest);

  const MechanismKind kind_;
  const Budget epsilon_;
  const Domain largest_;
  Mutex mutex_;
  std::vector<std::unique_ptr<LocalMechanism>> by_leaves_ ABSL_GUARDED_BY(mutex_);
};

class ConsistentCounter {
 public:
  // `tree` must outlive the counter.
  ConsistentCounter(const Tree& tree, std::shared_ptr<const Schema> schema,
                    std::shared_ptr<MechanismsBySize> mechanisms);

  size_t leaves() const { return leaves_; }
  size_t sum_size() const { return leaves_ * stride_; }
  // The most leaves that one report can be about, whatever its public values.
  size_t most_leaves() const { return most_leaves_; }

  // The leaves that a report of a row with these public values is about; ignores private values.
  std::vector<uint32_t> LeavesOf(RowView row) const;
  const LocalMechanism& MechanismFor(size_t leaves) const {
    return mechanisms_->For(static_cast<uint32_t>(leaves));
  }

  // `leaves` come from LeavesOf(). The report's column must be one of the mechanism for that many
  // leaves, and that mechanism must accept its payload.
  void AddChecked(absl::Span<const uint32_t> leaves, const Contribution& report,
                  absl::Span<int64_t> sums) const;

  // By leaf: the number of reports about it, and unbiased estimates with margins as LeafCounts
  // defines them. The sums must have sum_size() entries.
  std::vector<double> ReportsAbout(const TreeSums& sums) const;
  LeafCounts Estimate(const TreeSums& sums) const;

  // The number of reports that reach each node, from the number of reports about each leaf: a split
  // by a public feature sends a report one way, any other split both ways. The root gets them all.
  std::vector<uint64_t> ReportsAtNodes(absl::Span<const int64_t> sums) const;

  // For sums of this tree with a feature's values in front (partition/by_value.h): the sums that
  // the tree alone would have, of all reports and of the reports with one value.
  TreeSums OfAllCopies(const TreeSums& by_value) const;
  TreeSums OfCopy(const TreeSums& by_value, uint32_t copy) const;

  // The public counts must be of this tree and of rows of this schema.
  StatusOr<PrivateCounts> Counts(const TreeSums& sums, const PublicCounts& public_counts) const;

 private:
  const Tree& tree_;
  const std::shared_ptr<const Schema> schema_;
  const std::shared_ptr<MechanismsBySize> mechanisms_;
  const size_t leaves_;
  const size_t most_leaves_;
  const bool margins_only_;
  // For each leaf: reports, variance elsewhere, variance there, then one estimate per class, or the
  // margin alone.
  const size_t stride_;
};

// For each leaf: among the public rows consistent with it, the share that is in it. Two rows are
// added at the product of the shares along its path, which treats private splits as independent of
// each other and of the public features.
std::vector<double> ConsistentShares(const Tree& tree, const Table& public_rows,
                                     absl::Span<const uint64_t> rows_in_leaf);

// The evidence to expect from each tree if this many devices report and their rows are like the
// public ones. InvalidArgument if the mechanism cannot serve the forest.
StatusOr<std::vector<ConsistentEvidence>> ExpectEvidence(const Forest& forest,
                                                         const Table& public_rows,
                                                         MechanismKind kind, const Budget& epsilon,
                                                         double devices);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_COUNTS_CONSISTENT_COUNTS_H_
