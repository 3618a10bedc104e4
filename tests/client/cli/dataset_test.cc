#include <algorithm>
#include <cmath>

#include "client/cli/central/commands.h"
#include "client/cli/terminal/output.h"
#include "common/base/text.h"
#include "common/table/table.h"
#include "tests/client/cli/fake_datasets.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::FakeTrainingCurator;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::TempFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSchema[] =
    R"({"features": [{"name": "x", "type": "numeric", "min": 0, "max": 10}],
        "label": "y", "classes": ["no", "yes"]})";
constexpr char kRows[] = "x,y\n1,no\n20,yes\n,yes\n";

class DatasetTest : public ::testing::Test {
 protected:
  Outcome Run(const std::vector<std::string>& arguments) {
    return RunCoppice(curator_.Here(arguments));
  }
  Outcome Create(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"dataset", "create", "--data", rows_.path(), "--schema",
                               schema_.path(), "--epsilon-total", "0.1234567899", "--json"});
    return Run(more);
  }

  FakeTrainingCurator curator_;
  TempFile schema_{".json", kSchema};
  TempFile rows_{".csv", kRows};
};

TEST_F(DatasetTest, CreateUploadsTheRowsUnderTheBudgetAskedFor) {
  const Outcome outcome = Create();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1"));  // clamped
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.begin().key(), "dataset");
  EXPECT_EQ(json["dataset"], "d1");
  EXPECT_EQ(json["state"], "ready");
  EXPECT_EQ(json["rows"], 3);
  const v1::CreateDatasetRequest& created = curator_.datasets->created;
  EXPECT_EQ(created.request_id().size(), 32);
  EXPECT_EQ(created.cap().epsilon_nanos(), 123'456'789);  // rounded down
  EXPECT_EQ(created.cap().delta_atto(), 0);
  EXPECT_EQ(created.cap().composition(), v1::COMPOSITION_UNSPECIFIED) << "the curator chooses";
  EXPECT_EQ(created.cap().neighbours(), v1::NEIGHBOURS_UNSPECIFIED) << "the curator chooses";
  ASSERT_EQ(curator_.datasets->first_column.size(), 3);
  EXPECT_EQ(curator_.datasets->first_column[1], 10);
  EXPECT_TRUE(std::isnan(curator_.datasets->first_column[2]));
  EXPECT_EQ(curator_.datasets->labels, (std::vector<uint32_t>{0, 1, 1}));
}

TEST_F(DatasetTest, CreateSendsMarksOfPrivateRowsAndWhetherTheLeakIsAccepted) {
  const TempFile marked(".json", R"({"label": "y", "classes": ["no", "yes"],
      "bounds": "from public rows", "features": [{"name": "x", "type": "numeric", "min": 0,
      "max": 10, "bounds": "from these rows"}]})");
  std::vector<std::string> line = {"dataset",  "create",      "--data",          rows_.path(),
                                   "--schema", marked.path(), "--epsilon-total", "1"};
  EXPECT_EQ(Run(line).code, 0);
  EXPECT_TRUE(curator_.datasets->created.schema().features(0).from_private_rows());
  EXPECT_FALSE(curator_.datasets->created.schema().answers_from_private_rows());
  EXPECT_FALSE(curator_.datasets->created.accept_leak());
  line.emplace_back("--accept-leak");
  EXPECT_EQ(Run(line).code, 0);
  EXPECT_TRUE(curator_.datasets->created.accept_leak());
}

TEST_F(DatasetTest, CreateSendsEveryChoice) {
  const Outcome outcome = Create({"--delta-total", "1e-6", "--composition", "zcdp", "--neighbours",
                                  "change_label", "--dataset", "mine"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["dataset"], "mine");
  EXPECT_EQ(Json::parse(outcome.out)["composition"], "zcdp");
  const v1::BudgetCap& cap = curator_.datasets->created.cap();
  EXPECT_EQ(cap.delta_atto(), 1'000'000'000'000);
  EXPECT_EQ(cap.composition(), v1::COMPOSITION_ZERO_CONCENTRATED);
  EXPECT_EQ(cap.neighbours(), v1::NEIGHBOURS_CHANGE_LABEL);
}

TEST_F(DatasetTest, BadRowsAreRefusedBeforeAnythingIsCreated) {
  const Outcome strict = Create({"--strict"});
  EXPECT_EQ(strict.code, 1);
  EXPECT_THAT(strict.err, HasSubstr(rows_.path() + ":3"));
  EXPECT_EQ(Json::parse(strict.out)["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_FALSE(curator_.datasets->created.has_schema());
}

TEST_F(DatasetTest, RowsWithoutAClassAreTakenWhenAskedFor) {
  const TempFile rows(".csv", "x,y\n1,\n2,yes\n");
  const std::vector<std::string> create = {"dataset",         "create",   "--data",
                                           rows.path(),       "--schema", schema_.path(),
                                           "--epsilon-total", "1"};
  EXPECT_EQ(Run(create).code, 1);
  std::vector<std::string> unlabelled = create;
  unlabelled.emplace_back("--unlabelled");
  EXPECT_EQ(Run(unlabelled).code, 0);
  EXPECT_EQ(curator_.datasets->labels, (std::vector<uint32_t>{kUnlabelled, 1}));
}

TEST_F(DatasetTest, AnUploadThatIsCutOffSaysHowToGoOn) {
  curator_.datasets->stored_of_stream = std::vector<int>(5, 0);
  const Outcome cut = Create();
  EXPECT_EQ(cut.code, 1);
  const std::string command =
      "dataset upload --dataset d1 --data " + rows_.path() + " --schema " + schema_.path();
  EXPECT_THAT(cut.err, AllOf(HasSubstr("cut off"), HasSubstr(command)));
  EXPECT_EQ(Json::parse(cut.out)["state"], "uploading");

  const Outcome resumed =
      Run({"dataset", "upload", "--dataset", "d1", "--data", rows_.path(), "--json"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(Json::parse(resumed.out)["state"], "ready");
  EXPECT_EQ(curator_.datasets->labels.size(), 3);
}

TEST_F(DatasetTest, RowsAreReadAsTheSchemaFileSaysTheyAreWritten) {
  curator_.datasets->stored_of_stream = std::vector<int>(5, 0);
  const TempFile schema(".json", StrCat(R"({"missing": ["NA"], "delimiter": ";", )", &kSchema[1]));
  const TempFile rows(".csv", "x;y;note\n1;no;\n20;yes;\nNA;yes;\n");
  std::vector<std::string> line = {"dataset",  "create",      "--data",          rows.path(),
                                   "--schema", schema.path(), "--epsilon-total", "1"};
  EXPECT_EQ(Run(line).code, 1);  // cut off
  line = {"dataset", "upload", "--dataset", "d1", "--data", rows.path()};
  EXPECT_THAT(Run(line).err, HasSubstr("\"missing\" in the schema file"));
  line.insert(line.end(), {"--schema", schema.path()});
  const Outcome resumed = Run(line);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(std::isnan(curator_.datasets->first_column[2]));
}

TEST_F(DatasetTest, AnUploadGoesOnWithTheSameSchemaOnly) {
  curator_.datasets->stored_of_stream = std::vector<int>(5, 0);
  Create();
  const TempFile other(".json", R"({"features": [{"name": "x", "type": "numeric", "min": 0,
                                    "max": 11}], "label": "y", "classes": ["no", "yes"]})");
  const Outcome refused = Run(
      {"dataset", "upload", "--dataset", "d1", "--data", rows_.path(), "--schema", other.path()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(other.path()), HasSubstr("not the schema")));
  EXPECT_EQ(Run({"dataset", "upload", "--dataset", "d1", "--data", rows_.path(), "--schema",
                 schema_.path()})
                .code,
            0);
  const Outcome again = Run({"dataset", "upload", "--dataset", "d1", "--data", rows_.path()});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("is complete"));
}

TEST_F(DatasetTest, ShowPrintsTheLedgerForPeopleAndForScripts) {
  Create();
  v1::LedgerEntry& entry = *curator_.datasets->dataset.add_ledger();
  entry.set_kind(v1::LEDGER_ENTRY_KIND_RESERVED);
  entry.set_job("jobs/j1");
  entry.add_releases()->set_what("the leaves' counts");
  const Outcome people = Run({"dataset", "show", "--dataset", "d1"});
  EXPECT_EQ(people.code, 0) << people.err;
  EXPECT_THAT(people.out, AllOf(HasSubstr("epsilon_left"), HasSubstr("reserved"), HasSubstr("j1"),
                                HasSubstr("the leaves' counts")));
  const Outcome scripts = Run({"dataset", "show", "--dataset", "d1", "--json"});
  EXPECT_EQ(std::count(scripts.out.begin(), scripts.out.end(), '\n'), 1);
  EXPECT_EQ(Json::parse(scripts.out)["ledger"][0]["job"], "j1");
  const Outcome absent = Run({"dataset", "show", "--dataset", "d2"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("no such dataset"));
}

TEST_F(DatasetTest, ShowMayLeaveOutAllButTheNewestEntries) {
  Create();
  for (const char* job : {"jobs/j1", "jobs/j2", "jobs/j3"}) {
    v1::LedgerEntry& entry = *curator_.datasets->dataset.add_ledger();
    entry.set_kind(v1::LEDGER_ENTRY_KIND_RESERVED);
    entry.set_job(job);
    entry.set_submitter("lab");
  }
  const auto jobs = [this](const std::string& entries) {
    const Outcome outcome =
        Run({"dataset", "show", "--dataset", "d1", "--entries", entries, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    std::string found;
    for (const Json& entry : json["ledger"]) found += entry["job"].get<std::string>() + " ";
    return found;
  };
  for (const bool pages : {true, false}) {
    curator_.datasets->pages_ledger = pages;
    EXPECT_EQ(jobs("2"), "j2 j3 ") << pages;
    EXPECT_EQ(jobs("3"), "j1 j2 j3 ") << pages;
    EXPECT_EQ(jobs("9"), "j1 j2 j3 ") << pages;
    EXPECT_EQ(jobs("0"), "") << pages;
  }
  const Outcome people = Run({"dataset", "show", "--dataset", "d1", "--entries", "1"});
  EXPECT_THAT(people.out, AllOf(HasSubstr("by"), HasSubstr("lab"), HasSubstr("j3")));
  EXPECT_THAT(people.out, Not(HasSubstr("j2")));
  EXPECT_THAT(people.err, HasSubstr("newest 1 of 3 entries"));
}

TEST_F(DatasetTest, ListReadsAllPages) {
  const Outcome outcome = Run({"dataset", "list", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr(R"({"dataset":"a",)"), HasSubstr("\n{\"dataset\":\"b\",")));
}

TEST_F(DatasetTest, DeleteNamesTheDataset) {
  const Outcome outcome = Run({"dataset", "delete", "--dataset", "d1", "--yes", "--json"});
  EXPECT_EQ(outcome.out, "{\"dataset\":\"d1\",\"deleted\":true}\n");
  EXPECT_EQ(curator_.datasets->deleted, "datasets/d1");
}

}  // namespace
}  // namespace coppice::cli
