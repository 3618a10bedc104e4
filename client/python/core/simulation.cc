#include <pybind11/stl.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/device/privatizer.h"
#include "client/python/core/bindings.h"
#include "client/python/core/table.h"
#include "client/python/core/trained_model.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/budget.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/partition/partition.h"
#include "server/curator/studies/studies.h"
#include "server/store/memory_store.h"
#include "server/store/models/models.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

constexpr char kStudy[] = "simulated";
constexpr char kModel[] = "simulated";

// A curator of this process, whose store forgets.
struct LocalCurator {
  storage::MemoryStore store;
  models::Models models;
  std::unique_ptr<curator::Studies> studies;
};

StatusOr<std::unique_ptr<LocalCurator>> StartCurator() {
  auto curator = std::make_unique<LocalCurator>();
  COPPICE_ASSIGN_OR_RETURN(curator->studies,
                           curator::Studies::Open(curator->store, curator->models, [] {
                             return static_cast<int64_t>(std::time(nullptr));
                           }));
  return curator;
}

// As `coppice study create` asks for it where no flag says more.
curator::StudySpec SpecOf(std::shared_ptr<const Table> public_rows, const Budget& epsilon,
                          std::optional<MechanismKind> mechanism, bool accept_leak) {
  const curator::PartitionChoice partition = curator::ChoosePartition({});
  return {.id = kStudy,
          .request_id = kStudy,
          .public_rows = std::move(public_rows),
          .partition = partition.options,
          .choose_size = partition.choose_size,
          .epsilon = epsilon,
          .mechanism = mechanism,
          .accept_leak = accept_leak};
}

LabelledRow RowOf(const Table& rows, size_t i) {
  LabelledRow row{.row = rows.row(i)};
  if (rows.schema().target()) {
    row.number = rows.target(i);
  } else {
    row.label = rows.label(i);
  }
  return row;
}

using Outcomes = StatusOr<std::vector<curator::ReportOutcome>>;

// Internal unless each report was counted: an honest device's always is.
Status Submit(curator::Studies& studies, const Fingerprint& fingerprint,
              curator::ReportBatch reports) {
  // Shared, since the curator's thread may still be in set_value() when the answer is taken.
  const auto answered = std::make_shared<std::promise<Outcomes>>();
  studies.Submit(kStudy, std::string(fingerprint.begin(), fingerprint.end()), std::move(reports),
                 [answered](Outcomes outcomes) { answered->set_value(std::move(outcomes)); });
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::ReportOutcome> outcomes,
                           answered->get_future().get());
  const bool all = std::all_of(
      outcomes.begin(), outcomes.end(),
      [](curator::ReportOutcome outcome) { return outcome == curator::ReportOutcome::kAccepted; });
  return all ? OkStatus() : InternalError("the study refused an honest report");
}

// Every row is the one row of a device, which answers with a ticket of its own.
class Devices {
 public:
  Devices(curator::Studies& studies, const Table& rows) : studies_(studies), rows_(rows) {}

  Status Answer(const CancelCheck& cancel) {
    for (size_t begin = 0; begin < rows_.num_rows();
         begin += curator::Studies::kMaxTicketsPerOffer) {
      COPPICE_RETURN_IF_ERROR(cancel());
      const size_t left = rows_.num_rows() - begin;
      const size_t count = std::min<size_t>(left, curator::Studies::kMaxTicketsPerOffer);
      COPPICE_RETURN_IF_ERROR(AnswerFrom(begin, count));
    }
    return OkStatus();
  }

 private:
  Status AnswerFrom(size_t begin, size_t count) {
    COPPICE_ASSIGN_OR_RETURN(const curator::Studies::Offer offer,
                             studies_.MakeOffer(kStudy, static_cast<uint32_t>(count)));
    if (!privatizer_) COPPICE_RETURN_IF_ERROR(Read(offer));
    curator::ReportBatch batch;
    for (size_t i = 0; i < count; ++i) {
      COPPICE_ASSIGN_OR_RETURN(
          const PrivateReport report,
          privatizer_->Privatize(RowOf(rows_, begin + i), offer.tickets[i], random_));
      batch.Add(report.ticket.ToBytes(), report.payload, report.public_values);
    }
    return Submit(studies_, offer.fingerprint, std::move(batch));
  }

  // Terms and trees are the same in every offer.
  Status Read(const curator::Studies::Offer& offer) {
    COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(*offer.terms_bytes));
    COPPICE_ASSIGN_OR_RETURN(Forest forest, OpenForest(terms, *offer.forest));
    COPPICE_ASSIGN_OR_RETURN(
        Privatizer privatizer,
        Privatizer::Create(std::move(terms), offer.fingerprint, AllTrees(std::move(forest))));
    privatizer_.emplace(std::move(privatizer));
    return OkStatus();
  }

  curator::Studies& studies_;
  const Table& rows_;
  std::optional<Privatizer> privatizer_;
  OpenSslRandom random_;
};

StatusOr<Model> RunStudy(const curator::StudySpec& spec, const Table& private_rows,
                         const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalCurator> curator, StartCurator());
  curator::Studies& studies = *curator->studies;
  COPPICE_RETURN_IF_ERROR(studies.Create(spec, cancel).status());
  COPPICE_RETURN_IF_ERROR(Devices(studies, private_rows).Answer(cancel));
  COPPICE_RETURN_IF_ERROR(studies.Seal(kStudy).status());
  const curator::EstimatorOptions options{.choose_kind = true};
  COPPICE_ASSIGN_OR_RETURN(const models::ModelInfo built,
                           studies.BuildModel(kStudy, kModel, options, cancel));
  return *built.model;
}

Budget ReportEpsilon(double epsilon) {
  const Budget budget = EpsilonOf(epsilon);
  if (budget.nanos() < kMinEpsilonNanos || budget.nanos() > kMaxStudyEpsilonNanos) {
    throw py::value_error("epsilon of a report must be from 0.01 to 20");
  }
  return budget;
}

TrainedModel Simulate(const EncodedTable& public_rows, const EncodedTable& private_rows,
                      double epsilon, const std::optional<std::string>& mechanism,
                      bool accept_leak) {
  std::optional<MechanismKind> kind;
  if (mechanism.has_value()) kind = ValueOrRaise(ParseMechanism(*mechanism));
  const curator::StudySpec spec =
      SpecOf(public_rows.table, ReportEpsilon(epsilon), kind, accept_leak);
  StatusOr<Model> model = UnknownError("");
  {
    const WithoutInterpreter without;
    model = RunStudy(spec, *private_rows.table, CancelCheck(CheckSignals));
  }
  return WithoutRecord(ValueOrRaise(std::move(model)));
}

}  // namespace

void BindSimulation(py::module_& module) {
  module.def("simulate", Simulate, py::arg("public_rows"), py::arg("private_rows"),
             py::arg("epsilon"), py::arg("mechanism") = py::none(), py::arg("accept_leak") = false);
}

}  // namespace coppice::python
