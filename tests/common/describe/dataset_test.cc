#include <gtest/gtest.h>

#include "common/describe/describe.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice {
namespace {

v1::LedgerEntry& AddEntry(v1::Dataset& dataset, v1::LedgerEntryKind kind, const char* job,
                          uint64_t epsilon_nanos) {
  v1::LedgerEntry& entry = *dataset.add_ledger();
  entry.set_kind(kind);
  entry.set_job(job);
  entry.set_unix_seconds(86400);
  entry.mutable_cost()->set_epsilon_nanos(epsilon_nanos);
  entry.set_hash("\x01\xab");
  return entry;
}

void AddRelease(v1::LedgerEntry& entry, const char* what) {
  v1::Release& release = *entry.add_releases();
  release.set_what(what);
  release.set_mechanism("geometric");
  release.set_epsilon_nanos(500'000'000);
  release.set_times(2);
}

v1::Dataset SampleDataset() {
  v1::Dataset dataset;
  dataset.set_name("datasets/d1");
  dataset.set_state(v1::DATASET_STATE_READY);
  dataset.set_rows(100);
  dataset.mutable_cap()->set_epsilon_nanos(4'000'000'000);
  dataset.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
  dataset.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
  dataset.mutable_spent()->set_epsilon_nanos(1'000'000'000);
  dataset.set_epsilon_left_nanos(3'000'000'000);
  dataset.mutable_schema()->set_label("y");
  dataset.mutable_schema()->add_classes("no");
  dataset.mutable_schema()->add_features()->set_name("x");
  AddEntry(dataset, v1::LEDGER_ENTRY_KIND_OPENED, "", 0);
  AddRelease(AddEntry(dataset, v1::LEDGER_ENTRY_KIND_RESERVED, "jobs/j1", 1'000'000'000), "plan");
  AddRelease(AddEntry(dataset, v1::LEDGER_ENTRY_KIND_SETTLED, "jobs/j1", 1'000'000'000), "made");
  AddRelease(AddEntry(dataset, v1::LEDGER_ENTRY_KIND_RESERVED, "jobs/j2", 1'000'000'000), "plan2");
  return dataset;
}

v1::Dataset ZeroConcentrated() {
  v1::Dataset dataset = SampleDataset();
  dataset.mutable_cap()->set_composition(v1::COMPOSITION_ZERO_CONCENTRATED);
  dataset.mutable_cap()->set_delta_atto(1'000'000'000'000);
  dataset.mutable_spent()->set_rho_pico(500'000'000'000);
  dataset.mutable_ledger(1)->mutable_cost()->set_rho_pico(250'000'000'000);
  return dataset;
}

TEST(DescribeDatasetTest, BudgetIsInAllSpentAndLeft) {
  EXPECT_EQ(DescribeDataset(SampleDataset()).dump(),
            R"({"dataset":"d1","state":"ready","rows":100,"epsilon_total":4.0,)"
            R"("epsilon_spent":1.0,"epsilon_left":3.0,"delta_total":0.0,"delta_spent":0.0,)"
            R"("composition":"basic","neighbours":"add_or_remove_row",)"
            R"("created":"1970-01-01T00:00:00Z","ledger_head":"01ab"})");
}

TEST(DescribeDatasetTest, AHoldIsShownWithWhatIsLostAndNoHead) {
  v1::Dataset dataset = SampleDataset();
  EXPECT_FALSE(DescribeDataset(dataset).contains("hold"));
  dataset.set_hold(v1::LEDGER_HOLD_UNCONFIRMED);
  dataset.mutable_hold_lost()->set_epsilon_nanos(500'000'000);
  dataset.mutable_ledger()->rbegin()->clear_hash();
  EXPECT_EQ(DescribeDataset(dataset)["hold"], "unconfirmed");
  EXPECT_EQ(DescribeDataset(dataset)["hold_lost"]["epsilon"], 0.5);
  EXPECT_FALSE(DescribeDataset(dataset).contains("ledger_head"));
}

TEST(DescribeDatasetTest, RhoIsShownWhereItIsWhatAddsUp) {
  const Description json = DescribeDataset(ZeroConcentrated());
  EXPECT_EQ(json["composition"], "zcdp");
  EXPECT_EQ(json["rho_spent"], 0.5);
  EXPECT_EQ(json["delta_total"], 1e-6);
  EXPECT_FALSE(DescribeDataset(SampleDataset()).contains("rho_spent"));
  EXPECT_FALSE(DescribeDatasetBriefly(ZeroConcentrated()).contains("rho_spent"));
  EXPECT_EQ(LedgerTable(ZeroConcentrated())[1]["rho"], 0.25);
  EXPECT_FALSE(LedgerTable(SampleDataset())[1].contains("rho"));
  EXPECT_FALSE(LedgerTable(SampleDataset())[1].contains("delta"));
}

TEST(DescribeDatasetTest, ScriptsSeeSchemaAndWholeLedger) {
  const Description json = DescribeDatasetWithLedger(SampleDataset());
  EXPECT_EQ(json["schema"].dump(), R"({"label":"y","features":["x"],"classes":["no"]})");
  ASSERT_EQ(json["ledger"].size(), 4);
  EXPECT_EQ(json["ledger"][2].dump(),
            R"({"time":"1970-01-02T00:00:00Z","entry":"settled","job":"j1","epsilon":1.0,)"
            R"("delta":0.0,"releases":[{"what":"made","mechanism":"geometric","epsilon":0.5,)"
            R"("times":2,"part":"all"}],"hash":"01ab"})");
}

TEST(DescribeDatasetTest, TheLedgerSaysByWhomWhereThatIsKnown) {
  v1::Dataset dataset = SampleDataset();
  EXPECT_FALSE(LedgerTable(dataset)[1].contains("by"));
  dataset.mutable_ledger(1)->set_submitter("lab");
  const std::vector<Description> lines = LedgerTable(dataset);
  EXPECT_EQ(lines[0]["by"], "");
  EXPECT_EQ(lines[1]["by"], "lab");
  const Description json = DescribeDatasetWithLedger(dataset);
  EXPECT_EQ(json["ledger"][1]["submitter"], "lab");
  EXPECT_FALSE(json["ledger"][2].contains("submitter"));
}

TEST(DescribeDatasetTest, RegressionHasATargetAndNoClasses) {
  v1::Dataset dataset = SampleDataset();
  dataset.mutable_schema()->clear_classes();
  dataset.mutable_schema()->mutable_target()->set_max(2);
  const Description schema = DescribeDatasetWithLedger(dataset)["schema"];
  EXPECT_EQ(schema["target_max"], 2.0);
  EXPECT_FALSE(schema.contains("classes"));
}

TEST(DescribeDatasetTest, PeopleSeeAPlanOnlyUntilItIsKnownWhatWasMade) {
  const std::vector<Description> lines = LedgerTable(SampleDataset());
  std::vector<std::string> texts;
  for (const Description& line : lines) {
    texts.push_back(line["entry"].get<std::string>() + line["release"].get<std::string>());
    EXPECT_EQ(line.size(), lines[0].size());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"opened", "reserved", "settled", "made", "reserved",
                                             "plan2"}));
  EXPECT_EQ(lines[0]["epsilon"], "");
  EXPECT_EQ(lines[1]["epsilon"], 1.0);
  EXPECT_EQ(lines[3]["times"], 2);
  EXPECT_EQ(lines[3]["each"], 0.5);
}

}  // namespace
}  // namespace coppice
