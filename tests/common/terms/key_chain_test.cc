#include "common/terms/key_chain.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

SigningKey KeyNumber(uint8_t number) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}
PublicKey Public(uint8_t number) { return KeyNumber(number).public_key(); }

// The chain from key `first` to key `last`, each endorsed by the one before.
KeyChain ChainOf(uint8_t first, uint8_t last) {
  KeyChain chain;
  for (uint8_t i = first; i < last; ++i) {
    chain.push_back(*Endorse(KeyNumber(i), Public(static_cast<uint8_t>(i + 1)), 100 + i));
  }
  return chain;
}

constexpr int64_t kNow = 1000;

TEST(KeyChainTest, TheTrustedKeyNeedsNoEndorsement) {
  EXPECT_OK(FollowChain(Public(1), {}, Public(1), kNow));
  EXPECT_OK(FollowChain(Public(1), ChainOf(1, 3), Public(1), kNow));
}

TEST(KeyChainTest, LeadsFromEveryKeyInItToTheLast) {
  for (uint8_t from = 1; from <= 9; ++from) {
    EXPECT_OK(FollowChain(Public(from), ChainOf(1, 9), Public(9), kNow)) << from;
  }
}

TEST(KeyChainTest, DoesNotLeadBack) {
  EXPECT_THAT(FollowChain(Public(2), ChainOf(1, 3), Public(1), kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
}

TEST(KeyChainTest, AKeyThatNobodyEndorsedIsRefused) {
  EXPECT_THAT(FollowChain(Public(1), {}, Public(2), kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
  EXPECT_THAT(FollowChain(Public(1), ChainOf(1, 3), Public(7), kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
  EXPECT_THAT(FollowChain(Public(7), ChainOf(1, 3), Public(3), kNow),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
}

TEST(KeyChainTest, AMissingStepIsRefused) {
  KeyChain chain = ChainOf(1, 4);
  chain.erase(chain.begin() + 1);
  EXPECT_THAT(FollowChain(Public(1), chain, Public(4), kNow),
              StatusIs(StatusCode::kFailedPrecondition, _));
}

// Naming the trusted key as the endorser is not enough: the step must be signed with it.
TEST(KeyChainTest, AStepThatSomebodyElseSignedIsRefused) {
  KeyEndorsement forged = *Endorse(KeyNumber(6), Public(6), 1);
  forged.endorser = KeyIdOf(Public(1));
  EXPECT_THAT(FollowChain(Public(1), {forged}, Public(6), kNow),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not check")));
}

TEST(KeyChainTest, NothingOfAStepCanBeChanged) {
  for (const int what : {0, 1, 2}) {
    KeyChain chain = ChainOf(1, 2);
    if (what == 0) chain[0].signature[5] ^= 1;
    if (what == 1) chain[0].not_before_unix_seconds -= 1;
    if (what == 2) chain[0].key = Public(6);
    EXPECT_THAT(FollowChain(Public(1), chain, chain[0].key, kNow),
                StatusIs(StatusCode::kDataLoss, _))
        << what;
  }
}

TEST(KeyChainTest, AStepCountsFromItsTimeOn) {
  EXPECT_THAT(FollowChain(Public(1), ChainOf(1, 2), Public(2), 100),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("clock")));
  EXPECT_OK(FollowChain(Public(1), ChainOf(1, 2), Public(2), 101));
}

TEST(KeyChainTest, IsFollowedForEightStepsOnly) {
  EXPECT_THAT(FollowChain(Public(1), ChainOf(1, 10), Public(10), kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 8")));
}

}  // namespace
}  // namespace coppice
