// The pages that notebooks show.

#include "common/pages/pages.h"

#include <pybind11/pybind11.h>

#include <string>

#include <nlohmann/json.hpp>

#include "client/python/core/bindings.h"
#include "client/python/core/trained_model.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

using Json = nlohmann::ordered_json;

Json ParseObject(const std::string& text) {
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw py::value_error("a page needs a JSON object");
  return json;
}

// Binds a page that takes what a command prints with --json.
void BindPage(py::module_& module, const char* name, std::string (*page)(const Json&)) {
  module.def(
      name,
      [page](const std::string& text) {
        try {
          return page(ParseObject(text));
        } catch (const Json::exception& error) {
          throw py::value_error(std::string("the page lacks a member: ") + error.what());
        }
      },
      py::arg("json_text"));
}

}  // namespace

void BindPages(py::module_& module) {
  BindPage(module, "certificate_page", report::CertificatePage);
  BindPage(module, "plan_page", report::PlanPage);
  BindPage(module, "budget_page", report::BudgetPage);
  module.def(
      "record_page",
      [](const std::string& kind, const std::string& title, const std::string& text) {
        return report::RecordPage(kind, title, ParseObject(text));
      },
      py::arg("kind"), py::arg("title"), py::arg("json_text"));
  module.def(
      "tree_page",
      [](const std::string& id, const TrainedModel& model) {
        return report::TreePage(id, *model.model);
      },
      py::arg("id"), py::arg("model"));
}

}  // namespace coppice::python
