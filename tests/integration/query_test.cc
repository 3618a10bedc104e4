// Datasets whose rows come from a query, with a real database, a real daemon and the command line.

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/integration/daemon.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::PostgresServer;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class QueryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(PostgresServer::IsInstalled(), PostgresServer::kMissing);
    uri_ = PostgresServer::Shared().NewDatabase();
    PostgresServer::Execute(
        uri_,
        "CREATE TABLE public.people (id serial, age int, plan text, left_us bool, seen "
        "timestamptz); "
        "INSERT INTO public.people (age, plan, left_us, seen) SELECT g % 90, "
        "(ARRAY['basic', 'gold'])[g % 2 + 1], g % 7 = 0, now() FROM generate_series(1, 150000) g");
    std::ofstream(schema_) << R"({"features":[{"name":"age","type":"numeric","min":0,"max":90},)"
                           << R"({"name":"plan","type":"categorical","values":["basic","gold"]}],)"
                           << R"("label":"left_us","classes":["False","True"]})";
    ASSERT_TRUE(daemon_.Start());
  }

  Outcome Create(const std::string& id, const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"dataset", "create",          "--dataset", id,      "--schema",
                                     schema_,   "--epsilon-total", "4",         "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return daemon_.Coppice(line);
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  const std::string schema_ = folder_.path() + "/schema.json";
  std::string uri_;
};

TEST_F(QueryTest, RowsOfAQueryTrainAModel) {
  const std::string query = folder_.path() + "/people.sql";
  std::ofstream(query) << "SELECT age, plan, left_us FROM people; -- all of them\n";
  const Outcome created = Create("d", {"--from", uri_, "--query-file", query});
  ASSERT_EQ(created.exit_code, 0) << created.err;
  const nlohmann::json dataset = daemon_.CoppiceJson({"dataset", "show", "--dataset", "d"});
  EXPECT_EQ(dataset["state"], "ready");
  EXPECT_EQ(dataset["rows"], 150'000);
  EXPECT_EQ(daemon_.CoppiceJson({"train", "submit", "--dataset", "d", "--algorithm", "spe",
                                 "--epsilon", "1", "--job", "j"})["job"],
            "j");
  EXPECT_EQ(daemon_.Coppice({"train", "watch", "--job", "j"}).exit_code, 0);
}

TEST_F(QueryTest, WhatIsWrongIsSaidBeforeADatasetIsThere) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--from", uri_, "--query", "SELECT age, plan FROM people"},
       "column \"left_us\" of the schema is none of the query's: age, plan"},
      {{"--from", uri_, "--query", "SELECT *, 1 AS age FROM people"},
       "type timestamp with time zone"},
      {{"--from", uri_, "--query", "SELECT age, age, plan, left_us FROM people"},
       "2 columns \"age\""},
      {{"--from", uri_, "--query", "SELECT age, plan, left_us FROM nothing"}, "does not exist"},
      {{"--from", "postgresql://u:hidden@localhost/d", "--query", "SELECT 1"},
       "without a password"},
      {{"--from", uri_}, "--query"},
      {{"--query", "SELECT 1"}, "--data"},
      {{}, "--data"}};
  for (const auto& [line, says] : wrong) {
    const Outcome outcome = Create("d", line);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(says), Not(HasSubstr("hidden"))));
  }
  EXPECT_NE(daemon_.Coppice({"dataset", "show", "--dataset", "d"}).exit_code, 0);
}

// The dataset then waits for rows that cannot come, and the message says what to do.
TEST_F(QueryTest, AQueryThatBreaksOffLeavesAnUploadThatIsNotContinued) {
  const Outcome outcome = Create(
      "d",
      {"--from", uri_, "--query", "SELECT 1 / (140000 - id) AS age, plan, left_us FROM people"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("22012"), HasSubstr("`coppice dataset delete --dataset d --yes`")));
  EXPECT_EQ(daemon_.CoppiceJson({"dataset", "show", "--dataset", "d"})["state"], "uploading");
  EXPECT_EQ(daemon_.Coppice({"dataset", "delete", "--dataset", "d", "--yes"}).exit_code, 0);
}

}  // namespace
}  // namespace coppice
