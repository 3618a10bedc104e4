#include <unistd.h>

#include <charconv>
#include <cmath>

#include "client/python/core/bindings.h"
#include "common/base/status.h"

namespace coppice::python {
namespace {

void WaitForTheEnd() {
  while (true) pause();
}

}  // namespace

WithoutInterpreter::~WithoutInterpreter() {
  if (_Py_IsFinalizing()) WaitForTheEnd();
  PyEval_RestoreThread(state_);
}

WithInterpreter::WithInterpreter() {
  if (_Py_IsFinalizing()) WaitForTheEnd();
  state_ = PyGILState_Ensure();
}

Status CheckSignals() {
  const WithInterpreter with;
  return PyErr_CheckSignals() == 0 ? OkStatus() : CancelledError("interrupted");
}

Budget EpsilonOf(double epsilon) {
  if (!std::isfinite(epsilon)) return ValueOrRaise(Budget::FromEpsilon(epsilon));
  char text[512];
  const auto end = std::to_chars(text, text + sizeof(text), epsilon, std::chars_format::fixed).ptr;
  return ValueOrRaise(Budget::Parse({text, static_cast<size_t>(end - text)}));
}

}  // namespace coppice::python
