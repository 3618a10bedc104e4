// Compares the code with tables that the proved models of statements.v make (check.py): the same
// draws are asked for, and their results give the same bytes. Where a domain is small the tables
// have every column, row and path; of large ones they have a sample.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "common/base/text.h"
#include "common/ldp/keep_rate.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/exp_bound.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

constexpr int kLeastRateRows = 700;
constexpr int kLeastReportRows = 3000;

std::ifstream Table(const std::string& name) {
  const char* const root = std::getenv("COPPICE_SOURCE_DIR");
  std::ifstream table(StrCat(root == nullptr ? "." : root, "/tests/proofs/", name));
  EXPECT_TRUE(table.good()) << name;
  return table;
}

absl::uint128 WideNumber(const std::string& digits) {
  absl::uint128 number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<uint64_t>(digit - '0');
  return number;
}

struct Rates {
  std::function<absl::uint128(const Budget&, uint64_t)> exp = ExpLowerBound;
  std::function<uint32_t(const Budget&, uint64_t)> decay = DecayRatio;
  std::function<uint32_t(const Budget&, uint64_t)> lie = LieRate;
  std::function<uint64_t(const Budget&, uint32_t, uint32_t)> keep = KeepRate;
};

// How many rows of the table differ from these functions; counts the rows.
int WrongRates(const Rates& rates, int& rows) {
  std::ifstream table = Table("rates.txt");
  int wrong = 0;
  rows = 0;
  std::string line;
  std::getline(table, line);  // the hash, which check.py compares
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string what;
    uint64_t nanos = 0;
    words >> what >> nanos;
    const Budget epsilon = *Budget::FromNanos(nanos);
    bool same = true;
    if (what == "exp") {
      uint64_t divisor = 0, decay = 0, lie = 0;
      std::string bound;
      words >> divisor >> bound >> decay >> lie;
      same = rates.exp(epsilon, divisor) == WideNumber(bound) &&
             rates.decay(epsilon, divisor) == decay && rates.lie(epsilon, divisor) == lie;
    } else {
      uint32_t kept = 0, symbols = 0;
      uint64_t rate = 0;
      words >> kept >> symbols >> rate;
      same = rates.keep(epsilon, kept, symbols) == rate;
    }
    EXPECT_FALSE(words.fail()) << line;
    ++rows;
    if (!same) ++wrong;
  }
  return wrong;
}

TEST(ModelTablesTest, RatesAreThoseOfTheModel) {
  int rows = 0;
  EXPECT_EQ(WrongRates({}, rows), 0);
  EXPECT_GE(rows, kLeastRateRows);
}

TEST(ModelTablesTest, FindsRatesThatAreRoundedTheOtherWay) {
  int rows = 0;
  EXPECT_GT(
      WrongRates({.keep = [](const Budget& epsilon, uint32_t kept,
                             uint32_t symbols) { return KeepRate(epsilon, kept, symbols) + 1; }},
                 rows),
      0);
  EXPECT_GT(WrongRates({.lie = [](const Budget& epsilon,
                                  uint64_t divisor) { return LieRate(epsilon, divisor) - 1; }},
                       rows),
            0);
  EXPECT_GT(
      WrongRates({.exp = [](const Budget& epsilon,
                            uint64_t divisor) { return ExpLowerBound(epsilon, divisor) + 1; }},
                 rows),
      0);
}

// What a program asks for, and what it is told.
struct Draw {
  char kind = 0;  // u: uniform below a; b: Bernoulli(a / b); g: geometric with ratio a / 2^32
  uint64_t a = 0, b = 0;
  uint64_t result = 0;
};

// Gives the results of a script, in its order, to requests that are the script's. Any other request
// is an error.
class ScriptedRandom final : public PrivateRandom {
 public:
  explicit ScriptedRandom(const std::vector<Draw>& script) : script_(script) {}

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override { return Next('u', bound, 0); }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    const StatusOr<uint64_t> result = Next('b', numerator, denominator);
    if (!result.ok()) return result.status();
    return *result == 1;
  }
  StatusOr<uint64_t> Binomial(uint64_t /*trials*/, uint32_t /*numerator*/) override {
    return InternalError("no device draws this");
  }
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    for (SignedSteps& draw : out) {
      const StatusOr<uint64_t> result = Next('g', table.numerator(), 0);
      if (!result.ok()) return result.status();
      draw = static_cast<SignedSteps>(*result);
    }
    return OkStatus();
  }

  bool is_at_end() const { return next_ == script_.size(); }

 private:
  StatusOr<uint64_t> Next(char kind, uint64_t a, uint64_t b) {
    if (is_at_end()) return InternalError("a draw more than the model makes");
    const Draw& draw = script_[next_++];
    if (draw.kind != kind || draw.a != a || draw.b != b) {
      return InternalError(StrCat("draw ", next_, " is another one than the model's"));
    }
    return draw.result;
  }

  const std::vector<Draw>& script_;
  size_t next_ = 0;
};

// Stands between a mechanism and its draws, as a mistake in the mechanism would.
using Mistake = std::function<std::unique_ptr<PrivateRandom>(PrivateRandom&)>;

struct Compared {
  int rows = 0;
  int wrong = 0;
  std::string first_wrong;
};

std::unique_ptr<LocalMechanism> MechanismOf(std::istringstream& words) {
  int kind = 0;
  uint64_t nanos = 0;
  Domain domain;
  Window window;
  uint32_t columns = 0;
  words >> kind >> nanos >> domain.leaves >> domain.classes >> window.reach >> window.half_width >>
      columns;
  if (window.reach > 0) domain.window = window;
  auto mechanism =
      MakeLocalMechanism(static_cast<MechanismKind>(kind), *Budget::FromNanos(nanos), domain);
  EXPECT_OK(mechanism);
  if (!mechanism.ok()) return nullptr;
  EXPECT_EQ((*mechanism)->columns(), columns) << words.str();
  return *std::move(mechanism);
}

// One row: LEAF label LABEL COLUMN DRAWS... = PAYLOAD, or `place` and a number of 2^-53.
struct Row {
  uint32_t leaf = 0;
  bool is_label = true;
  uint64_t at = 0;
  uint32_t column = 0;
  std::vector<Draw> draws;
  std::string payload;
};

Row ParseRow(const std::string& line) {
  std::istringstream words(line);
  Row row;
  std::string kind;
  words >> row.leaf >> kind >> row.at >> row.column;
  row.is_label = kind == "label";
  while (words >> kind && kind != "=") {
    Draw draw{.kind = kind[0]};
    words >> draw.a;
    if (draw.kind == 'b') words >> draw.b;
    words >> draw.result;
    row.draws.push_back(draw);
  }
  std::string digits;
  words >> digits;
  EXPECT_FALSE(words.fail()) << line;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    row.payload += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return row;
}

// Why the code does not do what the row says; empty if it does.
std::string Difference(const LocalMechanism& mechanism, const Row& row, const Mistake& mistake) {
  ScriptedRandom script(row.draws);
  const std::unique_ptr<PrivateRandom> mistaken = mistake ? mistake(script) : nullptr;
  PrivateRandom& random = mistaken ? *mistaken : script;
  std::string payload;
  const Status status =
      row.is_label ? mechanism.Randomize({.leaf = row.leaf, .label = static_cast<uint32_t>(row.at)},
                                         row.column, random, payload)
                   : mechanism.RandomizeNumber(
                         {.leaf = row.leaf, .place = std::ldexp(static_cast<double>(row.at), -53)},
                         row.column, random, payload);
  if (!status.ok()) return status.ToString();
  if (!script.is_at_end()) return "fewer draws than the model makes";
  if (payload != row.payload) return "another payload than the model's";
  return "";
}

Compared CompareReports(std::optional<MechanismKind> only, const Mistake& mistake) {
  Compared compared;
  std::ifstream table = Table("reports.txt");
  std::unique_ptr<LocalMechanism> mechanism;
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    if (line.starts_with("case ")) {
      std::istringstream words(line.substr(5));
      mechanism = MechanismOf(words);
      if (mechanism == nullptr) return compared;
      continue;
    }
    if (only.has_value() && mechanism->kind() != *only) continue;
    ++compared.rows;
    const std::string difference = Difference(*mechanism, ParseRow(line), mistake);
    if (difference.empty()) continue;
    if (compared.wrong++ == 0) {
      compared.first_wrong = StrCat(MechanismName(mechanism->kind()), ": ", line, ": ", difference);
    }
  }
  return compared;
}

TEST(ModelTablesTest, ReportsAreThoseOfTheModel) {
  const Compared compared = CompareReports(std::nullopt, nullptr);
  EXPECT_EQ(compared.wrong, 0) << compared.first_wrong;
  EXPECT_GE(compared.rows, kLeastReportRows);
}

// Passes draws on, but changes what is asked for or what is told.
class MistakenRandom : public PrivateRandom {
 public:
  explicit MistakenRandom(PrivateRandom& right) : right_(right) {}
  StatusOr<uint64_t> UniformBelow(uint64_t bound) override { return right_.UniformBelow(bound); }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    return right_.Bernoulli(numerator, denominator);
  }
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) override {
    return right_.Binomial(trials, numerator);
  }
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    return right_.Geometric(table, out);
  }

 protected:
  PrivateRandom& right() { return right_; }

 private:
  PrivateRandom& right_;
};

class OneSymbolTooFew final : public MistakenRandom {
 public:
  using MistakenRandom::MistakenRandom;
  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    return right().UniformBelow(bound - 1);
  }
};

class OneRateTooLarge final : public MistakenRandom {
 public:
  using MistakenRandom::MistakenRandom;
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    return right().Bernoulli(numerator + 1, denominator);
  }
};

// A published library once left the last bit of a vector as it was.
class NeverDrawn final : public MistakenRandom {
 public:
  using MistakenRandom::MistakenRandom;
  StatusOr<bool> Bernoulli(uint64_t /*numerator*/, uint64_t /*denominator*/) override {
    return true;
  }
};

template <typename Random>
Mistake Make() {
  return [](PrivateRandom& right) { return std::make_unique<Random>(right); };
}

class PlantedMistakeTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, PlantedMistakeTest,
                         ::testing::Values(MechanismKind::kSymmetricUnary,
                                           MechanismKind::kOptimizedUnary, MechanismKind::kDirect,
                                           MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing,
                                           MechanismKind::kSignedHadamard,
                                           MechanismKind::kWindowResponse),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(PlantedMistakeTest, IsFound) {
  const Compared rate = CompareReports(GetParam(), Make<OneRateTooLarge>());
  EXPECT_EQ(rate.wrong, rate.rows);
  const Compared undrawn = CompareReports(GetParam(), Make<NeverDrawn>());
  EXPECT_EQ(undrawn.wrong, undrawn.rows);
  EXPECT_GT(rate.rows, 100);
}

// Bits are drawn by steps, and not by uniform numbers.
class PlantedSymbolTest : public ::testing::TestWithParam<MechanismKind> {};

INSTANTIATE_TEST_SUITE_P(All, PlantedSymbolTest,
                         ::testing::Values(MechanismKind::kDirect, MechanismKind::kHadamardResponse,
                                           MechanismKind::kLocalHashing,
                                           MechanismKind::kSignedHadamard,
                                           MechanismKind::kWindowResponse),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(PlantedSymbolTest, OneTooFewIsFound) {
  EXPECT_GT(CompareReports(GetParam(), Make<OneSymbolTooFew>()).wrong, 0);
}

}  // namespace
}  // namespace coppice
