#include "client/cli/terminal/output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

TEST(OutputTest, JsonLineKeepsOrderAndHasNoInfinity) {
  const Json json = {{"b", 1}, {"a", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(JsonLine(json), R"({"b":1,"a":null})");
}

TEST(OutputTest, JsonLineSurvivesBytesThatAreNoText) {
  EXPECT_EQ(JsonLine(Json{{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(OutputTest, TextIsAligned) {
  const Json json = {{"study", "s1"}, {"rejected", {{"bad_ticket", 2}, {"x", 1}}}, {"none", {}}};
  EXPECT_EQ(AsText(json),
            "study     s1\n"
            "rejected  bad_ticket 2, x 1\n"
            "none      unknown\n");
}

TEST(OutputTest, TextDoesNotSteerTheTerminal) {
  EXPECT_EQ(AsText(Json{{"a", "\x1b[2Jgone\n"}}), "a  \xef\xbf\xbd[2Jgone\xef\xbf\xbd\n");
}

TEST(OutputTest, JsonDoesNotSteerTheTerminal) {
  const Json json = {{"a", "\x1b[2J \x7f \xc2\x9b \u03b5"}};
  const std::string line = JsonLine(json);
  EXPECT_EQ(line, R"({"a":"\u001b[2J \u007f \u009b )"
                  "\u03b5\"}");
  EXPECT_EQ(Json::parse(line), json);
}

TEST(OutputTest, TextThatIsReadBackwardsIsShownAsItStands) {
  EXPECT_EQ(AsText(Json{{"a", "good\u202Edab\u200B"}}), "a  good\uFFFDdab\uFFFD\n");
  const Json json = {{"a", "good\u202Edab \U000E0041 \u03b5"}};
  const std::string line = JsonLine(json);
  EXPECT_EQ(line, R"({"a":"good\u202edab \udb40\udc41 )"
                  "\u03b5\"}");
  EXPECT_EQ(Json::parse(line), json);
}

TEST(OutputTest, RowsThatArePrintedOneByOneAreOneTable) {
  ::testing::internal::CaptureStdout();
  {
    RowPrinter printer(/*json=*/false);
    for (int i = 0; i < 1001; ++i) printer.Print({{"row", i}, {"p", 0.5}});
  }
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(out.substr(0, 14), "row  p\n0    0.");
  EXPECT_EQ(out.substr(out.size() - 19), "999  0.5\n1000  0.5\n");
}

TEST(OutputTest, TableHasOneLineARowUnderItsNames) {
  const std::vector<Json> rows = {{{"row", 1}, {"p", 0.123456789}}, {{"row", 10}, {"p", nullptr}}};
  EXPECT_EQ(AsTable(rows),
            "row  p\n"
            "1    0.123\n"
            "10   unknown\n");
  EXPECT_EQ(AsTable({}), "none\n");
}

TEST(OutputTest, NumbersHaveThreeDigitsAndWhatPrivacyCostsAll) {
  const Json json = {{"accuracy", 0.84736}, {"mse", 12345.678},        {"seconds", 0.00012345},
                     {"epsilon", 1.23456},  {"epsilon_left", 0.1 + 2}, {"delta", 1e-6}};
  EXPECT_EQ(AsText(json),
            "accuracy      0.847\n"
            "mse           12346\n"
            "seconds       0.000123\n"
            "epsilon       1.23456\n"
            "epsilon_left  2.1\n"
            "delta         1e-06\n");
  EXPECT_EQ(JsonLine(Json{{"accuracy", 0.84736}}), R"({"accuracy":0.84736})");
}

TEST(OutputTest, ATableThatIsWiderThanTheTerminalIsBlocks) {
  const std::vector<Json> rows = {{{"study", "s1"}, {"label", "caf\u00e9"}, {"note", ""}},
                                  {{"study", "s2"}, {"label", "x"}, {"note", "why"}}};
  const std::string table =
      "study  label  note\n"
      "s1     caf\u00e9   \n"
      "s2     x      why\n";
  EXPECT_EQ(AsTable(rows, /*terminal=*/18), table);
  EXPECT_EQ(AsTable(rows, /*terminal=*/17),
            "study  s1\n"
            "label  caf\u00e9\n"
            "\n"
            "study  s2\n"
            "label  x\n"
            "note   why\n");
  EXPECT_EQ(AsTable(rows), table);
}

TEST(OutputTest, AFileOrPipeHasNoWidth) {
  setenv("COLUMNS", "20", 1);
  EXPECT_EQ(TerminalWidth(/*descriptor=*/99), 0);
  unsetenv("COLUMNS");
}

TEST(WriteResultTest, ADashIsStdout) {
  ::testing::internal::CaptureStdout();
  ASSERT_OK(WriteResult("-", "bytes\n", /*force=*/false));
  ASSERT_OK(WriteSecretResult("-", "more\n", /*force=*/false));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "bytes\nmore\n");
}

TEST(WriteResultTest, AFileThatIsThereIsReplacedByForceAlone) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/out";
  ASSERT_OK(WriteResult(path, "old", /*force=*/false));
  EXPECT_THAT(WriteResult(path, "new", /*force=*/false),
              testing::StatusIs(StatusCode::kAlreadyExists, ::testing::HasSubstr("--force")));
  ASSERT_OK(WriteSecretResult(path, "new", /*force=*/true));
  EXPECT_EQ(*ReadFile(path), "new");
}

}  // namespace
}  // namespace coppice::cli
