#include "client/python/core/device_row.h"

#include "client/python/core/bindings.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

bool IsRow(const py::object& row) { return py::hasattr(row, "items"); }

}  // namespace

TextRow TextOf(const py::object& row) {
  const py::dict texts = py::module_::import("coppice.schema").attr("text_row")(row);
  TextRow text;
  for (const auto& [name, value] : texts)
    text[name.cast<std::string>()] = value.cast<std::string>();
  return text;
}

void CheckIsRow(const py::object& row) {
  if (!IsRow(row)) throw py::type_error("a row must be a mapping from names to values");
}

void CheckMayRead(const py::object& read) {
  if (IsRow(read) || PyCallable_Check(read.ptr()) != 0) return;
  throw py::type_error("what is answered must be a mapping, or a function that returns one");
}

TextRow ReadRow(const py::object& read) {
  const WithInterpreter with;
  try {
    return TextOf(IsRow(read) ? read : read());
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("the row of a device; it answers as if all were missing");
    return {};
  }
}

}  // namespace coppice::python
