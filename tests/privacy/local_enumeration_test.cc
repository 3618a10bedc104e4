// Each local mechanism's whole law, by running its very code through every branch of its random
// draws: it is the law that OutputProbability() states, and no two inputs can be told apart by more
// than epsilon.
//
// A mechanism joins by being in AllMechanismKinds() and by its line in CasesOf(), which gives
// domains small enough to walk; without one the test does not compile.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/ldp/local_mechanism.h"
#include "tests/privacy/privacy_loss.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::ProvenLoss;
using ::coppice::testing::Walk;
using ::coppice::testing::WalkAllBranches;

struct Case {
  MechanismKind kind;
  const char* epsilon;
  Domain domain;
  Walk walk;
  double found;  // the share of epsilon that the walk must find to be lost
};

// Laplace noise has a tail on every entry; a large epsilon keeps it short enough to walk. Its law
// for other epsilons is the same code with another ratio. A unary mechanism searches for the next
// lie, and stops at the last cell: steps beyond are one branch. (With one leaf the split encoding
// uses a quarter of its budget only.)
std::vector<Case> CasesOf(MechanismKind kind) {
  switch (kind) {
    case MechanismKind::kLaplaceSplit:
      return {{kind, "3", {1, 2}, {.cut_off = 1e-8}, 0.24},
              {kind, "6", {2, 2}, {.cut_off = 1e-6}, 0.3}};
    case MechanismKind::kLaplaceJoint:
      return {{kind, "3", {1, 2}, {.cut_off = 1e-8}, 0.99},
              {kind, "6", {2, 2}, {.cut_off = 1e-6}, 0.5}};
    case MechanismKind::kSymmetricUnary:
    case MechanismKind::kOptimizedUnary:
      return {{kind, "0.01", {2, 2}, {.lump_from = 4}, 0.99},
              {kind, "1", {2, 2}, {.lump_from = 4}, 0.99},
              {kind, "1", {1, 3}, {.lump_from = 3}, 0.99},
              {kind, "4", {2, 3}, {.lump_from = 6}, 0.99}};
  }
  return {};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const MechanismKind kind : AllMechanismKinds()) {
    for (const Case& one : CasesOf(kind)) cases.push_back(one);
  }
  return cases;
}

// What may be missing of a law.
constexpr double kMaxCut = 0.03;

class LocalEnumerationTest : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ =
      *MakeLocalMechanism(GetParam().kind, *Budget::Parse(GetParam().epsilon), GetParam().domain);
  std::vector<LeafLabel> Inputs() const {
    std::vector<LeafLabel> inputs;
    for (uint32_t leaf = 0; leaf < GetParam().domain.leaves; ++leaf) {
      for (uint32_t label = 0; label < GetParam().domain.classes; ++label) {
        inputs.push_back({leaf, label});
      }
    }
    return inputs;
  }

  Law<std::string> LawOf(LeafLabel input) const {
    return WalkAllBranches<std::string>(GetParam().walk, [&](PrivateRandom& random) {
      return mechanism_->Randomize(input, random);
    });
  }
};

class SimulatedSumsTest : public LocalEnumerationTest {};

// Two reports of more cells than this have too many branches.
std::vector<Case> CasesOfFewCells() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [](const Case& one) { return one.domain.cells() > 3; });
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<Case>& test) {
  std::string name = absl::StrCat(MechanismName(test.param.kind), "_", test.param.epsilon, "_",
                                  test.param.domain.leaves, "x", test.param.domain.classes);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, LocalEnumerationTest, ::testing::ValuesIn(Cases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, SimulatedSumsTest, ::testing::ValuesIn(CasesOfFewCells()), CaseName);

TEST_P(LocalEnumerationTest, TheCodeHasTheLawThatItStates) {
  for (const LeafLabel input : Inputs()) {
    const Law<std::string> law = LawOf(input);
    EXPECT_LE(law.cut, kMaxCut);
    EXPECT_NEAR(law.total() + law.cut, 1, 1e-9);
    for (const auto& [output, walked] : law.probability) {
      const double stated = *mechanism_->OutputProbability(input, output);
      EXPECT_LE(walked, stated * (1 + 1e-9));
      EXPECT_GE(walked, stated - law.cut - 1e-12);
    }
  }
}

TEST_P(LocalEnumerationTest, NoPairOfInputsIsToldApartByMoreThanEpsilon) {
  std::vector<Law<std::string>> laws;
  for (const LeafLabel input : Inputs()) laws.push_back(LawOf(input));
  const double epsilon = mechanism_->epsilon().epsilon();
  double worst = 0;
  for (const auto& p : laws) {
    for (const auto& q : laws) worst = std::max(worst, ProvenLoss(p, q));
  }
  EXPECT_LE(worst, epsilon + 1e-9);
  // And the walk sees what there is to see: it would find a mechanism that costs more.
  EXPECT_GE(worst, epsilon * GetParam().found);
}

// Simulations take two short cuts; the sums of a table of two rows have the same law in each.
TEST_P(SimulatedSumsTest, HaveTheLawOfAddedReports) {
  using Sums = std::vector<int64_t>;
  const Walk walk = {.cut_off = 1e-6, .lump_from = GetParam().walk.lump_from};
  const std::vector<LeafLabel> rows = {Inputs().front(), Inputs().back()};
  std::vector<uint64_t> rows_of(mechanism_->domain().cells());
  rows_of.front() = rows_of.back() = 1;
  const auto law = [&](auto draw) {
    return WalkAllBranches<Sums>(walk, [&](PrivateRandom& random) -> absl::StatusOr<Sums> {
      Sums sums(mechanism_->sum_size());
      const absl::Status status = draw(random, absl::MakeSpan(sums));
      if (!status.ok()) return status;
      return sums;
    });
  };
  const Law<Sums> one_by_one = law([&](PrivateRandom& random, absl::Span<int64_t> sums) {
    for (const LeafLabel row : rows) {
      const absl::Status status = mechanism_->RandomizeInto(row, random, sums);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
  const Law<Sums> at_once = law([&](PrivateRandom& random, absl::Span<int64_t> sums) {
    return mechanism_->RandomizeAllInto(rows_of, random, sums);
  });
  EXPECT_LE(one_by_one.cut, 0.15);
  EXPECT_LE(at_once.cut, 0.1);
  for (const auto& [sums, p] : one_by_one.probability) {
    EXPECT_NEAR(p, at_once.at(sums), one_by_one.cut + at_once.cut + 1e-9);
  }
  for (const auto& [sums, p] : at_once.probability) {
    EXPECT_NEAR(p, one_by_one.at(sums), one_by_one.cut + at_once.cut + 1e-9);
  }
}

}  // namespace
}  // namespace coppice
