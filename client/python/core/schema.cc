#include "common/schema/schema.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "client/python/core/bindings.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"
#include "coppice/v1/schema.pb.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

using SharedSchema = std::shared_ptr<Schema>;

SharedSchema Shared(Schema schema) { return std::make_shared<Schema>(std::move(schema)); }

SharedSchema FromBytes(const std::string& bytes) {
  v1::Schema proto;
  if (!proto.ParseFromString(bytes)) throw py::value_error("these bytes are not a schema");
  return Shared(ValueOrRaise(ParseSchema(proto)));
}

py::object TargetOf(const Schema& schema) {
  if (!schema.target()) return py::none();
  return py::make_tuple(schema.target()->min, schema.target()->max);
}

void BindFeature(py::module_& module) {
  py::class_<Feature>(module, "Feature", DocstringOf("Feature"))
      .def_readonly("name", &Feature::name, DocstringOf("Feature.name"))
      .def_property_readonly(
          "type",
          [](const Feature& feature) {
            return feature.type == FeatureType::kNumeric ? "numeric" : "categorical";
          },
          DocstringOf("Feature.type"))
      .def_readonly("min", &Feature::min, DocstringOf("Feature.min"))
      .def_readonly("max", &Feature::max, DocstringOf("Feature.max"))
      .def_readonly("values", &Feature::values, DocstringOf("Feature.values"))
      .def_readonly("unit", &Feature::unit, DocstringOf("Feature.unit"))
      .def_readonly("integer", &Feature::integer, DocstringOf("Feature.integer"))
      .def_readonly("public", &Feature::is_public, DocstringOf("Feature.public"))
      .def("__repr__", [](const Feature& feature) { return "<Feature " + feature.name + ">"; });
}

}  // namespace

void BindSchema(py::module_& module) {
  BindFeature(module);
  py::class_<Schema, SharedSchema>(module, "Schema", DocstringOf("Schema"))
      .def_static(
          "from_json",
          [](const std::string& text) {
            return Shared(Schema(*ValueOrRaise(ParseSchema(text)).schema));
          },
          py::arg("text"), DocstringOf("Schema.from_json"))
      .def_static(
          "from_file",
          [](const std::string& path) {
            return Shared(Schema(*FileValueOrRaise(ReadSchema(path)).schema));
          },
          py::arg("path"), DocstringOf("Schema.from_file"))
      .def_static("from_bytes", FromBytes, py::arg("bytes"), DocstringOf("Schema.from_bytes"))
      .def(
          "to_bytes",
          [](const Schema& schema) { return py::bytes(ToProto(schema).SerializeAsString()); },
          DocstringOf("Schema.to_bytes"))
      .def(
          "to_json",
          [](const SharedSchema& schema) {
            SchemaFile file{.schema = schema};
            file.features.resize(schema->num_features());
            return ToText(file);
          },
          DocstringOf("Schema.to_json"))
      .def_property_readonly("features", &Schema::features, DocstringOf("Schema.features"))
      .def_property_readonly("label", &Schema::label, DocstringOf("Schema.label"))
      .def_property_readonly("classes", &Schema::classes, DocstringOf("Schema.classes"))
      .def_property_readonly("target", TargetOf, DocstringOf("Schema.target"))
      .def("__eq__",
           [](const Schema& a, const py::object& b) {
             return py::isinstance<Schema>(b) && a == b.cast<const Schema&>();
           })
      .def(py::pickle(
          [](const Schema& schema) { return py::bytes(ToProto(schema).SerializeAsString()); },
          [](const py::bytes& state) { return FromBytes(state); }));
}

}  // namespace coppice::python
