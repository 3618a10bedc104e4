// How one study's reports are read, counted and turned into models: the curator's half of a
// report's form. common/terms/report_form.h is the half that devices share, and says what a report
// carries and why it is private.
//
//   leaf and label    all_leaves_form.cc   a report adds to its tree's sums as its mechanism says
//   public features   some_leaves_form.cc  a report adds to the leaves that its values allow
//   label alone       label_forms.cc       the same, of one leaf; and reports are kept one by one
//   joined by an id   label_forms.cc       the same, its features looked up by its id
//
// A study can be by one of its public features (PartitionOptions::by_feature): each tree begins
// with that feature's values, so sums can be had by value. Only models and counts see a difference.

#ifndef COPPICE_SERVER_CURATOR_FORM_STUDY_FORM_H_
#define COPPICE_SERVER_CURATOR_FORM_STUDY_FORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/table/table.h"
#include "common/terms/answer.h"
#include "common/terms/report_form.h"
#include "common/terms/terms.h"
#include "common/terms/ticket.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/inspection/alarms.h"
#include "server/curator/estimation/inspection/break_down.h"
#include "server/curator/partition/by_value.h"

namespace coppice::curator {

using SharedSums = std::shared_ptr<const TreeSums>;

// The form of one study, chosen once from its terms.
//
// Guarantee  Post-processing of randomized payloads and of what is in the clear: costs no privacy.
//            A report that no honest device sends is never counted.
// Errors     As stated. Sums must have SumSize() entries.
// Threads    Immutable; safe to share.
// Units      Trees are numbered as in the forest. One virtual call reads a report, and one counts
//            all reports of a group in a tree.
// Source     docs/research/mechanisms.md#public-features and #label-only.
class StudyForm {
 public:
  // `forest` is what devices answer in. InvalidArgument if the mechanism cannot serve it, or if it
  // does not begin with the values of `by_feature`, if that is not empty.
  static StatusOr<std::unique_ptr<const StudyForm>> Make(std::shared_ptr<const Terms> terms,
                                                         std::shared_ptr<const Forest> forest,
                                                         const std::string& by_feature);
  virtual ~StudyForm() = default;
  StudyForm(const StudyForm&) = delete;
  StudyForm& operator=(const StudyForm&) = delete;

  // What a report carries.
  const ReportForm& report() const { return report_; }
  const Terms& terms() const { return *terms_; }
  uint32_t num_trees() const { return static_cast<uint32_t>(mechanisms_.size()); }
  const std::shared_ptr<const Forest>& forest() const { return forest_; }
  // The tree's mechanism for the most leaves that a report in it can be about.
  const LocalMechanism& mechanism(size_t tree) const { return *mechanisms_[tree]; }
  // Whether reports are kept one by one besides being added up (label_record.h).
  bool KeepsReports() const { return report_.IsAboutLabelAlone(); }
  // Whether devices answer with a number, rounded to an end of the terms' range (answer.h).
  bool AnswersNumbers() const { return coppice::AnswersNumbers(*terms_); }
  // The most bytes of payload and of what is in the clear that a report can have, in any tree.
  size_t MaxPayloadBytes() const;
  size_t MaxReportBytes() const { return MaxPayloadBytes() + report_.MaxBytesInClear(*terms_); }

  // ---- Counting

  struct ReceivedReport {
    std::string_view payload;
    std::string_view in_clear;
  };
  enum class Verdict : uint8_t {
    kGood,
    kBad,        // no honest device sends it
    kUnknownId,  // the curator has no features of its id
  };
  struct Reading {
    Verdict verdict = Verdict::kBad;
    uint32_t column = 0;             // of its mechanism
    std::vector<uint32_t> leaves{};  // that it is about; empty: all of its tree
  };
  // The features that the curator has of an id, or nothing.
  using FeaturesOfId = absl::FunctionRef<StatusOr<std::optional<Row>>(std::string_view id)>;
  // Reads a report in a tree. `features_of` is asked only where ids are in the clear, and its error
  // is returned.
  virtual StatusOr<Reading> Read(uint32_t tree, const TicketDraw& draw,
                                 const ReceivedReport& report, FeaturesOfId features_of) const = 0;

  virtual size_t SumSize(size_t tree) const = 0;
  // Adds good reports to a tree's sums: `leaves` are those of their readings, one list a report, or
  // no list at all where readings have none.
  virtual void AddAll(uint32_t tree, absl::Span<const Contribution> reports,
                      absl::Span<const absl::Span<const uint32_t>> leaves,
                      absl::Span<int64_t> sums) const = 0;

  // ---- Models

  // The forest that models are estimated on: forest() or, for a study by a feature, the trees
  // behind its values.
  const std::shared_ptr<const Forest>& model_forest() const { return model_forest_; }
  // FailedPrecondition unless the study tells which reports have the value that `options` name.
  // InvalidArgument for a value that the schema lacks.
  Status CheckTellsWhere(const EstimatorOptions& options) const;
  // InvalidArgument for an estimator that reports of this form do not serve.
  virtual Status CheckEstimator(const EstimatorOptions& options) const;
  // The sums of a tree of the model forest: of all reports or, in a study by a feature, of those
  // with one value of it. Where reports are kept one by one, a value selects reports, not sums.
  virtual SharedSums ModelSums(size_t tree, const SharedSums& sums,
                               const std::optional<EncodedValue>& where) const = 0;
  // Unbiased counts from ModelSums().
  virtual StatusOr<PrivateCounts> CountsOf(size_t tree, const TreeSums& model_sums,
                                           const PublicCounts& of_rows) const = 0;
  // Converts leaves of numbers from the terms' range to the target's bounds; leaves classes alone.
  void PlaceInTargetBounds(std::vector<std::vector<LeafPrediction>>& leaves) const;
  // Public rows as the trees were grown on them and the estimator pooled learns from them: numbers
  // are cut to the terms' range.
  StatusOr<Table> CutToRange(const Table& rows) const;

  // ---- Inspection

  // Counts with their noise in one tree of forest(); `sums` are those of all trees.
  NoisyCounts CountsWithNoise(size_t tree, absl::Span<const SharedSums> sums) const;
  std::vector<Alarm> Alarms(absl::Span<const SharedSums> sums) const;

  // ---- The certificate

  // What a device releases, and what its neighbours are, in words.
  virtual std::string ReleaseInWords() const = 0;
  virtual std::string NeighboursInWords() const = 0;
  // What is in the clear; empty: nothing.
  virtual std::string InClearInWords() const { return ""; }

 protected:
  // What a study is made from.
  struct Parts {
    const ReportForm& report;
    std::shared_ptr<const Terms> terms;
    std::shared_ptr<const Forest> forest;
    std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  };
  explicit StudyForm(Parts parts);

  void set_model_forest(std::shared_ptr<const Forest> forest) { model_forest_ = std::move(forest); }
  // The names of what is public, by commas.
  std::string PublicFeatureNames() const;

 private:
  // The position of the feature that the study is by, if it is by one.
  virtual std::optional<uint32_t> by_feature() const { return std::nullopt; }
  virtual NoisyCounts NoisyCountsOf(size_t tree, const TreeSums& sums, uint64_t reports,
                                    bool several_draws) const = 0;
  // By node of a tree: how many rows are there, where that is public.
  virtual std::vector<std::optional<uint64_t>> KnownRows(
      size_t /*tree*/, absl::Span<const SharedSums> /*sums*/) const {
    return {};
  }
  // One tree's sums as alarms look at them.
  virtual TreeReports ReportsFor(size_t tree, const TreeSums& model_sums) const = 0;

  const ReportForm& report_;
  const std::shared_ptr<const Terms> terms_;
  const std::shared_ptr<const Forest> forest_;
  std::shared_ptr<const Forest> model_forest_;
  const std::vector<std::unique_ptr<LocalMechanism>> mechanisms_;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_FORM_STUDY_FORM_H_
