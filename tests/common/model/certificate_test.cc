#include "common/model/certificate.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Release Cost(uint64_t nanos, uint64_t times = 1, std::string part = "") {
  return {.what = "w", .mechanism = "m", .epsilon_nanos = nanos, .times = times, .part = part};
}

TEST(TotalCostTest, NothingCostsNothing) { EXPECT_EQ(*TotalCost({}), 0u); }

TEST(TotalCostTest, ReleasesOfAllRecordsAddUp) {
  EXPECT_EQ(*TotalCost({Cost(5), Cost(7, 3)}), 26u);
}

TEST(TotalCostTest, OfPartsTheMostExpensiveCounts) {
  EXPECT_EQ(*TotalCost({Cost(5, 1, "tree 1"), Cost(4, 1, "tree 2"), Cost(3, 1, "tree 2")}), 7u);
  EXPECT_EQ(*TotalCost({Cost(1), Cost(5, 1, "tree 1"), Cost(4, 1, "tree 2")}), 6u);
}

TEST(TotalCostTest, RefusesSumsPast64Bits) {
  const auto refused = StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large"));
  EXPECT_EQ(*TotalCost({Cost(UINT64_MAX)}), UINT64_MAX);
  EXPECT_THAT(TotalCost({Cost(UINT64_MAX), Cost(1)}), refused);
  EXPECT_THAT(TotalCost({Cost(UINT64_MAX, UINT64_MAX), Cost(UINT64_MAX, UINT64_MAX)}), refused);
  EXPECT_THAT(TotalCost({Cost(UINT64_MAX), Cost(1, 1, "part")}), refused);
}

TEST(CheckCertificateTest, ComparesTheWholeWithItsParts) {
  Certificate certificate;
  EXPECT_OK(CheckCertificate(certificate));
  certificate.epsilon_nanos = 1'500'000'000;
  certificate.releases = {Cost(1'000'000'000), Cost(250'000'000, 2)};
  EXPECT_OK(CheckCertificate(certificate));
  certificate.releases[1].times = 3;
  EXPECT_THAT(CheckCertificate(certificate),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("says epsilon 1.5"), HasSubstr("add up to 1.75"))));
  certificate.releases.clear();
  EXPECT_FALSE(CheckCertificate(certificate).ok());
}

}  // namespace
}  // namespace coppice
