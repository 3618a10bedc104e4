#include "client/python/core/device_row.h"

#include <exception>
#include <utility>

#include "client/python/core/bindings.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/public_key_file.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

bool IsRow(const py::object& row) { return py::hasattr(row, "items"); }

}  // namespace

TextRow TextOf(const py::object& row) {
  const py::dict texts = py::module_::import("coppice.schema").attr("text_row")(row);
  TextRow text;
  for (const auto& [name, value] : texts) {
    try {
      std::string written = value.cast<std::string>();
      text[name.cast<std::string>()] = std::move(written);
    } catch (const py::cast_error&) {  // no text after all: missing, as the others of its kind
    }
  }
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
    const bool interrupted = error.matches(PyExc_KeyboardInterrupt);
    error.discard_as_unraisable("the row of a device; it answers as if all were missing");
    if (interrupted) PyErr_SetInterrupt();
  } catch (const std::exception& error) {  // also memory that runs out: the ticket is taken
    PyErr_SetString(PyExc_RuntimeError, error.what());
    PyErr_WriteUnraisable(nullptr);
  }
  return {};
}

void HideArguments(py::handle type, const char* name, const char* docstring) {
  const py::object method = type.attr(name);
  const auto call = [method](const py::args& args, const py::kwargs& kwargs) -> py::object {
    std::string message;
    try {
      return method(*args, **kwargs);
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      message = py::str(error.value()).cast<std::string>();
      const size_t arguments = message.find("\nInvoked with: ");  // as pybind11 repeats them
      if (arguments == std::string::npos) throw;
      message.resize(arguments);
    }
    throw py::type_error(message);
  };
  type.attr(name) = py::cpp_function(call, py::name(name), py::is_method(type), docstring);
}

std::string FileOf(const OptionalPath& path) { return path.value_or("").native(); }

PublicKey ReadKey(const char* argument, const std::filesystem::path& pin_or_file) {
  StatusOr<PublicKey> key = ReadPublicKey(pin_or_file.native());
  if (key.ok()) return *key;
  throw py::value_error(StrCat(argument, ": ", key.status().message()));
}

}  // namespace coppice::python
