#include "server/datasets/stored_block.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "server/datasets/row_block.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::central {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::Whole;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
constexpr double kExact = 0x1p53;  // whole numbers up to it are exact

Feature Categories(const std::string& name, size_t count) {
  Feature feature = Categorical(name, {});
  for (size_t i = 0; i < count; ++i) feature.values.push_back(std::to_string(i));
  return feature;
}

std::shared_ptr<const Schema> OfClasses(std::vector<Feature> features) {
  return std::make_shared<const Schema>(
      *Schema::Create(std::move(features), "label", {"no", "yes"}));
}

size_t WidthOf(const Feature& feature) {
  return BlockFormat(OfClasses({feature})).row_bytes() - 1;  // the class takes one
}

TEST(StoredBlockTest, TheSchemaAloneGivesEachValueTheLeastWidthOfItsCodes) {
  // One code stands for another category, and one for a missing value.
  EXPECT_EQ(WidthOf(Categories("x", 254)), 1u);
  EXPECT_EQ(WidthOf(Categories("x", 255)), 2u);
  EXPECT_EQ(WidthOf(Categories("x", 65'534)), 2u);
  EXPECT_EQ(WidthOf(Categories("x", 65'535)), 4u);
  EXPECT_EQ(WidthOf(Whole("x", 5, 5)), 1u);
  EXPECT_EQ(WidthOf(Whole("x", -100, 154)), 1u);
  EXPECT_EQ(WidthOf(Whole("x", -100, 155)), 2u);
  EXPECT_EQ(WidthOf(Whole("x", 0, 65'535)), 4u);
  EXPECT_EQ(WidthOf(Whole("x", 0, 4'294'967'294)), 4u);
  EXPECT_EQ(WidthOf(Whole("x", 0, 4'294'967'295)), 8u);
  EXPECT_EQ(WidthOf(Whole("x", -kExact, kExact)), 8u);
  EXPECT_EQ(WidthOf(Numeric("x", 0, 1)), 8u);
}

// Whatever a block holds, only the number of its rows shows in its size.
TEST(StoredBlockTest, EqualManyRowsTakeEqualManyBytes) {
  const auto schema = OfClasses({Numeric("x", 0, 1), Whole("w", 0, 9), Categories("c", 3)});
  Table missing(schema), ordinary(schema);
  for (int i = 0; i < 50; ++i) {
    missing.Append(Row{kMissingValue, kMissingValue, kMissingValue}, kUnlabelled);
    ordinary.Append(Row{i / 50.0, i % 10 * 1.0, i % 4 * 1.0}, static_cast<uint32_t>(i % 2));
  }
  const BlockFormat format(schema);
  EXPECT_EQ(format.Encode(missing, 0, 50).size(), format.Encode(ordinary, 0, 50).size());
  EXPECT_EQ(format.Encode(missing, 0, 50).size(), 8 + 50 * format.row_bytes());
}

TEST(StoredBlockTest, ABlockIsWrittenAsItsFormatSays) {
  const auto schema = OfClasses({Whole("w", -1, 400), Categorical("c", {"a", "b"})});
  Table rows(schema);
  rows.Append(Row{-1, 0}, 1);
  rows.Append(Row{299, 2}, kUnlabelled);
  rows.Append(Row{kMissingValue, kMissingValue}, 0);
  const std::string expected(
      "\x01\0\0\0\x03\0\0\0"
      "\x00\x00\x2c\x01\x92\x01"
      "\x00\x02\x03"
      "\x01\x02\x00",
      20);
  EXPECT_EQ(BlockFormat(schema).Encode(rows, 0, 3), expected);
}

TEST(StoredBlockTest, EveryValueComesBackBitForBit) {
  const auto schema =
      OfClasses({Numeric("x", -kExact, 1e300), Whole("small", 7, 9), Whole("all", -kExact, kExact),
                 Whole("far", 1e15, 1e15 + 70'000), Categories("c", 300)});
  const double denormal = std::numeric_limits<double>::denorm_min();
  Table rows(schema);
  rows.Append(Row{-kExact, 7, -kExact, 1e15, 0}, 0);
  rows.Append(Row{-0.0, 8, -1, 1e15 + 1, 299}, 1);
  rows.Append(Row{denormal, 9, 0, 1e15 + 65'536, 300}, kUnlabelled);
  rows.Append(Row{0.1, 9, kExact, 1e15 + 70'000, 256}, 1);
  rows.Append(Row{1e300, kMissingValue, kMissingValue, kMissingValue, kMissingValue}, 0);
  rows.Append(Row{kMissingValue, 7, 1, 1e15, 1}, 0);
  const BlockFormat format(schema);
  for (size_t first = 0; first < rows.num_rows(); ++first) {
    const size_t count = rows.num_rows() - first;
    ASSERT_OK_AND_ASSIGN(const Table read, format.Parse(format.Encode(rows, first, count)));
    ASSERT_EQ(read.num_rows(), count);
    for (size_t row = 0; row < count; ++row) {
      EXPECT_EQ(read.label(row), rows.label(first + row));
      for (size_t f = 0; f < schema->num_features(); ++f) {
        EXPECT_EQ(std::bit_cast<uint64_t>(read.value(row, f)),
                  std::bit_cast<uint64_t>(rows.value(first + row, f)))
            << row << " " << f;
      }
    }
  }
}

TEST(StoredBlockTest, NumbersToPredictComeBackToo) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 1)}, "price", {.min = -1, .max = 9}));
  Table rows(schema);
  rows.AppendTarget(Row{0.25}, -1);
  rows.AppendTarget(Row{kMissingValue}, 8.7);
  const BlockFormat format(schema);
  ASSERT_OK_AND_ASSIGN(const Table read, format.Parse(format.Encode(rows, 0, 2)));
  EXPECT_EQ(read.target(0), -1);
  EXPECT_EQ(read.target(1), 8.7);
  EXPECT_TRUE(read.labels().empty());
}

TEST(StoredBlockTest, DamagedBlocksAreRefusedAndNoValueOfThemIsQuoted) {
  const auto schema =
      OfClasses({Numeric("x", 0, 1), Whole("w", 0, 9), Categorical("c", {"a", "b"})});
  Table rows(schema);
  for (int i = 0; i < 3; ++i) rows.Append(Row{0.5, 4, 1}, 1);
  const BlockFormat format(schema);
  const std::string sound = format.Encode(rows, 0, 3);
  for (size_t length = 0; length < sound.size(); ++length) {
    EXPECT_THAT(format.Parse(sound.substr(0, length)).status(), StatusIs(kInvalid, _));
  }
  EXPECT_FALSE(format.Parse(sound + "x").ok());
  const auto refusal = [&](size_t place, char byte) {
    std::string damaged = sound;
    damaged[place] = byte;
    return format.Parse(damaged).status();
  };
  for (const size_t of_header : {0u, 1u, 2u, 3u}) {
    EXPECT_THAT(refusal(of_header, 2), StatusIs(kInvalid, HasSubstr("this version")));
  }
  for (const size_t of_rows : {4u, 5u, 6u, 7u}) {
    EXPECT_THAT(refusal(of_rows, 2), StatusIs(kInvalid, HasSubstr("as long as its rows")));
  }
  const size_t x = 8, w = x + 3 * 8, c = w + 3, label = c + 3;
  EXPECT_THAT(refusal(x + 7, '\x40'),
              StatusIs(kInvalid, AllOf(HasSubstr("\"x\""), Not(HasSubstr("2")))));
  EXPECT_THAT(refusal(w + 1, 11),
              StatusIs(kInvalid, AllOf(HasSubstr("\"w\""), Not(HasSubstr("11")))));
  EXPECT_THAT(refusal(c, 4), StatusIs(kInvalid, HasSubstr("\"c\"")));
  EXPECT_THAT(refusal(label + 2, 3), StatusIs(kInvalid, HasSubstr("\"label\"")));
  // What is missing is none of these.
  EXPECT_OK(refusal(w + 1, 10));
  EXPECT_OK(refusal(c, 3));
  EXPECT_OK(refusal(label + 2, 2));
}

TEST(StoredBlockTest, ABlockTakesAboutAMebibyteOrOneRow) {
  std::vector<Feature> features;
  for (int i = 0; i < 20; ++i) features.push_back(Numeric(std::to_string(i), 0, 1));
  EXPECT_EQ(BlockFormat(OfClasses(features)).rows_per_block(), (size_t{1} << 20) / 161);
  for (int i = 20; i < 65'000; ++i) features.push_back(Numeric(std::to_string(i), 0, 1));
  EXPECT_EQ(BlockFormat(OfClasses(features)).rows_per_block(), 2u);
  EXPECT_EQ(BlockFormat(OfClasses({Categorical("c", {"a"})})).rows_per_block(), kMaxRowsPerBlock);
}

}  // namespace
}  // namespace coppice::central
