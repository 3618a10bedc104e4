// Private evaluations of a model on rows that are at hand.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "client/python/core/accountant.h"
#include "client/python/core/bindings.h"
#include "client/python/core/table.h"
#include "client/python/core/trained_model.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/describe/describe.h"
#include "common/privacy/openssl_random.h"
#include "coppice/v1/training.pb.h"
#include "server/datasets/evaluations.h"
#include "server/datasets/job_record.h"
#include "server/trainers/evaluation/private_evaluation.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// Charges, counts, and releases. What was charged stays charged, whatever happens then.
StatusOr<trainers::EvaluationSums> EvaluateCharged(const trainers::EvaluationPlan& plan,
                                                   const Model& model, const Table& rows,
                                                   Accountant* accountant, const std::string& id,
                                                   Status& unsettled) {
  if (accountant != nullptr) COPPICE_RETURN_IF_ERROR(accountant->Reserve(id, plan.releases));
  OpenSslRandom random;
  trainers::PrivateReleaser releaser(random);
  COPPICE_ASSIGN_OR_RETURN(trainers::EvaluationSums sums,
                           trainers::EvaluatePrivately(BlocksOfTable(rows), model, plan, releaser,
                                                       [](size_t) { return CheckSignals(); }));
  if (accountant != nullptr) unsettled = accountant->Settle(id, plan.releases);
  return sums;
}

py::tuple Evaluate(const EncodedTable& table, const TrainedModel& model, double epsilon,
                   const std::string& by, double reach, const std::string& neighbours,
                   Accountant* accountant, const std::string& id) {
  const Table& rows = *table.table;
  const Neighbours relation = accountant != nullptr
                                  ? accountant->cap().neighbours
                                  : ValueOrRaise(ledger::ParseNeighbours(neighbours));
  const trainers::EvaluationPlan plan = ValueOrRaise(
      trainers::PlanEvaluation(rows.schema(), {.epsilon_nanos = EpsilonOf(epsilon).nanos(),
                                               .neighbours = relation,
                                               .by = by,
                                               .reach = reach}));
  StatusOr<trainers::EvaluationSums> sums = UnknownError("");
  Status unsettled;
  {
    const WithoutInterpreter without;
    sums = EvaluateCharged(plan, *model.model, rows, accountant, id, unsettled);
  }
  if (!unsettled.ok() && PyErr_Occurred() != nullptr) throw py::error_already_set();  // Ctrl-C
  v1::Evaluation evaluation;
  central::AddScores(plan, FileValueOrRaise(std::move(sums)), evaluation);
  evaluation.set_state(v1::EVALUATION_STATE_DONE);
  evaluation.set_account(v1::ACCOUNT_KIND_TRAINING);
  evaluation.mutable_spec()->set_by(by);
  *evaluation.mutable_cost() = central::ToProto(ValueOrRaise(ledger::CostOf(plan.releases)));
  evaluation.mutable_cost()->clear_rho_pico();
  return py::make_tuple(py::bytes(evaluation.SerializeAsString()),
                        std::string(unsettled.message()));
}

}  // namespace

void BindEvaluation(py::module_& module) {
  module.def("evaluate", Evaluate, py::arg("table"), py::arg("model"), py::arg("epsilon"),
             py::arg("by"), py::arg("reach"), py::arg("neighbours"), py::arg("accountant"),
             py::arg("evaluation"));
}

}  // namespace coppice::python
