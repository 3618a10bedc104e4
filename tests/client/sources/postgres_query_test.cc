// The rows of a query in a real database, as a table has them.

#include "client/sources/postgres_query.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/schema/schema.h"
#include "common/table/read_table.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::PostgresServer;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresQueryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    uri_ = PostgresServer::Shared().NewDatabase();
  }

  void Execute(const std::string& sql) const {
    PostgresServer::Execute(uri_, "SET search_path = public; " + sql);
  }

  StatusOr<std::unique_ptr<PostgresQuery>> Open(const std::string& query) const {
    return PostgresQuery::Open({.uri = uri_, .query = query});
  }

  // All of it, in pieces of a few bytes.
  StatusOr<std::string> Csv(const std::string& query, size_t piece = 7) const {
    auto open = Open(query);
    if (!open.ok()) return open.status();
    std::string csv, buffer(piece, 0);
    for (;;) {
      const StatusOr<size_t> bytes = (*open)->Read(absl::MakeSpan(buffer));
      if (!bytes.ok()) return bytes.status();
      if (*bytes == 0) return csv;
      csv.append(buffer, 0, *bytes);
    }
  }

  std::string uri_;
};

TEST_F(PostgresQueryTest, EveryTypeThatHasAPlaceBecomesText) {
  Execute(
      "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN age AS int CHECK (VALUE > 0); "
      "CREATE TABLE t (i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, a age, b "
      "bool, "
      "t text, v varchar(9), c char(5), e mood, d date, u uuid); "
      "INSERT INTO t VALUES (1, -2, 9007199254740993, 0.1, 0.1, 1.50, 7, true, 'x, \"y\"', '  v ', "
      "'ab', "
      "'ok', '2024-01-31', '00000000-0000-0000-0000-00000000000a'), "
      "(NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', NULL, false, '', NULL, NULL, NULL, NULL, NULL)");
  EXPECT_EQ(
      *Csv("SELECT * FROM t"),
      "i2,i4,i8,f4,f8,n,a,b,t,v,c,e,d,u\n"
      "\"1\",\"-2\",\"9007199254740993\",\"0.1\",\"0.1\",\"1.50\",\"7\",\"True\",\"x, \"\"y\"\"\","
      "\"  v \",\"ab\",\"ok\",\"2024-01-31\",\"00000000-0000-0000-0000-00000000000a\"\n"
      ",,,,,,,\"False\",\"\",,,,,\n");
  auto open = Open("SELECT i4, b, t FROM t");
  ASSERT_OK(open.status());
  EXPECT_EQ((*open)->columns()[0].kind, ColumnKind::kNumber);
  EXPECT_EQ((*open)->columns()[1].kind, ColumnKind::kBoolean);
  EXPECT_EQ((*open)->columns()[2].kind, ColumnKind::kText);
}

TEST_F(PostgresQueryTest, ATypeWithoutAPlaceIsNamedBeforeTheQueryRuns) {
  const std::string ran = "SELECT 1 / (SELECT count(*) FROM pg_class WHERE false) AS x, ";
  for (const auto& [column, says] : std::vector<std::pair<std::string, std::string>>{
           {"now() AS t", "extract(epoch from t)"},
           {"interval '1 day' AS t", "extract(epoch from t)"},
           {"ARRAY[1] AS t", "integer[]"},
           {"'{}'::jsonb AS t", "jsonb"},
           {"'a'::bytea AS t", "bytea"},
           {"1::money AS t", "money"}}) {
    EXPECT_THAT(
        Open(ran + column).status(),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("column \"t\""), HasSubstr(says))));
  }
}

TEST_F(PostgresQueryTest, AQueryChangesNothing) {
  Execute("CREATE TABLE t (x int); INSERT INTO t VALUES (1)");
  for (const std::string query :
       {"DELETE FROM t RETURNING x", "SELECT 1 AS x; DELETE FROM t",
        "SELECT 1 AS x) TO STDOUT; DELETE FROM t; --", "SELECT nextval('s') AS x", "DROP TABLE t",
        "COPY t TO STDOUT", "", " ; "}) {
    EXPECT_THAT(Csv(query).status().code(),
                ::testing::AnyOf(StatusCode::kInvalidArgument, StatusCode::kUnavailable))
        << query;
  }
  EXPECT_EQ(PostgresServer::Number(uri_, "SELECT count(*)::bigint FROM public.t"), 1);
}

TEST_F(PostgresQueryTest, AStatementMayEndAsPeopleEndIt) {
  for (const std::string query :
       {"SELECT 1 AS x;", "SELECT 1 AS x -- the end", "  SELECT 1 AS x ; ;\n", "VALUES (1)",
        "SELECT 1 AS x; -- the end; really", "SELECT 1 /* ; /* ; */ -- ' */ AS x -- '\n; /* ' */",
        "SELECT 1 AS x WHERE ';' = $$;$$ AND E'\\';' <> $a$;$$;$a$ AND '''' <> ';'; -- x",
        "WITH a AS (SELECT 1 AS x) SELECT * FROM a"}) {
    EXPECT_THAT(*Csv(query), HasSubstr("\n\"1\"\n")) << query;
  }
  EXPECT_EQ(*Csv("SELECT 1 AS \"a \"\"b\"\"\", 2 AS \"a \"\"b\"\"\""),
            "\"a \"\"b\"\"\",\"a \"\"b\"\"\"\n\"1\",\"2\"\n");
}

// A row's value stays out of messages, whatever breaks.
TEST_F(PostgresQueryTest, NoMessageHoldsAValue) {
  Execute(
      "CREATE TABLE t (x text); INSERT INTO t SELECT g::text FROM generate_series(1, 5000) g; "
      "INSERT INTO t VALUES ('secret')");
  EXPECT_THAT(Csv("SELECT x::int AS x FROM t").status(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("22P02"), Not(HasSubstr("secret")))));
  EXPECT_THAT(Csv("SELECT x::int AS x FROM t ORDER BY x::int").status(),
              StatusIs(StatusCode::kFailedPrecondition, Not(HasSubstr("secret"))));
  EXPECT_THAT(Open("SELECT y FROM t").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("column \"y\" does not exist")));
  const Status nobody =
      PostgresQuery::Open({.uri = "postgresql://u:hidden@localhost:1/d", .query = "SELECT 1"})
          .status();
  EXPECT_THAT(nobody, StatusIs(StatusCode::kUnavailable, Not(HasSubstr("hidden"))));
  EXPECT_THAT(
      PostgresQuery::Open({.uri = "postgresql://u:hid%xxden@localhost/d", .query = "SELECT 1"})
          .status(),
      StatusIs(StatusCode::kInvalidArgument, Not(HasSubstr("hid"))));
}

TEST_F(PostgresQueryTest, EndsWhenItIsToldToAndWhenItsTimeIsOver) {
  const std::string slow = "SELECT 1 AS x, pg_sleep(600)::text AS y";
  auto limited =
      PostgresQuery::Open({.uri = uri_, .query = slow, .time_limit = absl::Milliseconds(50)});
  ASSERT_OK(limited.status());
  std::string buffer(100, 0);
  while ((*limited)->Read(absl::MakeSpan(buffer)).ok()) {
  }
  EXPECT_THAT((*limited)->Read(absl::MakeSpan(buffer)),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("time is over")))
      << "an error never looks like the end";

  for (const absl::Duration wrong :
       {absl::ZeroDuration(), absl::Seconds(-1), absl::Hours(1000), -absl::InfiniteDuration()}) {
    EXPECT_THAT(PostgresQuery::Open({.uri = uri_, .query = slow, .time_limit = wrong}).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 24 days")));
  }

  bool stop = false;
  {
    auto stopped = PostgresQuery::Open(
        {.uri = uri_, .query = slow, .stop = [&] { return std::exchange(stop, true); }});
    ASSERT_OK(stopped.status());
    StatusOr<size_t> read = 1;
    while (read.ok()) read = (*stopped)->Read(absl::MakeSpan(buffer));
    EXPECT_THAT(read.status(), StatusIs(StatusCode::kCancelled, HasSubstr("stopped")));
  }
  EXPECT_EQ(PostgresServer::Number(
                uri_,
                "SELECT count(*)::bigint FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
                "AND state = 'active' AND pid <> pg_backend_pid()"),
            0)
      << "it is cancelled there, too";
}

// The same rows give the same table by a file and by a query.
TEST_F(PostgresQueryTest, TheTableIsThatOfAFile) {
  Execute(
      "CREATE TABLE t (x float8, c text, y text); "
      "INSERT INTO t SELECT sin(g) * 1e3, (ARRAY['a', ' b', NULL, '', 'né'])[g % 5 + 1], "
      "(ARRAY['no', 'yes'])[g % 2 + 1] FROM generate_series(1, 3000) g");
  const std::string query = "SELECT y, x, c FROM t";
  auto schema = std::make_shared<const Schema>(*Schema::Create(
      {testing::Numeric("x", -500, 500), testing::Categorical("c", {"a", " b", "né"})}, "y",
      {"no", "yes"}));
  Table asked(schema);
  auto open = Open(query);
  ASSERT_OK(open.status());
  const StatusOr<ReadNotes> notes = ReadTableInBlocks(
      TextSource{.name = "query",
                 .read = [&](absl::Span<char> buffer) { return (*open)->Read(buffer); }},
      schema, {}, 1000, [&](const Table& block) {
        asked.Append(block);
        return OkStatus();
      });
  ASSERT_OK(notes.status());
  EXPECT_GT(notes->clamped, 0u);
  EXPECT_EQ(notes->missing, 1200u) << "NULL and the empty text";
  ASSERT_EQ(asked.num_rows(), 3000u);
  testing::TempDir folder;
  const std::string file = folder.path() + "/t.csv";
  std::ofstream(file) << *Csv(query, 4096);
  const Table read = ReadTable(file, schema)->table;
  ASSERT_EQ(read.num_rows(), 3000u);
  for (size_t row = 0; row < 3000; ++row) {
    EXPECT_EQ(asked.label(row), read.label(row));
    for (size_t f = 0; f < 2; ++f) {
      const double a = asked.value(row, f), b = read.value(row, f);
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << row;
    }
  }
}

}  // namespace
}  // namespace coppice
