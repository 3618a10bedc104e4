// The whole law of each local mechanism, from running its code through every branch of its random
// draws: it is the law that OutputProbability() states, and no two inputs can be told apart by more
// than epsilon.
//
// A mechanism joins by being in AllMechanismKinds() and by its line in CasesOf(), which gives
// domains small enough to walk; without one the test does not compile.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/local_mechanism.h"
#include "tests/privacy/privacy_loss.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::ProvenLoss;
using ::coppice::testing::ValuesOf;
using ::coppice::testing::Walk;
using ::coppice::testing::WalkAllBranches;

struct Case {
  MechanismKind kind;
  const char* epsilon;
  Domain domain;
  Walk walk;
  double found;  // the share of epsilon that the walk must find to be lost
};

// Laplace noise has a tail on every entry, which a large epsilon keeps short enough to walk; other
// epsilons run the same code with another ratio. A unary mechanism searches for the next flipped
// cell and stops at the last one, so steps beyond it are one branch. (With one leaf the split
// encoding uses only a quarter of its budget.)
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
    case MechanismKind::kSubsetSelection:  // sets of 1, 2, 3 and 3; the third by bits
      return {{kind, "1", {1, 3}, {}, 0.99},
              {kind, "0.5", {2, 3}, {}, 0.99},
              {kind, "0.01", {2, 3}, {}, 0.99},
              {kind, "1.4", {8, 2}, {}, 0.99}};
    case MechanismKind::kDirect:
      return {{kind, "1", {1, 2}, {}, 0.99},
              {kind, "0.01", {1, 3}, {}, 0.99},
              {kind, "4", {3, 3}, {}, 0.99}};
    case MechanismKind::kHadamardResponse:  // 1, 1, 4 and 8 blocks
      return {{kind, "1", {1, 2}, {}, 0.99},
              {kind, "0.01", {2, 3}, {}, 0.99},
              {kind, "2", {3, 3}, {}, 0.99},
              {kind, "3", {5, 2}, {}, 0.99}};
    case MechanismKind::kLocalHashing:  // 1, 1, 2 and 3 digits
      return {{kind, "1", {1, 2}, {}, 0.99},
              {kind, "1", {2, 2}, {}, 0.99},
              {kind, "0.7", {3, 3}, {}, 0.99},
              {kind, "0.5", {8, 2}, {}, 0.99}};
    case MechanismKind::kSignedHadamard:
      return {{kind, "1", {1, 2}, {}, 0.99},
              {kind, "0.01", {2, 2}, {}, 0.99},
              {kind, "4", {5, 2}, {}, 0.99}};
    case MechanismKind::kWindowResponse: {  // the best windows, and the narrowest and the widest
      const auto with = [](uint32_t reach, uint32_t half_width) {
        return Domain{.leaves = 1, .classes = 2, .window = Window{reach, half_width}};
      };
      return {{kind, "0.01", {1, 2}, {}, 0.99},  {kind, "1", {1, 2}, {}, 0.99},
              {kind, "2", with(1, 0), {}, 0.99}, {kind, "3", with(63, 0), {}, 0.99},
              {kind, "4", with(6, 5), {}, 0.99}, {kind, "20", with(9, 3), {.cut_off = 0}, 0.99}};
    }
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

std::unique_ptr<LocalMechanism> MechanismOf(const Case& one) {
  return *MakeLocalMechanism(one.kind, *Budget::Parse(one.epsilon), one.domain);
}

// The most mass that may be cut off a law.
constexpr double kMaxCut = 0.03;

class LocalEnumerationTest : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<LocalMechanism> mechanism_ = MechanismOf(GetParam());
  std::vector<LeafLabel> Inputs() const { return ValuesOf(GetParam().domain); }

  Law<std::string> LawOf(LeafLabel input, uint32_t column) const {
    return WalkAllBranches<std::string>(GetParam().walk, [&](PrivateRandom& random) {
      return mechanism_->Randomize(input, column, random);
    });
  }
};

class SimulatedSumsTest : public LocalEnumerationTest {};

class DrawnColumnTest : public LocalEnumerationTest {
 protected:
  // What the curator sees: the report with its column, drawn as a ticket draws it.
  using Seen = std::pair<uint64_t, std::string>;
  Law<Seen> LawWithColumn(LeafLabel input) const {
    return WalkAllBranches<Seen>(GetParam().walk, [&](PrivateRandom& random) -> StatusOr<Seen> {
      COPPICE_ASSIGN_OR_RETURN(const uint64_t column, random.UniformBelow(mechanism_->columns()));
      COPPICE_ASSIGN_OR_RETURN(std::string payload,
                               mechanism_->Randomize(input, static_cast<uint32_t>(column), random));
      return Seen(column, std::move(payload));
    });
  }
};

// Leaves out larger domains and windows: two reports have too many branches there.
std::vector<Case> CasesOfFewCells() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [](const Case& one) {
    return one.domain.cells() > 3 || MechanismOf(one)->window().value_or(Window()).reach > 6;
  });
  return cases;
}

std::vector<Case> CasesOfColumns() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [](const Case& one) { return MechanismOf(one)->columns() == 1; });
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<Case>& test) {
  std::string name = StrCat(MechanismName(test.param.kind), "_", test.param.epsilon, "_",
                            test.param.domain.leaves, "x", test.param.domain.classes);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, LocalEnumerationTest, ::testing::ValuesIn(Cases()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, DrawnColumnTest, ::testing::ValuesIn(CasesOfColumns()), CaseName);
INSTANTIATE_TEST_SUITE_P(All, SimulatedSumsTest, ::testing::ValuesIn(CasesOfFewCells()), CaseName);

TEST_P(LocalEnumerationTest, TheCodeHasTheLawThatItStates) {
  for (uint32_t column = 0; column < mechanism_->columns(); ++column) {
    for (const LeafLabel input : Inputs()) {
      const Law<std::string> law = LawOf(input, column);
      EXPECT_LE(law.cut, kMaxCut);
      EXPECT_NEAR(law.total() + law.cut, 1, 1e-9);
      for (const auto& [output, walked] : law.probability) {
        const double stated = *mechanism_->OutputProbability(input, column, output);
        EXPECT_LE(walked, stated * (1 + 1e-9));
        EXPECT_GE(walked, stated - law.cut - 1e-12);
      }
    }
  }
}

// The largest loss over all pairs of inputs.
template <typename Output>
double WorstLoss(const std::vector<Law<Output>>& laws) {
  double worst = 0;
  for (const auto& p : laws) {
    for (const auto& q : laws) worst = std::max(worst, ProvenLoss(p, q));
  }
  return worst;
}

TEST_P(LocalEnumerationTest, NoPairOfInputsIsToldApartByMoreThanEpsilon) {
  const double epsilon = Budget::Parse(GetParam().epsilon)->epsilon();
  double worst = 0;  // in any column: whoever chooses it gains nothing
  for (uint32_t column = 0; column < mechanism_->columns(); ++column) {
    std::vector<Law<std::string>> laws;
    for (const LeafLabel input : Inputs()) laws.push_back(LawOf(input, column));
    worst = std::max(worst, WorstLoss(laws));
  }
  EXPECT_LE(worst, epsilon + 1e-9);
  // The walk is not blind: it would find a mechanism that costs more.
  EXPECT_GE(worst, epsilon * GetParam().found);
}

TEST_P(DrawnColumnTest, TellsNoPairOfInputsApartByMoreThanEpsilonEither) {
  std::vector<Law<Seen>> laws;
  for (const LeafLabel input : Inputs()) laws.push_back(LawWithColumn(input));
  for (size_t i = 0; i < laws.size(); ++i) {
    EXPECT_NEAR(laws[i].total() + laws[i].cut, 1, 1e-9);
    for (const auto& [seen, walked] : laws[i].probability) {
      const double stated = *mechanism_->OutputProbability(
          Inputs()[i], static_cast<uint32_t>(seen.first), seen.second);
      EXPECT_NEAR(walked, stated / mechanism_->columns(), 1e-9);
    }
  }
  const double epsilon = Budget::Parse(GetParam().epsilon)->epsilon();
  EXPECT_LE(WorstLoss(laws), epsilon + 1e-9);
  EXPECT_GE(WorstLoss(laws), epsilon * GetParam().found);
}

// A number between two ends, which are the labels.
class NumberLawTest : public LocalEnumerationTest {
 protected:
  Law<std::string> LawOfNumber(double place, uint32_t column) const {
    return WalkAllBranches<std::string>(
        GetParam().walk, [&](PrivateRandom& random) -> StatusOr<std::string> {
          std::string payload;
          COPPICE_RETURN_IF_ERROR(
              mechanism_->RandomizeNumber({.leaf = 0, .place = place}, column, random, payload));
          return payload;
        });
  }
};

std::vector<Case> CasesOfNumbers() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases, [](const Case& one) {
    return !(one.domain == Domain{1, 2, one.domain.window});
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, NumberLawTest, ::testing::ValuesIn(CasesOfNumbers()), CaseName);

TEST_P(NumberLawTest, IsTheStatedOneAndNoTwoAreToldApartByMoreThanEpsilon) {
  const double epsilon = Budget::Parse(GetParam().epsilon)->epsilon();
  double worst = 0;
  for (uint32_t column = 0; column < mechanism_->columns(); ++column) {
    std::vector<Law<std::string>> laws = {LawOf({0, 0}, column), LawOf({0, 1}, column)};
    for (const double place : {0.0, 0.1, 0.5, 0.7, 1.0}) {
      laws.push_back(LawOfNumber(place, column));
      const Law<std::string>& law = laws.back();
      EXPECT_LE(law.cut, kMaxCut);
      EXPECT_NEAR(law.total() + law.cut, 1, 1e-9);
      for (const auto& [output, walked] : law.probability) {
        const double stated = *mechanism_->NumberProbability({0, place}, column, output);
        EXPECT_LE(walked, stated * (1 + 1e-9));
        EXPECT_GE(walked, stated - law.cut - 1e-12);
      }
    }
    worst = std::max(worst, WorstLoss(laws));
  }
  EXPECT_LE(worst, epsilon + 1e-9);
  EXPECT_GE(worst, epsilon * GetParam().found);
}

// Simulations take two short cuts; a table of two rows has the same law of sums by each.
TEST_P(SimulatedSumsTest, HaveTheLawOfAddedReports) {
  using Sums = std::vector<int64_t>;
  const Walk walk = {.cut_off = 1e-6, .lump_from = GetParam().walk.lump_from};
  const std::vector<LeafLabel> rows = {Inputs().front(), Inputs().back()};
  std::vector<uint64_t> rows_of(mechanism_->domain().cells());
  rows_of.front() = rows_of.back() = 1;
  const auto law = [&](auto draw) {
    return WalkAllBranches<Sums>(walk, [&](PrivateRandom& random) -> StatusOr<Sums> {
      Sums sums(mechanism_->sum_size());
      const Status status = draw(random, absl::MakeSpan(sums));
      if (!status.ok()) return status;
      return sums;
    });
  };
  const Law<Sums> one_by_one = law([&](PrivateRandom& random, absl::Span<int64_t> sums) {
    for (const LeafLabel row : rows) {
      const Status status = mechanism_->RandomizeInto(row, random, sums);
      if (!status.ok()) return status;
    }
    return OkStatus();
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
