#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/tables.h"
#include "tests/common/table/is_refused.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::IsRefused;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SchemaFile Income() {
  return *ParseSchema(R"({"label": "income", "classes": ["low", "high"], "missing": ["NA"],
    "features": [{"name": "age", "type": "numeric", "min": 0, "max": 100, "integer": true},
                 {"name": "job", "type": "categorical", "values": ["clerk", "smith"]}]})");
}

TableCheck Check(std::string_view text, const CheckOptions& options = {}) {
  const TempFile file(".csv", text);
  return *CheckTable(file.path(), Income(), options);
}

MATCHER_P3(Problem, line, column, what, "") {
  *result_listener << arg.line << " " << arg.column << " " << arg.what;
  return arg.line == static_cast<uint64_t>(line) && arg.column == column &&
         arg.what.find(what) != std::string::npos;
}

TEST(CheckTableTest, NothingIsWrongWithRowsThatFit) {
  const TableCheck check = Check("job,age,income\nclerk,20,low\nNA,90,high\n");
  EXPECT_EQ(check.num_problems, 0u);
  EXPECT_THAT(check.problems, IsEmpty());
  EXPECT_EQ(check.rows, 2u);
  EXPECT_EQ(check.columns[1].missing, 1u);
  EXPECT_THAT(check.warnings, IsEmpty());
}

TEST(CheckTableTest, EverythingThatIsWrongIsFoundAtOnceWithLineAndColumn) {
  const TableCheck check = Check(
      "age,job,income\n120,clerk,low\n30,pilot,high\nold,clerk,low\n30.5,clerk,medium\n"
      "30,clerk\n30,\"two\nlines\",low\n30,clerk,\n");
  EXPECT_THAT(
      check.problems,
      ElementsAre(Problem(2, "age", "is outside [0, 100]; readers clamp it"),
                  Problem(3, "job", "is not one of the values: clerk, smith; readers take it as"),
                  Problem(4, "age", "is not a finite decimal number"),
                  Problem(5, "age", "is not a whole number"),
                  Problem(5, "income", "is not one of the classes: low, high"),
                  Problem(6, "", "the row has 2 fields, the header 3 columns"),
                  Problem(7, "job", "is not one of the values"), Problem(9, "income", "is empty")));
  EXPECT_EQ(check.num_problems, 8u);
}

TEST(CheckTableTest, NoProblemQuotesAField) {
  const TableCheck check = Check("age,job,income\n12345,pilot,secret\nx67,,low\n");
  for (const TableProblem& problem : check.problems) {
    for (const char* value : {"12345", "pilot", "secret", "x67"}) {
      EXPECT_EQ(problem.what.find(value), std::string::npos) << problem.what;
    }
  }
}

TEST(CheckTableTest, ValuesInAnotherSpellingThanTheSchemasAreNoticed) {
  const TableCheck check =
      Check("age,job,income\n20,Clerk,low\n30,smith ,high\n40,pilot,LOW\n", {.lenient = true});
  EXPECT_EQ(check.columns[1].unknown, 2u);
  EXPECT_THAT(check.warnings,
              ElementsAre(HasSubstr("\"job\": 1 of its texts are values of the schema in another"),
                          HasSubstr("\"income\": 1 of its texts")));
}

TEST(CheckTableTest, NumbersThatAreMoreThanNumbersAreNoticed) {
  const TableCheck check = Check("age,job,income\n007,clerk,low\n80,clerk,high\n80.0,clerk,low\n");
  EXPECT_THAT(check.warnings,
              ElementsAre(HasSubstr("\"age\" has numbers with leading zeros (1 fields)"),
                          HasSubstr("the same number in several spellings")));
}

TEST(CheckTableTest, NumbersAreReadInTheirDeclaredFormat) {
  const SchemaFile schema = *ParseSchema(R"({"label": "rent", "target_min": 0, "target_max": 5000,
    "number_format": "1.234,5 €", "features": [
      {"name": "share", "type": "numeric", "min": 0, "max": 100, "number_format": "1234.5%"}]})");
  const TempFile file(".csv", "share;rent\n45%;1.200,50 €\n45;1200.5\n120%;9.000 €\n");
  const TableCheck check = *CheckTable(file.path(), schema, {});
  EXPECT_THAT(check.problems, ElementsAre(Problem(3, "share", "is not a number written as 1234.5%"),
                                          Problem(3, "rent", "is not a number written as 1.234,5€"),
                                          Problem(4, "share", "is outside [0, 100]"),
                                          Problem(4, "rent", "is outside [0, 5000]")));
}

TEST(CheckTableTest, SharesAreCountedPerColumn) {
  const TableCheck check = Check(
      "age,job,income\n120,clerk,low\n-1,pilot,high\nx,clerk,low\n,,low\n", {.lenient = true});
  EXPECT_EQ(check.columns[0].clamped, 2u);
  EXPECT_EQ(check.columns[0].unreadable, 1u);
  EXPECT_EQ(check.columns[0].missing, 1u);
  EXPECT_EQ(check.columns[1].unknown, 1u);
  EXPECT_EQ(check.columns[2].name, "income");
  EXPECT_THAT(check.problems, ElementsAre(Problem(4, "age", "not a finite decimal number")));
}

TEST(CheckTableTest, NumbersThatAreNotWholeAreRoundedByReaders) {
  constexpr char kRows[] = "age,job,income\n30.5,clerk,low\n31,clerk,high\n";
  const TableCheck check = Check(kRows);
  EXPECT_EQ(check.columns[0].rounded, 1u);
  EXPECT_EQ(check.columns[0].unreadable, 0u);
  EXPECT_EQ(check.num_outside, 1u);
  EXPECT_THAT(check.problems, ElementsAre(Problem(2, "age",
                                                  "is not a whole number, but the schema says "
                                                  "\"integer\": true; readers round it")));
  const TableCheck lenient = Check(kRows, {.lenient = true});
  EXPECT_EQ(lenient.num_problems, 0u);
  EXPECT_EQ(lenient.columns[0].rounded, 1u);
}

TEST(CheckTableTest, AllColumnsThatAreMissingAreNamed) {
  const TableCheck check = Check("Age,x,income\n1,2,low\n");
  EXPECT_THAT(check.problems,
              ElementsAre(Problem(1, "age", "missing from the header, whose columns are: Age, x"),
                          Problem(1, "job", "missing from the header")));
  EXPECT_THAT(Check("age,job,age,income\n1,clerk,2,low\n").problems,
              ElementsAre(Problem(1, "age", "in the header twice")));
}

TEST(CheckTableTest, ProblemsAreBoundedAndCounted) {
  std::string text = "age,job,income\n";
  for (int i = 0; i < 1000; ++i) StrAppend(&text, "x,clerk,low\n");
  const TableCheck check = Check(text, {.max_problems = 3});
  EXPECT_EQ(check.problems.size(), 3u);
  EXPECT_EQ(check.num_problems, 1000u);
}

TEST(CheckTableTest, WhatEndsTheReadingIsTheLastProblem) {
  const TableCheck check = Check("age,job,income\n120,clerk,low\n1,\"clerk,low\n2,clerk,low\n");
  EXPECT_THAT(check.problems,
              ElementsAre(Problem(2, "age", "outside"), Problem(0, "", ".csv:3: a quoted field")));
  EXPECT_THAT(Check("age,job,income\n").problems, ElementsAre(Problem(1, "", "no rows")));
  EXPECT_THAT(Check("").problems, ElementsAre(Problem(0, "", "the file is empty")));
  EXPECT_THAT(CheckTable("/nonexistent.csv", Income(), {}),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nonexistent.csv")));
  EXPECT_THAT(CheckTable("rows.svm", Income(), {}), IsRefused("rows.svm: this command takes CSV"));
}

TEST(CheckTableTest, WarnsOfWideBoundsAndOfClassesThatNobodyHas) {
  const TableCheck check = Check("age,job,income\n40,clerk,low\n44,smith,low\n");
  EXPECT_EQ(check.num_problems, 0u);
  EXPECT_THAT(check.warnings,
              ElementsAre(HasSubstr("column \"age\": the bounds [0, 100] are 25 times as wide"),
                          HasSubstr("no row has class \"high\"")));
}

TEST(CheckTableTest, UnlabelledRowsMayBeAllowed) {
  EXPECT_EQ(Check("age,job,income\n20,clerk,\n90,clerk,low\n", {.unlabelled = true}).num_problems,
            0u);
}

}  // namespace
}  // namespace coppice
