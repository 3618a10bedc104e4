// What common/describe says of messages, which Python holds as protobuf's own and passes as bytes.

#include "common/describe/describe.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>

#include "client/python/core/bindings.h"
#include "common/base/text.h"
#include "common/describe/study_settings.h"
#include "coppice/v1/study.pb.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// "min_reports, expires, ...".
std::string SettingNames() {
  std::string names;
  for (const StudySetting& setting : StudySettingTable()) {
    StrAppend(&names, names.empty() ? "" : ", ", setting.name);
  }
  return names;
}

py::bytes SettingsOf(const std::map<std::string, std::string>& given) {
  v1::StudySettings settings;
  for (const auto& [name, text] : given) {
    const StudySetting* const setting = FindStudySetting(name);
    if (setting == nullptr) {
      throw py::type_error(StrCat(name, ": is no setting of a study; there are ", SettingNames()));
    }
    const Status status = setting->set(text, settings);
    if (!status.ok()) throw py::value_error(StrCat(name, "=", text, ": ", status.message()));
  }
  return py::bytes(settings.SerializeAsString());
}

}  // namespace

void BindDescriptions(py::module_& module) {
  module.def(
      "describe",
      [](const std::string& kind, const py::bytes& message) {
        const StatusOr<Description> described = DescribeBytes(kind, std::string(message));
        if (!described.ok()) throw py::value_error(std::string(described.status().message()));
        return described->dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                               Description::error_handler_t::replace);
      },
      py::arg("kind"), py::arg("message"));
  module.def("study_settings", &SettingsOf, py::arg("settings"));
}

}  // namespace coppice::python
