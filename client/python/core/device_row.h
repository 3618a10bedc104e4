// What devices in Python share: how a row comes from Python, and how keys and files are named.

#ifndef COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_
#define COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_

#include <pybind11/pybind11.h>

#include <filesystem>
#include <optional>
#include <string>

#include "common/schema/schema.h"
#include "common/terms/signature.h"

namespace coppice::python {

// A row's text, by the rules that tables are read by. What has no text is missing.
TextRow TextOf(const pybind11::object& row);

// TypeError unless `row` is a mapping, as a dict and a Series are: that much is asked before
// anything is spent.
void CheckIsRow(const pybind11::object& row);
// TypeError unless `read` is a mapping, or a function, which may return one.
void CheckMayRead(const pybind11::object& read);

// The row that `read` is or returns. Takes the interpreter, and throws nothing: what fails goes to
// sys.unraisablehook, and all is missing then, so that there is an answer; Ctrl-C is raised again
// when the interpreter goes on.
TextRow ReadRow(const pybind11::object& read);

// Replaces the method `name` of `type` by one whose errors of wrong arguments do not repeat these:
// a row may be among them. `docstring` is the method's own.
void HideArguments(pybind11::handle type, const char* name, const char* docstring);

// A path of Python's, str or os.PathLike.
using OptionalPath = std::optional<std::filesystem::path>;
// Empty if there is none.
std::string FileOf(const OptionalPath& path);
// The key that `pin_or_file` is, "ed25519:...", or that its file holds. ValueError that begins with
// `argument`.
PublicKey ReadKey(const char* argument, const std::filesystem::path& pin_or_file);

}  // namespace coppice::python

#endif  // COPPICE_CLIENT_PYTHON_CORE_DEVICE_ROW_H_
