#include "common/ldp/payload/integer_payload.h"

#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "tests/support/guarded_page.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::GuardedPage;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

Status Decode(std::string_view payload, size_t count) {
  std::vector<int32_t> values(count);
  return DecodeIntegers(payload, absl::MakeSpan(values));
}

TEST(IntegerPayloadTest, ReadsBackWhatItWrote) {
  // Long enough for the block path, with wide values at its edges.
  std::vector<int32_t> values;
  for (int i = -70; i < 70; ++i) values.push_back(i);
  values.insert(values.end(), {0, 63, -64, 64, -65, 8191, -8192, 8192, 1'000'000, -1'000'000});
  const std::string payload = EncodeIntegers(values);
  std::vector<int32_t> decoded(values.size());
  ASSERT_OK(DecodeIntegers(payload, absl::MakeSpan(decoded)));
  EXPECT_EQ(decoded, values);
}

// Blocks of one-byte integers take a separate path: its ends, and a wide integer anywhere in it.
TEST(IntegerPayloadTest, ReadsBlocksUpToTheirLastByteOnly) {
  GuardedPage page;
  for (const size_t count : {15u, 16u, 17u, 32u, 33u}) {
    for (size_t wide = 0; wide <= count; ++wide) {  // at the end none is wide
      std::vector<int32_t> values(count, -3);
      if (wide < count) values[wide] = 5000;
      const std::string_view payload = page.Copy(EncodeIntegers(values));
      std::vector<int32_t> decoded(count);
      ASSERT_OK(DecodeIntegers(payload, absl::MakeSpan(decoded)));
      EXPECT_EQ(decoded, values);
      EXPECT_OK(CheckIntegers(payload, {.count = count, .each = 5000, .total = 6000}));
      std::vector<int64_t> sums(count);
      AddIntegers({{.payload = payload}}, absl::MakeSpan(sums));
      EXPECT_EQ(sums, std::vector<int64_t>(values.begin(), values.end()));
    }
  }
  EXPECT_THAT(Decode(page.Copy(EncodeIntegers({1, 2, 3})), 20),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("short")));
}

TEST(IntegerPayloadTest, AddsOneByteAndLongerIntegersAlike) {
  // One payload has one-byte integers at both ends of their range, one a two-byte integer. There
  // are many, so that counters that are too narrow would overflow.
  const std::string narrow = EncodeIntegers({-64, 0, 63});
  const std::string wide = EncodeIntegers({-7, 0, 5000});
  std::vector<Contribution> reports(3000, {.payload = narrow});
  reports[1000].payload = wide;
  std::vector<int64_t> sums = {100, 200, 300};
  AddIntegers(reports, absl::MakeSpan(sums));
  EXPECT_EQ(sums, (std::vector<int64_t>{100 - 2999 * 64 - 7, 200, 300 + 2999 * 63 + 5000}));
}

TEST(IntegerPayloadTest, ChecksWhatDoesNotDecode) {
  for (const std::string& bad : {EncodeIntegers({1}), EncodeIntegers({1, 2, 3}),
                                 std::string("\x80\x01"), std::string("\x01\x80")}) {
    EXPECT_THAT(CheckIntegers(bad, {.count = 2, .each = 100, .total = 200}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("payload")));
  }
}

TEST(IntegerPayloadTest, SmallIntegersTakeOneByte) {
  EXPECT_EQ(EncodeIntegers({0, 63, -64}).size(), 3u);
  EXPECT_EQ(EncodeIntegers({64}).size(), 2u);
  EXPECT_EQ(EncodeIntegers({1})[0], 2);  // zigzag
}

TEST(IntegerPayloadTest, RefusesWrongLengths) {
  const std::string payload = EncodeIntegers({1, 2, 3});
  EXPECT_THAT(Decode(payload, 4), StatusIs(StatusCode::kInvalidArgument, HasSubstr("short")));
  EXPECT_THAT(Decode(payload, 2), StatusIs(StatusCode::kInvalidArgument, HasSubstr("long")));
  EXPECT_THAT(Decode("", 1), StatusIs(StatusCode::kInvalidArgument, HasSubstr("short")));
  EXPECT_THAT(Decode("\x80", 1), StatusIs(StatusCode::kInvalidArgument, HasSubstr("short")));
}

TEST(IntegerPayloadTest, RefusesAllButTheShortestForm) {
  const std::string overlong_zero("\x80\x00", 2);
  EXPECT_THAT(Decode(overlong_zero, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overlong")));
  // The same holds where a block of one-byte integers might be.
  EXPECT_THAT(Decode(overlong_zero + std::string(15, '\0'), 17),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overlong")));
  EXPECT_THAT(Decode("\xff\xff\xff\xff\x10", 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overlong")));
  EXPECT_THAT(Decode("\xff\xff\xff\xff\x1f", 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overlong")));
  EXPECT_THAT(Decode("\xff\xff\xff\xff\xff\x01", 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overlong")));
}

// Values of one byte each, and of more.
TEST(IntegerPayloadTest, RefusesValuesPastTheLimitsAndNoOther) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device"));
  for (const int32_t large : {7, 64, 5000}) {
    const IntegerLimits each = {.count = 2, .each = large, .total = 1'000'000};
    EXPECT_OK(CheckIntegers(EncodeIntegers({large, -large}), each));
    EXPECT_THAT(CheckIntegers(EncodeIntegers({large + 1, 0}), each), refused);
    EXPECT_THAT(CheckIntegers(EncodeIntegers({0, -large - 1}), each), refused);
    const IntegerLimits total = {.count = 2, .each = 1'000'000, .total = large};
    EXPECT_OK(CheckIntegers(EncodeIntegers({large - 3, -3}), total));
    EXPECT_THAT(CheckIntegers(EncodeIntegers({large - 3, -4}), total), refused);
    EXPECT_THAT(CheckIntegers(EncodeIntegers({3 - large, 4}), total), refused);
  }
  EXPECT_OK(CheckIntegers(EncodeIntegers({0, 0}), {.count = 2, .each = 0, .total = 0}));
  const IntegerLimits wide = {.count = 1, .each = INT32_MAX, .total = INT32_MAX};
  EXPECT_OK(CheckIntegers(EncodeIntegers({INT32_MAX}), wide));
  EXPECT_THAT(CheckIntegers(EncodeIntegers({INT32_MIN}), wide), refused);
}

// All payloads of a study are padded to this length, so it must be enough for any that is taken.
TEST(IntegerPayloadTest, KnowsTheLongestPayloadWithinTheLimits) {
  for (const int64_t each : {7, 63, 64, 200, 8191, 8192, 2'000'000}) {
    for (const int64_t total : {0, 63, 64, 1000, 5'000'000}) {
      for (const size_t count : {1, 3, 40}) {
        const IntegerLimits limits = {.count = count, .each = each, .total = total};
        // Few integers with as many bytes as they may have, or many with two.
        for (const int64_t value : {int64_t{64}, int64_t{8192}, each}) {
          std::vector<int32_t> values(count);
          int64_t left = total;
          for (int32_t& next : values) {
            if (value > each || value > left) break;
            next = static_cast<int32_t>(value);
            left -= value;
          }
          const std::string payload = EncodeIntegers(values);
          ASSERT_OK(CheckIntegers(payload, limits));
          EXPECT_LE(payload.size(), MaxBytesWithin(limits)) << each << " " << total << " " << count;
        }
        EXPECT_LE(MaxBytesWithin(limits), kMaxIntegerBytes * count);
      }
    }
  }
  EXPECT_EQ(MaxBytesWithin({.count = 512, .each = 142, .total = 1621}), 512u + 25u);
}

}  // namespace
}  // namespace coppice
