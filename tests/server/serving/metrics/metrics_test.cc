#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <ctime>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/process/metrics_page.h"
#include "server/serving/metrics/call_metrics.h"
#include "server/serving/metrics/curator_readings.h"
#include "tests/integration/http_page.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/server/serving/service/fake_studies.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::metrics {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixtures'.
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const prometheus::Collectable& collectable) {
  return prometheus::TextSerializer().Serialize(collectable.Collect());
}

TEST(CallMetricsTest, CountsAndTimesByMethodAndCode) {
  prometheus::Registry registry;
  CallMetrics calls(registry, {"S/Known"});
  calls.Ended("S/Known", "OK", 0.003);
  calls.Ended("S/Known", "NOT_FOUND", 0.2);
  const std::string text = TextOf(registry);
  EXPECT_THAT(text, HasSubstr("coppice_calls_total{code=\"OK\",method=\"S/Known\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_calls_total{code=\"NOT_FOUND\",method=\"S/Known\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_call_seconds_count{method=\"S/Known\"} 2"));
  EXPECT_THAT(text, HasSubstr("coppice_call_seconds_bucket{method=\"S/Known\",le=\"0.005\"} 1"));
}

TEST(CallMetricsTest, RefusedCallsAreCountedAndNotTimed) {
  prometheus::Registry registry;
  CallMetrics calls(registry, {"S/Known"});
  calls.Refused("S/Known", "PERMISSION_DENIED");
  const std::string text = TextOf(registry);
  EXPECT_THAT(text,
              HasSubstr("coppice_calls_total{code=\"PERMISSION_DENIED\",method=\"S/Known\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_call_seconds_count{method=\"S/Known\"} 0"));
}

TEST(CallMetricsTest, UnknownMethodsAreCountedAsOne) {
  prometheus::Registry registry;
  CallMetrics calls(registry, {"S/Known"});
  calls.Ended("S/Made up", "OK", 1);
  calls.Ended("planted", "UNIMPLEMENTED", 1);
  const std::string text = TextOf(registry);
  EXPECT_THAT(text, HasSubstr("coppice_call_seconds_count{method=\"other\"} 2"));
  EXPECT_THAT(text, Not(HasSubstr("planted")));
}

TEST(CallMetricsTest, CallsOnPrivateRowsAreCountedAndNotTimed) {
  prometheus::Registry registry;
  const std::string upload = "coppice.v1.DatasetService/UploadRows";
  const std::string later = "coppice.v1.TrainingService/NewMethod";
  CallMetrics calls(registry, {upload, later});
  calls.StreamOpened(upload);
  calls.Ended(upload, "OK", 3);
  calls.Ended(later, "OK", 3);
  const std::string text = TextOf(registry);
  EXPECT_THAT(text, ContainsRegex("coppice_calls_total[^\n]*UploadRows[^\n]* 1"));
  EXPECT_THAT(text, Not(HasSubstr("coppice_call_seconds_count{method=\"coppice.v1")));
  EXPECT_THAT(text, HasSubstr("coppice_open_streams 0"));
}

TEST(CallMetricsTest, AWatchThatEndsWithItsJobIsNotSeenToEnd) {
  prometheus::Registry registry;
  const std::string watch = "coppice.v1.TrainingService/WatchJob";
  CallMetrics calls(registry, {watch});
  const std::string before = TextOf(registry);
  calls.StreamOpened(watch);
  calls.Ended(watch, "OK", 3);
  calls.StreamClosed(watch);
  EXPECT_EQ(TextOf(registry), before);
  // A client that has seen the end may cancel before our OK arrives.
  calls.Ended(watch, "CANCELLED", 3);
  EXPECT_EQ(TextOf(registry), before);
  calls.Refused(watch, "PERMISSION_DENIED");
  EXPECT_THAT(TextOf(registry), HasSubstr("PERMISSION_DENIED"));
}

// There is one call per block, so their number would tell how many rows a dataset has.
TEST(CallMetricsTest, BlocksOfRowsThatAreStoredAreNotCounted) {
  prometheus::Registry registry;
  const std::string append = "coppice.v1.DatasetService/AppendRows";
  CallMetrics calls(registry, {append});
  const std::string before = TextOf(registry);
  for (int i = 0; i < 3; ++i) calls.Ended(append, "OK", 3);
  EXPECT_EQ(TextOf(registry), before);
  calls.Ended(append, "FAILED_PRECONDITION", 3);
  EXPECT_THAT(TextOf(registry), ContainsRegex("AppendRows[^\n]*FAILED_PRECONDITION|"
                                              "FAILED_PRECONDITION[^\n]*AppendRows"));
}

TEST(CallMetricsTest, StreamsComeAndGo) {
  prometheus::Registry registry;
  CallMetrics calls(registry, {});
  calls.StreamOpened("S/Known");
  calls.StreamOpened("S/Known");
  calls.StreamClosed("S/Known");
  EXPECT_THAT(TextOf(registry), HasSubstr("coppice_open_streams 1"));
}

TEST(StudyReadingsTest, ShowWhatWaitsOfRelays) {
  FakeStudies studies;
  curator::StudyInfo info;
  info.id = "direct";
  studies.AddStudy(info);
  info.id = "relayed";
  info.relay = curator::StudyRelayInfo{.batches = {.waiting = 5}};
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kBadSeal)] = 2;
  studies.AddStudy(info);
  Readings readings;
  AddStudyReadings(studies, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("coppice_sealed_reports_waiting{study=\"relayed\"} 5"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("coppice_sealed_reports_waiting{study=\"direct\"")));
  EXPECT_THAT(text, HasSubstr("coppice_spool_bytes 4096"));
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"relayed\",outcome=\"bad_seal\"} 2"));
}

TEST(StudyReadingsTest, ShowEachStudyAndOutcome) {
  FakeStudies studies;
  curator::StudyInfo info;
  info.id = "one";
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 7;
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kBadPayload)] = 2;
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kUnknownId)] = 3;
  studies.AddStudy(info);
  Readings readings;
  AddStudyReadings(studies, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"one\",outcome=\"unknown_id\"} 3"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("outcome=\"\"")));
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"one\",outcome=\"accepted\"} 7"));
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"one\",outcome=\"bad_payload\"} 2"));
  EXPECT_THAT(text, HasSubstr("coppice_studies{state=\"open\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_studies{state=\"sealed\"} 0"));
}

TEST(StudyReadingsTest, ReportsToStudiesThatThereAreNotAreOneLine) {
  const FakeStudies studies;
  Readings readings;
  AddStudyReadings(studies, readings);
  EXPECT_THAT(TextOf(readings),
              HasSubstr("coppice_reports_total{study=\"_unknown\",outcome=\"unknown_study\"} 3"));
}

// Alarms of the first study, of the last with lines of its own, and of two that are summed.
TEST(StudyReadingsTest, AlarmsOfTheLastLookAreShownOnceTheSumsAreFinal) {
  FakeStudies studies;
  curator::Alarm tree;
  tree.name = "tree";
  tree.raised = true;
  curator::Alarm margin;
  margin.name = "margin";
  const auto alarms = std::make_shared<const std::vector<curator::Alarm>>(
      std::vector<curator::Alarm>{tree, margin});
  for (size_t i = 0; i < kMaxNamed + 2; ++i) {
    curator::StudyInfo info;
    info.id = StrCat("s", 1000 + i);
    if (i != 1) info.alarms_at_last_look = alarms;
    info.last_look_was_final = i != 2;
    studies.AddStudy(info);
  }
  Readings readings;
  AddStudyReadings(studies, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("coppice_study_alarms{study=\"s1000\",alarm=\"tree\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_study_alarms{study=\"s1000\",alarm=\"margin\"} 0"));
  EXPECT_THAT(text, Not(HasSubstr("coppice_study_alarms{study=\"s1001\"")));
  EXPECT_THAT(text, Not(HasSubstr("coppice_study_alarms{study=\"s1002\"")))
      << "its sums are not final";
  EXPECT_THAT(text, HasSubstr("coppice_study_alarms{study=\"s1499\",alarm=\"tree\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_study_alarms{study=\"_other\",alarm=\"tree\"} 2"));
  EXPECT_THAT(text, HasSubstr("coppice_study_alarms{study=\"_other\",alarm=\"margin\"} 0"));
}

TEST(StudyReadingsTest, StudiesBeyondTheBoundAreAddedUp) {
  FakeStudies studies;
  for (size_t i = 0; i < kMaxNamed + 30; ++i) {
    curator::StudyInfo info;
    info.id = StrCat("s", 1000 + i);
    info.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 2;
    studies.AddStudy(info);
  }
  Readings readings;
  AddStudyReadings(studies, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("study=\"s1499\""));
  EXPECT_THAT(text, Not(HasSubstr("study=\"s1500\"")));
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"_other\",outcome=\"accepted\"} 60"));
  EXPECT_THAT(text, HasSubstr("coppice_studies{state=\"open\"} 530"));
}

// One line for each owner in turn: 500 studies of one leave the room of all others.
TEST(StudyReadingsTest, NoOwnerTakesTheLinesOfAnother) {
  FakeStudies studies;
  curator::StudyInfo info;
  for (size_t i = 0; i < kMaxNamed; ++i) {
    info.id = StrCat("0-", 1000 + i);
    info.owner = "noisy";
    studies.AddStudy(info);
  }
  info.id = "0-9999";
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 1;
  studies.AddStudy(info);
  info.id = "z";
  info.owner = "hospital";
  studies.AddStudy(info);
  Readings readings;
  AddStudyReadings(studies, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"z\",outcome=\"accepted\"} 1"));
  EXPECT_THAT(text, HasSubstr("coppice_reports_total{study=\"0-9999\",outcome=\"accepted\"} 1"))
      << "studies with reports come first";
  EXPECT_THAT(text, HasSubstr("study=\"0-1497\""));
  EXPECT_THAT(text, Not(HasSubstr("study=\"0-1498\"")));
  EXPECT_THAT(text, HasSubstr("coppice_studies_unnamed 2"));
}

TEST(DatasetReadingsTest, NoOwnerTakesTheLinesOfAnother) {
  MemoryStore store;
  FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
  const auto make = [&](const std::string& id, const std::string& owner) {
    central::DatasetSpec spec = SpecOf(id);
    spec.owner = owner;
    return MakeDataset(*central.datasets, spec, /*rows=*/1);
  };
  for (size_t i = 0; i < kMaxNamed; ++i) ASSERT_OK(make(StrCat("0-", 1000 + i), "noisy"));
  ASSERT_OK(make("0-charged", "noisy"));
  ASSERT_OK(make("patients", "hospital"));
  ASSERT_OK(central.jobs->Submit(RequestOf("one", kEpsilon, "0-charged")));
  Readings readings;
  AddDatasetReadings(*central.datasets, readings);
  const std::string text = TextOf(readings);
  EXPECT_THAT(text, HasSubstr("coppice_dataset_epsilon_left{dataset=\"patients\"} 10"));
  EXPECT_THAT(text, HasSubstr("coppice_dataset_epsilon_spent{dataset=\"0-charged\"} 1"));
  EXPECT_THAT(text, HasSubstr("dataset=\"0-1497\""));
  EXPECT_THAT(text, Not(HasSubstr("dataset=\"0-1498\"")));
  EXPECT_THAT(text, HasSubstr("coppice_datasets_unnamed 2"));
}

// The time of a job's end follows from its rows.
TEST(CuratorReadingsTest, AJobIsSeenToHaveEndedFromTheNextDayOn) {
  MemoryStore store;
  FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
  ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
  int64_t now = 1000;
  Readings readings;
  AddJobReadings(
      *central.jobs, [&now] { return now; }, readings);
  trainer.Hold();
  ASSERT_OK(central.jobs->Submit(RequestOf("one")));
  ASSERT_OK(central.jobs->Submit(RequestOf("two")));
  trainer.AwaitRuns(1);
  const std::string while_it_runs = TextOf(readings);
  EXPECT_THAT(while_it_runs, HasSubstr("coppice_jobs{state=\"open\"} 2"));
  trainer.Let();
  for (const char* id : {"one", "two"}) AwaitEnd(*central.jobs, id);  // at second 1000
  EXPECT_EQ(TextOf(readings), while_it_runs);
  now = 86399;
  EXPECT_EQ(TextOf(readings), while_it_runs);
  now = 86400;
  EXPECT_THAT(TextOf(readings), HasSubstr("coppice_jobs{state=\"done\"} 2"));
  EXPECT_THAT(TextOf(readings), HasSubstr("coppice_jobs{state=\"open\"} 0"));
}

TEST(ProcessReadingsTest, TellWhenThisProcessBeganAndNothingOfItsSize) {
  Readings readings;
  AddProcessReadings(readings);
  const std::vector<prometheus::MetricFamily> families = readings.Collect();
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].name, "process_start_time_seconds");
  EXPECT_NEAR(families[0].metric[0].gauge.value, static_cast<double>(time(nullptr)), 3600);
}

TEST(MetricsPageTest, APortInUseIsAnError) {
  ASSERT_OK_AND_ASSIGN(const auto page, MetricsPage::Serve("127.0.0.1:0", {}));
  EXPECT_THAT(MetricsPage::Serve(StrCat("127.0.0.1:", page->port()), {}).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("--metrics-listen")));
}

TEST(MetricsPageTest, APasswordKeepsOutWhoDoesNotKnowIt) {
  const auto readings = std::make_shared<Readings>();
  AddProcessReadings(*readings);
  ASSERT_OK_AND_ASSIGN(const auto page,
                       MetricsPage::Serve("127.0.0.1:0", {readings}, "correct horse battery"));
  const auto get = [&](const std::string& user_and_password) {
    const std::string header =
        user_and_password.empty()
            ? ""
            : "Authorization: Basic " + Base64Escape(user_and_password) + "\r\n";
    return coppice::testing::GetPage(page->port(), "/metrics", header);
  };
  EXPECT_THAT(get("prometheus:correct horse battery"), HasSubstr("process_start_time_seconds"));
  for (const char* wrong :
       {"", "prometheus:", "prometheus:correct horse batter", ":x", "correct horse battery:"}) {
    const std::string answer = get(wrong);
    EXPECT_THAT(answer, HasSubstr("401")) << wrong;
    EXPECT_THAT(answer, ::testing::Not(HasSubstr("process_start_time_seconds"))) << wrong;
  }
}

// Prometheus sends a Host and nothing that a browser adds; a page that was reached by a name that
// its author pointed to this machine sends the name.
TEST(MetricsPageTest, NoPageInABrowserReadsIt) {
  const auto readings = std::make_shared<Readings>();
  AddProcessReadings(*readings);
  ASSERT_OK_AND_ASSIGN(const auto page, MetricsPage::Serve("127.0.0.1:0", {readings}));
  const auto is_served = [&](const std::string& headers) {
    const std::string answer = coppice::testing::GetPage(page->port(), "/metrics", headers);
    const bool has_metrics = StrContains(answer, "process_start_time_seconds");
    EXPECT_NE(has_metrics, StrContains(answer, "403")) << headers << answer;
    return has_metrics;
  };
  for (const char* scrape :
       {"", "Host: 127.0.0.1:9464\r\n", "Host: 10.2.3.4\r\n", "Host: [::1]:9464\r\n",
        "Host: localhost:9464\r\n", "Host: coppice-1:9464\r\n",
        "Host: 127.0.0.1\r\nSec-Fetch-Site: none\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"
        "Sec-Fetch-Dest: document\r\n"}) {
    EXPECT_TRUE(is_served(scrape)) << scrape;
  }
  for (const char* sent_by_a_page :
       {"Host: rebound.example.org:9464\r\n", "Host: 127.0.0.1.example.org\r\n",
        "Host: localhost.\r\n", "Host: 127.0.0.1\r\nOrigin: https://example.org\r\n",
        "Host: 127.0.0.1\r\nOrigin: null\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
        "Host: localhost\r\nSec-Fetch-Site: same-site\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"
        "Sec-Fetch-Dest: iframe\r\n"}) {
    EXPECT_FALSE(is_served(sent_by_a_page)) << sent_by_a_page;
  }
}

TEST(MetricsPageTest, APasswordServesItUnderAnyNameAndNoOtherPage) {
  const auto readings = std::make_shared<Readings>();
  AddProcessReadings(*readings);
  ASSERT_OK_AND_ASSIGN(const auto page,
                       MetricsPage::Serve("127.0.0.1:0", {readings}, "correct horse battery"));
  const std::string shown =
      "Authorization: Basic " + Base64Escape("x:correct horse battery") + "\r\n";
  const auto get = [&](const std::string& headers) {
    return coppice::testing::GetPage(page->port(), "/metrics", shown + headers);
  };
  EXPECT_THAT(get("Host: metrics.example.org\r\n"), HasSubstr("process_start_time_seconds"));
  EXPECT_THAT(get("Origin: https://example.org\r\n"),
              AllOf(HasSubstr("403"), Not(HasSubstr("process_start_time_seconds"))));
}

}  // namespace
}  // namespace coppice::metrics
