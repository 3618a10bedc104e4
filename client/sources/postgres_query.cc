#include "client/sources/postgres_query.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/postgres/uri.h"

namespace coppice {
namespace {

constexpr int kAskMilliseconds = 200;  // between two questions whether to stop
// PostgreSQL counts a limit in milliseconds of 31 bits.
constexpr absl::Duration kLongest = absl::Hours(24 * 24);

// The session's settings, so that texts of values depend on no role and no server.
constexpr char kSettings[] =
    "SET DateStyle = 'ISO, YMD'; SET TimeZone = 'UTC'; SET extra_float_digits = 1; "
    "SET client_min_messages = error; ";

// A server that is gone is noticed in half a minute.
constexpr std::pair<const char*, const char*> kConnection[] = {
    {"connect_timeout", "10"}, {"tcp_user_timeout", "30000"},
    {"keepalives_idle", "15"}, {"keepalives_interval", "5"},
    {"keepalives_count", "3"}, {"fallback_application_name", "coppice"}};

PGconn* Connect(const std::string& uri) {
  std::vector<const char*> names, values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  for (const auto& [name, value] : kConnection) add(name, value);
  add("dbname", uri.c_str());
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
  return PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1);
}

// What went wrong while rows were computed. PostgreSQL's own words may quote a value.
Status RowError(const PGresult* result) {
  const std::string_view code = ErrorField(result, PG_DIAG_SQLSTATE);
  if (code == "57014") {
    const bool in_time =
        !StrContains(ErrorField(result, PG_DIAG_MESSAGE_PRIMARY), "statement timeout");
    return in_time ? CancelledError("PostgreSQL: somebody cancelled the query there")
                   : DeadlineExceededError("PostgreSQL: the query's time is over");
  }
  const std::string why =
      StrCat(" (SQLSTATE ", code,
             "); PostgreSQL's message is not shown, since it may quote a value: "
             "run the query in psql to see it");
  if (StartsWith(code, "22") || StartsWith(code, "23")) {
    return FailedPreconditionError(StrCat("PostgreSQL: a value of a row cannot be computed", why));
  }
  return UnavailableError(StrCat("PostgreSQL: the query broke off", why));
}

// What the server says of the query itself, before any row.
Status QueryError(const PGresult* result) {
  return InvalidArgumentError(
      StrCat("PostgreSQL refuses the query: ", OneLineOf(PQresultErrorMessage(result)),
             " (SQLSTATE ", ErrorField(result, PG_DIAG_SQLSTATE), ")"));
}

std::string Quoted(std::string_view name) {
  return StrCat("\"", StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

constexpr std::string_view kTagCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// Comments nest.
size_t AfterComment(std::string_view sql, size_t at) {
  int depth = 0;
  while (at < sql.size()) {
    const std::string_view two = sql.substr(at, 2);
    const bool is_mark = two == "/*" || two == "*/";
    if (is_mark) depth += two == "/*" ? 1 : -1;
    at += is_mark ? 2 : 1;
    if (depth == 0) break;
  }
  return std::min(at, sql.size());
}

// The place after the quoted text or comment that begins at `at`; `at` itself if none begins there.
// The rules are those of PostgreSQL's lexer.
size_t AfterQuoted(std::string_view sql, size_t at) {
  const auto after = [&](std::string_view end, size_t from) {
    const size_t found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  const std::string_view rest = sql.substr(at);
  if (StartsWith(rest, "--")) return after("\n", at);
  if (StartsWith(rest, "/*")) return AfterComment(sql, at);
  if (rest[0] == '"') return after("\"", at + 1);  // a doubled one begins the next
  if (rest[0] == '\'') {
    const bool escapes = at > 0 && (sql[at - 1] == 'E' || sql[at - 1] == 'e');
    size_t next = at + 1;
    while (next < sql.size() && sql[next] != '\'') next += escapes && sql[next] == '\\' ? 2 : 1;
    return std::min(next + 1, sql.size());
  }
  if (rest[0] == '$') {
    const size_t tag = rest.find_first_not_of(kTagCharacters, 1);
    if (tag == std::string_view::npos || rest[tag] != '$') return at;
    return after(rest.substr(0, tag + 1), at + tag + 1);
  }
  return at;
}

// The statement without the semicolon that ends it and what follows, which would be wrong inside
// another. The server has parsed it, and found that it is the only one.
std::string StatementAlone(std::string_view sql) {
  size_t at = 0;
  while (at < sql.size() && sql[at] != ';') at = std::max(AfterQuoted(sql, at), at + 1);
  return std::string(StripAsciiWhitespace(sql.substr(0, at)));
}

}  // namespace

StatusOr<std::unique_ptr<PostgresQuery>> PostgresQuery::Open(PostgresQueryOptions options) {
  COPPICE_RETURN_IF_ERROR(CheckPostgresUri(options.uri));
  const bool has_limit = options.time_limit != absl::InfiniteDuration();
  if (has_limit && (options.time_limit <= absl::ZeroDuration() || options.time_limit > kLongest)) {
    return InvalidArgumentError(
        "the time limit must be above 0, and PostgreSQL takes at most 24 days");
  }
  PGconn* const connection = Connect(options.uri);
  std::unique_ptr<PostgresQuery> query(new PostgresQuery(std::move(options), connection));
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
    return query->ConnectionError();
  }
  COPPICE_RETURN_IF_ERROR(query->Begin());
  COPPICE_RETURN_IF_ERROR(query->FindColumns());
  return query;
}

PostgresQuery::~PostgresQuery() {
  if (stage_ == Stage::kReading) Cancel();
}

Status PostgresQuery::ConnectionError() const {
  return UnavailableError(StrCat("PostgreSQL: ", OneLineOf(PQerrorMessage(connection_.get()))));
}

// The transaction can write nothing, whatever the query calls.
Status PostgresQuery::Begin() {
  PQsetErrorVerbosity(connection_.get(), PQERRORS_TERSE);
  const int64_t limit = options_.time_limit == absl::InfiniteDuration()
                            ? 0
                            : std::max<int64_t>(absl::ToInt64Milliseconds(options_.time_limit), 1);
  const std::string script =
      StrCat(kSettings, "SET statement_timeout = ", limit, "; BEGIN READ ONLY");
  const Result begun(PQexec(connection_.get(), script.c_str()), &PQclear);
  return PQresultStatus(begun.get()) == PGRES_COMMAND_OK ? OkStatus() : ConnectionError();
}

Status PostgresQuery::FindColumns() {
  PGconn* const connection = connection_.get();
  const Result parsed(PQprepare(connection, "", options_.query.c_str(), 0, nullptr), &PQclear);
  if (PQresultStatus(parsed.get()) != PGRES_COMMAND_OK) return QueryError(parsed.get());
  const Result description(PQdescribePrepared(connection, ""), &PQclear);
  if (PQresultStatus(description.get()) != PGRES_COMMAND_OK) return QueryError(description.get());
  if (PQnfields(description.get()) == 0) {
    return InvalidArgumentError("the query returns no columns: write a SELECT");
  }
  COPPICE_ASSIGN_OR_RETURN(const std::vector<PostgresType> types, TypesOf(description.get()));
  for (int c = 0; c < PQnfields(description.get()); ++c) {
    const std::string name = PQfname(description.get(), c);
    COPPICE_ASSIGN_OR_RETURN(const TypeReading reading,
                             ReadingOf(types[static_cast<size_t>(c)], name));
    columns_.push_back({.name = name, .kind = reading.kind});
    expressions_.push_back(reading.expression);
  }
  return OkStatus();
}

StatusOr<std::vector<PostgresType>> PostgresQuery::TypesOf(const PGresult* description) const {
  std::vector<PostgresType> types;
  for (int c = 0; c < PQnfields(description); ++c) {
    const std::string id = StrCat(PQftype(description, c));
    const char* const values[] = {id.c_str()};
    const Result row(
        PQexecParams(
            connection_.get(),
            "SELECT typcategory, pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type "
            "WHERE oid = $1::pg_catalog.oid",
            1, nullptr, values, nullptr, nullptr, /*resultFormat=*/0),
        &PQclear);
    if (PQresultStatus(row.get()) != PGRES_TUPLES_OK || PQntuples(row.get()) != 1) {
      return ConnectionError();
    }
    types.push_back({.id = PQftype(description, c),
                     .category = PQgetvalue(row.get(), 0, 0)[0],
                     .name = PQgetvalue(row.get(), 0, 1)});
  }
  return types;
}

// Columns go by places inside, since a query's names may repeat. The query has lines of its own,
// for it may end in a comment.
std::string PostgresQuery::CopyStatement() const {
  std::vector<std::string> selected, places;
  for (size_t c = 0; c < columns_.size(); ++c) {
    places.push_back(StrCat("c", c));
    selected.push_back(StrCat(StrReplaceAll(expressions_[c], {{"$", places.back()}}), " AS ",
                              Quoted(columns_[c].name)));
  }
  return StrCat("COPY (SELECT ", StrJoin(selected, ", "), " FROM (\n",
                StatementAlone(options_.query), "\n) AS asked (", StrJoin(places, ", "),
                ")) TO STDOUT WITH (FORMAT csv, HEADER true, FORCE_QUOTE *)");
}

Status PostgresQuery::Await() {
  PGconn* const connection = connection_.get();
  pollfd socket{.fd = PQsocket(connection), .events = POLLIN, .revents = 0};
  while (poll(&socket, 1, kAskMilliseconds) <= 0) {
    if (options_.stop()) return CancelledError("stopped while the database was at work");
  }
  return PQconsumeInput(connection) == 1 ? OkStatus() : ConnectionError();
}

StatusOr<PostgresQuery::Result> PostgresQuery::Answer() {
  while (PQisBusy(connection_.get()) == 1) COPPICE_RETURN_IF_ERROR(Await());
  return Result(PQgetResult(connection_.get()), &PQclear);
}

Status PostgresQuery::Run() {
  if (PQsendQuery(connection_.get(), CopyStatement().c_str()) != 1) return ConnectionError();
  stage_ = Stage::kReading;
  COPPICE_ASSIGN_OR_RETURN(const Result answer, Answer());
  return PQresultStatus(answer.get()) == PGRES_COPY_OUT ? OkStatus() : End(answer.get());
}

Status PostgresQuery::End(const PGresult* answer) {
  stage_ = Stage::kEnded;
  const std::string_view code = ErrorField(answer, PG_DIAG_SQLSTATE);
  if (PQresultStatus(answer) == PGRES_COMMAND_OK) return OkStatus();
  if (code.empty()) {
    end_ = ConnectionError();
  } else {
    end_ = StartsWith(code, "42") ? QueryError(answer) : RowError(answer);
  }
  return end_;
}

StatusOr<bool> PostgresQuery::NextRow(bool wait) {
  for (;;) {
    char* row = nullptr;
    const int bytes = PQgetCopyData(connection_.get(), &row, /*async=*/1);
    row_memory_.reset(row);
    row_ = std::string_view(row, static_cast<size_t>(std::max(bytes, 0)));
    if (bytes > 0) return true;
    if (bytes < 0) {
      if (!wait) return false;
      COPPICE_ASSIGN_OR_RETURN(const Result answer, Answer());
      COPPICE_RETURN_IF_ERROR(End(answer.get()));
      return false;
    }
    if (!wait) return false;
    COPPICE_RETURN_IF_ERROR(Await());
  }
}

StatusOr<size_t> PostgresQuery::Read(absl::Span<char> buffer) {
  if (stage_ == Stage::kParsed) COPPICE_RETURN_IF_ERROR(Run());
  COPPICE_RETURN_IF_ERROR(end_);
  size_t filled = 0;
  while (filled < buffer.size() && stage_ == Stage::kReading) {
    if (row_.empty()) {
      if (options_.stop()) return CancelledError("stopped while rows were read");
      COPPICE_ASSIGN_OR_RETURN(const bool is_there, NextRow(/*wait=*/filled == 0));
      if (!is_there) break;
    }
    const size_t bytes = std::min(row_.size(), buffer.size() - filled);
    std::memcpy(buffer.data() + filled, row_.data(), bytes);
    row_.remove_prefix(bytes);
    filled += bytes;
  }
  return filled;
}

// As far as the server listens: a query that sorts for an hour would go on for nobody.
void PostgresQuery::Cancel() {
  const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(PQgetCancel(connection_.get()),
                                                                  &PQfreeCancel);
  char error[256];
  if (cancel != nullptr) PQcancel(cancel.get(), error, sizeof(error));
}

}  // namespace coppice
