// How a device's row comes from Python.

#ifndef COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_
#define COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_

#include <pybind11/pybind11.h>

#include "common/schema/schema.h"

namespace coppice::python {

// A row's text, by the rules that tables are read by. What has no text is missing.
TextRow TextOf(const pybind11::object& row);

// TypeError unless `row` is a mapping, as a dict and a Series are: that much is asked before
// anything is spent.
void CheckIsRow(const pybind11::object& row);
// TypeError unless `read` is a mapping, or a function, which may return one.
void CheckMayRead(const pybind11::object& read);

// The row that `read` is or returns. Takes the interpreter. What fails goes to
// sys.unraisablehook, and all is missing then, so that there is an answer.
TextRow ReadRow(const pybind11::object& read);

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_
