#include "server/datasets/job_plan.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/delta.h"
#include "common/wire/field_error.h"
#include "server/datasets/datasets.h"

namespace coppice::central {
namespace {

Status CheckSuits(const trainers::AlgorithmInfo& algorithm, const Schema& schema,
                  Neighbours neighbours) {
  if (algorithm.neighbours != neighbours) {
    return FieldError("spec.algorithm",
                      StrCat(algorithm.name, " protects ", NeighboursName(algorithm.neighbours),
                             ", but the dataset's budget is for ", NeighboursName(neighbours),
                             ": choose another algorithm"));
  }
  if (schema.target() ? algorithm.regression : algorithm.classification) return OkStatus();
  return FieldError("spec.algorithm",
                    StrCat(algorithm.name, " does not predict ",
                           schema.target() ? "numbers" : "classes", ", as the dataset asks"));
}

// The algorithms that can start from public rows.
std::vector<std::string> StartersFrom(absl::Span<const trainers::Trainer* const> trainers) {
  std::vector<std::string> names;
  for (const trainers::Trainer* trainer : trainers) {
    const trainers::AlgorithmInfo& info = trainer->info();
    if (info.is_private && info.public_rows) names.push_back(info.name);
  }
  return names;
}

}  // namespace

StatusOr<const trainers::Trainer*> FindOffered(
    std::string_view field, std::string_view name,
    absl::Span<const trainers::Trainer* const> trainers) {
  std::vector<std::string> names;
  for (const trainers::Trainer* trainer : trainers) {
    if (!trainer->info().is_private) continue;
    if (trainer->info().name == name) return trainer;
    names.push_back(trainer->info().name);
  }
  return FieldError(field, StrCat("there is no \"", name, "\"; there are ", StrJoin(names, ", ")));
}

StatusOr<PublicRowsTable> PublicRowsFor(const JobSpec& spec, std::shared_ptr<const Schema> schema,
                                        const Datasets& datasets) {
  if (!spec.without_public_rows && spec.public_rows == nullptr) {
    return datasets.LoadPublicRows(spec.dataset);
  }
  if (spec.without_public_rows && spec.public_rows != nullptr) {
    return FieldError("spec.public_rows", "must not be set together with without_public_rows");
  }
  return ParsePublicRows("spec.public_rows", spec.public_rows, std::move(schema));
}

StatusOr<JobPlan> PlanJob(const JobSpec& spec, const Schema& schema, const ledger::BudgetCap& cap,
                          absl::Span<const trainers::Trainer* const> trainers,
                          PublicRowsTable public_rows) {
  JobPlan plan;
  COPPICE_ASSIGN_OR_RETURN(plan.trainer, FindOffered("spec.algorithm", spec.algorithm, trainers));
  COPPICE_RETURN_IF_ERROR(CheckSuits(plan.trainer->info(), schema, cap.neighbours));
  const StatusOr<Budget> epsilon = Budget::FromNanos(spec.epsilon_nanos);
  if (!epsilon.ok()) return InField("spec.epsilon_nanos", epsilon.status());
  if (public_rows != nullptr && !plan.trainer->info().public_rows) {
    return FieldError("spec.algorithm",
                      StrCat(spec.algorithm, " cannot start from public rows: choose ",
                             StrJoin(StartersFrom(trainers), " or "), ", or start without any"));
  }
  if (spec.delta_atto != 0 && !plan.trainer->info().delta) {
    return FieldError("spec.delta_atto", StrCat("must be 0: ", spec.algorithm,
                                                " is pure epsilon-DP and takes no delta"));
  }
  if (spec.delta_atto >= kDeltaOne) {
    return FieldError("spec.delta_atto", "must be below 1: at 1 nothing would be private");
  }
  const bool concentrated =
      cap.composition == ledger::Composition::kZeroConcentrated && spec.delta_atto != 0;
  plan.options = {.epsilon = *epsilon,
                  .delta_atto = spec.delta_atto,
                  .concentrated = concentrated,
                  .settings = spec.settings,
                  .public_rows = std::move(public_rows)};
  COPPICE_ASSIGN_OR_RETURN(plan.releases, plan.trainer->Plan(schema, plan.options));
  COPPICE_ASSIGN_OR_RETURN(plan.cost, ledger::CostOf(plan.releases));
  if (plan.cost.epsilon_nanos > spec.epsilon_nanos || plan.cost.delta_atto > spec.delta_atto) {
    return InternalError(StrCat(
        spec.algorithm, " plans releases of epsilon ", ledger::EpsilonText(plan.cost.epsilon_nanos),
        " and delta ", ledger::DeltaText(plan.cost.delta_atto), ", more than it was given"));
  }
  COPPICE_ASSIGN_OR_RETURN(plan.warnings, plan.trainer->Warnings(schema, plan.options));
  COPPICE_ASSIGN_OR_RETURN(plan.model_bytes, plan.trainer->MostModelBytes(schema, plan.options));
  COPPICE_ASSIGN_OR_RETURN(plan.bytes_of_row, plan.trainer->MostBytesOfRow(schema, plan.options));
  return plan;
}

Status CheckMemory(const JobSpec& spec, const JobPlan& plan, uint64_t rows, uint64_t most_bytes) {
  // Blocks that are read at a time, and the store's caches for them.
  constexpr uint64_t kBesideRows = uint64_t{32} << 20;
  const uint64_t bytes = kBesideRows + rows * plan.bytes_of_row;
  if (most_bytes == 0 || bytes <= most_bytes) return OkStatus();
  constexpr int kMebibyte = 20;
  return FailedPreconditionError(
      StrCat(spec.algorithm, " may take ", bytes >> kMebibyte, " MiB of memory for these rows (",
             plan.bytes_of_row, " bytes each), and a job may take ", most_bytes >> kMebibyte,
             " (--training-memory): raise that, choose an algorithm or settings that take less, or "
             "train on a random part of the rows"));
}

Status CheckModelBytes(const JobSpec& spec, const Schema& schema, const JobPlan& plan,
                       uint64_t most_bytes) {
  if (spec.max_model_bytes > most_bytes) {
    return FieldError("spec.max_model_bytes",
                      StrCat("must be at most ", most_bytes,
                             ", the curator's --max-model-bytes, is ", spec.max_model_bytes));
  }
  const uint64_t most = spec.max_model_bytes == 0 ? most_bytes : spec.max_model_bytes;
  if (plan.model_bytes <= most) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::string advice,
                           plan.trainer->AdviceOnSize(schema, plan.options));
  return FieldError("spec.settings", StrCat("the model may take ", plan.model_bytes, " bytes, and ",
                                            most, " are allowed: ", advice,
                                            most < most_bytes ? ", or raise max_model_bytes" : ""));
}

Status CheckResult(const Model& model, const Schema& schema, absl::Span<const Release> planned) {
  if (!(model.schema() == schema)) {
    return InternalError("the model is not of the dataset's schema");
  }
  COPPICE_RETURN_IF_ERROR(CheckCertificate(model.certificate()));
  COPPICE_ASSIGN_OR_RETURN(const ledger::Cost made, ledger::CostOf(model.certificate().releases));
  COPPICE_ASSIGN_OR_RETURN(const ledger::Cost reserved, ledger::CostOf(planned));
  if (made == reserved) return OkStatus();
  return InternalError(StrCat("the model's releases cost epsilon ",
                              ledger::EpsilonText(made.epsilon_nanos), " (rho ",
                              ledger::RhoText(made.rho_pico), "), planned were epsilon ",
                              ledger::EpsilonText(reserved.epsilon_nanos), " (rho ",
                              ledger::RhoText(reserved.rho_pico), ")"));
}

}  // namespace coppice::central
