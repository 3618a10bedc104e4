// What a walk says a message takes is at least what protobuf takes for it, and what no honest
// client sends is refused before anything is allocated.

#include "common/wire/proto/message_walk.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <string>

#include "common/wire/fields.h"
#include "common/wire/proto/json_message.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::PeakBytesOf;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr size_t kMany = 1'000'000;

std::string Repeated(std::string_view element, size_t times) {
  std::string bytes;
  for (size_t i = 0; i < times; ++i) bytes.append(element);
  return bytes;
}

template <typename Message>
StatusOr<size_t> Measure(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return MeasureMessage(stream, *Message::descriptor());
}

// Protobuf's parsing takes no more than was said, and the walk next to nothing.
template <typename Message>
void ExpectEnough(const std::string& bytes) {
  StatusOr<size_t> measured = Measure<Message>("");  // looks the type up
  const uint64_t walked = PeakBytesOf([&] { measured = Measure<Message>(bytes); });
  ASSERT_OK(measured.status());
  EXPECT_LT(walked, 1000u);
  Message message;
  const uint64_t taken = PeakBytesOf([&] { EXPECT_TRUE(message.ParseFromString(bytes)); });
  EXPECT_LE(taken, *measured);
  EXPECT_LE(*measured, 4 * taken + 10'000) << "no honest message is refused for nothing";
}

TEST(MessageWalkTest, CountsWhatProtobufWillTake) {
  ExpectEnough<v1::GetOfferRequest>("");
  ExpectEnough<v1::GetOfferRequest>(Repeated(std::string("\x32\0", 2), kMany));  // tokens
  ExpectEnough<v1::PredictRequest>(Repeated(std::string("\x12\0", 2), kMany));   // rows
  v1::PredictRequest honest;
  honest.set_name("models/m");
  for (size_t i = 0; i < kMany / 10; ++i) {
    v1::Row& row = *honest.add_rows();
    for (int value = 0; value < 10; ++value) row.add_values(value);
  }
  ExpectEnough<v1::PredictRequest>(honest.SerializeAsString());
  v1::Schema schema;
  for (size_t i = 0; i < kMany; ++i) schema.add_classes(std::string(i % 40, 'x'));
  ExpectEnough<v1::Schema>(schema.SerializeAsString());
  v1::Tree tree;
  for (size_t i = 0; i < kMany; ++i) tree.add_kinds(v1::SPLIT_KIND_LEAF);
  ExpectEnough<v1::Tree>(tree.SerializeAsString());
}

TEST(MessageWalkTest, RefusesGroupsAndManyUnknownFields) {
  EXPECT_THAT(Measure<v1::GetOfferRequest>(Repeated("\x7b\x7c", kMany)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("group")));
  EXPECT_THAT(Measure<v1::GetOfferRequest>(Repeated("\x7c", 1)),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
  const std::string known_enough = Repeated(std::string("\x78\1", 2), kMaxUnknownFields);
  EXPECT_OK(Measure<v1::GetOfferRequest>(known_enough).status());
  EXPECT_THAT(Measure<v1::GetOfferRequest>(known_enough + std::string("\x78\1", 2)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
}

TEST(MessageWalkTest, RefusesASingularFieldTwice) {
  EXPECT_THAT(Measure<v1::GetOfferRequest>("\x0a\1a\x0a\1b"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name occurs twice")));
}

TEST(MessageWalkTest, RefusesWhatIsNoMessage) {
  for (const char* bytes : {"\x0a",
                            "\x0a\x05"
                            "a",
                            "\xff\xff\xff\xff\xff\xff", "\x12\x02\x0a\x09"}) {
    EXPECT_THAT(Measure<v1::PredictRequest>(bytes),
                StatusIs(StatusCode::kInvalidArgument, ::testing::_));
  }
}

TEST(MessageWalkTest, CountsTheSameOfJson) {
  const auto expect_enough = [](const std::string& json, auto message) {
    StatusOr<size_t> measured = 0;
    const uint64_t walked =
        PeakBytesOf([&] { measured = MeasureJsonMessage(json, *message.GetDescriptor()); });
    ASSERT_OK(measured.status());
    EXPECT_LT(walked, 100'000u);
    const uint64_t taken = PeakBytesOf([&] { EXPECT_OK(ParseMeasuredJson(json, message)); });
    EXPECT_LE(taken, *measured);
  };
  const size_t many = kMany / 10;
  expect_enough(R"({"rows":[)" + Repeated("{},", many) + "{}]}", v1::PredictRequest());
  expect_enough(R"({"submissionTokens":[)" + Repeated("\"\",", many) + "\"\"]}",
                v1::GetOfferRequest());
  expect_enough(R"({"values":[)" + Repeated("1,", many) + "1]}", v1::Row());
  expect_enough(R"({"kinds":[)" + Repeated("1,", many) + "1]}", v1::Tree());
}

}  // namespace
}  // namespace coppice
