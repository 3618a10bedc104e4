#include <string>

#include "client/python/core/bindings.h"
#include "common/base/printable.h"
#include "common/base/status.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// Set once, when the module is imported, and never freed: exceptions may be raised until the end.
PyObject* coppice_error = nullptr;
PyObject* budget_exhausted = nullptr;

PyObject* ExceptionFor(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
      return PyExc_ValueError;
    case StatusCode::kNotFound:
      return PyExc_LookupError;
    case StatusCode::kAlreadyExists:
      return PyExc_FileExistsError;
    case StatusCode::kUnavailable:
      return PyExc_OSError;
    case StatusCode::kResourceExhausted:
      return budget_exhausted;
    default:
      return coppice_error;
  }
}

[[noreturn]] void Raise(PyObject* exception, const Status& status) {
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(exception, std::string(status.message()).c_str());
  }
  throw py::error_already_set();
}

}  // namespace

void RaiseIfError(const Status& status) {
  if (!status.ok()) Raise(ExceptionFor(status.code()), status);
}

void RaiseIfFileError(const Status& status) {
  if (IsNotFound(status)) Raise(PyExc_FileNotFoundError, status);
  RaiseIfError(status);
}

void BindErrors(py::module_& module) {
  coppice_error = PyErr_NewExceptionWithDoc("coppice.CoppiceError", DocstringOf("CoppiceError"),
                                            PyExc_RuntimeError, nullptr);
  budget_exhausted = PyErr_NewExceptionWithDoc(
      "coppice.BudgetExhausted", DocstringOf("BudgetExhausted"), coppice_error, nullptr);
  module.attr("CoppiceError") = py::handle(coppice_error);
  // Bytes, because Python's text may hold what no UTF-8 does.
  module.def("printable", [](const py::bytes& text) { return Printable(std::string(text)); });
  module.attr("BudgetExhausted") = py::handle(budget_exhausted);
}

}  // namespace coppice::python
