// Sessions with a PostgreSQL server.

#ifndef COPPICE_SERVER_STORAGE_POSTGRES_CONNECTION_H_
#define COPPICE_SERVER_STORAGE_POSTGRES_CONNECTION_H_

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coppice::storage {

// What a server answered to one statement, in binary.
class QueryResult {
 public:
  explicit QueryResult(PGresult* result) : result_(result, &PQclear) {}

  PGresult* get() const { return result_.get(); }
  int rows() const { return PQntuples(result_.get()); }
  absl::string_view Bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  bool Bool(int row, int column) const { return Bytes(row, column) == absl::string_view("\1", 1); }
  int64_t Int64(int row, int column) const;

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

// A parameter of a statement, in binary.
struct QueryValue {
  Oid type = 0;
  std::string bytes;

  static QueryValue Bytea(absl::string_view bytes);
  static QueryValue Int64(int64_t number);
  static QueryValue ByteaArray(absl::Span<const absl::string_view> elements);
};

struct Statement {
  const char* sql;
  std::vector<QueryValue> values{};
};

// How a transaction ended. Unknown: its commit may be done, or still be under way.
enum class TransactionOutcome { kCommitted, kRefused, kUnknown };

struct TransactionResult {
  TransactionOutcome outcome;
  absl::Status status;  // OK if and only if it is committed
};

// One session. TLS and passwords are libpq's, by the URI, the environment and PGPASSFILE.
//
// Guarantee  no message of a status holds a password, a key or a value of a record.
// Errors     ResourceExhausted if the server's disk is full; DataLoss if it finds its files
//            corrupt; FailedPrecondition if the role lacks a right; Unavailable for anything else.
// Threads    for one at a time.
class Connection {
 public:
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& uri);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether the session still stands, as far as the server has said.
  bool IsAlive();

  absl::StatusOr<QueryResult> Run(const Statement& statement);
  // Statements without parameters, with semicolons between them.
  absl::Status RunScript(const std::string& script);
  // A command such as VACUUM. A warning is an error: it says that something was skipped.
  absl::Status RunMaintenance(const std::string& command);

  // Calls `visit` with each row as it arrives. After an error the connection is of no more use.
  absl::Status Stream(const Statement& statement,
                      absl::FunctionRef<absl::Status(const QueryResult& row)> visit);

  // Runs the statements as one transaction that is sent in one piece. Unknown also if the server
  // warns that it did not wait for a synchronous replica.
  TransactionResult RunTransaction(absl::Span<const Statement> statements);

 private:
  explicit Connection(PGconn* connection) : connection_(connection, &PQfinish) {}

  static void KeepWarning(void* self, const PGresult* notice);

  bool Send(const Statement& statement);
  absl::Status StatusOfConnection() const;
  TransactionResult ReadPipeline(size_t statements);

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  bool replica_missed_ = false;  // a warning of the kind that RunTransaction() heeds
  std::string warning_;          // the last one
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_POSTGRES_CONNECTION_H_
