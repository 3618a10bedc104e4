#include "common/model/model.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "client/device/trust.h"
#include "client/python/core/bindings.h"
#include "client/python/core/columns.h"
#include "client/python/core/table.h"
#include "client/python/core/trained_model.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/system_clock.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/describe/paperwork.h"
#include "common/export/formats.h"
#include "common/model/certificate_text.h"
#include "common/model/explain.h"
#include "common/model/render.h"
#include "common/model/summary.h"
#include "common/terms/public_key_file.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_file.h"
#include "common/wire/proto/model_signature.h"
#include "coppice/v1/model.pb.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

constexpr size_t kRowsPerThread = 10'000;
constexpr double kMillion = 1e6;
constexpr double kBillion = 1e9;
constexpr double kQuintillion = 1e18;

// ---- reading and writing

TrainedModel FromMessage(v1::Model message) {
  Model model = ValueOrRaise(ParseModel(message));
  return {.model = std::make_shared<Model>(std::move(model)), .message = std::move(message)};
}

TrainedModel FromBytes(const std::string& bytes) {
  v1::Model message;
  if (!message.ParseFromString(bytes)) throw py::value_error("these bytes are not a model");
  return FromMessage(std::move(message));
}

TrainedModel Load(const std::string& path) {
  return FromMessage(FileValueOrRaise(ReadModelFile(path)));
}

void Save(const TrainedModel& self, const std::string& path, bool replace) {
  RaiseIfError(
      WriteFileAtomically(path, ValueOrRaise(ModelFileText(self.message)), {.replace = replace}));
}

// ---- predicting

// One array per number of a Prediction, filled in by row.
struct Predictions {
  Predictions(size_t rows, size_t outputs)
      : labels(static_cast<py::ssize_t>(rows)),
        probabilities({rows, outputs}),
        standard_error(static_cast<py::ssize_t>(rows)),
        value(static_cast<py::ssize_t>(rows)),
        value_error(static_cast<py::ssize_t>(rows)),
        low(static_cast<py::ssize_t>(rows)),
        high(static_cast<py::ssize_t>(rows)) {}

  py::array_t<uint32_t> labels;
  py::array_t<double> probabilities, standard_error, value, value_error, low, high;
};

// The same arrays as plain memory, which threads fill without the interpreter.
struct PredictionMemory {
  explicit PredictionMemory(Predictions& arrays)
      : labels(arrays.labels.mutable_data()),
        probabilities(arrays.probabilities.mutable_data()),
        standard_error(arrays.standard_error.mutable_data()),
        value(arrays.value.mutable_data()),
        value_error(arrays.value_error.mutable_data()),
        low(arrays.low.mutable_data()),
        high(arrays.high.mutable_data()) {}

  void Set(size_t row, const Prediction& prediction) const {
    labels[row] = prediction.label;
    std::copy(prediction.probabilities.begin(), prediction.probabilities.end(),
              probabilities + row * prediction.probabilities.size());
    standard_error[row] = prediction.standard_error;
    value[row] = prediction.value;
    value_error[row] = prediction.value_error;
    low[row] = prediction.low;
    high[row] = prediction.high;
  }

  uint32_t* labels;
  double *probabilities, *standard_error, *value, *value_error, *low, *high;
};

Status PredictRows(const Model& model, const Columns& columns, size_t begin, size_t end,
                   const PredictionMemory& out, ReadNotes& notes) {
  Row row(model.schema().num_features());
  for (size_t i = begin; i < end; ++i) {
    const Status encoded = columns.EncodeRow(i, row, notes);
    if (!encoded.ok()) return encoded;
    out.Set(i, model.Predict(row));
  }
  return OkStatus();
}

// What the rows of a prediction can be noted for: they have no answers.
void AddNotes(const ReadNotes& more, ReadNotes& notes) {
  notes.clamped += more.clamped;
  notes.rounded += more.rounded;
  notes.unknown_categories += more.unknown_categories;
  notes.missing += more.missing;
}

// Rows are independent, so each thread has a part of them.
Status PredictOnThreads(const Model& model, const Columns& columns, const PredictionMemory& out,
                        ReadNotes& notes) {
  const size_t rows = columns.num_rows();
  const size_t threads = std::clamp<size_t>(rows / kRowsPerThread, 1,
                                            std::max(1u, std::thread::hardware_concurrency()));
  Mutex mutex;
  Status status;
  const auto work = [&](size_t part) {
    Status done;
    ReadNotes of_part;
    try {
      done = PredictRows(model, columns, rows * part / threads, rows * (part + 1) / threads, out,
                         of_part);
    } catch (const std::bad_alloc&) {
      done = InternalError("there is not enough memory to predict these rows");
    }
    const MutexLock lock(mutex);
    status.Update(done);
    AddNotes(of_part, notes);
  };
  std::vector<std::thread> workers;
  for (size_t part = 1; part < threads; ++part) {
    try {
      workers.emplace_back(work, part);
    } catch (const std::system_error&) {  // no more threads are to be had
      work(part);
    }
  }
  work(0);
  for (std::thread& worker : workers) worker.join();
  return status;
}

// The predictions, and what reading the rows changed.
py::tuple Predict(const TrainedModel& self, std::vector<py::array_t<double>> arrays) {
  const std::shared_ptr<const Model> model = self.model;
  const Columns columns(std::make_shared<Schema>(model->schema()), std::move(arrays));
  Predictions predictions(columns.num_rows(), model->schema().num_outputs());
  const PredictionMemory memory(predictions);
  Status status;
  ReadNotes notes;
  {
    const WithoutInterpreter without;
    status = PredictOnThreads(*model, columns, memory, notes);
  }
  RaiseIfError(status);
  py::dict result;
  result["labels"] = predictions.labels;
  result["probabilities"] = predictions.probabilities;
  result["standard_error"] = predictions.standard_error;
  result["value"] = predictions.value;
  result["value_error"] = predictions.value_error;
  result["low"] = predictions.low;
  result["high"] = predictions.high;
  return py::make_tuple(result, NotesOf(notes));
}

// ---- explaining

const char* UnitName(ContributionUnit unit) {
  switch (unit) {
    case ContributionUnit::kProbability:
      return "probability";
    case ContributionUnit::kWeight:
      return "weight";
    case ContributionUnit::kScore:
      return "score";
    case ContributionUnit::kValue:
      return "value";
  }
  return "";
}

// What each feature contributes to each row's answer, one column per feature of the trees.
py::dict ExplainRows(const TrainedModel& self, std::vector<py::array_t<double>> arrays) {
  const Model& model = *self.model;
  const Columns columns(std::make_shared<Schema>(model.schema()), std::move(arrays));
  const size_t rows = columns.num_rows(), features = model.tree_schema().num_features();
  py::array_t<double> bias(static_cast<py::ssize_t>(rows)), contributions({rows, features});
  std::fill_n(contributions.mutable_data(), contributions.size(), 0.0);
  Explainer explainer(model);
  Row row(model.schema().num_features());
  ReadNotes notes;
  const char* unit = "";
  for (size_t i = 0; i < rows; ++i) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    RaiseIfError(columns.EncodeRow(i, row, notes));
    const Explanation explanation = explainer.Explain(row);
    unit = UnitName(explanation.unit);
    bias.mutable_at(i) = explanation.bias;
    for (const FeatureContribution& feature : explanation.features) {
      contributions.mutable_at(i, feature.feature) = feature.contribution;
    }
  }
  std::vector<std::string> names;
  for (const Feature& feature : model.tree_schema().features()) names.push_back(feature.name);
  py::dict result;
  result["unit"] = unit;
  result["bias"] = bias;
  result["contributions"] = contributions;
  result["names"] = names;
  result["notes"] = NotesOf(notes);
  return result;
}

// ---- describing

py::dict DescribeRelease(const Release& release) {
  py::dict described;
  described["what"] = release.what;
  described["mechanism"] = release.mechanism;
  described["epsilon"] = static_cast<double>(release.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(release.delta_atto) / kQuintillion;
  described["times"] = release.times;
  described["part"] = release.part;
  return described;
}

py::list WordsOf(const Certificate& certificate) {
  py::list sections;
  for (const CertificateText::Section& section : DescribeCertificate(certificate).sections) {
    py::dict described;
    described["title"] = section.title;
    described["sentences"] = section.sentences;
    sections.append(described);
  }
  return sections;
}

py::list QuestionsOf(const Certificate& certificate) {
  py::list questions;
  for (const ReviewAnswer& one : AnswerReview(certificate)) {
    py::dict described;
    described["question"] = one.question;
    described["answer"] = one.answer;
    described["to_say"] = one.to_say;
    questions.append(described);
  }
  return questions;
}

// None where nothing is promised.
py::object DescribeRelay(const RelayBound& relay) {
  if (relay.epsilon_nanos == 0) return py::none();
  py::dict described;
  described["epsilon"] = static_cast<double>(relay.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(relay.delta_atto) / kQuintillion;
  described["honest_reports"] = relay.honest_reports;
  described["dishonest"] = relay.dishonest_millionths / kMillion;
  described["batches"] = relay.batches;
  described["least_accepted"] = relay.least_accepted;
  described["relay_key_id"] = BytesToHexString(relay.relay_key);
  return described;
}

py::dict DescribeCertificateOf(const Model& model) {
  const Certificate& certificate = model.certificate();
  py::list releases;
  for (const Release& release : certificate.releases) releases.append(DescribeRelease(release));
  py::dict described;
  described["epsilon"] = static_cast<double>(certificate.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(certificate.delta_atto) / kQuintillion;
  described["neighbouring"] = certificate.neighbouring;
  described["mechanism"] = certificate.mechanism;
  described["algorithm"] = certificate.estimator;
  described["public_inputs"] = certificate.public_inputs;
  described["reports"] = certificate.reports;
  described["public_rows"] = certificate.public_rows;
  described["public_rows_sha256"] = certificate.public_rows_sha256;
  described["code_version"] = certificate.code_version;
  described["diagnosis"] = certificate.diagnosis;
  described["releases"] = releases;
  described["relay"] = DescribeRelay(certificate.relay);
  described["words"] = WordsOf(certificate);
  described["questions"] = QuestionsOf(certificate);
  return described;
}

// One number per feature of the schema; a derived feature's part goes to its own in equal shares.
std::vector<double> ImportancesOf(const Model& model) {
  std::vector<double> importances(model.schema().num_features());
  for (const Importance& importance : Summarize(model).importances) {
    if (importance.feature < importances.size()) {
      importances[importance.feature] += importance.importance;
      continue;
    }
    const DerivedFeature& parts = model.derived()[importance.feature - importances.size()];
    for (const DerivedTerm& part : parts) {
      importances[part.feature] += importance.importance / static_cast<double>(parts.size());
    }
  }
  return importances;
}

// "ID" of "models/ID"; empty where no curator has a record of it.
std::string IdOf(const v1::Model& message) {
  return ParseName(kModels, message.name()).value_or("");
}

void CheckSignature(const TrainedModel& self, const std::optional<std::string>& curator_key) {
  std::optional<PublicKey> key;
  if (curator_key.has_value()) key = ValueOrRaise(ReadPublicKey(*curator_key));
  RaiseIfError(CheckModelSignature(self.message, key, SystemSeconds()));
}

}  // namespace

TrainedModel WithoutRecord(Model model) {
  v1::Model message = ToProto(model);
  return {.model = std::make_shared<Model>(std::move(model)), .message = std::move(message)};
}

void BindModel(py::module_& module) {
  module.def(
      "write_file",
      [](const std::string& path, const std::string& data, bool replace) {
        RaiseIfError(WriteFileAtomically(path, data, {.replace = replace}));
      },
      py::arg("path"), py::arg("data"), py::arg("replace"));
  py::class_<TrainedModel>(module, "Model", "A trained model, with its certificate.")
      .def_static("from_bytes", FromBytes, py::arg("bytes"))
      .def_static("load", Load, py::arg("path"))
      .def("save", Save, py::arg("path"), py::arg("replace") = false)
      .def("to_bytes",
           [](const TrainedModel& self) { return py::bytes(self.message.SerializeAsString()); })
      .def_property_readonly("name", [](const TrainedModel& self) { return self.message.name(); })
      .def_property_readonly(
          "schema",
          [](const TrainedModel& self) { return std::make_shared<Schema>(self.model->schema()); })
      .def_property_readonly(
          "certificate",
          [](const TrainedModel& self) { return DescribeCertificateOf(*self.model); })
      .def(
          "registry_entry",
          [](const TrainedModel& self, const std::string& today) {
            return ValueOrRaise(RegistryEntry(self.message, today));
          },
          py::arg("today"))
      .def_property_readonly("importances",
                             [](const TrainedModel& self) { return ImportancesOf(*self.model); })
      .def_property_readonly("num_trees",
                             [](const TrainedModel& self) { return self.model->forest().size(); })
      .def("summary", [](const TrainedModel& self) { return RenderSummary(*self.model); })
      .def(
          "render",
          [](const TrainedModel& self, size_t tree, const std::string& format) {
            return ValueOrRaise(Render(*self.model, tree, ValueOrRaise(ParseRenderFormat(format))));
          },
          py::arg("tree") = 0, py::arg("format") = "text")
      .def(
          "export",
          [](const TrainedModel& self, const std::string& format) {
            if (format == "message") return py::bytes(ModelMessageBytes(self.message));
            return py::bytes(
                ValueOrRaise(formats::ExportModel(*self.model, IdOf(self.message), format)));
          },
          py::arg("format"))
      .def("predict", Predict, py::arg("columns"))
      .def("explain", ExplainRows, py::arg("columns"))
      .def("check_signature", CheckSignature, py::arg("curator_key") = py::none())
      .def("__eq__",
           [](const TrainedModel& a, const py::object& b) {
             return py::isinstance<TrainedModel>(b) &&
                    *a.model == *b.cast<const TrainedModel&>().model;
           })
      .def(py::pickle(
          [](const TrainedModel& self) { return py::bytes(self.message.SerializeAsString()); },
          [](const py::bytes& state) { return FromBytes(state); }));
}

}  // namespace coppice::python
