// Which bits of OpenSSL's generator become which draw: with known bytes, a model works every draw
// out one word or one bit at a time. No bit is used twice, and none is read past an end.

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/guarded_page.h"
#include "tests/support/scripted_bytes.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::GuardedPage;
using ::coppice::testing::ScriptedBytes;

// Draws from the generator's words in the plainest way.
class Model {
 public:
  // All buffers that were filled, in order.
  std::vector<std::vector<uint16_t>> buffers;

  uint16_t Word() {
    if (buffers.at(buffer_).size() == next_) NextBuffer();
    return buffers.at(buffer_)[next_++];
  }

  // Takes the low bits of whole words; it looks at four words, so it leaves out the last three of a
  // buffer.
  uint64_t Bits(int count) {
    if (count == 0) return 0;
    if (buffers.at(buffer_).size() - next_ < 4) NextBuffer();
    uint64_t bits = 0;
    for (int bit = 0; bit < count; ++bit) {
      const uint64_t word = buffers.at(buffer_)[next_ + static_cast<size_t>(bit / 16)];
      bits |= (word >> (bit % 16) & 1) << bit;
    }
    next_ += static_cast<size_t>((count + 15) / 16);
    return bits;
  }

  uint64_t UniformBelow(uint64_t bound) {
    while (true) {
      const uint64_t value = Bits(static_cast<int>(std::bit_width(bound - 1)));
      if (value < bound) return value;
    }
  }

  uint64_t Binomial(uint64_t trials, uint32_t numerator) {
    uint64_t successes = 0;
    for (int digit = 31; digit >= 0; --digit) {
      uint64_t ones = 0;
      for (uint64_t left = trials; left > 0; left -= std::min<uint64_t>(left, 64)) {
        ones += static_cast<uint64_t>(
            std::popcount(Bits(static_cast<int>(std::min<uint64_t>(left, 64)))));
      }
      const bool settled = (numerator >> digit & 1) != 0;
      successes += settled ? ones : 0;
      trials = settled ? trials - ones : ones;
    }
    return successes;
  }

  // The first words of a batch, at most 512 and no more than the buffer has, come before the
  // further words of the undecided draws.
  std::vector<SignedSteps> Geometric(const GeometricTable& table, size_t count) {
    std::vector<SignedSteps> draws;
    while (draws.size() < count) {
      std::vector<uint16_t> firsts = {Word()};
      while (firsts.size() < 512 && draws.size() + firsts.size() < count &&
             next_ < buffers.at(buffer_).size()) {
        firsts.push_back(Word());
      }
      for (const uint16_t first : firsts) {
        const SignedSteps draw = table.Lookup(first);
        const auto next_word = [this] { return StatusOr<uint16_t>(Word()); };
        draws.push_back(draw == GeometricTable::kUndecided ? *table.Resolve(first, next_word)
                                                           : draw);
      }
    }
    return draws;
  }

 private:
  void NextBuffer() {
    ++buffer_;
    next_ = 0;
  }

  size_t buffer_ = 0;
  size_t next_ = 0;
};

class OpenSslRandomWordsTest : public ::testing::Test {
 protected:
  Model model_;
  ScriptedBytes source_{[this](unsigned char* bytes, int count) {
    std::vector<uint16_t> words(static_cast<size_t>(count) / 2);
    for (uint16_t& word : words) word = static_cast<uint16_t>(generator_());
    std::memcpy(bytes, words.data(), static_cast<size_t>(count));
    model_.buffers.push_back(std::move(words));
    return 1;
  }};
  OpenSslRandom random_;

 private:
  std::mt19937 generator_{1};
};

// Enough to make OpenSSL's fixed cost per call small, and little enough for a device.
TEST_F(OpenSslRandomWordsTest, Fetches16KibibytesAtATime) {
  ASSERT_OK(random_.UniformBelow(2));
  EXPECT_EQ(model_.buffers.at(0).size(), 8192u);
}

// Tests bounds around the numbers of bits in one word and in four.
TEST_F(OpenSslRandomWordsTest, UniformTakesWholeWordsAndNoModulo) {
  for (int round = 0; round < 2000; ++round) {
    for (const uint64_t bound :
         {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 16, (uint64_t{1} << 16) + 1,
          (uint64_t{1} << 48) - 5, (uint64_t{1} << 63) + 1, ~uint64_t{0}}) {
      const uint64_t drawn = *random_.UniformBelow(bound);  // fills the model's buffers
      ASSERT_EQ(drawn, model_.UniformBelow(bound)) << bound;
    }
  }
}

TEST_F(OpenSslRandomWordsTest, BinomialCountsEveryBitOnce) {
  for (const uint64_t trials : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 1000u, 100'000u, 300'000u}) {
    for (const uint32_t numerator : {0u, 1u, 0x80000000u, 0x45d12f3bu, 0xffffffffu}) {
      const uint64_t drawn = *random_.Binomial(trials, numerator);
      ASSERT_EQ(drawn, model_.Binomial(trials, numerator)) << trials << " " << numerator;
    }
    const uint64_t next = *random_.UniformBelow(1000);
    ASSERT_EQ(next, model_.UniformBelow(1000)) << "another word comes next after " << trials;
  }
}

TEST_F(OpenSslRandomWordsTest, GeometricResolvesEveryUndecidedWord) {
  const GeometricTable table = *GeometricTable::Create(0xfeb851ecu);
  for (const size_t count : {1u, 2u, 31u, 512u, 20'000u, 1u}) {
    std::vector<SignedSteps> draws(count);
    ASSERT_OK(random_.Geometric(table, absl::MakeSpan(draws)));
    ASSERT_EQ(draws, model_.Geometric(table, count)) << count;
    const uint64_t next = *random_.UniformBelow(1000);
    ASSERT_EQ(next, model_.UniformBelow(1000)) << "another word comes next after " << count;
  }
}

TEST_F(OpenSslRandomWordsTest, GeometricStaysWithinItsSpan) {
  const GuardedPage page;
  const GeometricTable table = *GeometricTable::Create(0xfeb851ecu);
  const size_t count = page.size() / 2;
  ASSERT_OK(random_.Geometric(table, absl::MakeSpan(page.end() - count, count)));
  EXPECT_EQ(std::vector<SignedSteps>(page.end() - count, page.end()),
            model_.Geometric(table, count));
}

// With all ones no trial is settled before the last digit.
TEST(OpenSslRandomOnesTest, BinomialGoesThroughAllDigitsAndNoMore) {
  const ScriptedBytes ones([](unsigned char* bytes, int count) {
    std::memset(bytes, 0xff, static_cast<size_t>(count));
    return 1;
  });
  OpenSslRandom random;
  EXPECT_EQ(*random.Binomial(10, 1), 10u);
  EXPECT_EQ(*random.Binomial(10, 0), 0u);
}

}  // namespace
}  // namespace coppice
