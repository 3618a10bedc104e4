#include "server/store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/postgres/uri.h"

namespace coppice::storage {
namespace {

constexpr Oid kByteaType = 17;
constexpr Oid kInt64Type = 20;
constexpr Oid kTextType = 25;
constexpr Oid kByteaArrayType = 1001;
constexpr int kMinServerVersion = 150000;

// Every session's settings, whatever the role's defaults. `client_min_messages` keeps warnings.
constexpr char kSessionSettings[] =
    "SET search_path = pg_catalog; SET client_min_messages = warning; "
    "SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = "
    "off; "
    "SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'; "
    // Frees the lock of a daemon whose machine is gone within a minute.
    "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

void AppendInt32(uint32_t number, std::string& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(number >> shift & 0xff));
  }
}

Status StatusOfResult(const PGresult* result) {
  const std::string_view code = ErrorField(result, PG_DIAG_SQLSTATE);
  const std::string text =
      StrCat("PostgreSQL: ", OneLineOf(PQresultErrorMessage(result)), " (", code, ")");
  if (code == "53100") {
    return ResourceExhaustedError(
        StrCat("the disk of the database server is full: free space there; ", text));
  }
  if (code == "XX001" || code == "XX002") {
    return DataLossError(StrCat("the database is corrupt: restore a base backup of it; ", text));
  }
  if (code == "42501") {
    return FailedPreconditionError(
        StrCat("the role of --store lacks a right (docs/postgresql.md#roles); ", text));
  }
  return UnavailableError(text);
}

Status NoAnswer() { return UnavailableError("PostgreSQL: the server does not answer"); }

bool IsGood(const PGresult* result) {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
      return true;
    default:
      return false;
  }
}

// ERROR ends only the statement; FATAL and PANIC end the session.
bool EndsStatementAlone(const PGresult* result) {
  return ErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
}

using ConnectionOptions = std::vector<std::pair<const char*, std::string>>;

// Later entries win: our defaults, the URI, a limit, and a rule that a replica never answers in the
// primary's place. A dead server is noticed in 30 s, or within the limit.
ConnectionOptions OptionsFor(const std::string& uri, absl::Duration time_limit) {
  ConnectionOptions options = {{"connect_timeout", "10"},
                               {"tcp_user_timeout", "30000"},
                               {"keepalives_idle", "15"},
                               {"keepalives_interval", "5"},
                               {"keepalives_count", "3"},
                               {"fallback_application_name", "coppiced"},
                               {"dbname", uri}};
  if (time_limit != absl::InfiniteDuration()) {
    const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(time_limit, absl::Seconds(1)));
    options.emplace_back("connect_timeout", StrCat(std::max<int64_t>(seconds, 2)));
    options.emplace_back("tcp_user_timeout", StrCat(absl::ToInt64Milliseconds(time_limit)));
  }
  options.emplace_back("target_session_attrs", "primary");
  return options;
}

Status CheckServer(PGconn* connection) {
  if (PQserverVersion(connection) >= kMinServerVersion) return OkStatus();
  return FailedPreconditionError(
      "the database server is older than PostgreSQL 15: upgrade it, or use another");
}

}  // namespace

int64_t QueryResult::Int64(int row, int column) const {
  uint64_t number = 0;
  for (const char c : Bytes(row, column)) number = number << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(number);
}

QueryValue QueryValue::Bytea(std::string_view bytes) {
  return {.type = kByteaType, .bytes = std::string(bytes)};
}

QueryValue QueryValue::Int64(int64_t number) {
  QueryValue value{.type = kInt64Type, .bytes = {}};
  AppendInt32(static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32), value.bytes);
  AppendInt32(static_cast<uint32_t>(number), value.bytes);
  return value;
}

QueryValue QueryValue::Text(std::string_view text) {
  return {.type = kTextType, .bytes = std::string(text)};
}

// Encodes dimensions, flags, type, length and first index, then each element after its length.
QueryValue QueryValue::ByteaArray(absl::Span<const std::string_view> elements) {
  QueryValue value{.type = kByteaArrayType, .bytes = {}};
  for (const uint32_t number : {uint32_t{1}, uint32_t{0}, kByteaType,
                                static_cast<uint32_t>(elements.size()), uint32_t{1}}) {
    AppendInt32(number, value.bytes);
  }
  for (const std::string_view element : elements) {
    AppendInt32(static_cast<uint32_t>(element.size()), value.bytes);
    value.bytes.append(element.data(), element.size());
  }
  return value;
}

StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& uri,
                                                       absl::Duration time_limit) {
  COPPICE_RETURN_IF_ERROR(CheckPostgresUri(uri));
  const ConnectionOptions options = OptionsFor(uri, time_limit);
  std::vector<const char*> names, values;
  for (const auto& [name, value] : options) {
    names.push_back(name);
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<Connection> opened(new Connection(
      PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1), time_limit));
  PGconn* const connection = opened->connection_.get();
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
    return opened->StatusOfConnection();
  }
  COPPICE_RETURN_IF_ERROR(CheckServer(connection));
  PQsetNoticeReceiver(connection, &Connection::KeepWarning, opened.get());
  // Details may name keys of records.
  PQsetErrorVerbosity(connection, PQERRORS_TERSE);
  COPPICE_RETURN_IF_ERROR(opened->RunScript(kSessionSettings));
  return opened;
}

void Connection::KeepWarning(void* self, const PGresult* notice) {
  auto* const connection = static_cast<Connection*>(self);
  const std::string_view code = ErrorField(notice, PG_DIAG_SQLSTATE);
  connection->replica_missed_ |= code == "01000" || code == "57P01";
  connection->warning_ = OneLineOf(PQresultErrorMessage(notice));
}

bool Connection::IsAlive() {
  PGconn* const connection = connection_.get();
  // The first call may read the server's last words; the second then sees the end.
  return !silent_ && PQconsumeInput(connection) == 1 && PQconsumeInput(connection) == 1 &&
         PQstatus(connection) == CONNECTION_OK;
}

Status Connection::StatusOfConnection() const {
  return UnavailableError(StrCat("PostgreSQL: ", OneLineOf(PQerrorMessage(connection_.get()))));
}

bool Connection::Send(const Statement& statement) {
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const QueryValue& value : statement.values) {
    types.push_back(value.type);
    values.push_back(value.bytes.data());
    lengths.push_back(static_cast<int>(value.bytes.size()));
  }
  const std::vector<int> binary(values.size(), 1);
  return PQsendQueryParams(connection_.get(), statement.sql, static_cast<int>(values.size()),
                           types.data(), values.data(), lengths.data(), binary.data(),
                           /*resultFormat=*/1) == 1;
}

bool Connection::AwaitUntil(std::chrono::steady_clock::time_point deadline) {
  PGconn* const connection = connection_.get();
  while (PQisBusy(connection) == 1) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) return false;
    pollfd socket{.fd = PQsocket(connection), .events = POLLIN, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int answered = poll(&socket, 1, static_cast<int>(std::min<int64_t>(milliseconds, 1000)));
    if (answered == 0 && abandoned_ && abandoned_()) {
      silent_ = true;
      return false;
    }
    if (PQconsumeInput(connection) != 1) break;  // PQgetResult() reports the error
  }
  return true;
}

bool Connection::AwaitAnswer() {
  if (silent_) return false;
  if (time_limit_ == absl::InfiniteDuration()) {
    return !abandoned_ || AwaitUntil(std::chrono::steady_clock::time_point::max());
  }
  // PQcancel() does not help: it waits for the server, which may be frozen.
  silent_ = !AwaitUntil(After(time_limit_));
  return !silent_;
}

StatusOr<QueryResult> Connection::ReadAnswer() {
  QueryResult answer(nullptr);
  for (;;) {
    if (!AwaitAnswer()) return NoAnswer();
    QueryResult next(PQgetResult(connection_.get()));
    if (next.get() == nullptr) break;
    // An error may follow the rows, because they are sent before the commit is done.
    if (answer.get() == nullptr || IsGood(answer.get())) answer = std::move(next);
  }
  if (answer.get() == nullptr) return StatusOfConnection();
  if (!IsGood(answer.get())) return StatusOfResult(answer.get());
  return answer;
}

StatusOr<QueryResult> Connection::Run(const Statement& statement) {
  if (!Send(statement)) return StatusOfConnection();
  return ReadAnswer();
}

StatusOr<QueryResult> Connection::RunAndCommit(const Statement& statement) {
  replica_missed_ = false;
  COPPICE_ASSIGN_OR_RETURN(QueryResult answer, Run(statement));
  if (!replica_missed_) return answer;
  return UnavailableError(StrCat("PostgreSQL warned of a commit: ", warning_));
}

Status Connection::RunScript(const std::string& script) {
  if (PQsendQuery(connection_.get(), script.c_str()) != 1) return StatusOfConnection();
  return ReadAnswer().status();
}

Status Connection::Stream(const Statement& statement,
                          absl::FunctionRef<Status(const QueryResult& row)> visit) {
  if (!Send(statement) || PQsetSingleRowMode(connection_.get()) != 1) return StatusOfConnection();
  for (;;) {
    if (!AwaitAnswer()) return NoAnswer();
    const QueryResult row(PQgetResult(connection_.get()));
    if (row.get() == nullptr) return OkStatus();
    if (!IsGood(row.get())) return StatusOfResult(row.get());
    if (row.rows() > 0) COPPICE_RETURN_IF_ERROR(visit(row));
  }
}

TransactionResult Connection::RunTransaction(absl::Span<const Statement> statements) {
  const auto unknown = [this] {
    return TransactionResult{TransactionOutcome::kUnknown, StatusOfConnection()};
  };
  PGconn* const connection = connection_.get();
  replica_missed_ = false;
  if (PQenterPipelineMode(connection) != 1) return unknown();
  bool sent = Send({.sql = "BEGIN"});
  for (const Statement& statement : statements) sent = sent && Send(statement);
  sent = sent && Send({.sql = "COMMIT"}) && PQpipelineSync(connection) == 1;
  if (!sent) return unknown();
  TransactionResult result = ReadPipeline(statements.size() + 2);
  if (PQexitPipelineMode(connection) != 1 && result.status.ok()) return unknown();
  if (result.outcome == TransactionOutcome::kRefused) RunScript("ROLLBACK").IgnoreError();
  return result;
}

TransactionResult Connection::ReadPipeline(size_t statements) {
  PGconn* const connection = connection_.get();
  TransactionResult result{TransactionOutcome::kCommitted, OkStatus()};
  for (size_t i = 0; i < statements; ++i) {
    if (!AwaitAnswer()) return {TransactionOutcome::kUnknown, NoAnswer()};
    const QueryResult answer(PQgetResult(connection));
    if (answer.get() == nullptr) return {TransactionOutcome::kUnknown, StatusOfConnection()};
    if (!IsGood(answer.get()) && result.status.ok()) {
      result = {EndsStatementAlone(answer.get()) ? TransactionOutcome::kRefused
                                                 : TransactionOutcome::kUnknown,
                StatusOfResult(answer.get())};
      if (result.outcome == TransactionOutcome::kUnknown) return result;
    }
    PQclear(PQgetResult(connection));  // null, between two statements
  }
  if (!AwaitAnswer()) return {TransactionOutcome::kUnknown, NoAnswer()};
  const QueryResult sync(PQgetResult(connection));
  if (PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC && result.status.ok()) {
    return {TransactionOutcome::kUnknown, StatusOfConnection()};
  }
  if (result.status.ok() && replica_missed_) {
    return {TransactionOutcome::kUnknown,
            UnavailableError(StrCat("PostgreSQL warned of a commit: ", warning_))};
  }
  return result;
}

Status Connection::RunMaintenance(const std::string& command) {
  warning_.clear();
  COPPICE_RETURN_IF_ERROR(RunScript(command));
  if (warning_.empty()) return OkStatus();
  return UnavailableError(StrCat("PostgreSQL: ", warning_));
}

}  // namespace coppice::storage
