// A reader of a real daemon's metrics page and log learns neither how many private rows there are
// nor how long a job took.

#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/integration/daemon.h"
#include "tests/integration/http_page.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::GetPage;
using ::coppice::testing::Outcome;
using ::coppice::testing::TempDir;
using ::coppice::testing::ValueOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// What a reader of page and log sees, without what follows from clocks and ids.
struct Seen {
  std::string page;
  std::string log;
};

class RowCountTest : public ::testing::Test {
 protected:
  void WriteRows(int rows) const {
    std::ofstream(schema_) << R"({"features":[{"name":"x","type":"numeric","min":0,"max":1}],)"
                           << R"("label":"y","classes":["no","yes"]})";
    std::ofstream file(rows_);
    file << "x,y\n";
    for (int i = 0; i < rows; ++i)
      file << i % 10 * 0.1 << "," << (i % 2 == 0 ? "no" : "yes") << "\n";
  }

  static int MetricsPort(const Daemon& daemon) {
    std::istringstream lines(daemon.log());
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json.value("event", "") == "metrics") {
        return std::stoi(json["port"].get<std::string>());
      }
    }
    return 0;
  }

  // Leaves out the times of calls on other things, and those of the page itself.
  static std::string PageOf(const Daemon& daemon) {
    std::istringstream lines(GetPage(MetricsPort(daemon), "/metrics"));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      const bool is_clock =
          std::regex_search(line, std::regex("^(exposer_|coppice_call_seconds_(sum|bucket)|"
                                             "process_start_time|coppice_certificate_expiry|HTTP|"
                                             "Content-Length|Date)"));
      if (!is_clock) kept += line + "\n";
    }
    return kept;
  }

  // Makes a table, trains on it and deletes it, with a daemon of its own.
  Seen Observe(int rows) const {
    WriteRows(rows);
    const TempDir folder;
    Daemon daemon(folder.path());
    daemon.AddFlags({"--json", "--log-level", "debug", "--metrics-listen", "127.0.0.1:0"});
    EXPECT_TRUE(daemon.Start());
    EXPECT_NE(GetPage(MetricsPort(daemon), "/metrics"), "");
    const auto run = [&daemon](const std::vector<std::string>& arguments) {
      const Outcome outcome = daemon.Coppice(arguments);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    };
    run({"dataset", "create", "--dataset", "d", "--data", rows_, "--schema", schema_,
         "--epsilon-total", "2"});
    run({"train", "submit", "--dataset", "d", "--algorithm", "rdt", "--epsilon", "1", "--job",
         "j"});
    run({"train", "watch", "--job", "j"});
    Seen seen;
    seen.page = PageOf(daemon);
    // The job is done, but the page does not say so yet.
    EXPECT_EQ(ValueOf(seen.page, "coppice_jobs{state=\"open\"}"), 1);
    EXPECT_EQ(ValueOf(seen.page, "coppice_jobs{state=\"done\"}"), 0);
    run({"dataset", "show", "--dataset", "d"});
    run({"dataset", "delete", "--dataset", "d", "--yes"});
    seen.page += PageOf(daemon);
    EXPECT_EQ(daemon.Stop(), 0);
    seen.log = daemon.log();
    return seen;
  }

  TempDir data_;
  const std::string rows_ = data_.path() + "/rows.csv";
  const std::string schema_ = data_.path() + "/schema.json";
};

TEST_F(RowCountTest, ARowMoreChangesNoFigureOfThePage) {
  const Seen before = Observe(1000);
  EXPECT_THAT(before.page, HasSubstr("coppice_dataset_epsilon_spent{dataset=\"d\"} 1"));
  EXPECT_THAT(before.page, ContainsRegex("calls_total[^\n]*UploadRows[^\n]* 1"));
  // Tries one row more and many: a figure may be rounded, and an upload's block may be full.
  EXPECT_EQ(Observe(1001).page, before.page);
  EXPECT_EQ(Observe(150'000).page, before.page);
}

TEST_F(RowCountTest, NoDurationThatFollowsFromRowsIsOnThePageOrInTheLog) {
  const Seen seen = Observe(1000);
  EXPECT_THAT(seen.page, Not(ContainsRegex("call_seconds[^\n]*(Dataset|Training|Admin)Service")));
  EXPECT_THAT(seen.page, HasSubstr("coppice_call_seconds_count{method=\"coppice.v1.StudyService"));
  EXPECT_THAT(seen.log, Not(HasSubstr("WatchJob")));
  std::istringstream lines(seen.log);
  int private_calls = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, std::regex("(Dataset|Training)Service/"))) continue;
    ++private_calls;
    EXPECT_THAT(line, Not(HasSubstr("milliseconds")));
  }
  EXPECT_GT(private_calls, 4);
}

}  // namespace
}  // namespace coppice
