// The classes behind StudyForm::Make().

#ifndef COPPICE_SERVER_CURATOR_FORM_FORMS_H_
#define COPPICE_SERVER_CURATOR_FORM_FORMS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/curator/form/study_form.h"

namespace coppice::curator {

// A report is about all leaves of its tree. Its mechanism says what it adds to the sums, and the
// sums of a tree give counts of all its leaves.
class AllLeavesForm final : public StudyForm {
 public:
  explicit AllLeavesForm(Parts parts) : StudyForm(std::move(parts)) {}

  StatusOr<Reading> Read(uint32_t tree, const TicketDraw& draw, const ReceivedReport& report,
                         FeaturesOfId features_of) const override;
  size_t SumSize(size_t tree) const override { return mechanism(tree).sum_size(); }
  void AddAll(uint32_t tree, absl::Span<const Contribution> reports,
              absl::Span<const absl::Span<const uint32_t>> leaves,
              absl::Span<int64_t> sums) const override;
  SharedSums ModelSums(size_t tree, const SharedSums& sums,
                       const std::optional<EncodedValue>& where) const override;
  StatusOr<PrivateCounts> CountsOf(size_t tree, const TreeSums& model_sums,
                                   const PublicCounts& of_rows) const override;
  std::string ReleaseInWords() const override;
  std::string NeighboursInWords() const override;

 private:
  NoisyCounts NoisyCountsOf(size_t tree, const TreeSums& sums, uint64_t reports,
                            bool several_draws) const override;
  TreeReports ReportsFor(size_t tree, const TreeSums& model_sums) const override;
};

// In a study by a feature, whose values every tree begins with: the counters of the trees behind.
struct ValuesInFront {
  uint32_t feature = 0;
  std::vector<ConsistentCounter> counters_behind;
};

// A report is about the leaves that its public values allow, with the mechanism for that number of
// leaves. A ConsistentCounter adds it up leaf by leaf: a leaf that a report cannot be about gets
// nothing from it, and so no noise.
class SomeLeavesForm : public StudyForm {
 public:
  static StatusOr<std::unique_ptr<const StudyForm>> Make(Parts parts,
                                                         const std::string& by_feature);

  StatusOr<Reading> Read(uint32_t tree, const TicketDraw& draw, const ReceivedReport& report,
                         FeaturesOfId features_of) const override;
  size_t SumSize(size_t tree) const final { return counters_[tree].sum_size(); }
  void AddAll(uint32_t tree, absl::Span<const Contribution> reports,
              absl::Span<const absl::Span<const uint32_t>> leaves,
              absl::Span<int64_t> sums) const final;
  Status CheckEstimator(const EstimatorOptions& options) const final;
  SharedSums ModelSums(size_t tree, const SharedSums& sums,
                       const std::optional<EncodedValue>& where) const override;
  StatusOr<PrivateCounts> CountsOf(size_t tree, const TreeSums& model_sums,
                                   const PublicCounts& of_rows) const final;
  std::string ReleaseInWords() const override;
  std::string NeighboursInWords() const override;
  std::string InClearInWords() const override;

 protected:
  explicit SomeLeavesForm(Parts parts) : StudyForm(std::move(parts)) {}

  const ConsistentCounter& counter(size_t tree) const { return counters_[tree]; }

 private:
  std::optional<uint32_t> by_feature() const final;
  const ConsistentCounter& ModelCounter(size_t tree) const;
  NoisyCounts NoisyCountsOf(size_t tree, const TreeSums& sums, uint64_t reports,
                            bool several_draws) const final;
  std::vector<std::optional<uint64_t>> KnownRows(size_t tree,
                                                 absl::Span<const SharedSums> sums) const final;
  TreeReports ReportsFor(size_t tree, const TreeSums& model_sums) const final;

  std::vector<ConsistentCounter> counters_;  // of forest()
  std::optional<ValuesInFront> values_;
};

// All features are public, so a report is about one leaf and says one thing that the curator does
// not know: the label. Reports are kept one by one besides, and models are learnt from them as from
// rows with a noisy label (label_only.h).
class LabelAloneForm : public SomeLeavesForm {
 public:
  explicit LabelAloneForm(Parts parts) : SomeLeavesForm(std::move(parts)) {}

  SharedSums ModelSums(size_t tree, const SharedSums& sums,
                       const std::optional<EncodedValue>& where) const final;
  std::string ReleaseInWords() const final;
  std::string NeighboursInWords() const override;
};

// The same where the curator has the features already, by the id that a report shows.
class JoinedByIdForm final : public LabelAloneForm {
 public:
  explicit JoinedByIdForm(Parts parts) : LabelAloneForm(std::move(parts)) {}

  StatusOr<Reading> Read(uint32_t tree, const TicketDraw& draw, const ReceivedReport& report,
                         FeaturesOfId features_of) const override;
  std::string NeighboursInWords() const override;
  std::string InClearInWords() const override;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_FORM_FORMS_H_
