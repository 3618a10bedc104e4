// The wire format case by case; tests/fuzz/messages.cc compares it with protobuf on random bytes.

#include "client/device/messages/message_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/device/messages/message_writer.h"

namespace coppice {
namespace {

using ::testing::ElementsAre;

// A message with text 1, numbers 2, message 3 (of its own kind) and bool 4.
struct Sample {
  std::string text;
  std::vector<uint32_t> numbers;
  int messages = 0;
  bool flag = false;
  bool failed = false;
};

void ReadField(MessageReader& field, Sample& sample) {
  if (field.field() == 1) field.ReadText(sample.text);
  if (field.field() == 2) field.Add(sample.numbers);
  if (field.field() == 3) {
    const bool is_message =
        field.ReadMessage([&](MessageReader& inner) { ReadField(inner, sample); });
    sample.messages += is_message ? 1 : 0;
  }
  if (field.field() == 4) field.Read(sample.flag);
}

Sample ReadSample(const std::string& bytes) {
  Sample sample;
  MessageReader field(bytes);
  while (field.Next()) ReadField(field, sample);
  sample.failed = field.failed();
  return sample;
}

TEST(MessageReaderTest, ReadsNumbersPackedOrNot) {
  const Sample sample = ReadSample(std::string("\x10\x05\x12\x03\x06\xac\x02\x10\x07", 9));
  EXPECT_FALSE(sample.failed);
  EXPECT_THAT(sample.numbers, ElementsAre(5, 6, 300, 7));
}

TEST(MessageReaderTest, MergesMessagesThatComeTwice) {
  const Sample sample = ReadSample(std::string("\x1a\x02\x10\x01\x1a\x02\x10\x02", 8));
  EXPECT_EQ(sample.messages, 2);
  EXPECT_THAT(sample.numbers, ElementsAre(1, 2));
}

TEST(MessageReaderTest, PassesOverWhatItDoesNotKnow) {
  // A number, eight bytes, four bytes, bytes, and a group that holds a group; then the flag.
  const std::string unknown("\x78\x01\x79........\x7d....\x7a\x02..\x7b\x73\x08\x01\x74\x7c", 26);
  const Sample sample = ReadSample(unknown + std::string("\x20\x01", 2));
  EXPECT_FALSE(sample.failed);
  EXPECT_TRUE(sample.flag);
}

TEST(MessageReaderTest, AKnownNumberOfAnotherTypeIsUnknown) {
  const Sample sample = ReadSample(std::string("\x08\x05\x22\x01\x01", 5));
  EXPECT_FALSE(sample.failed);
  EXPECT_EQ(sample.text, "");
  EXPECT_FALSE(sample.flag);
}

TEST(MessageReaderTest, RefusesWhatIsMalformed) {
  const std::string cases[] = {
      std::string("\x10", 1),                         // no value
      std::string("\x10\xff", 2),                     // a number without an end
      std::string("\x10") + std::string(11, '\xff'),  // a number that is too long
      std::string("\x00\x01", 2),                     // field 0
      std::string("\x0a\x05"
                  "abc",
                  5),  // fewer bytes than announced
      std::string("\x0a\xff\xff\xff\xff\x07"
                  "a",
                  7),                               // two gigabytes announced
      std::string("\x16", 1),                       // an unknown type
      std::string("\x14", 1),                       // the end of a group that never began
      std::string("\x13\x1c", 2),                   // the end of another group
      std::string("\x13", 1),                       // a group without an end
      std::string("\x12\x01\xff", 3),               // packed numbers that end within one
      std::string("\x1a\x01\x10", 3),               // the same within a message
      std::string("\x0a\x02\xc0\x80", 4),           // overlong UTF-8
      std::string("\x0a\x03\xed\xa0\x80", 5),       // a surrogate
      std::string("\x0a\x04\xf4\x90\x80\x80", 6)};  // past the last character
  for (const std::string& bytes : cases) {
    EXPECT_TRUE(ReadSample(bytes).failed) << ::testing::PrintToString(bytes);
  }
}

TEST(MessageReaderTest, NestingEndsAtAHundred) {
  const auto nested = [](int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) {
      MessageWriter writer;
      writer.Element(3, bytes);
      bytes = writer.Finish();
    }
    return bytes;
  };
  EXPECT_FALSE(ReadSample(nested(100)).failed);
  EXPECT_TRUE(ReadSample(nested(101)).failed);
  EXPECT_FALSE(ReadSample(std::string(100, '\x7b') + std::string(100, '\x7c')).failed);
  EXPECT_TRUE(ReadSample(std::string(101, '\x7b') + std::string(101, '\x7c')).failed);
}

}  // namespace
}  // namespace coppice
