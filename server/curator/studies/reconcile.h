// Checks that counts kept in different places agree. Each number is kept where its event happens,
// so a report that is lost or counted twice between two places makes two of them differ.
//
// Errors  Internal, naming the study and both numbers.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_
#define COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/curator/intake/intake.h"
#include "server/curator/studies/catalog.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/study/study.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::curator {

// The numbers of one study at one moment between two groups of reports.
struct StudyTotals {
  std::string study;
  uint64_t received = 0;  // counted at intake
  uint64_t waiting = 0;   // among these
  uint64_t answered = 0;  // counted by batch
  uint64_t outcomes = 0;  // counted by report: accepted, duplicate and rejected
  uint64_t failed = 0;    // in batches that failed as a whole
  uint64_t accepted = 0;
  bool retired = false;        // the sums are deleted
  uint64_t in_sums = 0;        // reports that the sums claim
  bool open = false;           // only an open study keeps its spent tickets in memory
  uint64_t spent_tickets = 0;  // if open
};

// `received` and `waiting` come from the intake. Runs on the committer.
StudyTotals TotalsOf(Study& study, uint64_t received, uint64_t waiting);

// Checks that received = answered + failed + waiting, answered = outcomes, and accepted = in the
// sums = spent tickets.
Status ReconcileTotals(const StudyTotals& totals);

// The reports that the models of a study can rest on.
struct StudyReports {
  uint64_t accepted = 0;
  std::string final_model{};  // empty if there is none
};

// Checks that a model rests on no more reports than were accepted, and a final model on all of
// them.
Status ReconcileModel(const ModelReports& model, const StudyReports& study);

// Checks all models of studies except those in `lost`, in one pass. `reports_of` returns a study's
// reports, or nothing if the study no longer exists. Safe while reports come in and models are
// built: all models are read before the first study, a study's reports only grow, and a model rests
// on reports accepted before it.
Status ReconcileModels(
    const models::Models& models, const ModelsWithLostReports& lost,
    absl::FunctionRef<std::optional<StudyReports>(const std::string& study)> reports_of);
// Nothing if the study was deleted or a repair has put it aside.
std::optional<StudyReports> ReportsOf(const Catalog& catalog, const std::string& study);

// Checks that the store holds `counts` for the study.
Status ReconcileStored(const storage::Store& store, std::string_view study, const Counts& counts);

// Checks that the outcomes of all the study's batches add up to the study's, as stored: reports
// reach a relayed study only through batches.
Status ReconcileBatches(const storage::Store& store, const Study& study);

// Checks all studies. Runs on the committer.
Status ReconcileStudies(const storage::Store& store, const Catalog& catalog, const Intake& intake);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_RECONCILE_H_
