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
using ::coppice::testing::TempFile;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StatusOr<InferredSchema> Infer(std::string_view text, const InferOptions& options) {
  const TempFile file(".csv", text);
  return InferSchema(file.path(), options);
}

const InferOptions kLabelY{.label = "y"};

constexpr std::string_view kPeople =
    "age,height,job,y\n"
    "17,1.52,clerk,no\n"
    "90,1.98,smith,yes\n"
    "35,1.7,clerk,no\n";

TEST(InferSchemaTest, FindsTypesBoundsCategoriesAndClasses) {
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kPeople, kLabelY));
  const Schema& schema = *inferred.file.schema;
  ASSERT_EQ(schema.num_features(), 3u);
  EXPECT_EQ(schema.features()[0].min, 10);
  EXPECT_EQ(schema.features()[0].max, 90);
  EXPECT_EQ(schema.features()[1].min, 1.5);
  EXPECT_EQ(schema.features()[1].max, 2);
  EXPECT_THAT(schema.features()[2].values, ElementsAre("clerk", "smith"));
  EXPECT_THAT(schema.classes(), ElementsAre("no", "yes"));
  EXPECT_EQ(inferred.rows, 3u);
  EXPECT_TRUE(schema.features()[0].integer);
  EXPECT_FALSE(schema.features()[1].integer);
  EXPECT_THAT(inferred.warnings, IsEmpty());
}

TEST(InferSchemaTest, WhatItInfersReadsItsOwnRowsStrictly) {
  const TempFile file(".csv", kPeople);
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, InferSchema(file.path(), kLabelY));
  ASSERT_OK_AND_ASSIGN(const SchemaFile read, ParseSchema(ToText(inferred.file)));
  EXPECT_OK(ReadTable(file.path(), read.schema, {.strict = true, .format = read.format}));
}

TEST(InferSchemaTest, BoundsCategoriesAndClassesAreMarkedByTheRowsTheyAreReadFrom) {
  for (const BoundsOrigin rows :
       {BoundsOrigin::kUnsaidRows, BoundsOrigin::kPublicRows, BoundsOrigin::kPrivateRows}) {
    InferOptions options = kLabelY;
    options.rows = rows;
    options.declared_bounds["age"] = {0, 120};
    ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kPeople, options));
    EXPECT_EQ(inferred.file.features[0].bounds, BoundsOrigin::kDeclared);
    EXPECT_EQ(inferred.file.features[1].bounds, rows);
    EXPECT_EQ(inferred.file.features[2].bounds, rows);
    EXPECT_EQ(inferred.file.label.bounds, rows);
    const std::vector<std::string> leaking = inferred.file.schema->ColumnsFromPrivateRows();
    if (rows == BoundsOrigin::kPublicRows) {
      EXPECT_THAT(leaking, IsEmpty());
    } else {
      EXPECT_THAT(leaking, ElementsAre("height", "job", "y"));
    }
    ASSERT_OK_AND_ASSIGN(const SchemaFile again, ParseSchema(ToText(inferred.file)));
    EXPECT_EQ(*again.schema, *inferred.file.schema);
  }
}

TEST(InferSchemaTest, DeclaredBoundsAreTakenAsTheyAre) {
  InferOptions options = kLabelY;
  options.declared_bounds["age"] = {0, 120};
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kPeople, options));
  EXPECT_EQ(inferred.file.schema->features()[0].max, 120);
  EXPECT_TRUE(inferred.file.schema->features()[0].integer);
  options.declared_bounds["age"] = {0, 120.5};
  EXPECT_FALSE(Infer(kPeople, options)->file.schema->features()[0].integer);
  options.declared_bounds["job"] = {0, 1};
  EXPECT_THAT(Infer(kPeople, options), IsRefused("--bounds job: the column is not"));
}

TEST(InferSchemaTest, BoundsAreReadableAndEncloseTheRows) {
  struct Case {
    Target exact, rounded;
    bool integer;
  };
  for (const Case& c :
       {Case{{17, 90}, {10, 90}, true}, Case{{4.3, 7.9}, {4, 8}, false}, Case{{0, 1}, {0, 1}, true},
        Case{{1, 3}, {1, 3}, true}, Case{{-0.137, 0.198}, {-0.15, 0.2}, false},
        Case{{3, 3}, {3, 3}, true}, Case{{0.1, 0.4}, {0.1, 0.4}, false},
        Case{{1, 9998}, {0, 10000}, true}, Case{{-1e300, 1e300}, {-1e300, 1e300}, false},
        Case{{1e15, 1e15 + 2}, {1e15, 1e15 + 2}, true}, Case{{2e-9, 9e-9}, {2e-9, 9e-9}, false}}) {
    EXPECT_EQ(RoundOutward(c.exact, c.integer), c.rounded)
        << c.exact.min << " " << c.exact.max << " became " << RoundOutward(c.exact, c.integer).min
        << " " << RoundOutward(c.exact, c.integer).max;
  }
  for (double min = -3.7; min < 4; min += 0.37) {
    for (double width = 1e-7; width < 1e9; width *= 3.3) {
      const Target rounded = RoundOutward({min, min + width}, false);
      EXPECT_LE(rounded.min, min);
      EXPECT_GE(rounded.max, min + width);
      EXPECT_LE(rounded.span(), 1.5 * width);
    }
  }
}

TEST(InferSchemaTest, DatesAreToldFromOtherTexts) {
  for (const char* date :
       {"2020-01-31", "31.1.2020", "1/31/20", "2020-01-31T10:20:30Z", "2020/1/3 10:20"}) {
    EXPECT_TRUE(LooksLikeDate(date)) << date;
  }
  for (const char* text : {"", "2020", "1.5", "a-b-c", "1-2-", "1-2-3-4", "1.2/3", "12345-1-1",
                           "192.168.0.1", "--", "1-2-x", "1-0-0", "12.1.0", "555-43-21"}) {
    EXPECT_FALSE(LooksLikeDate(text)) << text;
  }
}

TEST(InferSchemaTest, WithoutALabelItListsTheColumnsAndTheLikelyOnes) {
  EXPECT_THAT(Infer(kPeople, {}),
              IsRefused("--label NAME for classes or --target NAME for a number; the columns: age, "
                        "height, job, y; likely: \"y\" (2 values), \"job\" (2 values)"));
  EXPECT_THAT(Infer(kPeople, {.label = "Y"}),
              IsRefused("there is no column \"Y\"; the columns: age, height, job, y"));
  EXPECT_THAT(Infer("a,y\n1,x\n2,x\n", kLabelY), IsRefused("1 different values"));
}

TEST(InferSchemaTest, ATargetIsANumber) {
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kPeople, {.target = "height"}));
  EXPECT_EQ(inferred.file.schema->target(), (Target{1.5, 2}));
  EXPECT_THAT(Infer(kPeople, {.target = "job"}),
              IsRefused("--target job: the column has texts that are not numbers, the first on "
                        "line 2; for classes give --label"));
}

TEST(InferSchemaTest, MissingTextsAreFoundAndSaidAloud) {
  constexpr std::string_view kText =
      "a,b,c,y\n1,NA,none,no\n-,u,x,yes\n3,?,none,no\n,u,x,yes\n5,v,none,no\n";
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kText, kLabelY));
  // "-" occurs among numbers; "none" does not.
  EXPECT_THAT(inferred.file.format.missing, ElementsAre("-", "?", "NA"));
  EXPECT_THAT(inferred.file.schema->features()[1].values, ElementsAre("u", "v"));
  EXPECT_THAT(inferred.file.schema->features()[2].values, ElementsAre("none", "x"));
  EXPECT_THAT(inferred.warnings, Contains(HasSubstr("\"?\" (1 fields), \"NA\" (1 fields)")));

  InferOptions options = kLabelY;
  options.missing = {"NA"};
  ASSERT_OK_AND_ASSIGN(const InferredSchema told, Infer(kText, options));
  EXPECT_THAT(told.file.format.missing, ElementsAre("NA"));
  EXPECT_THAT(told.file.schema->features()[1].values, ElementsAre("?", "u", "v"));
}

TEST(InferSchemaTest, DelimitersAreFound) {
  for (const char* text : {"a;y\n1;no\n2;yes\n", "a\ty\n1\tno\n2\tyes\n"}) {
    InferOptions options = kLabelY;
    ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(text, options));
    EXPECT_EQ(inferred.file.schema->features()[0].name, "a");
    EXPECT_EQ(inferred.file.format.delimiter, text[1]);
  }
}

// Makes rows whose column `c` has `value` of the row's number, and a harmless column.
std::string Column(std::string (*value)(int), int rows = 150) {
  std::string text = "c,x,y\n";
  for (int i = 0; i < rows; ++i) StrAppend(&text, value(i), ",", i % 7, ",", i % 2, "\n");
  return text;
}

TEST(InferSchemaTest, ColumnsThatAreNoFeaturesAreLeftOutAndSaidAloud) {
  struct Case {
    std::string (*value)(int);
    const char* why;
  };
  for (const Case& c :
       {Case{[](int) { return std::string("same"); }, "all its values are the same"},
        Case{[](int) { return std::string(); }, "all its values are missing"},
        Case{[](int i) { return StrCat("2020-01-", 10 + i % 9); }, "dates"},
        Case{[](int i) { return StrCat(1 + i % 9, "/1/2021 10:30"); }, "dates"},
        Case{[](int i) { return StrCat("\"1,", i % 9, "\""); },
             "read them with --number-format c=1.234,5; if they are codes, give --categorical c"},
        Case{[](int i) { return StrCat("name", i); }, "every row has a different text"},
        Case{[](int i) { return StrCat("name", i % 120); }, "more than 100 categories"},
        Case{[](int i) { return i == 9 ? "1O" : StrCat(i); },
             "149 of its values are numbers and 1 are not, the first on line 11"}}) {
    ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(Column(c.value), kLabelY));
    EXPECT_THAT(inferred.left_out, ElementsAre("c")) << c.why;
    EXPECT_THAT(inferred.warnings, Contains(HasSubstr(c.why)));
  }
}

TEST(InferSchemaTest, AWholeNumberThatDiffersInEachRowMayBeAnId) {
  const auto id = [](int i) { return StrCat(1000 + i); };
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(Column(id), kLabelY));
  EXPECT_THAT(inferred.warnings, ElementsAre(HasSubstr("leave it out with --leave-out c")));
  InferOptions options = kLabelY;
  options.leave_out = {"c"};
  ASSERT_OK_AND_ASSIGN(const InferredSchema without, Infer(Column(id), options));
  EXPECT_EQ(without.file.schema->num_features(), 1u);
  EXPECT_THAT(without.warnings, IsEmpty());
}

TEST(InferSchemaTest, CodesCanBeCategories) {
  InferOptions options = kLabelY;
  options.categorical = {"x"};
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred,
                       Infer(Column([](int i) { return StrCat(i % 12); }), options));
  EXPECT_THAT(inferred.file.schema->features()[1].values,
              ElementsAre("0", "1", "2", "3", "4", "5", "6"));
  options.categorical = {"c", "x"};
  ASSERT_OK_AND_ASSIGN(const InferredSchema both,
                       Infer(Column([](int i) { return StrCat(i % 12); }), options));
  EXPECT_EQ(both.file.schema->features()[0].values[10], "10");  // ordered as numbers
}

TEST(InferSchemaTest, WhatTheUserCallsCategoriesIsNotGuessedAt) {
  InferOptions options = kLabelY;
  options.categorical = {"c"};
  for (std::string (*value)(int) : std::initializer_list<std::string (*)(int)>{
           [](int i) { return StrCat("2020-01-", 10 + i % 9); },
           [](int i) { return StrCat("\"83,13", i % 9, "\""); },
           [](int i) { return StrCat("$", i % 9); },
           [](int i) { return i % 30 == 9 ? "X" : StrCat(i % 30); },
           [](int i) { return StrCat("v", i % 9, ".1.2"); },
           [](int i) { return StrCat("name", i); }}) {
    ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(Column(value), options));
    EXPECT_THAT(inferred.left_out, IsEmpty());
    EXPECT_EQ(inferred.file.schema->features()[0].type, FeatureType::kCategorical);
  }
}

TEST(InferSchemaTest, ANumberFormatReadsTheColumnAndIsWrittenDown) {
  const auto salary = [](int i) { return StrCat("\"", 10 + i, ",0", 10 + i % 9, "\""); };
  EXPECT_THAT(Infer(Column(salary), kLabelY)->warnings,
              Contains(HasSubstr("--number-format c=1,234.5 or --number-format c=1.234,5")));
  InferOptions options = kLabelY;
  options.number_formats["c"] = *ParseNumberFormat("1,234.5");
  const TempFile file(".csv", Column(salary));
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, InferSchema(file.path(), options));
  EXPECT_EQ(inferred.file.schema->features()[0].max, 160000);
  ASSERT_OK_AND_ASSIGN(const SchemaFile read, ParseSchema(ToText(inferred.file)));
  ASSERT_OK_AND_ASSIGN(const TableFile table, ReadTable(file.path(), read.schema,
                                                        {.strict = true, .format = read.format}));
  EXPECT_EQ(table.table.value(1, 0), 11011);

  options.number_formats["c"] = *ParseNumberFormat("$1,234.5");
  EXPECT_OK(Infer(Column(salary), options));  // a currency may be left out
  options.number_formats["c"] = *ParseNumberFormat("1234.5");
  EXPECT_THAT(Infer(Column(salary), options),
              IsRefused("150 of the column's values are not written so, the first on line 2"));
  options.categorical = {"c"};
  EXPECT_THAT(Infer(Column(salary), options), IsRefused("one of --categorical or --label, too"));
}

TEST(InferSchemaTest, AFirstLineThatNamesNothingIsNoticed) {
  EXPECT_THAT(Infer("1,2,3\n4,5,6\n", kLabelY), IsRefused("only numbers: put a line of names"));
  EXPECT_THAT(Infer("569,30,no\n1,2,3,4\n", kLabelY),
              IsRefused(".csv:2: the row has 4 fields, the header 3 columns: the first line must "
                        "name all columns"));
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer("150,4,y\n1,2,a\n3,4,b\n", kLabelY));
  EXPECT_THAT(inferred.warnings, ElementsAre(HasSubstr("names of columns are numbers: 150, 4")));
  EXPECT_THAT(Infer("a,a,y\n1,2,no\n", kLabelY),
              IsRefused(".csv:1: the header names column \"a\""));
}

TEST(InferSchemaTest, CategoriesThatLookAlikeAreNoticed) {
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred,
                       Infer("x,z,y\nlow,1,a\n\"low \",2,A\nhigh,3,b\n", kLabelY));
  EXPECT_THAT(inferred.warnings,
              ElementsAre(HasSubstr("column \"x\" has \"low\" and \"low \", which count as two"),
                          HasSubstr("column \"y\" has \"A\" and \"a\"")));
}

// R writes row numbers like this.
TEST(InferSchemaTest, AColumnWithoutANameIsLeftOut) {
  constexpr std::string_view kText = "\"\",\"x\",\"y\"\n\"1\",5,a\n\"2\",6,b\n";
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer(kText, kLabelY));
  EXPECT_THAT(inferred.left_out, ElementsAre(""));
  EXPECT_THAT(inferred.warnings, ElementsAre(HasSubstr("it has no name")));
  EXPECT_THAT(Infer(kText, {}), IsRefused("the columns: (no name), x, y; likely"));
}

TEST(InferSchemaTest, RowsWithoutALabelAreCounted) {
  ASSERT_OK_AND_ASSIGN(const InferredSchema inferred, Infer("x,y\n1,a\n2,\n3,b\n", kLabelY));
  EXPECT_THAT(inferred.warnings, ElementsAre(HasSubstr("1 rows have no \"y\"")));
}

}  // namespace
}  // namespace coppice
