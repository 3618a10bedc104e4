#include <pybind11/stl.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/python/core/accountant.h"
#include "client/python/core/bindings.h"
#include "client/python/core/table.h"
#include "client/python/core/trained_model.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/budget.h"
#include "common/privacy/delta.h"
#include "common/privacy/openssl_random.h"
#include "server/datasets/job_plan.h"
#include "server/trainers/registry.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

constexpr double kBillion = 1e9;
constexpr double kQuintillion = 1e18;
constexpr std::chrono::milliseconds kBetweenSignals(50);

// What is asked for. Without an epsilon nothing is private.
struct Request {
  std::string algorithm;
  std::optional<uint64_t> epsilon_nanos;
  uint64_t delta_atto = 0;
  trainers::Settings settings{};
  bool accept_leak = false;
  std::shared_ptr<const Table> public_rows{};
};

Request MakeRequest(const std::string& algorithm, double epsilon, const std::string& delta,
                    const std::map<std::string, std::string>& settings, bool accept_leak,
                    const EncodedTable* public_rows) {
  Request request{.algorithm = algorithm,
                  .epsilon_nanos = std::nullopt,
                  .delta_atto = ValueOrRaise(ParseDelta(delta)),
                  .settings = trainers::Settings(settings.begin(), settings.end()),
                  .accept_leak = accept_leak};
  if (public_rows != nullptr) request.public_rows = public_rows->table;
  if (!std::isinf(epsilon) || epsilon < 0) {
    request.epsilon_nanos = EpsilonOf(epsilon).nanos();
  }
  return request;
}

// Without an accountant costs add up in nothing; the cap only says what the algorithm protects.
ledger::BudgetCap CapFor(const trainers::Trainer& trainer, const Accountant* accountant) {
  if (accountant != nullptr) return accountant->cap();
  ledger::BudgetCap cap;
  cap.neighbours = trainer.info().neighbours;
  return cap;
}

StatusOr<central::JobPlan> PlanWithoutPrivacy(const trainers::Trainer& trainer,
                                              const Request& request, const Schema& schema) {
  central::JobPlan plan;
  plan.trainer = &trainer;
  plan.options.settings = request.settings;
  plan.options.public_rows = request.public_rows;
  COPPICE_RETURN_IF_ERROR(trainer.Plan(schema, plan.options).status());
  return plan;
}

StatusOr<central::JobPlan> Plan(const Request& request, const Schema& schema,
                                const Accountant* accountant) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                           trainers::FindTrainer(request.algorithm));
  if (!request.epsilon_nanos) return PlanWithoutPrivacy(*trainer, request, schema);
  if (!request.accept_leak) COPPICE_RETURN_IF_ERROR(schema.CheckNothingFromPrivateRows());
  return central::PlanJob({.dataset = "",
                           .algorithm = request.algorithm,
                           .epsilon_nanos = *request.epsilon_nanos,
                           .delta_atto = request.delta_atto,
                           .settings = request.settings},
                          schema, CapFor(*trainer, accountant), trainers::AllTrainers(),
                          request.public_rows);
}

// Looks for Ctrl-C now and then while the interpreter's lock is free, and tells `progress`.
class Watch {
 public:
  explicit Watch(py::object progress) : progress_(std::move(progress)) {}

  Status operator()(double done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kBetweenSignals) return OkStatus();
    last_ = now;
    const WithInterpreter with;
    if (PyErr_CheckSignals() != 0) return CancelledError("interrupted");
    if (progress_.is_none()) return OkStatus();
    try {
      progress_(done);
    } catch (py::error_already_set& error) {
      error.restore();
      return CancelledError("interrupted");
    }
    return OkStatus();
  }

 private:
  const py::object progress_;
  std::chrono::steady_clock::time_point last_{};
};

// Charges, trains, and settles. A fit that fails or is stopped once it was charged stays charged:
// it may have drawn noise. A settlement that cannot be written changes nothing about the charge:
// `unsettled` says why.
StatusOr<Model> TrainCharged(const central::JobPlan& plan, const Table& table,
                             Accountant* accountant, const std::string& fit,
                             const trainers::TrainProgress& progress, Status& unsettled) {
  if (accountant != nullptr) COPPICE_RETURN_IF_ERROR(accountant->Reserve(fit, plan.releases));
  OpenSslRandom random;
  COPPICE_ASSIGN_OR_RETURN(Model model, plan.trainer->Train(table, plan.options, random, progress));
  if (!plan.options.epsilon) return model;
  COPPICE_RETURN_IF_ERROR(central::CheckResult(model, table.schema(), plan.releases));
  if (accountant != nullptr) {
    unsettled = accountant->Settle(fit, model.certificate().releases);
    if (IsInternal(unsettled)) return unsettled;  // it costs more than was charged
  }
  return model;
}

py::tuple Train(const EncodedTable& table, const std::string& algorithm, double epsilon,
                const std::string& delta, const std::map<std::string, std::string>& settings,
                Accountant* accountant, const std::string& fit, bool accept_leak,
                py::object progress, const EncodedTable* public_rows) {
  const Request request =
      MakeRequest(algorithm, epsilon, delta, settings, accept_leak, public_rows);
  if (!request.epsilon_nanos && accountant != nullptr) {
    throw py::value_error("epsilon is infinite: no budget has room for a fit without privacy");
  }
  const central::JobPlan plan = ValueOrRaise(Plan(request, table.table->schema(), accountant));
  Watch watch(std::move(progress));
  StatusOr<Model> model = UnknownError("");
  Status unsettled;
  {
    const WithoutInterpreter without;
    model = TrainCharged(
        plan, *table.table, accountant, fit, [&](double done) { return watch(done); }, unsettled);
  }
  if (!unsettled.ok() && PyErr_Occurred() != nullptr) throw py::error_already_set();  // Ctrl-C
  return py::make_tuple(WithoutRecord(FileValueOrRaise(std::move(model))),
                        std::string(unsettled.message()));
}

py::dict PlanOf(const Schema& schema, const std::string& algorithm, double epsilon,
                const std::string& delta, const std::map<std::string, std::string>& settings,
                const Accountant* accountant, bool accept_leak, const EncodedTable* public_rows) {
  const central::JobPlan plan =
      ValueOrRaise(Plan(MakeRequest(algorithm, epsilon, delta, settings, accept_leak, public_rows),
                        schema, accountant));
  py::dict described;
  described["epsilon"] = static_cast<double>(plan.cost.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(plan.cost.delta_atto) / kQuintillion;
  described["neighbours"] = std::string(NeighboursName(plan.trainer->info().neighbours));
  described["warnings"] = plan.warnings;
  return described;
}

py::list Algorithms() {
  py::list algorithms;
  for (const trainers::Trainer* trainer : trainers::AllTrainers()) {
    const trainers::AlgorithmInfo& info = trainer->info();
    py::dict described;
    described["name"] = info.name;
    described["summary"] = info.summary;
    described["source"] = info.source;
    described["neighbours"] = std::string(NeighboursName(info.neighbours));
    described["delta"] = info.delta;
    described["public_rows"] = info.public_rows;
    described["private"] = info.is_private;
    described["classification"] = info.classification;
    described["regression"] = info.regression;
    py::list parameters;
    for (const trainers::Parameter& parameter : info.parameters) {
      py::dict stated;
      stated["name"] = parameter.name;
      stated["default"] = parameter.default_value;
      stated["description"] = parameter.description;
      parameters.append(stated);
    }
    described["parameters"] = parameters;
    algorithms.append(described);
  }
  return algorithms;
}

}  // namespace

void BindTraining(py::module_& module) {
  module.def("algorithms", Algorithms);
  module.def("plan", PlanOf, py::arg("schema"), py::arg("algorithm"), py::arg("epsilon"),
             py::arg("delta"), py::arg("settings"), py::arg("accountant") = nullptr,
             py::arg("accept_leak") = false, py::arg("public_rows") = nullptr);
  module.def("train", Train, py::arg("table"), py::arg("algorithm"), py::arg("epsilon"),
             py::arg("delta"), py::arg("settings"), py::arg("accountant"), py::arg("fit"),
             py::arg("accept_leak") = false, py::arg("progress") = py::none(),
             py::arg("public_rows") = nullptr);
}

}  // namespace coppice::python
