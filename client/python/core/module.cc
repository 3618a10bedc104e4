// The extension module coppice._core: the C++ core as Python sees it. What it offers is for the
// package `coppice` alone, whose own names are stable.

#include <pybind11/pybind11.h>

#include "client/python/core/bindings.h"

PYBIND11_MODULE(_core, module) {
  using namespace coppice::python;  // NOLINT: one part after another
  pybind11::options options;
  options.disable_function_signatures();  // the docstrings begin with Python's
  module.doc() = "The C++ core of coppice. Use the package, whose names are stable.";
  module.attr("__version__") = COPPICE_VERSION;
  BindErrors(module);
  BindSchema(module);
  BindTable(module);
  BindDistinctBytes(module);
  BindModel(module);
  BindAccountant(module);
  BindTraining(module);
  BindEvaluation(module);
  BindSimulation(module);
  BindDevice(module);
  BindRelayedDevice(module);
  BindDescriptions(module);
  BindPages(module);
  BindPostgresQuery(module);
}
