#include "client/python/core/table.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/python/core/bindings.h"
#include "client/python/core/columns.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/number.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

using Answers = py::array_t<double, py::array::c_style | py::array::forcecast>;

void CheckAnswers(const std::optional<Answers>& answers, size_t rows) {
  if (answers.has_value() && static_cast<size_t>(answers->size()) != rows) {
    throw py::value_error(StrCat("there are ", rows, " rows and ", answers->size(), " labels"));
  }
}

Status AppendRow(const Schema& schema, const Row& row, double answer, Table& table,
                 ReadNotes& notes) {
  const auto refuse = [&](std::string_view why) {
    return InvalidArgumentError(
        StrCat("'", schema.label(), "', row ", table.num_rows(), " (counted from 0): ", why));
  };
  if (!schema.target()) {
    const bool known = answer >= 0 && answer < schema.num_classes();
    if (!known && !std::isnan(answer)) return refuse("is no class");
    table.Append(row, known ? static_cast<uint32_t>(answer) : kUnlabelled);
    return OkStatus();
  }
  if (!std::isfinite(answer)) {
    return refuse("what is predicted must be a finite number in every row");
  }
  const double inside = std::clamp(answer, schema.target()->min, schema.target()->max);
  if (inside != answer) ++notes.clamped_targets;
  table.AppendTarget(row, inside);
  return OkStatus();
}

StatusOr<EncodedTable> Encode(const Columns& columns, const double* answers) {
  const Schema& schema = *columns.schema();
  EncodedTable encoded;
  Table table(columns.schema());
  table.Reserve(columns.num_rows());
  Row row(schema.num_features());
  const double without = schema.target() ? schema.target()->min : kMissingValue;
  for (size_t i = 0; i < columns.num_rows(); ++i) {
    Status status = columns.EncodeRow(i, row, encoded.notes);
    if (status.ok()) {
      status =
          AppendRow(schema, row, answers == nullptr ? without : answers[i], table, encoded.notes);
    }
    if (!status.ok()) return status;
  }
  encoded.table = std::make_shared<Table>(std::move(table));
  return encoded;
}

EncodedTable MakeTable(std::shared_ptr<Schema> schema, std::vector<py::array_t<double>> arrays,
                       const std::optional<Answers>& answers) {
  const Columns columns(std::move(schema), std::move(arrays));
  CheckAnswers(answers, columns.num_rows());
  const double* values = answers.has_value() ? answers->data() : nullptr;
  StatusOr<EncodedTable> encoded = UnknownError("");
  {
    const WithoutInterpreter without;
    encoded = Encode(columns, values);
  }
  return ValueOrRaise(std::move(encoded));
}

// A view of the table's memory, which lives as long as the array does.
template <typename T>
py::array_t<T> ViewOf(absl::Span<const T> values, const py::object& owner) {
  py::array_t<T> view(static_cast<py::ssize_t>(values.size()), values.data(), owner);
  view.attr("flags").attr("writeable") = false;
  return view;
}

}  // namespace

py::dict NotesOf(const ReadNotes& notes) {
  py::dict counts;
  counts["clamped"] = notes.clamped;
  counts["rounded"] = notes.rounded;
  counts["unknown_categories"] = notes.unknown_categories;
  counts["missing"] = notes.missing;
  counts["clamped_targets"] = notes.clamped_targets;
  return counts;
}

void BindTable(py::module_& module) {
  module.def(
      "parse_number",
      [](const std::string& text) -> std::optional<double> {
        const std::optional<double> number = ParseFinite(text);
        if (!number.has_value()) return std::nullopt;
        return *number;
      },
      py::arg("text"));
  py::class_<EncodedTable>(module, "Table", "Rows by a schema, encoded.")
      .def(py::init(&MakeTable), py::arg("schema").none(false), py::arg("columns"),
           py::arg("answers") = py::none())
      .def_property_readonly("num_rows",
                             [](const EncodedTable& self) { return self.table->num_rows(); })
      .def_property_readonly("notes", [](const EncodedTable& self) { return NotesOf(self.notes); })
      .def("column",
           [](const py::object& self, size_t feature) {
             const Table& table = *self.cast<const EncodedTable&>().table;
             if (feature >= table.schema().num_features()) throw py::index_error();
             return ViewOf(table.column(feature), self);
           })
      .def_property_readonly("labels",
                             [](const py::object& self) {
                               return ViewOf(self.cast<const EncodedTable&>().table->labels(),
                                             self);
                             })
      .def_property_readonly("targets", [](const py::object& self) {
        return ViewOf(self.cast<const EncodedTable&>().table->targets(), self);
      });
}

}  // namespace coppice::python
