#include "common/schema/schema.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "client/python/core/bindings.h"
#include "common/data/schema_file.h"
#include "common/wire/convert.h"
#include "coppice/v1/schema.pb.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

using SharedSchema = std::shared_ptr<Schema>;

SharedSchema Shared(Schema schema) { return std::make_shared<Schema>(std::move(schema)); }

SharedSchema FromBytes(const std::string& bytes) {
  v1::Schema proto;
  if (!proto.ParseFromString(bytes)) throw py::value_error("these bytes are not a schema");
  return Shared(ValueOrRaise(FromProto(proto)));
}

py::object TargetOf(const Schema& schema) {
  if (!schema.target()) return py::none();
  return py::make_tuple(schema.target()->min, schema.target()->max);
}

void BindFeature(py::module_& module) {
  py::class_<Feature>(module, "Feature", "One feature of a schema.")
      .def_readonly("name", &Feature::name)
      .def_property_readonly("type",
                             [](const Feature& feature) {
                               return feature.type == FeatureType::kNumeric ? "numeric"
                                                                            : "categorical";
                             })
      .def_readonly("min", &Feature::min)
      .def_readonly("max", &Feature::max)
      .def_readonly("values", &Feature::values)
      .def_readonly("unit", &Feature::unit)
      .def_readonly("integer", &Feature::integer)
      .def_readonly("public", &Feature::is_public)
      .def("__repr__", [](const Feature& feature) { return "<Feature " + feature.name + ">"; });
}

}  // namespace

void BindSchema(py::module_& module) {
  BindFeature(module);
  py::class_<Schema, SharedSchema>(
      module, "Schema",
      "What a row looks like: features with public bounds or categories, and what is predicted.")
      .def_static(
          "from_json",
          [](const std::string& text) {
            return Shared(Schema(*ValueOrRaise(ParseSchema(text)).schema));
          },
          py::arg("text"), "Read the text of a schema file.")
      .def_static(
          "from_file",
          [](const std::string& path) {
            return Shared(Schema(*FileValueOrRaise(ReadSchema(path)).schema));
          },
          py::arg("path"), "Read a schema file.")
      .def_static("from_bytes", FromBytes, py::arg("bytes"), "Read a serialized message.")
      .def("to_bytes",
           [](const Schema& schema) { return py::bytes(ToProto(schema).SerializeAsString()); })
      .def("to_json",
           [](const SharedSchema& schema) {
             SchemaFile file{.schema = schema};
             file.features.resize(schema->num_features());
             return ToText(file);
           })
      .def_property_readonly("features", &Schema::features)
      .def_property_readonly("label", &Schema::label)
      .def_property_readonly("classes", &Schema::classes)
      .def_property_readonly("target", TargetOf)
      .def("__eq__",
           [](const Schema& a, const py::object& b) {
             return py::isinstance<Schema>(b) && a == b.cast<const Schema&>();
           })
      .def(py::pickle(
          [](const Schema& schema) { return py::bytes(ToProto(schema).SerializeAsString()); },
          [](const py::bytes& state) { return FromBytes(state); }));
}

}  // namespace coppice::python
