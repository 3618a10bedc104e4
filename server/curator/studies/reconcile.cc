#include "server/curator/studies/reconcile.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/study/study_record.h"
#include "server/store/models/model_record.h"

namespace coppice::curator {
namespace {

Status DifferenceError(std::string_view study, std::string_view one, uint64_t count,
                       std::string_view other, uint64_t other_count) {
  return InternalError(StrCat("the counts of study ", study, " do not reconcile: ", one, " ", count,
                              ", ", other, " ", other_count));
}

std::vector<ModelReports> ReportsOfModels(const models::Models& models) {
  std::vector<ModelReports> all;
  Page page{.size = 1000, .after = ""};
  for (;;) {
    const std::vector<models::ModelSummary> some = models.List("", page);
    for (const models::ModelSummary& summary : some) {
      StatusOr<std::string> study = ParseName(kStudies, summary.source);
      if (!study.ok()) continue;  // it is a job's model
      all.push_back({.study = *std::move(study),
                     .model = summary.id,
                     .reports = summary.certificate->reports});
    }
    if (some.size() < page.size) return all;
    page.after = some.back().id;
  }
}

}  // namespace

StudyTotals TotalsOf(Study& study, uint64_t received, uint64_t waiting) {
  const StudyInfo info = study.Info();
  const Counts counts = study.sums().counts();
  return {.study = study.id(),
          .received = received,
          .waiting = waiting,
          .answered = counts.answered,
          .outcomes = counts.Sum(),
          .failed = counts.failed,
          .accepted = counts.of(ReportOutcome::kAccepted),
          .retired = info.retired,
          .in_sums = info.in_sums,
          .open = info.state == StudyState::kOpen,
          .spent_tickets = study.committer().spent.size()};
}

Status ReconcileTotals(const StudyTotals& totals) {
  const uint64_t accounted = totals.answered + totals.failed + totals.waiting;
  if (totals.received != accounted) {
    return DifferenceError(totals.study, "received", totals.received,
                           "answered, failed and waiting", accounted);
  }
  if (totals.answered != totals.outcomes) {
    return DifferenceError(totals.study, "answered", totals.answered,
                           "accepted, duplicate and rejected", totals.outcomes);
  }
  if (!totals.retired && totals.accepted != totals.in_sums) {
    return DifferenceError(totals.study, "accepted", totals.accepted, "in the sums",
                           totals.in_sums);
  }
  if (totals.open && totals.accepted != totals.spent_tickets) {
    return DifferenceError(totals.study, "accepted", totals.accepted, "spent tickets",
                           totals.spent_tickets);
  }
  return OkStatus();
}

Status ReconcileModel(const ModelReports& model, const StudyReports& study) {
  const bool is_final = model.model == study.final_model;
  const bool fits = is_final ? model.reports == study.accepted : model.reports <= study.accepted;
  if (fits) return OkStatus();
  return DifferenceError(model.study, "accepted", study.accepted,
                         StrCat(is_final ? "in its final model " : "in its model ", model.model),
                         model.reports);
}

Status ReconcileModels(
    const models::Models& models, const ModelsWithLostReports& lost,
    absl::FunctionRef<std::optional<StudyReports>(const std::string& study)> reports_of) {
  for (const ModelReports& model : ReportsOfModels(models)) {
    if (lost.Has(model)) continue;
    const std::optional<StudyReports> study = reports_of(model.study);
    if (study.has_value()) COPPICE_RETURN_IF_ERROR(ReconcileModel(model, *study));
  }
  return OkStatus();
}

std::optional<StudyReports> ReportsOf(const Catalog& catalog, const std::string& study) {
  const std::shared_ptr<Study> found = catalog.Find(study);
  if (found == nullptr) return std::nullopt;
  return StudyReports{.accepted = found->sums().counts().of(ReportOutcome::kAccepted),
                      .final_model = found->life().Get().final_model};
}

Status ReconcileStored(const storage::Store& store, std::string_view study, const Counts& counts) {
  const std::string key = CountsKey(study);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value())
    return DifferenceError(study, "answered", counts.answered, "records of it", 0);
  COPPICE_ASSIGN_OR_RETURN(const Counts stored, DecodeCounts(key, *bytes));
  for (size_t outcome = 0; outcome < counts.outcomes.size(); ++outcome) {
    if (stored.outcomes[outcome] == counts.outcomes[outcome]) continue;
    return DifferenceError(study, StrCat("reports of outcome ", outcome), counts.outcomes[outcome],
                           "in the store", stored.outcomes[outcome]);
  }
  return OkStatus();
}

Status ReconcileBatches(const storage::Store& store, const Study& study) {
  // Retiring dropped the batches that were not fully counted, with their counts so far.
  if (!study.definition().settings.relay.has_value() || study.life().Get().retired) {
    return OkStatus();
  }
  Counts of_batches;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(BatchPrefix(study.id()), [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(const RelayBatch batch, DecodeBatch(study.id(), key, bytes));
        of_batches = of_batches + Counts{.outcomes = batch.outcomes};
        return OkStatus();
      }));
  return ReconcileStored(store, study.id(), of_batches);
}

Status ReconcileStudies(const storage::Store& store, const Catalog& catalog, const Intake& intake) {
  const std::vector<std::shared_ptr<Study>> studies = catalog.All();
  const std::vector<Intake::IntakeCounts> counts = intake.CountsFor(studies);
  for (size_t i = 0; i < studies.size(); ++i) {
    Study& study = *studies[i];
    COPPICE_RETURN_IF_ERROR(
        ReconcileTotals(TotalsOf(study, counts[i].received, counts[i].waiting)));
    if (study.committer().counts_are_behind || study.committer().store_is_behind) continue;
    COPPICE_RETURN_IF_ERROR(ReconcileStored(store, study.id(), study.sums().counts()));
    COPPICE_RETURN_IF_ERROR(ReconcileBatches(store, study));
  }
  return OkStatus();
}

}  // namespace coppice::curator
