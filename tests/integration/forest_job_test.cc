// The default path through the real programs: a forest of 64 public trees, each device in one of
// them, the mechanism chosen, the smooth estimator, predictions that may abstain.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/data_dir.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

struct Files {
  std::string public_rows, private_rows, test, schema;
};

class ForestJobTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(daemon_.Start()); }

  // Creates a study with default settings, has every private row answer, builds the default model;
  // returns its accuracy on the test rows.
  double Accuracy(const std::string& study, const Files& files, const std::string& epsilon,
                  uint64_t devices) {
    const auto created =
        daemon_.CoppiceJson({"study", "create", "--study", study, "--public", files.public_rows,
                             "--schema", files.schema, "--epsilon", epsilon});
    EXPECT_EQ(created["trees"], 64);
    EXPECT_THAT(created["choice"].get<std::string>(), HasSubstr("64 trees"));
    const auto collected =
        daemon_.CoppiceJson({"collect", "simulate", "--study", study, "--data", files.private_rows,
                             "--journal", folder_.path() + "/" + study + ".journal"});
    EXPECT_EQ(collected["accepted"], devices);
    const auto model =
        daemon_.CoppiceJson({"model", "build", "--study", study, "--model", study + "-model"});
    EXPECT_EQ(model["estimator"], "smooth");
    EXPECT_EQ(model["reports"], devices);
    return daemon_.CoppiceJson(
        {"model", "evaluate", "--model", study + "-model", "--data", files.test})["accuracy"];
  }

  // Splits the lines of a data set into `public_rows` public lines, a fifth for the test, and the
  // rest for devices.
  Files Split(const std::string& data, const std::string& name, size_t public_rows,
              uint64_t& devices) {
    const std::string prefix = folder_.path() + "/" + name;
    const Files files = {prefix + "-public.csv", prefix + "-private.csv", prefix + "-test.csv",
                         data + "/schema.json"};
    std::ifstream in(data + "/" + name + ".csv");
    std::ofstream for_public(files.public_rows), for_devices(files.private_rows),
        for_test(files.test);
    std::string line;
    std::getline(in, line);
    for (std::ofstream* out : {&for_public, &for_devices, &for_test}) *out << line << "\n";
    // Files may be sorted by class, so public rows are spread over all of it.
    std::vector<std::string> lines;
    while (std::getline(in, line)) lines.push_back(line);
    const size_t step = lines.size() / public_rows;
    devices = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i % step == 0 && i / step < public_rows) {
        for_public << lines[i] << "\n";
      } else if (i % 5 == 1) {
        for_test << lines[i] << "\n";
      } else {
        for_devices << lines[i] << "\n";
        ++devices;
      }
    }
    return files;
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
};

TEST_F(ForestJobTest, ThirtyThousandDevices) {
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "gamma=0.5,private=30000,public=50,test=2000");
  const Files files = {rows + "/public.csv", rows + "/private.csv", rows + "/test.csv",
                       rows + "/schema.json"};
  // The mean is .74, with .02 between draws of 50 public rows; the majority class scores .54.
  EXPECT_GT(Accuracy("untuned", files, "2", 30'000), 0.65);

  // Some 560 rows abstain. Above .99 every row might, which is an error.
  const auto sure = daemon_.CoppiceJson({"model", "evaluate", "--model", "untuned-model", "--data",
                                         files.test, "--abstain-below", "0.8"});
  EXPECT_GT(sure["abstained"], 0);
  EXPECT_EQ(sure["abstained"].get<int>() + sure["rows"].get<int>(), 2000);

  const auto first = daemon_.CoppiceJson({"model", "show", "--model", "untuned-model"});
  EXPECT_THAT(first["diagnosis"].get<std::string>(), HasSubstr("public labels"));
}

TEST_F(ForestJobTest, SeveralClasses) {
  for (const auto& [name, public_rows, least] :
       {std::tuple{"robot4", size_t{50}, 0.85}, std::tuple{"car", size_t{100}, 0.75}}) {
    COPPICE_NEEDS_DATA_SET(data, name);
    uint64_t devices = 0;
    const Files files = Split(data, name, public_rows, devices);
    EXPECT_GT(Accuracy(name, files, "4", devices), least) << name;
  }
}

TEST_F(ForestJobTest, WithoutPublicLabelsReportsDecide) {
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "gamma=0.5,private=20000,public=200,test=2000");
  daemon_.CoppiceJson({"study", "create", "--study", "bare", "--public", rows + "/public.csv",
                       "--schema", rows + "/schema.json", "--epsilon", "4", "--public-labels",
                       "none", "--devices", "20000"});
  daemon_.CoppiceJson({"collect", "simulate", "--study", "bare", "--data", rows + "/private.csv",
                       "--journal", folder_.path() + "/bare.journal"});
  const auto model =
      daemon_.CoppiceJson({"model", "build", "--study", "bare", "--model", "bare-model"});
  EXPECT_EQ(model["estimator"], "pooled evidence=reports") << "the labels are not to be trusted";
  EXPECT_EQ(
      daemon_.Coppice({"model", "build", "--study", "bare", "--evidence", "public"}).exit_code, 1);
  EXPECT_EQ(daemon_.Coppice({"model", "build", "--study", "bare", "--lambda", "1"}).exit_code, 1);
  EXPECT_GT(daemon_.CoppiceJson({"model", "evaluate", "--model", "bare-model", "--data",
                                 rows + "/test.csv"})["accuracy"],
            0.65);
}

TEST_F(ForestJobTest, WithoutPublicRowsTheSchemaAloneMakesThePartition) {
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "gamma=0.5,private=20000,public=10,test=2000");
  const std::string schema = rows + "/schema.json";
  const auto accuracy = [&](const std::string& study, const std::vector<std::string>& partition) {
    std::vector<std::string> create = {"study",     "create", "--study",   study,
                                       "--public",  "none",   "--schema",  schema,
                                       "--epsilon", "4",      "--devices", "20000"};
    create.insert(create.end(), partition.begin(), partition.end());
    daemon_.CoppiceJson(create);
    daemon_.CoppiceJson({"collect", "simulate", "--study", study, "--data", rows + "/private.csv",
                         "--journal", folder_.path() + "/" + study + ".journal"});
    daemon_.CoppiceJson({"model", "build", "--study", study, "--model", study + "-model"});
    const auto shown = daemon_.CoppiceJson({"study", "show", "--study", study});
    EXPECT_EQ(shown["public_rows"], 0);
    EXPECT_THAT(shown["partition"].get<std::string>(), HasSubstr("from the schema's bounds alone"));
    return daemon_
        .CoppiceJson({"model", "evaluate", "--model", study + "-model", "--data",
                      rows + "/test.csv"})["accuracy"]
        .get<double>();
  };
  EXPECT_GT(accuracy("spread", {}), 0.65);
  EXPECT_GT(accuracy("edges", {"--split-rule", "max_edge", "--depth", "5"}), 0.65);
  const auto model =
      daemon_.CoppiceJson({"model", "build", "--study", "edges", "--model", "edges-again"});
  EXPECT_THAT(model["public_inputs"].dump(),
              HasSubstr("the partition, made from the schema alone"));
  EXPECT_EQ(daemon_
                .Coppice({"study", "create", "--public", "none", "--schema", schema, "--epsilon",
                          "4", "--split-rule", "cart"})
                .exit_code,
            1);
  const auto preview = daemon_.Coppice(
      {"study", "preview", "--public", "none", "--schema", schema, "--epsilon", "4"});
  EXPECT_EQ(preview.exit_code, 0) << preview.err;
  EXPECT_THAT(preview.err, HasSubstr("Without public rows"));
}

TEST_F(ForestJobTest, PublicRowsWithoutALabelColumn) {
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "gamma=0.5,private=100,public=200,test=100");
  const std::string bare = folder_.path() + "/bare.csv";
  std::ofstream(bare) << "x1,x2\n0.1,0.2\n0.7,0.4\n0.3,0.9\n";
  const std::vector<std::string> create = {
      "study", "create", "--public", bare, "--schema", rows + "/schema.json", "--epsilon", "1"};
  EXPECT_EQ(daemon_.Coppice(create).exit_code, 1) << "the labels are asked for";
  std::vector<std::string> without = create;
  without.insert(without.end(), {"--public-labels", "none", "--study", "bare"});
  EXPECT_EQ(daemon_.CoppiceJson(without)["study"], "bare");
}

TEST_F(ForestJobTest, APreviewSaysWhetherReportsWillHelp) {
  const std::string rows = folder_.path() + "/rows";
  Synthesize(rows, "gamma=1,private=100,public=100,test=100");
  const auto preview =
      daemon_.Coppice({"study", "preview", "--public", rows + "/public.csv", "--schema",
                       rows + "/schema.json", "--epsilon", "0.1", "--devices", "100"});
  EXPECT_EQ(preview.exit_code, 0) << preview.err;
  EXPECT_THAT(preview.out, HasSubstr("signed_hadamard"));
  EXPECT_THAT(preview.err, HasSubstr("Reports will not help here"));
  EXPECT_THAT(preview.out, HasSubstr("gain_low"));
  EXPECT_THAT(preview.err, HasSubstr("Always answering "));
}

}  // namespace
}  // namespace coppice
