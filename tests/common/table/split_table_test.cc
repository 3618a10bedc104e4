#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/tables.h"
#include "tests/common/table/is_refused.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::IsRefused;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::coppice::testing::TempFile;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

StatusOr<std::vector<uint64_t>> Shares(std::string_view parts, uint64_t rows) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<TablePart> parsed, ParseParts(parts));
  return SharesOf(parsed, rows);
}

TEST(SplitTableTest, PartsAreRowsFractionsAndTheRest) {
  EXPECT_THAT(*Shares("public=200,private=rest,test=0.2", 1000), ElementsAre(200, 600, 200));
  EXPECT_THAT(*Shares("a=0.5,b=0.5", 5), ElementsAre(3, 2));
  EXPECT_THAT(*Shares("a=0.1,b=0.2,c=0.7", 10), ElementsAre(1, 2, 7));
  EXPECT_THAT(*Shares(" a=3 , b = rest", 5), ElementsAre(3, 2));
}

TEST(SplitTableTest, PartsThatDoNotAddUpSayWhatThereIs) {
  EXPECT_THAT(Shares("a=900,b=0.2", 1000), IsRefused("more than the file's 1000 rows"));
  EXPECT_THAT(Shares("a=18446744073709551615,b=5", 1000), IsRefused("more than the file's"));
  EXPECT_THAT(Shares("a=900", 1000), IsRefused("leave 100 of the file's 1000 rows over"));
  EXPECT_THAT(Shares("a=1000,b=rest", 1000), IsRefused("part \"b\" would get none"));
  EXPECT_THAT(Shares("a=0.001,b=rest", 10), IsRefused("part \"a\" would get none"));
}

TEST(SplitTableTest, MalformedPartsSayWhatIsWanted) {
  EXPECT_THAT(ParseParts("public"), IsRefused("\"public\" has no \"=\""));
  EXPECT_THAT(ParseParts(""), IsRefused("NAME=ROWS"));
  for (const char* amount : {"x", "0", "-3", "1.5", "0.0", "", "nan", "inf", "200%"}) {
    EXPECT_THAT(ParseParts(StrCat("a=", amount)), IsRefused("part \"a\" needs a number"));
  }
  for (const char* name : {"../up", "a/b", "", ".hidden", "-flag", "a b", "\xC3\xA9"}) {
    EXPECT_THAT(ParseParts(StrCat("b=1,", name, "=2")),
                AnyOf(IsRefused("becomes a file's name"), IsRefused("has no")))
        << name;
  }
  EXPECT_THAT(ParseParts("a=1,A=2"), IsRefused("named twice"));
  EXPECT_THAT(ParseParts("a=rest,b=rest"), IsRefused("only one part can be the rest"));
  EXPECT_THAT(ParseParts("a=0.6,b=0.6"), IsRefused("add up to more than 1"));
}

struct Split {
  TempDir folder;
  std::string file(const std::string& name) const {
    return *ReadFile(StrCat(folder.path(), "/out/", name, ".csv"));
  }
  Status Run(std::string_view text, std::string_view parts, uint64_t seed = 1) const {
    const TempFile data(".csv", text);
    return SplitTable(data.path(), *ParseParts(parts), seed, folder.path() + "/out").status();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    if (!std::filesystem::exists(folder.path() + "/out")) return found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/out")) {
      found.push_back(entry.path().filename());
    }
    return found;
  }
};

// These rows are hard for a reader to write back unchanged.
constexpr std::string_view kOdd =
    "id;\"no\nte\"\r\n1;\"two\r\nlines; \"\"quoted\"\"\"\r\n\r\n 2 ; x\n3;\"\"\r\n4;last";

TEST(SplitTableTest, RowsAreKeptByteForByteInTheirOrder) {
  const Split split;
  ASSERT_OK(split.Run(kOdd, "all=4"));
  EXPECT_EQ(split.file("all"),
            "id;\"no\nte\"\r\n1;\"two\r\nlines; \"\"quoted\"\"\"\r\n 2 ; x\n3;\"\"\r\n4;last\r\n");
}

std::string Numbered(int rows) {
  std::string text = "id,x\n";
  for (int i = 0; i < rows; ++i) StrAppend(&text, i, ",y\n");
  return text;
}

std::vector<std::string> Rows(const std::string& text) {
  std::vector<std::string> lines = StrSplit(text, '\n', SkipEmpty());
  EXPECT_EQ(lines.at(0), "id,x");
  lines.erase(lines.begin());
  return lines;
}

TEST(SplitTableTest, EachRowIsInOnePartAndTheSeedSaysInWhich) {
  const Split split, again, other;
  const std::string text = Numbered(1000);
  ASSERT_OK(split.Run(text, "public=100,private=rest,test=0.2"));
  ASSERT_OK(again.Run(text, "public=100,private=rest,test=0.2"));
  ASSERT_OK(other.Run(text, "public=100,private=rest,test=0.2", 2));
  std::vector<std::string> all;
  for (const char* name : {"public", "private", "test"}) {
    EXPECT_EQ(split.file(name), again.file(name));
    EXPECT_NE(split.file(name), other.file(name));
    for (std::string& row : Rows(split.file(name))) all.push_back(std::move(row));
  }
  EXPECT_EQ(Rows(split.file("public")).size(), 100u);
  EXPECT_EQ(Rows(split.file("test")).size(), 200u);
  EXPECT_THAT(all, UnorderedElementsAreArray(Rows(text)));
}

// Half of 20,000 rows, at random: the first 10,000 have as many as the others, and no more than 1
// in 4 pairs of neighbours are both chosen. Seven standard deviations (35 and 62) of either.
TEST(SplitTableTest, ThePartsAreSpreadEvenly) {
  const Split split;
  ASSERT_OK(split.Run(Numbered(20'000), "a=10000,b=rest"));
  std::vector<bool> chosen(20'000);
  for (const std::string& row : Rows(split.file("a"))) chosen[std::stoul(row)] = true;
  int first_half = 0, pairs = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] && i < 10'000) ++first_half;
    if (chosen[i] && i > 0 && chosen[i - 1]) ++pairs;
  }
  EXPECT_NEAR(first_half, 5000, 250);
  EXPECT_NEAR(pairs, 5000, 430);
}

TEST(SplitTableTest, NothingIsReplacedAndNothingIsLeftBehind) {
  const Split split;
  ASSERT_OK(split.Run("id,x\n1,2\n3,4\n", "b=1,c=rest"));
  const std::string before = split.file("b");
  EXPECT_THAT(split.Run("id,x\n5,6\n7,8\n", "a=1,b=rest"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("b.csv exists already")));
  EXPECT_EQ(split.file("b"), before);
  EXPECT_THAT(split.names(), UnorderedElementsAreArray({"b.csv", "c.csv"}));

  const Split broken;
  EXPECT_THAT(broken.Run("id,x\n1,2\n3\n", "a=1,b=rest"),
              IsRefused(".csv:3: the row has 1 fields"));
  EXPECT_THAT(broken.Run("id,x\n1,\"2\n", "a=1"), IsRefused("never closed"));
  EXPECT_THAT(broken.Run("id,x\n1,2\r3,4\n", "a=2"), IsRefused("CR alone"));
  EXPECT_THAT(broken.Run("id,x\n1,2\n", "a=2"), IsRefused("more than the file's 1 rows"));
  EXPECT_THAT(SplitTable("/dev/null", *ParseParts("a=1"), 1, broken.folder.path()),
              IsRefused("/dev/null: must be a file"));
  EXPECT_THAT(SplitTable("rows.libsvm", *ParseParts("a=1"), 1, broken.folder.path()),
              IsRefused("takes CSV"));
  EXPECT_THAT(SplitTable("/none.csv", *ParseParts("a=1"), 1, broken.folder.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("/none.csv")));
  EXPECT_THAT(broken.names(), IsEmpty());
}

TEST(SplitTableTest, CopiesAreAsReadableAsTheFile) {
  const TempFile data(".csv", "id\n1\n2\n");
  chmod(data.path().c_str(), 0640);
  const TempDir folder;
  ASSERT_OK(SplitTable(data.path(), *ParseParts("a=1,b=rest"), 1, folder.path()).status());
  struct stat status;
  ASSERT_EQ(stat((folder.path() + "/b.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(SplitTableTest, LongRowsAreWholeWhereTheReadersBufferEnds) {
  std::string text = "id,x\n";
  for (int i = 0; i < 40; ++i) {
    StrAppend(&text, i, ",\"", std::string(static_cast<size_t>(9000 + 37 * i), 'n'), "\n\"\n");
  }
  const Split split;
  ASSERT_OK(split.Run(text, "all=40"));
  EXPECT_EQ(split.file("all"), text);
}

}  // namespace
}  // namespace coppice
