// coppice schema and coppice data, and what commands say about files with mistakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/terminal/output.h"
#include "common/base/read_file.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/support/temp_dir.h"
#include "tests/support/temp_file.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::Outcome;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::TempDir;
using ::coppice::testing::TempFile;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSchema[] = R"({"label": "y", "classes": ["no", "yes"], "features": [
  {"name": "age", "type": "numeric", "min": 0, "max": 100},
  {"name": "job", "type": "categorical", "values": ["clerk", "smith"]}]})";

constexpr char kGood[] = "age,job,y\n20,clerk,no\n90,smith,yes\n";

// Previews at a curator that does not exist: files are read before it is called.
Outcome Preview(const std::string& data, const std::string& schema, bool strict = false) {
  std::vector<std::string> line = {"study",    "preview", "--server", "127.0.0.1:1", "--insecure",
                                   "--public", data,      "--schema", schema};
  if (strict) line.push_back("--strict");
  return RunCoppice(line);
}

// Each error is one line that says what is wrong, where, and what would be right or what to do.
TEST(TablesTest, WhatPeopleGetWrongIsSaidInOneLine) {
  struct Case {
    const char* text;
    const char *where, *what, *remedy;
  };
  const TempFile schema(".json", kSchema);
  for (const Case& c :
       {Case{"Age,job,y\n20,clerk,no\n", ".csv:1: ", "column \"age\" of the schema is missing",
             "its columns: Age, job, y"},
        Case{"age,job\n20,clerk\n", ".csv:1: ", "column \"y\" of the schema is missing",
             "its columns: age, job"},
        Case{"age,job,y\n20,clerk,maybe\n", ".csv:2: ", "label \"y\" must be one of the 2 classes",
             "no, yes"},
        Case{"age,job,y\n20,pilot,no\n", ".csv:2: ", "column \"job\" must be one of",
             "clerk, smith"},
        Case{"age,job,y\n120,clerk,no\n", ".csv:2: ", "column \"age\" must be in [0, 100]",
             "without strict it would be clamped"},
        Case{"age,job,y\n20,clerk,no\nNA,clerk,no\n", ".csv:3: ", "must be a finite decimal",
             "declare texts for missing values (\"missing\" in the schema file, or --missing)"},
        Case{"age,job,y\n1,clerk,no\n1,clerk,no\n1,clerk,no\n1,\"clerk,no\n1,clerk,no\n",
             ".csv:5: ", "a quoted field that starts here is never closed", "column \"job\""},
        Case{"age|job|y\n20|clerk|no\n", ".csv:1: ", "its one column: age|job|y",
             "a comma, semicolon or tab"},
        Case{"age,job,y\n20,cl\xE9rk,no\n", ".csv:2: ", "if it is Latin-1", "iconv -f LATIN1"},
        Case{"age,job,y\n20,clerk\n", ".csv:2: ", "the row has 2 fields", "the header 3"},
        Case{"age,job,y\n1,2,clerk,no\n", ".csv:2: ", "the row has 4 fields", "must be quoted"}}) {
    const TempFile data(".csv", c.text);
    const Outcome outcome = Preview(data.path(), schema.path(), /*strict=*/true);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(c.where), HasSubstr(c.what), HasSubstr(c.remedy)));
    const std::vector<std::string> lines = StrSplit(outcome.err, '\n', SkipEmpty());
    EXPECT_EQ(lines.size(), 1u) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(TablesTest, FilesThatAreNotThereAreNamed) {
  const TempFile schema(".json", kSchema), data(".csv", kGood);
  EXPECT_THAT(Preview("/none.csv", schema.path()).err, HasSubstr("cannot open /none.csv"));
  EXPECT_THAT(Preview(data.path(), "/none.json").err, HasSubstr("cannot open /none.json"));
  for (const char* verb : {"infer", "check"}) {
    std::vector<std::string> line = {"schema", verb, "--data", "/none.csv"};
    if (std::string(verb) == "check") line.insert(line.end(), {"--schema", schema.path()});
    const Outcome outcome = RunCoppice(line);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("cannot open /none.csv: No such file or directory; check "
                                       "the path"));
  }
}

TEST(TablesTest, CrlfSemicolonsAndDeclaredMissingTextsAreRead) {
  const TempFile schema(".json", StrCat("{\"missing\": [\"NA\"], ", &kSchema[1]));
  for (const char* text : {"age,job,y\r\n20,clerk,no\r\nNA,NA,yes\r\n",
                           "age;job;y\n20;clerk;no\n90;;yes\n", "age\tjob\ty\n20\tclerk\tno\n"}) {
    const TempFile data(".csv", text);
    EXPECT_THAT(Preview(data.path(), schema.path(), /*strict=*/true).err,
                HasSubstr("nobody answers"));
  }
}

// Infers a schema from good rows with these flags, and returns what it is.
Json Inferred(const std::vector<std::string>& flags, std::string& err) {
  const TempFile data(".csv", kGood);
  std::vector<std::string> line = {"schema", "infer", "--data", data.path(), "--label", "y"};
  line.insert(line.end(), flags.begin(), flags.end());
  const Outcome outcome = RunCoppice(line);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  err = outcome.err;
  return Json::parse(outcome.out);
}

TEST(TablesTest, ASchemaOfPublicRowsNamesThemByTheirHash) {
  std::string err;
  const Json schema = Inferred({"--rows", "public"}, err);
  EXPECT_EQ(schema["features"][0]["bounds"], "from public rows");
  const Sha256Digest digest = Sha256({kGood});
  EXPECT_EQ(schema["rows_sha256"], BytesToHexString(std::string(digest.begin(), digest.end())));
  EXPECT_THAT(err, Not(HasSubstr("leaks")));
}

TEST(TablesTest, ASchemaOfPrivateRowsIsSaidToLeak) {
  std::string err;
  const Json schema = Inferred({"--rows", "private"}, err);
  EXPECT_EQ(schema["features"][0]["bounds"], "from private rows");
  EXPECT_FALSE(schema.contains("rows_sha256"));  // a hash lets others try what the rows are
  EXPECT_THAT(err, AllOf(HasSubstr("which leaks"), HasSubstr("--accept-leak")));
}

TEST(TablesTest, ASchemaIsInferredAndSaidToLeak) {
  const TempDir folder;
  const std::string output = folder.path() + "/schema.json";
  const TempFile data(".csv", kGood);
  const std::vector<std::string> line = {"schema",  "infer", "--data",   data.path(),
                                         "--label", "y",     "--output", output};
  const Outcome outcome = RunCoppice(line);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("read from the rows"), HasSubstr("leaks"),
                                 HasSubstr("--rows public"), HasSubstr("refuses")));
  const Json schema = Json::parse(*ReadFile(output));
  EXPECT_EQ(schema["features"][0]["bounds"], "from these rows");
  const Outcome check =
      RunCoppice({"schema", "check", "--schema", output, "--data", data.path(), "--json"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;

  const Outcome again = RunCoppice(line);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("exists already"), HasSubstr("--force")));
}

TEST(TablesTest, InferWithJsonIsOneObject) {
  const TempFile data(".csv", kGood);
  const Outcome outcome = RunCoppice({"schema", "infer", "--data", data.path(), "--target", "age",
                                      "--bounds", "age=0:120:years", "--json"});
  const Json object = Json::parse(outcome.out);
  EXPECT_EQ(object["rows"], 2);
  EXPECT_TRUE(object["output"].is_null());
  EXPECT_EQ(object["schema"]["target_max"], 120);
  EXPECT_EQ(object["schema"]["bounds"], "declared");
  EXPECT_EQ(object["schema"]["unit"], "years");
}

TEST(TablesTest, WrongUsageNamesTheFlagAndWhatItWants) {
  struct Case {
    std::vector<std::string> line;
    const char *flag, *wants;
  };
  for (const Case& c : std::vector<Case>{
           {{"schema", "infer", "--data", "d", "--label", "y", "--target", "z"},
            "--target",
            "--label"},
           {{"schema", "infer", "--data", "d", "--bounds", "age=9"}, "--bounds", "NAME=MIN:MAX"},
           {{"schema", "infer", "--data", "d", "--bounds", "=1:2"}, "--bounds", "NAME=MIN:MAX"},
           {{"schema", "infer", "--data", "d", "--rows", "mine"}, "--rows", "public"},
           {{"schema", "infer", "--data", "d", "--number-format", "pay"},
            "--number-format",
            "NAME="},
           {{"schema", "infer", "--data", "d", "--number-format", "pay=1"},
            "--number-format",
            "1,234.5"},
           {{"schema", "infer", "--data", "d", "--bounds", "age=2:1"}, "--bounds", "MIN below MAX"},
           {{"schema", "check", "--data", "d"}, "--schema", "required"},
           {{"data", "split", "--data", "d", "--output-dir", "o", "--parts", "a"},
            "--parts",
            "NAME=ROWS"},
           {{"data", "split", "--data", "d", "--output-dir", "o", "--parts", "../a=1"},
            "--parts",
            "a file's name"}}) {
    const Outcome outcome = RunCoppice(c.line);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(c.flag), HasSubstr(c.wants)));
  }
}

TEST(TablesTest, ACheckListsEverythingAndFails) {
  const TempFile schema(".json", kSchema);
  std::string text = "age,job,y\n";
  for (int i = 0; i < 30; ++i) text += "200,pilot,no\n";
  const TempFile data(".csv", text);
  const std::vector<std::string> line = {"schema",      "check",  "--schema",
                                         schema.path(), "--data", data.path()};
  const Outcome outcome = RunCoppice(line);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(".csv:2: column \"age\" is outside [0, 100]; readers"),
                                 HasSubstr(".csv:11: column \"job\" is not one of the values"),
                                 Not(HasSubstr(".csv:12:")), HasSubstr("\nand 40 more\n")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("60 things are wrong under"),
                    HasSubstr("(outside its bounds and values: 60; --lenient only counts those)")));
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("pilot")));

  std::vector<std::string> as_json = line;
  as_json.push_back("--json");
  const Json object = Json::parse(RunCoppice(as_json).out);
  EXPECT_EQ(object["wrong"], 60);
  EXPECT_EQ(object["outside"], 60);
  EXPECT_EQ(
      object["problems"][1],
      Json({{"line", 2},
            {"column", "job"},
            {"problem", "is not one of the values: clerk, smith; readers take it as \"other\""}}));
  EXPECT_EQ(object["columns"][0]["clamped"], 30);
  EXPECT_EQ(object["columns"][1]["share"], 1.0);

  std::vector<std::string> lenient = line;
  lenient.push_back("--lenient");
  EXPECT_EQ(RunCoppice(lenient).code, 0);
}

TEST(TablesTest, AllErrorsOfASchemaAreListed) {
  const TempFile schema(".json", R"({"label": "y", "clases": [], "features": [{"name": "x"}]})");
  const Outcome outcome = RunCoppice({"schema", "check", "--schema", schema.path()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("did you mean \"classes\"? There are: label, classes"),
                                 HasSubstr("needs the member \"classes\""),
                                 HasSubstr("feature \"x\" needs the text member \"type\"")));
  EXPECT_THAT(outcome.err, HasSubstr("3 things are wrong with the schema"));
  const TempFile good(".json", kSchema);
  EXPECT_EQ(RunCoppice({"schema", "check", "--schema", good.path()}).code, 0);
}

TEST(TablesTest, RowsAreSharedOutAndNothingIsReplaced) {
  const TempDir folder;
  const TempFile data(".csv", kGood);
  const std::vector<std::string> line = {"data",         "split",       "--data",
                                         data.path(),    "--parts",     "public=1,private=rest",
                                         "--output-dir", folder.path(), "--json"};
  const Outcome outcome = RunCoppice(line);
  EXPECT_EQ(outcome.code, 0);
  const Json object = Json::parse(outcome.out);
  EXPECT_EQ(object["rows"], 2);
  EXPECT_EQ(object["parts"]["private"]["file"], folder.path() + "/private.csv");
  EXPECT_THAT(outcome.err, HasSubstr("not protected"));
  const Outcome again = RunCoppice(line);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("public.csv exists already; move it away or choose another"));
}

}  // namespace
}  // namespace coppice::cli
