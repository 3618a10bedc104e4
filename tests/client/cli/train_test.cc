#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "client/cli/central/commands.h"
#include "client/cli/terminal/output.h"
#include "tests/client/cli/fake_datasets.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeTrainingCurator;
using ::coppice::testing::JobAt;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TrainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    curator_.training->states = {JobAt(v1::JOB_STATE_QUEUED), JobAt(v1::JOB_STATE_RUNNING, 0.25),
                                 JobAt(v1::JOB_STATE_DONE, 1)};
  }

  Outcome Run(const std::vector<std::string>& arguments) {
    return RunCoppice(curator_.Here(arguments));
  }
  Outcome Submit(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"train", "submit", "--dataset", "d1", "--algorithm", "spe",
                               "--epsilon", "0.0000000019", "--json"});
    return Run(more);
  }

  FakeTrainingCurator curator_;
};

TEST_F(TrainTest, SubmitSendsTheSpecAndPrintsTheJob) {
  const Outcome outcome = Submit({"--set", "depth=4", "--set", "note=a=b", "--delta", "1e-9",
                                  "--model", "m1", "--job", "j1", "--request-id", "once"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.begin().key(), "job");
  EXPECT_EQ(json["job"], "j1");
  const v1::SubmitJobRequest& submitted = curator_.training->submitted;
  EXPECT_EQ(submitted.request_id(), "once");
  EXPECT_EQ(submitted.job_id(), "j1");
  EXPECT_EQ(submitted.model_id(), "m1");
  EXPECT_EQ(submitted.spec().dataset(), "datasets/d1");
  EXPECT_EQ(submitted.spec().algorithm(), "spe");
  EXPECT_EQ(submitted.spec().epsilon_nanos(), 1);  // rounded down
  EXPECT_EQ(submitted.spec().delta_atto(), 1'000'000'000);
  EXPECT_EQ(submitted.spec().settings().at("depth"), "4");
  EXPECT_EQ(submitted.spec().settings().at("note"), "a=b");
}

TEST_F(TrainTest, WarningsGoToStderr) {
  curator_.training->states[0].add_warnings("epsilon is small");
  EXPECT_THAT(Submit().err, HasSubstr("warning: epsilon is small"));
}

TEST_F(TrainTest, EverySubmissionHasARequestIdOfItsOwn) {
  Submit();
  const std::string first = curator_.training->submitted.request_id();
  Submit();
  EXPECT_EQ(first.size(), 32);
  EXPECT_NE(curator_.training->submitted.request_id(), first);
}

TEST_F(TrainTest, ALostSubmissionSaysHowNotToPayTwice) {
  curator_.training->submit_failure = {grpc::StatusCode::UNAVAILABLE, "cut off"};
  const Outcome lost = Submit();
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.out, HasSubstr(R"({"error":{"code":"UNAVAILABLE","message":"cut off;)"));
  EXPECT_THAT(lost.err, HasSubstr("--request-id " + curator_.training->submitted.request_id()));
  curator_.training->submit_failure = {grpc::StatusCode::RESOURCE_EXHAUSTED, "only 1 is left"};
  const Outcome refused = Submit();
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("only 1 is left"), Not(HasSubstr("--request-id"))));
}

TEST_F(TrainTest, SubmitThatWaitsPrintsEveryChange) {
  const Outcome outcome = Submit({"--wait"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_EQ(Json::parse(outcome.out.substr(0, outcome.out.find('\n')))["job"], "j1");
  EXPECT_THAT(outcome.err, HasSubstr("j1"));
}

TEST_F(TrainTest, WatchFailsWithTheReasonUnlessTheJobIsDone) {
  const Outcome done = Run({"train", "watch", "--job", "j1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("state      done\n"), Not(HasSubstr("{")),
                              Not(HasSubstr("unknown"))));
  EXPECT_THAT(done.err, IsEmpty());

  curator_.training->now = 0;
  curator_.training->states.back().set_state(v1::JOB_STATE_FAILED);
  curator_.training->states.back().set_reason("no memory");
  const Outcome failed = Run({"train", "watch", "--job", "j1"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("job j1 failed: no memory"));
  EXPECT_THAT(failed.out, HasSubstr("state      failed\n"));
}

TEST_F(TrainTest, PreviewShowsReleasesAndWhetherItFits) {
  curator_.training->preview.set_reason("only 1 is left");
  curator_.training->preview.add_releases()->set_what("counts");
  curator_.training->preview.add_warnings("epsilon is small");
  const std::vector<std::string> preview = {"train",       "preview", "--dataset", "d1",
                                            "--algorithm", "spe",     "--epsilon", "1"};
  const Outcome people = Run(preview);
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_THAT(people.out, AllOf(HasSubstr("counts"), HasSubstr("only 1 is left")));
  EXPECT_THAT(people.err, HasSubstr("epsilon is small"));
  EXPECT_EQ(curator_.training->spec.epsilon_nanos(), 1'000'000'000);
  std::vector<std::string> json = preview;
  json.emplace_back("--json");
  EXPECT_EQ(Json::parse(Run(json).out)["fits"], false);
}

// A preview tells nothing about the dataset's own rows, which would have to be paid for.
TEST_F(TrainTest, PreviewTellsTheBaselineOfRowsThatAreGiven) {
  const TempDir folder;
  const std::string path = folder.path() + "/rows.csv";
  std::vector<std::string> preview = {"train", "preview",   "--dataset", "d1",    "--algorithm",
                                      "spe",   "--epsilon", "1",         "--json"};
  const Outcome without = Run(preview);
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("cannot be told without spending epsilon. With --data FILE"));
  EXPECT_FALSE(Json::parse(without.out).contains("majority"));

  v1::Schema schema;
  v1::Feature& feature = *schema.add_features();
  feature.set_name("x");
  feature.mutable_numeric()->set_max(1);
  schema.set_label("y");
  for (const char* name : {"no", "yes"}) schema.add_classes(name);
  curator_.datasets->dataset.set_name("datasets/d1");
  *curator_.datasets->dataset.mutable_schema() = schema;
  std::ofstream(path) << "x,y\n0.5,no\nNA,yes\n0.2,no\n1,no\n";
  preview.insert(preview.end(), {"--data", path, "--missing", "NA"});
  const Outcome classes = Run(preview);
  EXPECT_EQ(classes.code, 0) << classes.err;
  EXPECT_EQ(Json::parse(classes.out)["majority"], 0.75);
  EXPECT_EQ(Json::parse(classes.out)["majority_class"], "no");
  EXPECT_THAT(classes.err, Not(HasSubstr("cannot be told")));

  schema.clear_classes();
  schema.mutable_target()->set_max(10);
  *curator_.datasets->dataset.mutable_schema() = schema;
  std::ofstream(path) << "x,y\n0.5,2\n0.1,6\n";
  const Outcome numbers = Run(preview);
  EXPECT_EQ(numbers.code, 0) << numbers.err;
  EXPECT_EQ(Json::parse(numbers.out)["mean"], 2);
  EXPECT_EQ(Json::parse(numbers.out)["mean_value"], 4);
}

TEST_F(TrainTest, AlgorithmsAreOneParagraphOrOneObjectEach) {
  for (const char* name : {"spe", "pte"}) {
    curator_.training->algorithms.add_algorithms()->set_name(name);
  }
  EXPECT_THAT(Run({"train", "algorithms"}).out, AllOf(HasSubstr("spe\n"), HasSubstr("pte\n")));
  const Outcome json = Run({"train", "algorithms", "--json"});
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 2);
  EXPECT_THAT(Run({"train", "algorithms", "--algorithm", "pte"}).out, Not(HasSubstr("spe\n")));
  const Outcome unknown = Run({"train", "algorithms", "--algorithm", "magic"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("spe, pte"));
}

TEST_F(TrainTest, ListShowAndCancelNameWhatTheyAreAbout) {
  EXPECT_THAT(Run({"train", "list", "--dataset", "d1", "--json"}).out, HasSubstr(R"("job":"j1")"));
  EXPECT_EQ(curator_.training->listed, "datasets/d1");
  EXPECT_THAT(Run({"train", "list"}).out, HasSubstr("queued"));
  EXPECT_EQ(curator_.training->listed, "");
  EXPECT_EQ(Json::parse(Run({"train", "show", "--job", "j1", "--json"}).out)["state"], "queued");
  curator_.training->states.back().set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(Run({"train", "cancel", "--job", "j1"}).out, HasSubstr("cancelled"));
  EXPECT_EQ(curator_.training->cancelled, "jobs/j1");
}

}  // namespace
}  // namespace coppice::cli
