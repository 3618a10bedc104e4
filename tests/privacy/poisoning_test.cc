// What one malicious report can do: the worst payloads that the curator accepts reach the closed
// forms of MaxInfluence(), and anything beyond is refused. Honest reports are not.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/payload/integer_payload.h"
#include "common/ldp/subset_selection.h"
#include "common/ldp/symbol_response.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::DomainFor;

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Domain kDomain{.leaves = 64, .classes = 2};

struct Added {
  double count = 0;
  double total = 0;
};

// What a report adds to the estimates, or the curator's refusal.
StatusOr<Added> AddedBy(const LocalMechanism& mechanism, const std::string& payload,
                        uint32_t column = 0) {
  std::vector<int64_t> sums(mechanism.sum_size());
  const Status status = mechanism.Add(payload, column, absl::MakeSpan(sums));
  if (!status.ok()) return status;
  Added added;
  for (const double count : mechanism.Estimate(sums, 1).label) {
    added.count = std::max(added.count, std::abs(count));
    added.total += std::abs(count);
  }
  return added;
}

std::string NameOf(const ::testing::TestParamInfo<MechanismKind>& test) {
  return std::string(MechanismName(test.param));
}

// Mechanisms whose reports may be pushed bit by bit or integer by integer.
class PoisoningTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ =
      *MakeLocalMechanism(GetParam(), *Budget::Parse("1"), kDomain);

  bool IsUnary() const {
    return GetParam() == MechanismKind::kSymmetricUnary ||
           GetParam() == MechanismKind::kOptimizedUnary;
  }

  // A liar's payload that pushes by `size`: this many ones, or entries of `each` that add up to it,
  // later entries first (the labels' in laplace_split).
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

  // The largest push of this kind that the curator accepts.
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
                         ::testing::Values(MechanismKind::kLaplaceSplit,
                                           MechanismKind::kLaplaceJoint,
                                           MechanismKind::kSymmetricUnary,
                                           MechanismKind::kOptimizedUnary),
                         NameOf);

TEST_P(PoisoningTest, TheWorstPushReachesTheBoundAndNoFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  double most = 0;
  for (const int32_t each : {20, 100}) {
    const int64_t size = LargestPush(each);
    const StatusOr<Added> added = AddedBy(*mechanism_, Push(size, each));
    ASSERT_OK(added);
    most = std::max(most, added->total);
    EXPECT_LE(added->total, bound.total * (1 + 1e-9));
    EXPECT_LE(added->count, bound.count * (1 + 1e-9));
    EXPECT_THAT(AddedBy(*mechanism_, Push(size + 1, each)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  }
  EXPECT_GE(most, 0.9 * bound.total);
}

TEST_P(PoisoningTest, OneCountIsPushedToItsBoundAndNoFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  double most = 0;
  if (IsUnary()) {
    most = AddedBy(*mechanism_, Push(LargestPush(1), 1))->count;
  } else {
    // In laplace_split two entries make up class 0 of leaf 0, with opposite signs.
    for (int32_t push = 0; push < 5000; ++push) {
      std::vector<int32_t> entries(mechanism_->sum_size());
      entries[0] = push;
      entries[kDomain.leaves] = -push;
      const StatusOr<Added> added = AddedBy(*mechanism_, EncodeIntegers(entries));
      if (added.ok()) most = std::max(most, added->count);
    }
  }
  EXPECT_LE(most, bound.count * (1 + 1e-9));
  EXPECT_GE(most, 0.99 * bound.count);
}

// A liar has a given column and may send any symbol.
class SymbolPoisoningTest
    : public ::testing::TestWithParam<std::tuple<MechanismKind, const char*>> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ = *MakeLocalMechanism(
      std::get<0>(GetParam()), *Budget::Parse(std::get<1>(GetParam())), kDomain);
  const SymbolResponse& symbols_ = static_cast<const SymbolResponse&>(*mechanism_);

  static std::string PayloadOf(uint32_t symbol) {
    return {static_cast<char>(symbol & 0xff)};  // kDomain's symbols fit one byte
  }
};

INSTANTIATE_TEST_SUITE_P(All, SymbolPoisoningTest,
                         ::testing::Combine(::testing::Values(MechanismKind::kDirect,
                                                              MechanismKind::kHadamardResponse,
                                                              MechanismKind::kLocalHashing,
                                                              MechanismKind::kSignedHadamard),
                                            ::testing::Values("1", "3")),
                         [](const auto& test) {
                           return std::string(MechanismName(std::get<0>(test.param))) + "_" +
                                  std::get<1>(test.param);
                         });

TEST_P(SymbolPoisoningTest, TheWorstSymbolReachesTheBoundAndNoneGoesFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  Added most;
  for (uint32_t column = 0; column < symbols_.columns(); ++column) {
    for (uint32_t symbol = 0; symbol < symbols_.symbols(); ++symbol) {
      const StatusOr<Added> added = AddedBy(*mechanism_, PayloadOf(symbol), column);
      ASSERT_OK(added);
      most.count = std::max(most.count, added->count);
      most.total = std::max(most.total, added->total);
    }
  }
  EXPECT_NEAR(most.count, bound.count, 1e-9 * bound.count);
  EXPECT_NEAR(most.total, bound.total, 1e-9 * bound.total);
}

TEST_P(SymbolPoisoningTest, AnythingElseIsRefused) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("payload"));
  for (uint32_t symbol = symbols_.symbols(); symbol < 256; ++symbol) {
    EXPECT_THAT(AddedBy(*mechanism_, PayloadOf(symbol)), refused);
  }
  EXPECT_THAT(AddedBy(*mechanism_, ""), refused);
  EXPECT_THAT(AddedBy(*mechanism_, std::string(2, '\0')), refused);
}

// A liar may send any set of the right size: as bits at epsilon 1, as numbers at epsilon 4.
class SubsetPoisoningTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ =
      *MakeLocalMechanism(MechanismKind::kSubsetSelection, *Budget::Parse(GetParam()), kDomain);
  const SubsetSelection& subsets_ = static_cast<const SubsetSelection&>(*mechanism_);

  // `size` cells, `step` apart, from `first` on; with step 0 the same cell each time.
  std::string Members(size_t size, size_t first, size_t step = 1) const {
    const size_t cells = kDomain.cells();
    constexpr size_t kWidth = 7;
    std::string payload(BitPayloadBytes(subsets_.is_bitmap() ? cells : size * kWidth), '\0');
    for (size_t i = 0; i < size; ++i) {
      const size_t member = (first + i * step) % cells;
      if (subsets_.is_bitmap()) {
        FlipBit(payload, member);
      } else {
        SetNumber(payload, kWidth, i, static_cast<uint32_t>(member));
      }
    }
    return payload;
  }
};

INSTANTIATE_TEST_SUITE_P(All, SubsetPoisoningTest, ::testing::Values("1", "4"),
                         [](const auto& test) { return std::string("epsilon_") + test.param; });

TEST_P(SubsetPoisoningTest, EverySetReachesTheBoundAndNoneGoesFurther) {
  const Influence bound = mechanism_->MaxInfluence();
  for (size_t first = 0; first + subsets_.members() <= kDomain.cells(); ++first) {
    const StatusOr<Added> added = AddedBy(*mechanism_, Members(subsets_.members(), first));
    ASSERT_OK(added);
    EXPECT_NEAR(added->count, bound.count, 1e-9 * bound.count);
    EXPECT_NEAR(added->total, bound.total, 1e-9 * bound.total);
  }
}

TEST_P(SubsetPoisoningTest, LargerSmallerAndRepeatingSetsAreRefused) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("payload"));
  for (const size_t size : {subsets_.members() - 1, subsets_.members() + 1}) {
    EXPECT_THAT(AddedBy(*mechanism_, Members(size, 3)), refused);
  }
  if (subsets_.is_bitmap()) return;
  EXPECT_THAT(AddedBy(*mechanism_, Members(2, 3, 0)), refused);    // one cell twice
  EXPECT_THAT(AddedBy(*mechanism_, Members(2, 3, 127)), refused);  // falling
}

class HonestReportTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, HonestReportTest,
                         ::testing::ValuesIn(AllMechanismKinds().begin(),
                                             AllMechanismKinds().end()),
                         NameOf);

// Each honest report is refused with probability below 2^-90.
TEST_P(HonestReportTest, PassesAndStaysWithinTheBound) {
  const Domain domain = DomainFor(GetParam(), kDomain);
  const auto mechanism = *MakeLocalMechanism(GetParam(), *Budget::Parse("1"), domain);
  const Influence bound = mechanism->MaxInfluence();
  OpenSslRandom random;
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t column = i % mechanism->columns();
    const LeafLabel row = {.leaf = 3 % domain.leaves, .label = 1};
    const std::string payload = *mechanism->Randomize(row, column, random);
    const StatusOr<Added> added = AddedBy(*mechanism, payload, column);
    ASSERT_OK(added);
    EXPECT_LE(added->total, bound.total * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace coppice
