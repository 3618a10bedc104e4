#include <pybind11/pybind11.h>

namespace py = pybind11;

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ core of coppice. Use the package, whose names are stable.";
  module.attr("__version__") = COPPICE_VERSION;
}
