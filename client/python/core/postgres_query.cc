// The rows of a query in PostgreSQL.

#include "client/sources/postgres_query.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "client/python/core/bindings.h"
#include "common/base/mutex.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

const char* NameOf(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kNumber:
      return "number";
    case ColumnKind::kText:
      return "text";
    case ColumnKind::kBoolean:
      return "boolean";
  }
  return "";
}

// Threads that share it read one after the other.
class QueryInPython {
 public:
  QueryInPython(const std::string& uri, const std::string& query, double seconds) {
    // Waits as often as it asks: at least five times a second.
    const auto stop = [] { return !CheckSignals().ok(); };
    const WithoutInterpreter without;
    opened_ = PostgresQuery::Open(
        {.uri = uri, .query = query, .time_limit = absl::Seconds(seconds), .stop = stop});
  }

  const PostgresQuery& query() { return *ValueOrRaise<PostgresQuery*>(Opened()); }

  py::bytes Read(size_t bytes) {
    PostgresQuery* const query = ValueOrRaise<PostgresQuery*>(Opened());
    std::string buffer(bytes, 0);
    StatusOr<size_t> read = 0;
    {
      const WithoutInterpreter without;
      const MutexLock lock(mutex_);
      read = query->Read(absl::MakeSpan(buffer));
    }
    return {buffer.data(), ValueOrRaise(std::move(read))};
  }

 private:
  StatusOr<PostgresQuery*> Opened() {
    if (!opened_.ok()) return opened_.status();
    return opened_->get();
  }

  Mutex mutex_;
  StatusOr<std::unique_ptr<PostgresQuery>> opened_ = nullptr;
};

py::list ColumnsOf(QueryInPython& query) {
  py::list columns;
  for (const QueryColumn& column : query.query().columns()) {
    columns.append(py::make_tuple(column.name, NameOf(column.kind)));
  }
  return columns;
}

}  // namespace

void BindPostgresQuery(py::module_& module) {
  py::class_<QueryInPython>(module, "PostgresQuery", DocstringOf("PostgresQuery"))
      .def(py::init([](const std::string& uri, const std::string& query, double seconds) {
             auto opened = std::make_unique<QueryInPython>(uri, query, seconds);
             opened->query();  // raises
             return opened;
           }),
           py::arg("uri"), py::arg("query"), py::arg("seconds"))
      .def_property_readonly("columns", &ColumnsOf, DocstringOf("PostgresQuery.columns"))
      .def("read", &QueryInPython::Read, py::arg("bytes"), DocstringOf("PostgresQuery.read"));
}

}  // namespace coppice::python
