#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "tests/common/table/is_refused.h"
#include "tests/support/data_dir.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::IsRefused;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempFile;
using ::coppice::testing::Whole;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const Schema> IncomeSchema() {
  return std::make_shared<const Schema>(*Schema::Create(
      {Numeric("age", 17, 90), Categorical("job", {"clerk", "a,b", "say \"hi\"", "two\nlines"})},
      "income", {"low", "high"}));
}

StatusOr<TableFile> Read(std::string_view text, const ReadOptions& options = {}) {
  const TempFile file(".csv", text);
  return ReadTable(file.path(), IncomeSchema(), options);
}

constexpr std::string_view kHeader = "age,job,income\n";

// Reads `body` below the header.
StatusOr<TableFile> ReadBody(std::string_view body, const ReadOptions& options = {}) {
  return Read(StrCat(kHeader, body), options);
}

TEST(ReadCsvTest, AnEmptyClassIsUnlabelledWhereThatIsAllowed) {
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadBody("30,clerk,\n40,clerk,high\n", {.allow_unlabelled = true}));
  EXPECT_THAT(file.table.labels(), ElementsAre(kUnlabelled, 1u));
  EXPECT_THAT(ReadBody("30,clerk,\n"), IsRefused("income"));
}

TEST(ReadCsvTest, LabelsThatAreIgnoredNeedNotBeThere) {
  for (const char* text : {"age,job\n30,clerk\n", "job,age,income\nclerk,30,no class\n"}) {
    ASSERT_OK_AND_ASSIGN(const TableFile file, Read(text, {.ignore_labels = true}));
    EXPECT_THAT(file.table.row(0), ElementsAre(30, 0));
  }
  EXPECT_THAT(Read("age,job\n30,clerk\n"), IsRefused("income"));
}

TEST(ReadCsvTest, BlocksHaveAllRowsInOrderAndAnErrorOfTheTakerStopsAsItIs) {
  const TempFile file(".csv", "age,job,income\n20,clerk,low\n21,,low\n22,x,high\n23,clerk,low\n");
  std::vector<std::vector<double>> blocks;
  ASSERT_OK_AND_ASSIGN(
      const ReadNotes notes,
      ReadTableInBlocks(file.path(), IncomeSchema(), {}, 3, [&](const Table& block) {
        blocks.emplace_back(block.column(0).begin(), block.column(0).end());
        return OkStatus();
      }));
  EXPECT_THAT(blocks, ElementsAre(ElementsAre(20, 21, 22), ElementsAre(23)));
  EXPECT_EQ(notes.missing, 1u);
  EXPECT_EQ(notes.unknown_categories, 1u);
  for (const size_t rows : {1, 3, 4, 100}) {
    EXPECT_EQ(ReadTableInBlocks(file.path(), IncomeSchema(), {}, rows,
                                [](const Table&) { return AbortedError("enough"); })
                  .status(),
              AbortedError("enough"));
  }
  const auto take = [](const Table&) { return OkStatus(); };
  EXPECT_THAT(ReadTableInBlocks(file.path(), IncomeSchema(), {.max_rows = 3}, 2, take).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("more than 3 rows")));
  const TempFile empty(".csv", "age,job,income\n");
  EXPECT_THAT(ReadTableInBlocks(empty.path(), IncomeSchema(), {}, 2, take), IsRefused("no rows"));
}

StatusOr<TableFile> ReadRings(std::string_view body, const ReadOptions& options = {}) {
  const TempFile file(".csv", StrCat("x,rings\n", body));
  return ReadTable(file.path(),
                   std::make_shared<const Schema>(*Schema::CreateRegression(
                       {Numeric("x", 0, 1)}, "rings", {.min = 1, .max = 29})),
                   options);
}

TEST(ReadCsvTest, ReadsNumbersToPredictAndClampsThem) {
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadRings("0.5,7.5\n1,100\n"));
  EXPECT_EQ(file.table.num_rows(), 2u);
  EXPECT_THAT(file.table.targets(), ElementsAre(7.5, 29));
  EXPECT_EQ(file.notes.clamped_targets, 1u);
  EXPECT_THAT(file.notes.Summary(), HasSubstr("1 field to predict clamped"));
  EXPECT_THAT(file.table.Select({1}).targets(), ElementsAre(29));
}

TEST(ReadCsvTest, RefusesANumberToPredictThatIsNoneOrStrictlyOutside) {
  for (const char* bad : {"0.5,\n", "0.5,many\n"}) EXPECT_THAT(ReadRings(bad), IsRefused("rings"));
  EXPECT_THAT(ReadRings("0.5,100\n", {.strict = true}), IsRefused("must be in [1, 29]"));
}

StatusOr<TableFile> ReadWhole(std::string_view body, const ReadOptions& options = {}) {
  const TempFile file(".csv", StrCat("x,y\n", body));
  return ReadTable(
      file.path(),
      std::make_shared<const Schema>(*Schema::Create({Whole("x", 0, 9)}, "y", {"a", "b"})),
      options);
}

TEST(ReadCsvTest, RoundsToWholeNumbersUnlessStrict) {
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadWhole("1,a\n2.5,b\n9.5,a\n"));
  EXPECT_THAT(file.table.column(0), ElementsAre(1, 3, 9));
  EXPECT_EQ(file.notes.rounded, 1u);
  EXPECT_EQ(file.notes.clamped, 1u);
  EXPECT_THAT(file.notes.Summary(), HasSubstr("1 field rounded to a whole number"));
  ASSERT_OK_AND_ASSIGN(const TableFile total, ReadWhole("2.5,b\n", {.total = true}));
  EXPECT_THAT(total.table.column(0), ElementsAre(3));
  const StatusOr<TableFile> strict = ReadWhole("1,a\n2.5,b\n", {.strict = true});
  EXPECT_THAT(strict, IsRefused(".csv:3: column \"x\" must be a whole number"));
  EXPECT_THAT(std::string(strict.status().message()), Not(HasSubstr("2.5")));
}

TEST(ReadCsvTest, ReadsRowsInOrder) {
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadBody("30,clerk,low\n40,clerk,high\n"));
  EXPECT_THAT(file.table.column(0), ElementsAre(30, 40));
  EXPECT_THAT(file.table.labels(), ElementsAre(0u, 1u));
  EXPECT_EQ(file.notes.Summary(), "");
}

TEST(ReadCsvTest, ColumnsComeInAnyOrderAndStrangersAreIgnored) {
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       Read("income,note,,age,,job\nhigh,nan,x,30,\"y,z\",clerk\n"));
  EXPECT_THAT(file.table.row(0), ElementsAre(30, 0));
  EXPECT_EQ(file.table.label(0), 1u);
}

TEST(ReadCsvTest, ReadsQuotedFields) {
  ASSERT_OK_AND_ASSIGN(
      const TableFile file,
      ReadBody("\"30\",\"a,b\",low\n31,\"say \"\"hi\"\"\",low\n32,\"two\nlines\",\"high\"\n"));
  EXPECT_THAT(file.table.column(1), ElementsAre(1, 2, 3));
  EXPECT_EQ(file.notes.unknown_categories, 0u);
}

TEST(ReadCsvTest, CrlfByteOrderMarkEmptyLinesAndAnOpenEndChangeNothing) {
  ASSERT_OK_AND_ASSIGN(const TableFile plain, ReadBody("30,clerk,low\n40,clerk,high\n"));
  ASSERT_OK_AND_ASSIGN(const TableFile other,
                       Read("\xEF\xBB\xBF"
                            "age, job ,income\r\n\r\n30,clerk,low\r\n \n\r\n40,clerk,high"));
  EXPECT_THAT(other.table.column(0), ElementsAre(30, 40));
  EXPECT_THAT(other.table.column(1), ElementsAre(0, 0));
  EXPECT_EQ(other.table.labels(), plain.table.labels());
}

TEST(ReadCsvTest, FindsTheDelimiterInTheHeader) {
  for (const char* text : {"age;job;income\n30;a,b;low\n", "age\tjob\tincome\n30\ta,b\tlow\n",
                           "\"age\";\"job\";\"income\"\r\n30;\"a,b\";low\r\n"}) {
    ASSERT_OK_AND_ASSIGN(const TableFile file, Read(text));
    EXPECT_THAT(file.table.row(0), ElementsAre(30, 1)) << text;
  }
  ASSERT_OK_AND_ASSIGN(const TableFile empty, Read("age\tjob\tincome\n\t\tlow\n"));
  EXPECT_EQ(empty.notes.missing, 2u);
}

TEST(ReadCsvTest, ADeclaredDelimiterIsTaken) {
  const ReadOptions comma{.format = {.delimiter = ','}};
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       Read("age,job,income,a;b;c;d;e\n30,clerk,low,\n", comma));
  EXPECT_THAT(file.table.row(0), ElementsAre(30, 0));
  EXPECT_THAT(Read("age|job|income\n30|clerk|low\n"),
              IsRefused("its one column: age|job|income (a comma, semicolon or tab"));
}

TEST(ReadCsvTest, DeclaredTextsAreMissingValues) {
  const ReadOptions options{
      .strict = true, .allow_unlabelled = true, .format = {.missing = {"NA", "?", "-99"}}};
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadBody("NA,?,low\n-99,clerk,NA\n\"?\", NA ,high\n", options));
  EXPECT_EQ(file.notes.missing, 5u);
  EXPECT_EQ(file.notes.unknown_categories, 0u);
  EXPECT_EQ(file.table.label(1), kUnlabelled);
  EXPECT_THAT(ReadBody("NA,clerk,low\n"), IsRefused("\"missing\" in the schema file"));
}

TEST(ReadCsvTest, OtherEncodingsAreRefusedByName) {
  EXPECT_THAT(ReadBody("30,clerk,low\n31,caf\xE9,low\n"),
              AllOf(IsRefused(".csv:3: a character that is not UTF-8 at byte 7 of the line"),
                    IsRefused("Latin-1, convert it with `iconv -f LATIN1 -t UTF-8 ")));
  EXPECT_THAT(ReadBody("30,clerk,low\n31,clerk,h\xC3"), IsRefused(".csv:3: the end of the file"));
  EXPECT_THAT(Read(std::string_view("\xFF\xFE"
                                    "a\0g\0e\0",
                                    8)),
              IsRefused("iconv -f UTF-16"));
  EXPECT_THAT(ReadBody(std::string_view("3\0000\0\n", 5)), IsRefused("iconv -f UTF-16"));
  // Well-formed text that the reader's buffer cuts at every byte of a character.
  for (int shift = 0; shift < 4; ++shift) {
    std::string note(static_cast<size_t>(65'500 + shift), 'n');
    for (int i = 0; i < 40; ++i) note += "\xF0\x9F\x8C\xB3\xE2\x82\xAC\xC3\xA9";
    EXPECT_OK(Read(StrCat("age,job,income,note\n30,clerk,low,", note, "\n")));
  }
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x82"}) {
    EXPECT_THAT(ReadBody(StrCat("30,", bad, ",low\n")), IsRefused("not UTF-8 at byte 4"));
  }
}

TEST(ReadCsvTest, CountsWhatItChanged) {
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadBody("5,clerk,low\n99,smith,low\n,,high\n30,\"\",high\n"));
  EXPECT_EQ(file.table.value(0, 0), 17);
  EXPECT_EQ(file.table.value(1, 1), 4);
  EXPECT_TRUE(IsMissing(file.table.value(2, 0)));
  EXPECT_TRUE(IsMissing(file.table.value(3, 1)));
  EXPECT_EQ(file.notes.Summary(),
            "2 fields clamped to the public bounds, 1 field outside the public vocabulary taken as "
            "\"other\", 3 fields missing");
}

TEST(ReadCsvTest, StrictRefusesInsteadOfChanging) {
  EXPECT_THAT(
      ReadBody("30,clerk,low\n99.125,clerk,low\n", {.strict = true}),
      AllOf(IsRefused(".csv:3: column \"age\" must be in [17, 90]"), Not(IsRefused("99.125"))));
  EXPECT_THAT(ReadBody("30,smith,low\n", {.strict = true}),
              AllOf(IsRefused(".csv:2: column \"job\" must be one of the schema's 4 values"),
                    Not(IsRefused("smith"))));
  EXPECT_OK(ReadBody("30,,low\n", {.strict = true}));
}

TEST(ReadCsvTest, RefusesFieldsThatAreNoFiniteNumberWithoutQuotingThem) {
  for (const char* age : {"nan", "inf", "-inf", "1e999", "12x", "0x7b", "1;5"}) {
    EXPECT_THAT(ReadBody(StrCat("30,clerk,low\n", age, ",clerk,low\n")),
                AllOf(IsRefused(".csv:3: feature \"age\" must be a finite"), Not(IsRefused(age))))
        << age;
  }
}

TEST(ReadCsvTest, RefusesUnknownAndMissingClasses) {
  for (const char* label : {"medium", "", "LOW"}) {
    EXPECT_THAT(
        ReadBody(StrCat("30,clerk,", label, "\n")),
        AllOf(IsRefused(".csv:2: label \"income\" must be one of the 2 classes of the schema: low, "
                        "high"),
              Not(IsRefused("medium"))));
  }
}

TEST(ReadCsvTest, RefusesRaggedRows) {
  EXPECT_THAT(ReadBody("30,clerk\n"), IsRefused(".csv:2: the row has 2 fields, the header 3"));
  EXPECT_THAT(ReadBody("30,clerk,low,\n"), IsRefused(".csv:2: the row has 4 fields"));
  EXPECT_THAT(ReadBody("30,clerk,low\n40"), IsRefused(".csv:3: the row has 1 fields"));
}

TEST(ReadCsvTest, RefusesMissingAndRepeatedColumns) {
  EXPECT_THAT(Read("age,income\n30,low\n"), IsRefused(".csv:1: column \"job\" of the schema is"));
  EXPECT_THAT(Read("age,job\n30,clerk\n"), IsRefused("column \"income\" of the schema is missing"));
  EXPECT_THAT(Read("age,Job,income\n30,clerk,low\n"), IsRefused("its columns: age, Job, income"));
  EXPECT_THAT(Read("age,job,age,income\n1,2,3,4\n"),
              IsRefused(".csv:1: column \"age\" appears tw"));
}

TEST(ReadCsvTest, RefusesFilesWithoutRows) {
  EXPECT_THAT(Read(""), IsRefused("the file is empty"));
  EXPECT_THAT(Read("\xEF\xBB\xBF"), IsRefused("the file is empty"));
  EXPECT_THAT(Read("\n\r\n"), IsRefused("the file is empty"));
  EXPECT_THAT(ReadBody(""), IsRefused("the file has no rows"));
}

TEST(ReadCsvTest, RefusesNulBytes) {
  EXPECT_THAT(ReadBody(std::string_view("30,cl\0erk,low\n", 14)),
              IsRefused(".csv:2: NUL at byte 6 of the line"));
}

TEST(ReadCsvTest, RefusesQuotesOutOfPlace) {
  EXPECT_THAT(ReadBody("30,cl\"erk,low\n"), IsRefused(".csv:2: a quote inside a field"));
  EXPECT_THAT(ReadBody("30,\"clerk\"x,low\n"), IsRefused(".csv:2: a quote inside a field"));
  EXPECT_THAT(ReadBody("30,clerk,low\n31,\"clerk,low\n32,clerk,low\n"),
              IsRefused(".csv:3: a quoted field that starts here is never closed"));
}

// The error is in line 5 of 905, whatever comes after it.
TEST(ReadCsvTest, AnOpenQuoteIsReportedWhereItIs) {
  std::string rows;
  for (int i = 0; i < 900; ++i) rows += "31,clerk,low\n";
  const std::string before = "30,clerk,low\n30,clerk,low\n30,clerk,low\n";
  for (const char* open : {"\"31,clerk,low\n", "31,\"clerk,low\n", "31,clerk,\"low\n"}) {
    const auto file = ReadBody(StrCat(before, open, rows));
    EXPECT_THAT(file, IsRefused(".csv:5: a quoted field that starts here is never closed")) << open;
    const auto closed = ReadBody(StrCat(before, open, rows, "31,\"clerk\",low\n"));
    EXPECT_THAT(closed, IsRefused(".csv:5: a quoted field that starts here continues to a quote on "
                                  "line 906 that does not end it"))
        << open;
  }
  EXPECT_THAT(ReadBody(StrCat(before, "31,\"clerk,low\n", rows)),
              IsRefused("close the quote of column \"job\""));
  // A field of several lines comes before it, in the same row.
  EXPECT_THAT(ReadBody("30,\"two\nlines\",\"low\n31,clerk,low\n"), IsRefused(".csv:3: a quoted"));
  // The quote closes in a row that then lacks fields.
  EXPECT_THAT(
      ReadBody("30,\"clerk,low\n31,clerk,low\"\n"),
      IsRefused(".csv:2: the row has 2 fields, the header 3 columns; it continues to line 3"));
}

TEST(ReadCsvTest, AnOpenQuoteDoesNotReadTheFileIntoMemory) {
  std::string body = "30,\"clerk,low\n";
  for (int i = 0; i < 120'000; ++i) body += "31,clerk,low\n";
  EXPECT_THAT(ReadBody(body), IsRefused("is a quote left open?"));
}

TEST(ReadCsvTest, LinesLongerThanTheBufferAreOneLine) {
  const std::string note(200'000, 'n');
  const std::string text = StrCat("age,job,income,note\n30,clerk,low,", note, "\n40,x\n");
  EXPECT_THAT(Read(text), IsRefused(".csv:3: the row has 2 fields"));
}

TEST(ReadCsvTest, StopsAtTheLimits) {
  EXPECT_OK(ReadBody("30,clerk,low\n31,clerk,low\n", {.max_rows = 2}));
  EXPECT_THAT(ReadBody("30,clerk,low\n31,clerk,low\n", {.max_rows = 1}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("more than 1 rows")));
  EXPECT_OK(ReadBody("30,clerk,low\n", {.max_bytes = kHeader.size() + 13}));
  EXPECT_THAT(ReadBody("30,clerk,low\n", {.max_bytes = kHeader.size() + 12}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("limit on bytes")));
}

TEST(ReadCsvTest, MissingFilesAndFoldersAreNotRead) {
  EXPECT_THAT(ReadTable("/nonexistent.csv", IncomeSchema()),
              StatusIs(StatusCode::kNotFound, HasSubstr("/nonexistent.csv")));
  EXPECT_FALSE(ReadTable("/", IncomeSchema()).ok());
}

TEST(ReadCsvTest, ReadsTheCensusPublicRows) {
  COPPICE_NEEDS_DATA_SET(folder, "census");
  ASSERT_OK_AND_ASSIGN(const SchemaFile schema, ReadSchema(folder + "/schema.json"));
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadTable(folder + "/census_pub.csv", schema.schema, {.strict = true}));
  EXPECT_EQ(file.table.num_rows(), 41'292u);
  EXPECT_EQ(file.notes.Summary(), "");
  for (size_t row = 0; row < file.table.num_rows(); row += 1000) {
    EXPECT_OK(schema.schema->Validate(file.table.row(row)));
  }
}

TEST(ReadCsvTest, ReadsMushroomsWithTheirMissingValues) {
  COPPICE_NEEDS_DATA_SET(folder, "mushroom");
  ASSERT_OK_AND_ASSIGN(const SchemaFile schema, ReadSchema(folder + "/schema.json"));
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadTable(folder + "/mushroom.csv", schema.schema));
  EXPECT_EQ(file.table.num_rows(), 8124u);
  EXPECT_EQ(file.notes.missing, 2480u);
}

// A device's row by a schema that a curator chose: any value that cannot be read is missing.
TEST(ReadCsvTest, ATotalReaderTakesEveryRow) {
  const ReadOptions total{.total = true};
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadBody("30,clerk,low\ntwelve,pilot,secret\n1e999,clerk,\n", total));
  EXPECT_THAT(file.table.labels(), ElementsAre(0u, kUnlabelled, kUnlabelled));
  EXPECT_TRUE(IsMissing(file.table.value(1, 0)));
  EXPECT_TRUE(IsMissing(file.table.value(2, 0)));
  EXPECT_EQ(file.notes.unreadable, 2u);
  EXPECT_EQ(file.notes.unknown_labels, 2u);
  EXPECT_THAT(file.notes.Summary(), HasSubstr("answered by a random one"));

  // Columns are absent, or present twice.
  ASSERT_OK_AND_ASSIGN(const TableFile other, Read("shoe,age,age\n44,30,31\n", total));
  EXPECT_EQ(other.table.value(0, 0), 30);
  EXPECT_TRUE(IsMissing(other.table.value(0, 1)));
  EXPECT_THAT(other.table.labels(), ElementsAre(kUnlabelled));
}

TEST(ReadCsvTest, WhatATotalReaderRefusesIsTheFilesOwn) {
  for (const char* broken : {"", "age,job\n", "a,b\n1\n", "a\n\"x\n"}) {
    const TempFile file(".csv", broken);
    EXPECT_FALSE(CheckTableStructure(file.path()).ok()) << broken;
    EXPECT_FALSE(ReadTable(file.path(), IncomeSchema(), {.total = true}).ok()) << broken;
  }
  const TempFile fine(".csv", "a,b\nx,y\n");
  EXPECT_OK(CheckTableStructure(fine.path()));
}

TEST(ReadCsvTest, AnIdColumnSaysWhoseRowItIs) {
  const std::string text = "who,age,job,income\nann,30,clerk,low\nbob,40,clerk,high\n";
  ASSERT_OK_AND_ASSIGN(const TableFile file, Read(text, {.id_column = "who"}));
  EXPECT_THAT(file.ids, ElementsAre("ann", "bob"));
  ASSERT_OK_AND_ASSIGN(const TableFile also, Read(text, {.id_column = "age"}));
  EXPECT_THAT(also.ids, ElementsAre("30", "40"));
  EXPECT_THAT(also.table.column(0), ElementsAre(30, 40));
  EXPECT_THAT(Read(text, {.id_column = "name"}), IsRefused("no column \"name\""));
  EXPECT_THAT(Read(text + "ann,50,clerk,low\n", {.id_column = "who"}), IsRefused("4: "));
  EXPECT_THAT(Read(text + ",50,clerk,low\n", {.id_column = "who"}),
              IsRefused("must identify whose"));
}

}  // namespace
}  // namespace coppice
