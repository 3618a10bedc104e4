// Whether what was counted at different places agrees.
//
// Why     each number is kept where its event happens, so a report that is lost, or counted twice,
//         between two places makes two of them differ.
// Errors  Internal, naming the study and both numbers.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_
#define COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/study/study.h"
#include "server/models/models.h"
#include "server/storage/store.h"

namespace coppice::curator {

// What is known of one study at one moment between two groups of reports.
struct StudyTotals {
  std::string study;
  uint64_t received = 0;  // counted where reports are taken in
  uint64_t waiting = 0;   // of those
  uint64_t answered = 0;  // by batch
  uint64_t outcomes = 0;  // by report: accepted, duplicate and rejected
  uint64_t failed = 0;    // their batch failed as a whole
  uint64_t accepted = 0;
  bool retired = false;        // there are no sums any more
  uint64_t in_sums = 0;        // reports that the sums say they hold
  bool open = false;           // a sealed study keeps no spent tickets in memory
  uint64_t spent_tickets = 0;  // of an open study
};

// received = answered + failed + waiting; answered = the outcomes; accepted = in the sums = spent
// tickets.
absl::Status ReconcileTotals(const StudyTotals& totals);

// What a study says of the reports that its models rest on.
struct StudyReports {
  uint64_t accepted = 0;
  std::string final_model{};  // empty if there is none
};

// No model rests on more reports than were accepted; the final model on all of them.
absl::Status ReconcileModel(const ModelReports& model, const StudyReports& study);

// The same of all models of studies but those in `outlived`, in one pass. `reports_of` says what a
// study has, nothing if there is no such study (any more). It may be called while reports are taken
// and models are built: all models are read before the first study is, a study's reports only grow,
// and each model was made of reports that were accepted before.
absl::Status ReconcileModels(
    const models::Models& models, const ModelsWithLostReports& outlived,
    absl::FunctionRef<std::optional<StudyReports>(const std::string& study)> reports_of);

// Accepted, duplicate and rejected are in the store as in memory, if `counts` is what it should
// hold.
absl::Status ReconcileStored(const storage::Store& store, absl::string_view study,
                             const Counts& counts);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_
