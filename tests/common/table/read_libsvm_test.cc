#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/table/read_table.h"
#include "tests/common/table/is_refused.h"
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
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const Schema> Three() {
  return std::make_shared<const Schema>(*Schema::Create(
      {Numeric("x", -1, 5), Numeric("y", -1, 5), Numeric("z", 0.5, 5)}, "label", {"-1", "1"}));
}

StatusOr<TableFile> ReadSvm(std::string_view text, const ReadOptions& options = {}) {
  const TempFile file(".svm", text);
  return ReadTable(file.path(), Three(), options);
}

TEST(ReadLibsvmTest, AbsentIndicesAreZero) {
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadSvm("1 1:2 3:4\n-1 2:3 3:1\n"));
  EXPECT_THAT(file.table.row(0), ElementsAre(2, 0, 4));
  EXPECT_THAT(file.table.row(1), ElementsAre(0, 3, 1));
  EXPECT_THAT(file.table.labels(), ElementsAre(1u, 0u));
  EXPECT_EQ(file.notes.Summary(), "");
}

TEST(ReadLibsvmTest, LabelsThatAreIgnoredNeedNotBeThere) {
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadSvm("1:2 3:4\nno_class 2:3 3:1\n", {.ignore_labels = true}));
  EXPECT_THAT(file.table.row(0), ElementsAre(2, 0, 4));
  EXPECT_THAT(file.table.row(1), ElementsAre(0, 3, 1));
}

TEST(ReadLibsvmTest, ZeroOutsideTheBoundsIsClampedAndCounted) {
  ASSERT_OK_AND_ASSIGN(const TableFile file, ReadSvm("1 1:9\n"));
  EXPECT_THAT(file.table.row(0), ElementsAre(5, 0, 0.5));
  EXPECT_EQ(file.notes.clamped, 2u);
  EXPECT_THAT(ReadSvm("1 1:2\n", {.strict = true}), IsRefused(".svm:1: column \"z\" must be in"));
}

TEST(ReadLibsvmTest, BlanksCommentsAndSpellingsOfAClassAreTolerated) {
  ASSERT_OK_AND_ASSIGN(const TableFile file,
                       ReadSvm("# all\n\n  +1  1:1\t3:1 # first\r\n-1.0 3:1\n1 3:2"));
  EXPECT_EQ(file.table.num_rows(), 3u);
  EXPECT_THAT(file.table.labels(), ElementsAre(1u, 0u, 1u));
}

TEST(ReadLibsvmTest, RefusesIndicesOutOfRangeOrOrder) {
  for (const char* fields : {"0:1", "4:1", "2:1 2:1", "2:1 1:1", "18446744073709551615:1"}) {
    EXPECT_THAT(ReadSvm(StrCat("1 ", fields, "\n")),
                IsRefused(".svm:1: indices must increase and be from 1 to 3"))
        << fields;
  }
}

TEST(ReadLibsvmTest, RefusesMalformedFields) {
  for (const char* field :
       {"x", "1", "1:", ":1", "qid:1", "-1:1", "1.5:1", "18446744073709551616:1"}) {
    EXPECT_THAT(ReadSvm(StrCat("1 3:1\n1 ", field, "\n")),
                IsRefused(".svm:2: after the label every field must be index:value"))
        << field;
  }
}

TEST(ReadLibsvmTest, RefusesValuesThatAreNoFiniteNumberAndUnknownClasses) {
  for (const char* value : {"nan", "inf", "1e999", "12x", "1:2"}) {
    EXPECT_THAT(ReadSvm(StrCat("1 2:", value, "\n")),
                AllOf(IsRefused(".svm:1: feature \"y\" must be a finite"), Not(IsRefused(value))));
  }
  EXPECT_THAT(ReadSvm("7 1:1\n"), AllOf(IsRefused("one of the 2 classes"), Not(IsRefused("7 "))));
  EXPECT_THAT(ReadSvm("spam 1:1\n"), AllOf(IsRefused("classes"), Not(IsRefused("spam"))));
}

TEST(ReadLibsvmTest, RefusesEmptyFilesNulBytesAndEndlessLines) {
  EXPECT_THAT(ReadSvm(""), IsRefused("no rows"));
  EXPECT_THAT(ReadSvm("# nothing\n"), IsRefused("no rows"));
  EXPECT_THAT(ReadSvm(std::string_view("1 1:\0001\n", 7)), IsRefused(".svm:1: NUL at byte 5"));
  EXPECT_THAT(ReadSvm(std::string((1 << 24) + 1, ' ')), IsRefused("more than 16777216 bytes"));
}

TEST(ReadLibsvmTest, StopsAtTheLimits) {
  EXPECT_THAT(ReadSvm("1 1:1\n1 1:1\n", {.max_rows = 1}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr(".svm:2: more than 1 rows")));
  EXPECT_THAT(ReadSvm("1 1:1\n", {.max_bytes = 5}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("limit on bytes")));
}

TEST(ReadLibsvmTest, NeedsNumericFeatures) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::Create({Categorical("c", {"u"})}, "y", {"0", "1"}));
  const TempFile file(".libsvm", "1 1:1\n");
  EXPECT_THAT(ReadTable(file.path(), schema), IsRefused("\"c\" is categorical"));
}

TEST(ReadLibsvmTest, ATotalReaderTakesEveryRow) {
  const TempFile file(".svm", "1 1:2 3:4 9:1\nhiv 1:x 2:3\n2\n");
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", -1, 5), Categorical("y", {"3"})}, "label", {"-1", "1"}));
  ASSERT_OK_AND_ASSIGN(const TableFile read, ReadTable(file.path(), schema, {.total = true}));
  EXPECT_THAT(read.table.labels(), ElementsAre(1u, kUnlabelled, kUnlabelled));
  EXPECT_TRUE(IsMissing(read.table.value(1, 0)));
  EXPECT_EQ(read.table.value(1, 1), 0);
  EXPECT_THAT(CheckTableStructure(file.path(), "who"), IsRefused("no column \"who\""));
  for (const char* line : {"1 9:2 7:4\n", "1 1:1 18446744073709551615:1 1:1 2:2\n", "1 0:1\n"}) {
    const TempFile odd(".svm", line);
    EXPECT_THAT(CheckTableStructure(odd.path()), IsRefused("must increase"));
  }
}

}  // namespace
}  // namespace coppice
