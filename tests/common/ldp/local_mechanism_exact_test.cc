// Every mechanism's whole law on small domains, from OutputProbability(): it is a law, and every
// pair of inputs stays within exp(epsilon) for every output.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/ldp/bit_payload.h"
#include "common/ldp/integer_payload.h"
#include "common/ldp/local_mechanism.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

constexpr double kRounding = 1e-9;  // of sums of logarithms in doubles

bool IsLaplace(MechanismKind kind) {
  return kind == MechanismKind::kLaplaceSplit || kind == MechanismKind::kLaplaceJoint;
}

// All vectors of `size` integers within [low, high], encoded.
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

std::vector<std::string> BitOutputs(size_t bits) {
  std::vector<std::string> outputs;
  for (uint32_t pattern = 0; pattern < 1u << bits; ++pattern) {
    std::string payload(BitPayloadBytes(bits), '\0');
    for (size_t bit = 0; bit < bits; ++bit) {
      if ((pattern >> bit & 1) != 0) FlipBit(payload, bit);
    }
    outputs.push_back(payload);
  }
  return outputs;
}

struct Case {
  MechanismKind kind;
  const char* epsilon;
  Domain domain;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const MechanismKind kind : AllMechanismKinds()) {
    for (const char* epsilon : {"0.01", "0.5", "1", "3", "20"}) {
      for (const Domain domain : {Domain{1, 2}, Domain{2, 2}, Domain{2, 3}, Domain{3, 2}}) {
        // Laplace outputs are a grid of side 4 in as many dimensions as there are cells.
        if (!IsLaplace(kind) || domain.cells() <= 6) cases.push_back({kind, epsilon, domain});
      }
    }
  }
  return cases;
}

class LocalMechanismExactTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    mechanism_ =
        *MakeLocalMechanism(GetParam().kind, *Budget::Parse(GetParam().epsilon), GetParam().domain);
    // The ratio of two densities of a Laplace vector depends on each entry only by whether it lies
    // left of, between or right of the two means, which are 0 or 1: -1..2 has every case.
    outputs_ = IsLaplace(GetParam().kind) ? IntegerOutputs(mechanism_->sum_size(), -1, 2)
                                          : BitOutputs(mechanism_->sum_size());
  }

  std::vector<LeafLabel> Inputs() const {
    std::vector<LeafLabel> inputs;
    for (uint32_t leaf = 0; leaf < GetParam().domain.leaves; ++leaf) {
      for (uint32_t label = 0; label < GetParam().domain.classes; ++label) {
        inputs.push_back({leaf, label});
      }
    }
    return inputs;
  }

  std::unique_ptr<LocalMechanism> mechanism_;
  std::vector<std::string> outputs_;
};

class BitReportExactTest : public LocalMechanismExactTest {};

std::string CaseName(const ::testing::TestParamInfo<Case>& test) {
  std::string name = absl::StrCat(MechanismName(test.param.kind), "_", test.param.epsilon, "_",
                                  test.param.domain.leaves, "x", test.param.domain.classes);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::vector<Case> BitReportCases() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [](const Case& one) { return IsLaplace(one.kind); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LocalMechanismExactTest, ::testing::ValuesIn(Cases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, BitReportExactTest, ::testing::ValuesIn(BitReportCases()), CaseName);

// The largest log ratio over all pairs of inputs and all outputs.
double WorstLoss(const LocalMechanism& mechanism, const std::vector<LeafLabel>& inputs,
                 const std::vector<std::string>& outputs) {
  double worst = 0;
  for (const std::string& output : outputs) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const LeafLabel input : inputs) {
      const double log_probability = *mechanism.LogOutputProbability(input, output);
      least = std::min(least, log_probability);
      most = std::max(most, log_probability);
    }
    worst = std::max(worst, most - least);
  }
  return worst;
}

TEST_P(LocalMechanismExactTest, EveryPairOfInputsStaysWithinEpsilon) {
  const double epsilon = mechanism_->epsilon().epsilon();
  const double loss = WorstLoss(*mechanism_, Inputs(), outputs_);
  EXPECT_LE(loss, epsilon + kRounding);
  // And the budget is used, not wasted: the bound is met but for the rounding of the rates. (With
  // one leaf the split encoding cannot use the leaf's half of its budget.)
  const bool one_leaf_split =
      GetParam().kind == MechanismKind::kLaplaceSplit && GetParam().domain.leaves == 1;
  EXPECT_GE(loss, one_leaf_split ? 0 : epsilon * 0.999);
}

// (laplace_noise_test sums the law of one entry of the others.)
TEST_P(BitReportExactTest, ProbabilitiesSumToOne) {
  for (const LeafLabel input : Inputs()) {
    double total = 0;
    for (const std::string& output : outputs_) {
      total += *mechanism_->OutputProbability(input, output);
    }
    EXPECT_NEAR(total, 1, kRounding);
  }
}

// The check above must be able to fail: a mechanism that claims less than it costs.
TEST(LocalMechanismExactTwin, ALargerBudgetIsFoundOut) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    const Domain domain{2, 2};
    const auto costs_two = *MakeLocalMechanism(kind, *Budget::Parse("2"), domain);
    const auto outputs = IsLaplace(kind) ? IntegerOutputs(4, -1, 2) : BitOutputs(4);
    EXPECT_GT(WorstLoss(*costs_two, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, outputs), 1.9)
        << MechanismName(kind);
  }
}

}  // namespace
}  // namespace coppice
