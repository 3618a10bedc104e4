// OpenSslRandom on a generator that the test replaced: its reaction to each answer, and at the end
// of its buffer.

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"

// Replacing the generator needs OpenSSL's old method table.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>

#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// While it lives, OpenSSL's generator repeats one byte for `refills` requests, and then answers
// `refusal`.
class FakeSource {
 public:
  FakeSource(uint8_t byte, int refills, int refusal = 0) {
    byte_ = byte;
    refills_ = refills;
    refusal_ = refusal;
    refused_ = 0;
    static const RAND_METHOD method = {.seed = nullptr,
                                       .bytes = &Answer,
                                       .cleanup = nullptr,
                                       .add = nullptr,
                                       .pseudorand = nullptr,
                                       .status = nullptr};
    RAND_set_rand_method(&method);
  }
  ~FakeSource() { RAND_set_rand_method(nullptr); }
  FakeSource(const FakeSource&) = delete;
  FakeSource& operator=(const FakeSource&) = delete;

  void Recover() { refills_ = 1; }
  int refused() const { return refused_; }

 private:
  static int Answer(unsigned char* out, int size) {
    if (refills_ == 0) {
      ++refused_;
      return refusal_;
    }
    --refills_;
    std::memset(out, byte_, static_cast<size_t>(size));
    return 1;
  }

  static inline uint8_t byte_;
  static inline int refills_, refusal_, refused_;
};

constexpr int kManyRefills = 1000;

auto Unavailable() { return StatusIs(StatusCode::kUnavailable, HasSubstr("random source")); }

// OpenSSL fails with 0 or -1: neither may pass for success.
TEST(OpenSslRandomSourceTest, AFailureIsAnErrorNotANumber) {
  for (const int refusal : {0, -1}) {
    const FakeSource source(0, 0, refusal);
    OpenSslRandom random;
    EXPECT_THAT(random.UniformBelow(10), Unavailable());
    EXPECT_THAT(random.Bernoulli(1, 2), Unavailable());
    EXPECT_THAT(random.Binomial(100, 5), Unavailable());
    SignedSteps draw = 0;
    EXPECT_THAT(random.Geometric(*GeometricTable::Create(5), absl::MakeSpan(&draw, 1)),
                Unavailable());
  }
}

// Draws until the source fails, after one good buffer and after two, and from every position of the
// buffer that matters. A failure in the middle of a draw is that draw's result: the bits drawn so
// far are dropped, never used.
template <typename Draw>
void ExpectEveryFailurePassedOn(uint8_t byte, Draw draw) {
  for (int refills = 1; refills <= 2; ++refills) {
    for (int words = 0; words < 8; ++words) {
      const FakeSource source(byte, refills);
      OpenSslRandom random;
      for (int i = 0; i < words; ++i) ASSERT_OK(random.UniformBelow(1 << 16));
      Status status;
      for (int i = 0; i < 100'000 && status.ok(); ++i) status = draw(random);
      EXPECT_THAT(status, Unavailable());
      EXPECT_EQ(source.refused(), 1);
    }
  }
}

TEST(OpenSslRandomSourceTest, AFailureBetweenTheWordsOfAUniformDrawIsPassedOn) {
  ExpectEveryFailurePassedOn(
      0, [](OpenSslRandom& random) { return random.UniformBelow(uint64_t{1} << 60).status(); });
}

TEST(OpenSslRandomSourceTest, AFailureWhileADrawIsRejectedIsPassedOn) {
  // All ones are not below this bound.
  ExpectEveryFailurePassedOn(
      0xff, [](OpenSslRandom& random) { return random.Bernoulli(1, 0xfff0).status(); });
}

TEST(OpenSslRandomSourceTest, AFailureWhileTrialsAreUnsettledIsPassedOn) {
  // All zeros settles no trial of this probability: all 32 digits are drawn, five words each.
  ExpectEveryFailurePassedOn(
      0, [](OpenSslRandom& random) { return random.Binomial(65, 0xffffffff).status(); });
}

TEST(OpenSslRandomSourceTest, AFailureWhileADrawIsUndecidedIsPassedOn) {
  constexpr uint32_t kRatio = 0x22222222;
  const GeometricTable table = *GeometricTable::Create(kRatio);
  ASSERT_EQ(table.Lookup(0x1111), GeometricTable::kUndecided);  // half the ratio's first digits
  std::vector<SignedSteps> draws(1000);
  ExpectEveryFailurePassedOn(
      0x11, [&](OpenSslRandom& random) { return random.Geometric(table, absl::MakeSpan(draws)); });
}

TEST(OpenSslRandomSourceTest, NothingIsLeftOfABufferThatFailed) {
  FakeSource source(0, 0);
  OpenSslRandom random;
  EXPECT_THAT(random.UniformBelow(2), Unavailable());
  EXPECT_THAT(random.UniformBelow(2), Unavailable());
  EXPECT_EQ(source.refused(), 2);  // it asks again, rather than use an empty buffer
  source.Recover();
  EXPECT_EQ(*random.UniformBelow(2), 0u);
}

// A trial succeeds if its uniform number is less than the probability; equal is not less, at the
// 32nd digit as well as at the first.
TEST(OpenSslRandomSourceTest, TrialsAreSettledByTheirFirstDifferentDigit) {
  // Counts are of ones, which stand for the digit 0.
  for (const uint64_t trials : {1, 63, 64, 65, 1'000'000}) {
    {
      const FakeSource digits_of_zero(0xff, kManyRefills);
      OpenSslRandom random;
      EXPECT_EQ(*random.Binomial(trials, 0), 0u);
      EXPECT_EQ(*random.Binomial(trials, 1), trials);
      EXPECT_EQ(*random.Binomial(trials, 0x80000000), trials);
    }
    {
      const FakeSource digits_of_one(0, kManyRefills);
      OpenSslRandom random;
      EXPECT_EQ(*random.Binomial(trials, 0xffffffff), 0u);
      EXPECT_EQ(*random.Binomial(trials, 0x7fffffff), 0u);
    }
  }
}

}  // namespace
}  // namespace coppice
