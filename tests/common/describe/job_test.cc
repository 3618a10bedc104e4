#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "common/base/text.h"
#include "common/describe/describe.h"
#include "coppice/v1/training.pb.h"

namespace coppice {
namespace {

v1::Job JobAt(v1::JobState state, double progress = 0) {
  v1::Job job;
  job.set_name("jobs/j1");
  job.set_model("models/m1");
  job.mutable_spec()->set_dataset("datasets/d1");
  job.mutable_spec()->set_algorithm("spe");
  job.set_state(state);
  job.set_progress(progress);
  job.mutable_cost()->set_epsilon_nanos(1'500'000'000);
  return job;
}

using ::coppice::JobAt;

TEST(DescribeJobTest, JobStartsWithWhatScriptsRead) {
  v1::Job job = JobAt(v1::JOB_STATE_QUEUED);
  job.mutable_spec()->set_epsilon_nanos(2'000'000'000);
  (*job.mutable_spec()->mutable_settings())["trees"] = "10";
  (*job.mutable_spec()->mutable_settings())["depth"] = "4";
  job.add_warnings("small");
  EXPECT_EQ(DescribeJob(job).dump(),
            R"({"job":"j1","model":"m1","state":"queued","dataset":"d1","algorithm":"spe",)"
            R"("settings":{"depth":"4","trees":"10"},"epsilon":2.0,"delta":0.0,)"
            R"("cost":{"epsilon":1.5,"delta":0.0},"progress":0.0,)"
            R"("seconds_left":null,"created":"1970-01-01T00:00:00Z","started":null,"ended":null,)"
            R"("warnings":["small"]})");
}

TEST(DescribeJobTest, JobSaysWhoSubmittedItIfThatIsKnown) {
  v1::Job job = JobAt(v1::JOB_STATE_QUEUED);
  EXPECT_FALSE(DescribeJob(job).contains("submitter"));
  job.set_submitter("lab");
  EXPECT_EQ(DescribeJob(job)["submitter"], "lab");
}

TEST(DescribeJobTest, FailedJobSaysWhyAndZeroConcentratedCostHasRho) {
  v1::Job job = JobAt(v1::JOB_STATE_FAILED);
  job.set_reason("no memory");
  job.set_ended_unix_seconds(86400);
  job.mutable_cost()->set_rho_pico(1'000'000'000'000);
  const Description json = DescribeJob(job);
  EXPECT_EQ(json["reason"], "no memory");
  EXPECT_EQ(json["ended"], "1970-01-02T00:00:00Z");
  EXPECT_EQ(json["cost"]["rho"], 1.0);
}

TEST(DescribeJobTest, LineSaysHowFarItIsAndHowLongItTakes) {
  v1::Job job = JobAt(v1::JOB_STATE_RUNNING, 0.429);
  EXPECT_EQ(JobLine(job), "j1 running, 42 %");
  job.set_seconds_left(189.2);
  EXPECT_EQ(JobLine(job), "j1 running, 42 %, about 3m10s left");
  job.set_seconds_left(std::numeric_limits<double>::infinity());
  EXPECT_EQ(JobLine(job), "j1 running, 42 %");
  EXPECT_EQ(JobLine(JobAt(v1::JOB_STATE_QUEUED)), "j1 queued");
}

TEST(DescribePreviewTest, SaysWhyAJobDoesNotFit) {
  v1::PreviewJobResponse preview;
  preview.mutable_cost()->set_epsilon_nanos(2'000'000'000);
  preview.set_reason("only 1 is left");
  preview.add_releases()->set_what("counts");
  const Description json = DescribePreview(preview);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["reason"], "only 1 is left");
  EXPECT_EQ(json["epsilon"], 2.0);
  EXPECT_EQ(json["releases"][0]["what"], "counts");
  preview.set_fits(true);
  EXPECT_FALSE(DescribePreview(preview).contains("reason"));
}

v1::Algorithm SampleAlgorithm() {
  v1::Algorithm algorithm;
  algorithm.set_name("spe");
  algorithm.set_summary("A forest.");
  algorithm.set_source("a paper");
  algorithm.set_neighbours(v1::NEIGHBOURS_CHANGE_LABEL);
  algorithm.set_classification(true);
  algorithm.set_regression(true);
  v1::Parameter& depth = *algorithm.add_parameters();
  depth.set_name("depth");
  depth.set_type(v1::PARAMETER_TYPE_INTEGER);
  depth.set_min(1);
  depth.set_max(20);
  depth.set_default_value("4");
  depth.set_description("Deeper trees spend the budget on more splits, and so each on less of it.");
  v1::Parameter& weak = *algorithm.add_parameters();
  weak.set_name("weak");
  weak.set_type(v1::PARAMETER_TYPE_CHOICE);
  weak.add_choices("one_rule");
  weak.add_choices("top_down");
  weak.set_default_value("top_down");
  return algorithm;
}

TEST(DescribeAlgorithmTest, ScriptsSeeEveryParameterWithItsRange) {
  const Description json = DescribeAlgorithm(SampleAlgorithm());
  EXPECT_EQ(json["tasks"].dump(), R"(["classification","regression"])");
  EXPECT_EQ(json["neighbours"], "change_label");
  EXPECT_EQ(json["parameters"][0]["type"], "integer");
  EXPECT_EQ(json["parameters"][0]["max"], 20.0);
  EXPECT_EQ(json["parameters"][0]["default"], "4");
  EXPECT_FALSE(json["parameters"][0].contains("choices"));
  EXPECT_EQ(json["parameters"][1]["choices"].dump(), R"(["one_rule","top_down"])");
  EXPECT_FALSE(json["parameters"][1].contains("min"));
}

TEST(DescribeAlgorithmTest, PeopleSeeWhatToTypeInLinesThatFit) {
  const std::string text = AlgorithmText(SampleAlgorithm());
  EXPECT_EQ(text,
            "spe\n"
            "  A forest.\n"
            "  For classification and regression; pure epsilon; neighbours: change_label.\n"
            "  Source: a paper\n"
            "    --set depth=4\n"
            "        a whole number from 1 to 20: Deeper trees spend the budget on more\n"
            "        splits, and so each on less of it.\n"
            "    --set weak=top_down\n"
            "        one_rule or top_down\n");
  for (const std::string_view line : StrSplit(text, '\n')) EXPECT_LE(line.size(), 78u);
}

}  // namespace
}  // namespace coppice
