// The rows of a query, from the owner's PostgreSQL database.

#ifndef COPPICE_CLIENT_SOURCES_POSTGRES_QUERY_H_
#define COPPICE_CLIENT_SOURCES_POSTGRES_QUERY_H_

#include <libpq-fe.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/sources/postgres_types.h"
#include "common/base/status.h"

namespace coppice {

struct PostgresQueryOptions {
  std::string uri;    // libpq adds settings and passwords from the environment and PGPASSFILE
  std::string query;  // one SELECT, or whatever else returns rows and changes nothing
  // How long the query may take, its rows included. The server keeps it.
  absl::Duration time_limit = absl::InfiniteDuration();
  std::function<bool()> stop = [] { return false; };  // asked a few times a second while waiting
};

struct QueryColumn {
  std::string name;
  ColumnKind kind;
};

// One query in a transaction that can write nothing, so all of its rows are of one moment.
//
// Guarantee  No message holds a value of a row, a password or the URI. Memory does not grow with
//            the rows. Nothing runs before Open() has found a place for each column.
// Errors     InvalidArgument for a URI that libpq cannot read, a time limit that PostgreSQL does
// not take, a query that the server refuses, and
//            a column of a type without a place; FailedPrecondition if a value cannot be computed;
//            DeadlineExceeded after the time limit; Cancelled if `stop` says so, or somebody
//            cancels the query; Unavailable for anything else.
// Threads    one at a time.
class PostgresQuery {
 public:
  // Connects and lets the server parse the query.
  static StatusOr<std::unique_ptr<PostgresQuery>> Open(PostgresQueryOptions options);

  ~PostgresQuery();
  PostgresQuery(const PostgresQuery&) = delete;
  PostgresQuery& operator=(const PostgresQuery&) = delete;

  const std::vector<QueryColumn>& columns() const { return columns_; }

  // Runs the query at the first call. Fills the buffer with what there is of its rows, as CSV with
  // a header; 0 once all have been read.
  StatusOr<size_t> Read(absl::Span<char> buffer);

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  enum class Stage { kParsed, kReading, kEnded };

  PostgresQuery(PostgresQueryOptions options, PGconn* connection)
      : options_(std::move(options)), connection_(connection, &PQfinish) {}

  Status Begin();
  Status FindColumns();
  StatusOr<std::vector<PostgresType>> TypesOf(const PGresult* description) const;
  std::string CopyStatement() const;
  Status Run();
  // Points `row_` at the next row; false if none is there. With `wait`, false means the end.
  StatusOr<bool> NextRow(bool wait);
  // The query has ended with this answer.
  Status End(const PGresult* answer);
  // Waits until the server has sent something.
  Status Await();
  // The answer to what was sent, once it is there.
  StatusOr<Result> Answer();
  Status ConnectionError() const;
  void Cancel();

  const PostgresQueryOptions options_;
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  std::vector<QueryColumn> columns_;
  std::vector<std::string_view> expressions_;  // of the columns
  Stage stage_ = Stage::kParsed;
  Status end_;  // of a query that broke off; each later Read() returns it again
  std::unique_ptr<char, decltype(&PQfreemem)> row_memory_{nullptr, &PQfreemem};
  std::string_view row_;  // what is left of the current row
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_SOURCES_POSTGRES_QUERY_H_
