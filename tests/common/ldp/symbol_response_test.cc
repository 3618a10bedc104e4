#include "common/ldp/symbol_response.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/keep_rate.h"
#include "tests/support/scripted_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::ExpectEveryFailurePassedOn;
using ::coppice::testing::ScriptedRandom;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

// A symbol response of any shape: the symbol of a cell is the cell plus ten times the column.
class Any final : public SymbolResponse {
 public:
  Any(uint32_t columns, uint32_t symbols, const char* epsilon = "1")
      : SymbolResponse(MechanismKind::kDirect, *Budget::Parse(epsilon), {3, 2},
                       {.columns = columns, .symbols = symbols}) {}

  uint32_t SymbolOf(uint32_t column, size_t cell) const override {
    return static_cast<uint32_t>(10 * column + cell) % symbols();
  }
  LeafCounts Estimate(absl::Span<const int64_t>, uint64_t) const override { return {}; }
  NoiseVariance Variance(uint32_t) const override { return {}; }
  Influence MaxInfluence() const override { return {}; }

  using SymbolResponse::keep;
  using SymbolResponse::p;
  using SymbolResponse::q;
};

// Computed with integers of any size: the largest K with symbols K 2^60 <= (e - 2^60) (2^62 - K).
TEST(SymbolResponseTest, KeepsAsOftenAsTheBudgetAllows) {
  struct Expected {
    const char* epsilon;
    uint32_t symbols;
    uint64_t rate;
  };
  for (const auto& [epsilon, symbols, rate] :
       std::vector<Expected>{{"0.01", 2, 23058237940474348},
                             {"0.01", 512, 90522080591566},
                             {"0.01", ~0u, 10791284},
                             {"1", 2, 2131139233011397471},
                             {"1", 3, 1679462264468081089},
                             {"1", 512, 15425139739660792},
                             {"4", 512, 437020239735473005},
                             {"20", 2, 4611685999416601258},
                             {"20", 1u << 22, 4572159222326178134},
                             {"20", ~0u, 468068520829533307},
                             {"1000", 512, 4611681151671122488}}) {
    EXPECT_EQ(KeepRate(*Budget::Parse(epsilon), 1, symbols), rate) << epsilon << " " << symbols;
  }
}

TEST(SymbolResponseTest, ProbabilitiesAreThoseOfTheRate) {
  const Any any(1, 5, "2");
  const double odds = std::exp(2.0);
  EXPECT_NEAR(any.p(), odds / (odds + 4), 1e-12);
  EXPECT_NEAR(any.q(), 1 / (odds + 4), 1e-12);
  EXPECT_NEAR(any.keep(), any.p() - any.q(), 1e-15);
  EXPECT_NEAR(any.p() / any.q(), odds, 1e-9);
}

TEST(SymbolResponseTest, ASymbolTakesTheFewestBytes) {
  struct Expected {
    uint32_t symbols;
    size_t bytes;
  };
  for (const auto& [symbols, bytes] : std::vector<Expected>{{2, 1},
                                                            {255, 1},
                                                            {256, 1},
                                                            {257, 2},
                                                            {1u << 16, 2},
                                                            {(1u << 16) + 1, 3},
                                                            {1u << 24, 3},
                                                            {(1u << 24) + 1, 4},
                                                            {~0u, 4}}) {
    ScriptedRandom random({0, symbols - 1});  // not kept; the last symbol
    const Any any(1, symbols);
    ASSERT_OK_AND_ASSIGN(const std::string last, any.Randomize({0, 0}, 0, random));
    EXPECT_EQ(last.size(), bytes) << symbols;
    EXPECT_OK(any.Check(last));
    EXPECT_NEAR(*any.OutputProbability({0, 0}, 0, last), any.q(), 1e-15);
    EXPECT_THAT(any.Check(last + '\0'),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("length of a symbol")));
    EXPECT_THAT(any.Check(last.substr(1)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("length of a symbol")));
  }
}

TEST(SymbolResponseTest, TheLowByteComesFirst) {
  ScriptedRandom random({0, 0x030201});
  const Any any(1, 1u << 24);
  EXPECT_EQ(*any.Randomize({0, 0}, 0, random), "\x01\x02\x03");
  EXPECT_NEAR(*any.LogOutputProbability({2, 1}, 0, std::string("\x05\0\0", 3)), std::log(any.p()),
              1e-12);
}

TEST(SymbolResponseTest, SymbolsFromTheirNumberOnAreRefused) {
  const Any any(2, 300);
  EXPECT_OK(any.Check("\x2b\x01"));  // 299
  EXPECT_THAT(any.Check("\x2c\x01"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  EXPECT_THAT(any.Check("\x2b\x02"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
  EXPECT_THAT(any.LogOutputProbability({0, 0}, 0, "\x2c\x01"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no honest device")));
}

TEST(SymbolResponseTest, EveryDrawThatFailsIsPassedOn) {
  const Any any(4, 100);
  const auto randomize = [&any](PrivateRandom& random) { return any.Randomize({2, 1}, 3, random); };
  // The second draw is made, and may fail, whether the symbol is kept or not: else a source that
  // failed there would leave only true reports.
  ExpectEveryFailurePassedOn<std::string>({1, 7}, "#", randomize);   // kept: 35
  ExpectEveryFailurePassedOn<std::string>({0, 7}, "\7", randomize);  // not kept
  // A simulation first draws the column: 3, then not kept, then symbol 7.
  const auto into = [&any](PrivateRandom& random) -> StatusOr<std::vector<int64_t>> {
    std::vector<int64_t> sums(any.sum_size());
    const Status status = any.RandomizeInto({2, 1}, random, absl::MakeSpan(sums));
    if (!status.ok()) return status;
    return sums;
  };
  std::vector<int64_t> expected(400);
  expected[307] = 1;
  ExpectEveryFailurePassedOn<std::vector<int64_t>>({3, 0, 7}, expected, into);
  expected[307] = 0;
  expected[235] = 0;
  expected[225] = 1;
  ExpectEveryFailurePassedOn<std::vector<int64_t>>({2, 1, 7}, expected, into);
}

TEST(SymbolResponseTest, SumsCountSymbolsByColumn) {
  const Any any(3, 7);
  std::vector<int64_t> sums(any.sum_size(), 1);
  ASSERT_EQ(sums.size(), 21u);
  any.AddAll({{.payload = "\6", .column = 0},
              {.payload = "\1", .column = 2},
              {.payload = "\1", .column = 2}},
             absl::MakeSpan(sums));
  std::vector<int64_t> expected(21, 1);
  expected[6] = 2;
  expected[15] = 3;
  EXPECT_EQ(sums, expected);
}

}  // namespace
}  // namespace coppice
