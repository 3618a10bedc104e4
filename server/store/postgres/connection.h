// Sessions with a PostgreSQL server.

#ifndef COPPICE_SERVER_STORE_POSTGRES_CONNECTION_H_
#define COPPICE_SERVER_STORE_POSTGRES_CONNECTION_H_

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice::storage {

// A server's answer to one statement, in binary.
class QueryResult {
 public:
  explicit QueryResult(PGresult* result) : result_(result, &PQclear) {}

  PGresult* get() const { return result_.get(); }
  int rows() const { return PQntuples(result_.get()); }
  std::string_view Bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  bool Bool(int row, int column) const { return Bytes(row, column) == std::string_view("\1", 1); }
  int64_t Int64(int row, int column) const;

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

// A parameter of a statement, in binary.
struct QueryValue {
  Oid type = 0;
  std::string bytes;

  static QueryValue Bytea(std::string_view bytes);
  static QueryValue Int64(int64_t number);
  static QueryValue Text(std::string_view text);
  static QueryValue ByteaArray(absl::Span<const std::string_view> elements);
};

struct Statement {
  const char* sql;
  std::vector<QueryValue> values{};
};

// How a transaction ended. Unknown: its commit may be done or still running.
enum class TransactionOutcome { kCommitted, kRefused, kUnknown };

struct TransactionResult {
  TransactionOutcome outcome;
  Status status;  // OK if and only if it is committed
};

// One session. libpq takes TLS settings and passwords from the URI, the environment and PGPASSFILE.
//
// Guarantee  no status message contains a password, a key or a value of a record.
// Errors     ResourceExhausted if the server's disk is full; DataLoss if its files are corrupt;
//            FailedPrecondition if the role lacks a right; Unavailable for anything else.
// Threads    one at a time.
class Connection {
 public:
  // A statement without an answer within `time_limit` fails, and the connection is then useless.
  // Connecting takes at most the same time per host, but may take two seconds.
  static StatusOr<std::unique_ptr<Connection>> Open(
      const std::string& uri, absl::Duration time_limit = absl::InfiniteDuration());

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether the session still stands, as far as the server has said.
  bool IsAlive();

  // Calls `abandoned` about once a second while an answer is outstanding. Once it returns true, the
  // wait ends as if the session were lost.
  void AbandonWhen(std::function<bool()> abandoned) { abandoned_ = std::move(abandoned); }

  StatusOr<QueryResult> Run(const Statement& statement);
  // Runs a statement that writes. OK if and only if it is committed, also on the synchronous
  // replicas; after an error it may be committed.
  StatusOr<QueryResult> RunAndCommit(const Statement& statement);
  // Runs statements without parameters, separated by semicolons.
  Status RunScript(const std::string& script);
  // Runs a command such as VACUUM. A warning is an error: it means that something was skipped.
  Status RunMaintenance(const std::string& command);

  // Calls `visit` with each row as it arrives. After an error the connection is useless.
  Status Stream(const Statement& statement,
                absl::FunctionRef<Status(const QueryResult& row)> visit);

  // Runs the statements as one transaction, sent in one piece. The outcome is also unknown if the
  // server warns that it did not wait for a synchronous replica.
  TransactionResult RunTransaction(absl::Span<const Statement> statements);

 private:
  Connection(PGconn* connection, absl::Duration time_limit)
      : connection_(connection, &PQfinish), time_limit_(time_limit) {}

  static void KeepWarning(void* self, const PGresult* notice);

  bool Send(const Statement& statement);
  // Waits until PQgetResult() has an answer or an error. False if no answer will come.
  bool AwaitAnswer();
  bool AwaitUntil(std::chrono::steady_clock::time_point deadline);
  // Returns the last answer to what was sent, or the first error.
  StatusOr<QueryResult> ReadAnswer();
  Status StatusOfConnection() const;
  TransactionResult ReadPipeline(size_t statements);

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  const absl::Duration time_limit_;
  std::function<bool()> abandoned_;
  bool silent_ = false;          // for longer than the limit, or abandoned
  bool replica_missed_ = false;  // the server gave the warning that RunTransaction() heeds
  std::string warning_;          // the last one
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_POSTGRES_CONNECTION_H_
