// Checks every mechanism's whole law on small domains, from OutputProbability(): it sums to one,
// and every pair of inputs stays within exp(epsilon) for every output.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/integer_payload.h"
#include "tests/common/ldp/mechanism_case.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::CaseName;
using ::coppice::testing::DomainFor;
using ::coppice::testing::IsLaplace;
using ::coppice::testing::MechanismCase;
using ::coppice::testing::ValuesOf;

constexpr double kRounding = 1e-9;  // of sums of logarithms in doubles

// Encodes all vectors of `size` integers within [low, high].
std::vector<std::string> IntegerOutputs(size_t size, int32_t low, int32_t high) {
  std::vector<std::string> outputs;
  std::vector<int32_t> entries(size, low);
  while (true) {
    outputs.push_back(EncodeIntegers(entries));
    size_t at = 0;
    while (at < size && entries[at] == high) entries[at++] = low;
    if (at == size) return outputs;
    ++entries[at];
  }
}

std::vector<MechanismCase> Cases() {
  std::vector<MechanismCase> cases;
  for (const MechanismKind kind : AllMechanismKinds()) {
    for (const char* epsilon : {"0.01", "0.5", "1", "3", "20"}) {
      for (const Domain domain : {Domain{1, 2}, Domain{2, 2}, Domain{2, 3}, Domain{3, 2}}) {
        if (domain == DomainFor(kind, domain)) cases.push_back({kind, epsilon, domain});
      }
    }
  }
  return cases;
}

class LocalMechanismExactTest : public ::testing::TestWithParam<MechanismCase> {
 protected:
  void SetUp() override {
    mechanism_ =
        *MakeLocalMechanism(GetParam().kind, *Budget::Parse(GetParam().epsilon), GetParam().domain);
    // The ratio of two densities of a Laplace vector depends on each entry only by whether it lies
    // left of, between or right of the two means, which are 0 or 1: -1..2 has every case.
    outputs_ = IsLaplace(GetParam().kind) ? IntegerOutputs(mechanism_->sum_size(), -1, 2)
                                          : AcceptedPayloads(*mechanism_);
  }

  std::unique_ptr<LocalMechanism> mechanism_;
  std::vector<std::string> outputs_;
};

class FiniteReportExactTest : public LocalMechanismExactTest {};

std::vector<MechanismCase> FiniteReportCases() {
  std::vector<MechanismCase> cases = Cases();
  std::erase_if(cases, [](const MechanismCase& one) { return IsLaplace(one.kind); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LocalMechanismExactTest, ::testing::ValuesIn(Cases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, FiniteReportExactTest, ::testing::ValuesIn(FiniteReportCases()),
                         CaseName);

// The largest log ratio over all pairs of inputs and all outputs, in one column.
double LossInColumn(const LocalMechanism& mechanism, uint32_t column,
                    const std::vector<std::string>& outputs) {
  double worst = 0;
  for (const std::string& output : outputs) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const LeafLabel input : ValuesOf(mechanism.domain())) {
      const double log_probability = *mechanism.LogOutputProbability(input, column, output);
      least = std::min(least, log_probability);
      most = std::max(most, log_probability);
    }
    worst = std::max(worst, most - least);
  }
  return worst;
}

double WorstLoss(const LocalMechanism& mechanism, const std::vector<std::string>& outputs) {
  double worst = 0;
  for (uint32_t column = 0; column < mechanism.columns(); ++column) {
    worst = std::max(worst, LossInColumn(mechanism, column, outputs));
  }
  return worst;
}

TEST_P(LocalMechanismExactTest, EveryPairOfInputsStaysWithinEpsilon) {
  const double epsilon = Budget::Parse(GetParam().epsilon)->epsilon();
  EXPECT_EQ(mechanism_->epsilon().epsilon(), epsilon) << "claims another";
  const double loss = WorstLoss(*mechanism_, outputs_);
  EXPECT_LE(loss, epsilon + kRounding);
  // The mechanism also uses its whole budget, but for the rounding of the rates. (With one leaf the
  // split encoding cannot use the leaf's half of its budget.)
  const bool one_leaf_split =
      GetParam().kind == MechanismKind::kLaplaceSplit && GetParam().domain.leaves == 1;
  EXPECT_GE(loss, one_leaf_split ? 0 : epsilon * 0.999);
}

// (laplace_noise_test sums the law of one entry of the other mechanisms.)
TEST_P(FiniteReportExactTest, ProbabilitiesSumToOne) {
  for (uint32_t column = 0; column < mechanism_->columns(); ++column) {
    for (const LeafLabel input : ValuesOf(GetParam().domain)) {
      double total = 0;
      for (const std::string& output : outputs_) {
        total += *mechanism_->OutputProbability(input, column, output);
      }
      EXPECT_NEAR(total, 1, kRounding);
    }
  }
}

// The check above must be able to fail: this mechanism claims less than it costs.
TEST(LocalMechanismExactTwin, ALargerBudgetIsFoundOut) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    const Domain domain = DomainFor(kind, {2, 2});
    const auto costs_two = *MakeLocalMechanism(kind, *Budget::Parse("2"), domain);
    const auto outputs = IsLaplace(kind) ? IntegerOutputs(4, -1, 2) : AcceptedPayloads(*costs_two);
    EXPECT_GT(WorstLoss(*costs_two, outputs), 1.9) << MechanismName(kind);
  }
}

}  // namespace
}  // namespace coppice
