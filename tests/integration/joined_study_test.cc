// A study of labels alone, whose features the operator uploads, with a real daemon over TLS and the
// real command line.

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kCustomers = 4000;

// x decides the label; y has nothing to do with it.
double XOf(int customer) { return (customer * 7919 % 10'007) / 10'007.0; }
double YOf(int customer) { return (customer * 104'729 % 10'007) / 10'007.0; }
const char* LabelOf(int customer) { return XOf(customer) > 0.4 ? "yes" : "no"; }

class JoinedStudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    std::ofstream(Path("schema.json"))
        << R"({"label":"buys","classes":["no","yes"],"features":[)"
        << R"({"name":"x","type":"numeric","min":0,"max":1,"public":true},)"
        << R"({"name":"y","type":"numeric","min":0,"max":1,"public":true}]})";
    std::ofstream features(Path("features.csv"));
    std::ofstream labels(Path("labels.csv"));
    std::ofstream test(Path("test.csv"));
    features << "customer,x,y\n";
    labels << "customer,buys\n";
    test << "x,y,buys\n";
    for (int i = 0; i < kCustomers; ++i) {
      features << "c" << i << "," << XOf(i) << "," << YOf(i) << "\n";
      labels << "c" << i << "," << LabelOf(i) << "\n";
    }
    for (int i = kCustomers; i < kCustomers + 1000; ++i) {
      test << XOf(i) << "," << YOf(i) << "," << LabelOf(i) << "\n";
    }
  }

  std::string Path(const std::string& file) const { return folder_.path() + "/" + file; }

  nlohmann::json Create() const {
    return daemon_.CoppiceJson({"study", "create", "--study", "sales", "--public", "none",
                                "--schema", Path("schema.json"), "--epsilon", "2", "--join-id",
                                "customer"});
  }
  Outcome Join(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"study",  "join",        "--study",
                                        "sales",  "--data",      Path("features.csv"),
                                        "--json", "--id-column", "customer"};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.Coppice(command);
  }
  Outcome Collect(const std::string& file, const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"collect", "simulate", "--study", "sales",
                                        "--data",  Path(file), "--json"};
    command.insert(command.end(), more.begin(), more.end());
    return daemon_.Coppice(command);
  }
  nlohmann::json Show() const { return daemon_.CoppiceJson({"study", "show", "--study", "sales"}); }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
};

TEST_F(JoinedStudyTest, LearnsFromIdsAndLabelsAlone) {
  EXPECT_EQ(Create()["joined_by"], "customer");
  const Outcome joined = Join();
  ASSERT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_EQ(joined.out, "{\"study\":\"sales\",\"rows\":4000}\n");
  EXPECT_EQ(Join().out, joined.out);  // a second upload changes nothing

  const Outcome declined = Collect("labels.csv", {"--show", "x,y"});
  EXPECT_NE(declined.exit_code, 0);
  EXPECT_THAT(declined.err, AllOf(HasSubstr("the id \"customer\""), HasSubstr("--allow-join-id")));
  const Outcome collected = Collect("labels.csv", {"--allow-join-id", "customer"});
  ASSERT_EQ(collected.exit_code, 0) << collected.err;
  EXPECT_EQ(nlohmann::json::parse(collected.out)["accepted"], kCustomers);

  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start());
  EXPECT_EQ(Show()["join_rows"], kCustomers);
  const Outcome shown = daemon_.Coppice({"study", "show", "--study", "sales"});
  EXPECT_THAT(shown.out, HasSubstr("customer: 4000 rows"));

  daemon_.CoppiceJson({"study", "seal", "--study", "sales"});
  daemon_.CoppiceJson({"model", "build", "--study", "sales", "--model", "m"});
  const auto score =
      daemon_.CoppiceJson({"model", "evaluate", "--model", "m", "--data", Path("test.csv")});
  EXPECT_GT(score["accuracy"], 0.95);
  EXPECT_LT(score["majority"], 0.65);
  const Outcome verified = daemon_.Coppice({"model", "verify", "--model", "m"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("any label of one device for any other, its customer"));
  EXPECT_NE(Join().exit_code, 0);  // the study is sealed
  EXPECT_EQ(daemon_.Stop(), 0);
  const Outcome checked = testing::RunProgram(
      {testing::BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST_F(JoinedStudyTest, UnknownIdsAndSecondReportsAreCountedAsSuch) {
  Create();
  ASSERT_EQ(Join().exit_code, 0);
  std::ofstream(Path("few.csv")) << "customer,buys\nc1,yes\nnobody,no\nc2,no\n";
  const Outcome few =
      Collect("few.csv", {"--allow-join-id", "customer", "--journal", Path("journal")});
  EXPECT_NE(few.exit_code, 0);
  const auto counts = nlohmann::json::parse(few.out.substr(0, few.out.find('\n')));
  EXPECT_EQ(counts["accepted"], 2);
  EXPECT_EQ(counts["refused"], nlohmann::json({{"unknown_id", 1}}));
  // Another device claims to be c1.
  std::ofstream(Path("liar.csv")) << "customer,buys\nc1,no\n";
  const Outcome liar = Collect("liar.csv", {"--allow-join-id", "customer"});
  EXPECT_EQ(liar.exit_code, 0) << liar.err;
  EXPECT_EQ(nlohmann::json::parse(liar.out)["duplicate"], 1);
  const auto study = Show();
  EXPECT_EQ(study["accepted"], 2);
  EXPECT_EQ(study["rejected"], nlohmann::json({{"unknown_id", 1}}));
  // The same journal skips the ids that have answered.
  std::ofstream(Path("few.csv")) << "buys,customer\nno,c2\nyes,c3\n";
  const Outcome again =
      Collect("few.csv", {"--allow-join-id", "customer", "--journal", Path("journal")});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["answered_before"], 1);
  EXPECT_EQ(nlohmann::json::parse(again.out)["accepted"], 1);
}

TEST_F(JoinedStudyTest, MistakesAreSaidBeforeAnythingIsSent) {
  Create();
  const Outcome early = Collect("labels.csv", {"--allow-join-id", "customer"});
  EXPECT_NE(early.exit_code, 0);
  EXPECT_THAT(early.err, HasSubstr("no features of any customer yet"));
  std::ofstream(Path("features.csv")) << "customer,x,y\nc1,0.5,0.5\n";
  ASSERT_EQ(Join().exit_code, 0);
  std::ofstream(Path("nobody.csv")) << "customer,buys\nc1,yes\n,no\n";
  const Outcome nobody = Collect("nobody.csv", {"--allow-join-id", "customer"});
  EXPECT_THAT(nobody.err, HasSubstr("column \"customer\" must identify whose row it is"));
  std::ofstream(Path("long.csv")) << "customer,buys\nc1,yes\n" << std::string(65, 'c') << ",no\n";
  const Outcome too_long = Collect("long.csv", {"--allow-join-id", "customer"});
  EXPECT_THAT(too_long.err, HasSubstr("row 2: an id must have 1 to 64 bytes"));
  std::ofstream(Path("other.csv")) << "customer,device,buys\nc1,d1,yes\n";
  const Outcome other =
      Collect("other.csv", {"--allow-join-id", "customer", "--id-column", "device"});
  EXPECT_THAT(other.err, HasSubstr("--id-column"));
  EXPECT_EQ(Show()["received"], 0);

  std::ofstream(Path("features.csv")) << "customer,x,y\nc2,0.5,0.5\nc1,0.25,0.5\n";
  const Outcome conflict = Join();
  EXPECT_NE(conflict.exit_code, 0);
  EXPECT_THAT(conflict.err, HasSubstr("\"c1\" has other features already"));
  EXPECT_EQ(Show()["join_rows"], 1);
  const Outcome private_features =
      daemon_.Coppice({"study", "create", "--public", "none", "--schema", Path("schema.json"),
                       "--epsilon", "2", "--join-id", "x"});
  EXPECT_THAT(private_features.err, HasSubstr("joined_by: \"x\" is a feature"));
}

}  // namespace
}  // namespace coppice
