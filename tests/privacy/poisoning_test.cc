// What one malicious report can do: the worst payloads that the curator accepts reach the closed
// forms of MaxInfluence(), and anything beyond is refused. Honest reports are not.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/ldp/bit_payload.h"
#include "common/ldp/integer_payload.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Domain kDomain{.leaves = 64, .classes = 2};

struct Added {
  double count = 0;
  double total = 0;
};

// What a report adds to the estimates, or the curator's refusal.
absl::StatusOr<Added> AddedBy(const LocalMechanism& mechanism, const std::string& payload) {
  std::vector<int64_t> sums(mechanism.sum_size());
  const absl::Status status = mechanism.Add(payload, absl::MakeSpan(sums));
  if (!status.ok()) return status;
  Added added;
  for (const double count : mechanism.Estimate(sums, 1).label) {
    added.count = std::max(added.count, std::abs(count));
    added.total += std::abs(count);
  }
  return added;
}

class PoisoningTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ =
      *MakeLocalMechanism(GetParam(), *Budget::Parse("1"), kDomain);
  OpenSslRandom random_;

  bool IsUnary() const {
    return GetParam() == MechanismKind::kSymmetricUnary ||
           GetParam() == MechanismKind::kOptimizedUnary;
  }

  // A liar's payload with `size` of push: so many ones, or entries at `each` in turn until their
  // sizes add up to it. The later entries first: labels' in laplace_split.
  std::string Push(int64_t size, int32_t each) const {
    if (IsUnary()) {
      std::string payload(BitPayloadBytes(mechanism_->sum_size()), '\0');
      for (int64_t i = 0; i < size; ++i) FlipBit(payload, static_cast<size_t>(i));
      return payload;
    }
    std::vector<int32_t> entries(mechanism_->sum_size());
    for (size_t i = entries.size(); i-- > 0 && size > 0;) {
      entries[i] = static_cast<int32_t>(std::min<int64_t>(each, size));
      size -= entries[i];
    }
    return EncodeIntegers(entries);
  }

  // The largest push of the kind that is accepted.
  int64_t LargestPush(int32_t each) const {
    int64_t largest = 0;
    const int64_t most = IsUnary() ? static_cast<int64_t>(mechanism_->sum_size())
                                   : each * static_cast<int64_t>(mechanism_->sum_size());
    for (int64_t size = 0; size <= most; ++size) {
      if (AddedBy(*mechanism_, Push(size, each)).ok()) largest = size;
    }
    return largest;
  }
};

INSTANTIATE_TEST_SUITE_P(All, PoisoningTest,
                         ::testing::ValuesIn(AllMechanismKinds().begin(),
                                             AllMechanismKinds().end()),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(PoisoningTest, TheWorstPushReachesTheBoundAndNoFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  double most = 0;
  for (const int32_t each : {20, 100}) {
    const int64_t size = LargestPush(each);
    const absl::StatusOr<Added> added = AddedBy(*mechanism_, Push(size, each));
    ASSERT_OK(added);
    most = std::max(most, added->total);
    EXPECT_LE(added->total, bound.total * (1 + 1e-9));
    EXPECT_LE(added->count, bound.count * (1 + 1e-9));
    EXPECT_THAT(AddedBy(*mechanism_, Push(size + 1, each)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  }
  EXPECT_GE(most, 0.9 * bound.total);
}

TEST_P(PoisoningTest, OneCountIsPushedToItsBoundAndNoFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  double most = 0;
  if (IsUnary()) {
    most = AddedBy(*mechanism_, Push(LargestPush(1), 1))->count;
  } else {
    // The two entries that class 0 of leaf 0 is made of in laplace_split, with opposite signs.
    for (int32_t push = 0; push < 5000; ++push) {
      std::vector<int32_t> entries(mechanism_->sum_size());
      entries[0] = push;
      entries[kDomain.leaves] = -push;
      const absl::StatusOr<Added> added = AddedBy(*mechanism_, EncodeIntegers(entries));
      if (added.ok()) most = std::max(most, added->count);
    }
  }
  EXPECT_LE(most, bound.count * (1 + 1e-9));
  EXPECT_GE(most, 0.99 * bound.count);
}

// Probability of a refusal: below 2^-90 each.
TEST_P(PoisoningTest, HonestReportsPassAndStayFarBelow) {
  const Influence bound = mechanism_->MaxInfluence();
  for (int i = 0; i < 5000; ++i) {
    const std::string payload = *mechanism_->Randomize({.leaf = 3, .label = 1}, random_);
    const absl::StatusOr<Added> added = AddedBy(*mechanism_, payload);
    ASSERT_OK(added);
    EXPECT_LE(added->total, bound.total);
  }
}

}  // namespace
}  // namespace coppice
