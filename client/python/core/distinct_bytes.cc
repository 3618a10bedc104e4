#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/python/core/bindings.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

using Integers = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;
using Flags = py::array_t<bool, py::array::c_style | py::array::forcecast>;

struct Distinct {
  std::vector<std::string_view> values;
  std::vector<int64_t> places;
};

Distinct Find(const int64_t* addresses, const int64_t* lengths, const bool* missing, size_t cells) {
  Distinct distinct;
  distinct.places.reserve(cells);
  absl::flat_hash_map<std::string_view, int64_t> position;
  for (size_t i = 0; i < cells; ++i) {
    if (missing != nullptr && missing[i]) {
      distinct.places.push_back(-1);
      continue;
    }
    // An address is a number to NumPy, which computed it.
    const auto address = static_cast<uintptr_t>(addresses[i]);
    const std::string_view cell =
        lengths[i] == 0 ? std::string_view()
                        : std::string_view(reinterpret_cast<const char*>(address),  // NOLINT
                                           static_cast<size_t>(lengths[i]));
    const auto [entry, is_new] = position.try_emplace(cell, distinct.values.size());
    if (is_new) distinct.values.push_back(cell);
    distinct.places.push_back(entry->second);
  }
  return distinct;
}

// Places among the distinct texts, in the order in which they come, -1 for a missing one; and
// these. The caller has checked that there are as many bytes at every address.
py::tuple DistinctBytes(const Integers& addresses, const Integers& lengths,
                        const std::optional<Flags>& missing) {
  const auto cells = static_cast<size_t>(addresses.size());
  if (static_cast<size_t>(lengths.size()) != cells ||
      (missing.has_value() && static_cast<size_t>(missing->size()) != cells)) {
    throw py::value_error("there must be as many lengths as addresses");
  }
  Distinct distinct;
  {
    const WithoutInterpreter without;
    distinct = Find(addresses.data(), lengths.data(),
                    missing.has_value() ? missing->data() : nullptr, cells);
  }
  py::list values;
  for (const std::string_view value : distinct.values) {
    values.append(py::bytes(value.data(), value.size()));
  }
  return py::make_tuple(
      py::array_t<int64_t>(static_cast<py::ssize_t>(cells), distinct.places.data()), values);
}

}  // namespace

void BindDistinctBytes(py::module_& module) {
  module.def("distinct_bytes", &DistinctBytes, py::arg("addresses"), py::arg("lengths"),
             py::arg("missing"));
}

}  // namespace coppice::python
