// A real daemon's metrics, health and self-test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/integration/http_page.h"
#include "tests/support/eventually.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::GetPage;
using ::coppice::testing::MetricsOn;
using ::coppice::testing::Outcome;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::coppice::testing::ValueOf;
using ::testing::HasSubstr;

class OperatingTest : public ::testing::Test {
 protected:
  // Starts it with a metrics page, whose port is in the log before the daemon serves.
  // The first round of checks may still run when the daemon serves.
  void AwaitReady() const {
    ASSERT_TRUE(testing::Eventually([&] { return daemon_.Coppice({"health"}).exit_code == 0; }));
  }
  void Start() {
    daemon_.AddFlags({"--json", "--metrics-listen", "127.0.0.1:0"});
    ASSERT_TRUE(daemon_.Start());
    std::istringstream log(daemon_.log());
    for (std::string line; std::getline(log, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.value("event", "") == "metrics") {
        metrics_port_ = std::stoi(json["port"].get<std::string>());
      }
    }
    ASSERT_GT(metrics_port_, 0) << daemon_.log();
  }
  std::string Page() const { return GetPage(metrics_port_, "/metrics"); }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  int metrics_port_ = 0;
};

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST_F(OperatingTest, MetricsAreThoseOfTheDocumentAndTheBoardShowsNoOthers) {
  Start();
  Page();  // the first page cannot include its own request
  const std::set<std::string> exported = MetricsOn(Page());
  EXPECT_EQ(exported, Matches(ReadWhole(SourcePath("docs/operating.md")),
                              "\\| `([a-z_]+)` \\| (?:counter|gauge|histogram|summary) \\|"));
  for (const char* file : {"deploy/grafana/coppice.json", "deploy/prometheus/alerts.yml"}) {
    const std::set<std::string> shown =
        Matches(ReadWhole(SourcePath(file)), "\\b((?:coppice|process)_[a-z_]+)");
    EXPECT_GT(shown.size(), 5u) << file;
    for (std::string name : shown) {
      if (name.ends_with("_bucket")) name.resize(name.size() - 7);
      EXPECT_EQ(exported.count(name), 1u) << file << ": " << name;
    }
  }
}

TEST_F(OperatingTest, MetricsCountWhatHappened) {
  Start();
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "private=40,public=30,test=10");
  daemon_.CoppiceJson({"study", "create", "--study", "counted", "--public", rows + "/public.csv",
                       "--schema", rows + "/schema.json", "--epsilon", "2"});
  daemon_.CoppiceJson(
      {"collect", "simulate", "--study", "counted", "--data", rows + "/private.csv"});
  daemon_.CoppiceJson({"dataset", "create", "--dataset", "table", "--data", rows + "/private.csv",
                       "--schema", rows + "/schema.json", "--epsilon-total", "3"});
  EXPECT_EQ(daemon_.Coppice({"study", "show", "--study", "absent"}).exit_code, 1);

  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("coppice_build_info{version="));
  EXPECT_EQ(ValueOf(page, "coppice_reports_total{study=\"counted\",outcome=\"accepted\"}"), 40);
  EXPECT_EQ(ValueOf(page, "coppice_dataset_epsilon_left{dataset=\"table\"}"), 3);
  EXPECT_EQ(ValueOf(page, "coppice_dataset_epsilon_spent{dataset=\"table\"}"), 0);
  EXPECT_EQ(ValueOf(page, "coppice_studies{state=\"open\"}"), 1);
  EXPECT_EQ(ValueOf(page, "coppice_intake_queued_bytes"), 0);
  EXPECT_EQ(ValueOf(page, "coppice_ready{check=\"store\"}"), 1);
  EXPECT_GT(ValueOf(page, "coppice_certificate_expiry_seconds"), 1.7e9);
  EXPECT_GT(ValueOf(page, "process_start_time_seconds"), 1.7e9);
  EXPECT_THAT(page, HasSubstr("coppice_call_seconds_count{method=\"coppice.v1.StudyService/"
                              "CreateStudy\"} 1"));
  EXPECT_THAT(page, ::testing::ContainsRegex("coppice_calls_total.*NOT_FOUND.* 1"));
}

TEST_F(OperatingTest, IsReadyOnceChecksPassAndSaysSoToAProbe) {
  Start();
  AwaitReady();
  EXPECT_EQ(daemon_.Coppice({"health", "--alive"}).exit_code, 0);
  EXPECT_EQ(daemon_.Stop(), 0);
  EXPECT_EQ(daemon_.Coppice({"health", "--timeout", "1"}).exit_code, 1);
}

TEST_F(OperatingTest, StatusSaysHowTheDaemonIs) {
  Start();
  AwaitReady();
  const auto status = daemon_.CoppiceJson({"admin", "status"});
  EXPECT_EQ(status["serving"], true);
  EXPECT_EQ(status["store"], "rocksdb");
  EXPECT_GT(status["disk_free_bytes"], 0);
  EXPECT_EQ(status["has_backups"], false);
  EXPECT_EQ(status["has_policy"], false);
  EXPECT_TRUE(status["fleet"].is_null());
  EXPECT_THAT(RunProgram({BinaryPath("coppiced"), "--version"}).out,
              HasSubstr(status["version"].get<std::string>()));
  for (const auto& alarm : status["alarms"]) {  // the disk of this machine may be nearly full
    EXPECT_THAT(alarm.get<std::string>(), HasSubstr("disk"));
  }
  const Outcome people = daemon_.Coppice({"admin", "status"});
  EXPECT_EQ(people.exit_code, 0) << people.err;
  EXPECT_THAT(people.out, ::testing::ContainsRegex("fleet +none"));
  EXPECT_THAT(people.out, HasSubstr(status["alarms"].empty() ? "No alarms." : "Alarms:"));
}

TEST_F(OperatingTest, AStudysReportsAreCountedByTheTimeTheyCame) {
  Start();
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "private=40,public=30,test=10");
  daemon_.CoppiceJson({"study", "create", "--study", "s", "--public", rows + "/public.csv",
                       "--schema", rows + "/schema.json", "--epsilon", "2"});
  daemon_.CoppiceJson({"collect", "simulate", "--study", "s", "--data", rows + "/private.csv"});
  const auto history = daemon_.CoppiceJson({"study", "reports", "--study", "s"});
  EXPECT_EQ(history["study"], "s");
  EXPECT_EQ(history["step_seconds"], 10);
  int accepted = 0;
  for (const auto& step : history["steps"]) accepted += step["accepted"].get<int>();
  EXPECT_EQ(accepted, 40);
  const Outcome people = daemon_.Coppice({"study", "reports", "--study", "s"});
  EXPECT_EQ(people.exit_code, 0) << people.err;
  EXPECT_THAT(people.out, HasSubstr("accepted"));
  EXPECT_THAT(people.err, HasSubstr("step of 10 s"));
  EXPECT_EQ(daemon_.Coppice({"study", "reports", "--study", "absent"}).exit_code, 1);
  EXPECT_EQ(daemon_.Stop(), 0);
  ASSERT_TRUE(daemon_.Start());
  const auto anew = daemon_.CoppiceJson({"study", "reports", "--study", "s"});
  for (const auto& step : anew["steps"]) EXPECT_EQ(step["accepted"], 0);
}

TEST_F(OperatingTest, TheSelfTestRunsByItselfAndServesNothing) {
  std::vector<std::string> command = daemon_.CommandLine("127.0.0.1:0");
  command.emplace_back("--self-test");
  const Outcome tested = RunProgram(command);
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_THAT(tested.err, HasSubstr("self-test passed"));
  EXPECT_THAT(tested.err, ::testing::Not(HasSubstr("serving")));
}

}  // namespace
}  // namespace coppice
