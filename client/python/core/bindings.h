// What the files of the extension module share: how errors cross into Python, and who binds what.

#ifndef COPPICE_CLIENT_PYTHON_CORE_BINDINGS_H_
#define COPPICE_CLIENT_PYTHON_CORE_BINDINGS_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/budget.h"

namespace coppice::python {

// Raises the Python exception that `status` means: ValueError for what the caller gave,
// LookupError for what there is not, OSError for what the system refused, BudgetExhausted where a
// budget has no room, CoppiceError for everything else, each with the status's message. An
// exception that a callback raised already goes on as it is.
void RaiseIfError(const Status& status);
// The same where a file is what there is not.
void RaiseIfFileError(const Status& status);

template <typename T>
T ValueOrRaise(StatusOr<T> value) {
  RaiseIfError(value.status());
  return *std::move(value);
}

template <typename T>
T FileValueOrRaise(StatusOr<T> value) {
  RaiseIfFileError(value.status());
  return *std::move(value);
}

// The budget of `epsilon` as its shortest decimal says it: .1 is a tenth, though no double is.
Budget EpsilonOf(double epsilon);

// ValueError that names the argument if it is out of range.
template <typename Number>
Number InRange(const char* argument, int64_t given, Number least, Number most) {
  if (given >= 0 && static_cast<uint64_t>(given) >= least && static_cast<uint64_t>(given) <= most) {
    return static_cast<Number>(given);
  }
  throw pybind11::value_error(
      StrCat(argument, " must be from ", least, " to ", most, ", not ", given));
}

// Cancelled on Ctrl-C; takes the interpreter's lock for that.
Status CheckSignals();

// Lets other threads have the interpreter until the end of the scope. A thread that wants it back
// while the process ends would be thrown out of whatever it does; it waits for the end instead.
class WithoutInterpreter {
 public:
  WithoutInterpreter() : state_(PyEval_SaveThread()) {}
  ~WithoutInterpreter();
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

 private:
  PyThreadState* state_;
};

// Takes the interpreter in a thread that has let go of it.
class WithInterpreter {
 public:
  WithInterpreter();
  ~WithInterpreter() { PyGILState_Release(state_); }
  WithInterpreter(const WithInterpreter&) = delete;
  WithInterpreter& operator=(const WithInterpreter&) = delete;

 private:
  PyGILState_STATE state_;
};

// What coppice/_core.pyi says of "Class" or "Class.member", after the signature. Throws
// std::logic_error, which fails the import, if it says nothing.
const char* DocstringOf(std::string_view name);

// Each adds its part to the module.
void BindErrors(pybind11::module_& module);
void BindSchema(pybind11::module_& module);
void BindTable(pybind11::module_& module);
void BindDistinctBytes(pybind11::module_& module);
void BindModel(pybind11::module_& module);
void BindTraining(pybind11::module_& module);
void BindAccountant(pybind11::module_& module);
void BindEvaluation(pybind11::module_& module);
void BindDevice(pybind11::module_& module);
void BindRelayedDevice(pybind11::module_& module);
void BindSimulation(pybind11::module_& module);
void BindDescriptions(pybind11::module_& module);
void BindPages(pybind11::module_& module);
void BindPostgresQuery(pybind11::module_& module);

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_BINDINGS_H_
