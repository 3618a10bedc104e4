// The wire format case by case, and what a table of fields refuses. tests/fuzz/messages.cc compares
// the tables with protobuf on random bytes.

#include "common/wire/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kMostNumbers = 6;

struct Part {
  std::vector<uint32_t> numbers{};
  std::vector<Part> parts{};
};
template <typename Fields>
void ListFields(Fields& fields, Part& part) {
  fields.Of("test.Part");
  fields.Each(2, "numbers", {.most = kMostNumbers}, part.numbers);
  fields.Each(3, "parts", {.most = 3}, part.parts);
}

struct Sample {
  std::string text{};
  std::vector<uint32_t> numbers{};
  std::optional<Part> part{};
  bool flag = false;
  std::vector<std::string> texts{};
  std::array<uint8_t, 2> exact{};
};
template <typename Fields>
void ListFields(Fields& fields, Sample& sample) {
  fields.Of("test.Sample");
  fields.Text(1, "text", sample.text);
  fields.Each(2, "numbers", {.most = kMostNumbers}, sample.numbers);
  fields.Message(3, "part", sample.part);
  fields.Number(4, "flag", sample.flag);
  fields.Each(5, "texts", {.most = kMaxTextElements + 10}, sample.texts);
  fields.Exactly(6, "exact", sample.exact);
}

struct NumberPart {
  double fraction = 0;
};
template <typename Fields>
void ListFields(Fields& fields, NumberPart& part) {
  fields.Of("test.NumberPart");
  fields.Number(1, "fraction", part.fraction);
}

const std::string kExact("\x32\x02.!", 4);  // without which no sample is read

StatusOr<Sample> Read(const std::string& bytes) { return ReadFields<Sample>(bytes + kExact); }

TEST(FieldsTest, ReadsNumbersPackedOrNot) {
  ASSERT_OK_AND_ASSIGN(const Sample sample,
                       Read(std::string("\x10\x05\x12\x03\x06\xac\x02\x10\x07", 9)));
  EXPECT_THAT(sample.numbers, ElementsAre(5, 6, 300, 7));
}

TEST(FieldsTest, SkipsFieldsThatItDoesNotKnow) {
  // A number, eight bytes, four bytes, and bytes; then the flag.
  const std::string unknown("\x78\x01\x79........\x7d....\x7a\x02..", 20);
  ASSERT_OK_AND_ASSIGN(const Sample sample, Read(unknown + std::string("\x20\x01", 2)));
  EXPECT_TRUE(sample.flag);
}

TEST(FieldsTest, TreatsAKnownNumberOfAnotherTypeAsUnknown) {
  ASSERT_OK_AND_ASSIGN(const Sample sample, Read(std::string("\x08\x05\x22\x01\x01", 5)));
  EXPECT_EQ(sample.text, "");
  EXPECT_FALSE(sample.flag);
}

TEST(FieldsTest, RefusesMalformedBytes) {
  const std::string cases[] = {
      std::string("\x10", 1),                         // no value
      std::string("\x10\xff", 2),                     // a number without an end
      std::string("\x10") + std::string(11, '\xff'),  // a number that is too long
      std::string("\x00\x01", 2),                     // field 0
      std::string("\x0a\x09") + "abc",                // fewer bytes than announced
      std::string("\x0a\xff\xff\xff\xff\x07", 6),     // two gigabytes announced
      std::string("\x16", 1),                         // an unknown type
      std::string("\x12\x01\xff", 3),                 // packed numbers that end within one
      std::string("\x1a\x01\x10", 3),                 // the same within a message
      std::string("\x0a\x02\xc0\x80", 4),             // overlong UTF-8
      std::string("\x0a\x03\xed\xa0\x80", 5),         // a surrogate
      std::string("\x0a\x04\xf4\x90\x80\x80", 6)};    // past the last character
  for (const std::string& bytes : cases) {
    EXPECT_THAT(Read(bytes).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a test.Sample message")))
        << ::testing::PrintToString(bytes);
  }
}

TEST(FieldsTest, RefusesGroups) {
  EXPECT_FALSE(Read(std::string("\x7b\x7c", 2)).ok());
  EXPECT_FALSE(Read(std::string("\x7b", 1)).ok());
  EXPECT_FALSE(Read(std::string("\x7c", 1)).ok());
}

TEST(FieldsTest, RefusesASingularFieldTwice) {
  for (const char* twice : {"\x0a\x01z\x0a\x01z", "\x1a\x02\x10\x01\x1a\x02\x10\x02"}) {
    EXPECT_THAT(Read(twice).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("occurs twice")));
  }
  EXPECT_THAT(Read(kExact).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exact: occurs twice")));
}

TEST(FieldsTest, RefusesMoreElementsThanTheTableAllows) {
  const std::string six("\x12\x06\1\2\3\4\5\6", 8);
  EXPECT_OK(Read(six).status());
  EXPECT_THAT(Read(six + std::string("\x10\x07", 2)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("numbers: must be at most 6")));
  EXPECT_FALSE(Read(std::string("\x12\x07\1\2\3\4\5\6\7", 9)).ok());
  EXPECT_THAT(Read(std::string("\x1a\x08\x1a\0\x1a\0\x1a\0\x1a\0", 10)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("part: parts: must be at most 3")));
}

TEST(FieldsTest, RefusesMoreTextsThanAMessageMayHave) {
  std::string texts;
  for (size_t i = 0; i < kMaxTextElements; ++i) texts += std::string("\x2a\0", 2);
  EXPECT_OK(Read(texts).status());
  EXPECT_THAT(Read(texts + std::string("\x2a\0", 2)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("texts")));
}

TEST(FieldsTest, RefusesMoreUnknownFieldsThanALaterVersionHas) {
  std::string unknown;
  for (size_t i = 0; i < kMaxUnknownFields; ++i) unknown += std::string("\x78\1", 2);
  EXPECT_OK(Read(unknown).status());
  // Those of parts count as well.
  EXPECT_THAT(Read(unknown + std::string("\x1a\x02\x78\1", 4)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
}

TEST(FieldsTest, RefusesBytesOfAnotherLengthAndMissingOnes) {
  EXPECT_THAT(ReadFields<Sample>("").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exact: must have 2 bytes, has 0")));
  EXPECT_THAT(ReadFields<Sample>("\x32\x03...").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exact: must have 2 bytes, has 3")));
}

TEST(FieldsTest, NamesAnElementByItsPath) {
  const std::string seven("\x12\x07\1\2\3\4\5\6\7", 9);
  const std::string part = std::string("\x1a\x09", 2) + seven;
  EXPECT_THAT(Read(std::string("\x1a\x0d\x1a\0", 4) + part).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("part: parts[1]: numbers: must be at most 6")));
}

struct Written {
  std::string text{};
  std::array<uint8_t, 2> exact{};
  std::optional<NumberPart> part{};
  std::vector<std::string> texts{};
  int32_t negative = 0;
};
template <typename Fields>
void ListFields(Fields& fields, Written& written) {
  fields.Of("test.Written");
  fields.Text(1, "text", written.text);
  fields.Exactly(2, "exact", written.exact);
  fields.Message(3, "part", written.part);
  fields.Each(4, "texts", {.most = 2}, written.texts);
  fields.Number(5, "negative", written.negative);
}

TEST(FieldsTest, WritesWhatItReads) {
  const Written written{.text = "\xc3\xa4",
                        .exact = {0, 1},
                        .part = NumberPart{.fraction = -0.5},
                        .texts = {"", "b"},
                        .negative = -7};
  const std::string bytes = WriteFields(written);
  ASSERT_OK_AND_ASSIGN(const Written read, ReadFields<Written>(bytes));
  EXPECT_EQ(read.text, written.text);
  EXPECT_EQ(read.exact, written.exact);
  EXPECT_EQ(read.part->fraction, -0.5);
  EXPECT_THAT(read.texts, ElementsAre("", "b"));
  EXPECT_EQ(read.negative, -7);
  EXPECT_EQ(WriteFields(read), bytes);
}

}  // namespace
}  // namespace coppice
