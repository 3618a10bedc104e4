// Checks the gain from shuffling by enumeration of our own mechanisms: the mass that each states,
// and the exact divergence of a few reports over all deals and all ordered outputs.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/ldp/amplification.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/integer_payload.h"
#include "tests/support/local_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::AcceptedPayloads;
using ::coppice::testing::DomainFor;
using ::coppice::testing::IsLaplace;
using ::coppice::testing::ValuesOf;

// A randomizer: law[row][output].
using Law = std::vector<std::vector<double>>;

// With a window of few outputs, for enumeration.
std::unique_ptr<LocalMechanism> Make(MechanismKind kind, const char* epsilon, Domain domain) {
  domain = DomainFor(kind, domain);
  domain.window = Window{.reach = 3, .half_width = 1};
  return *MakeLocalMechanism(kind, *Budget::Parse(epsilon), domain);
}

// Returns all payloads; for a Laplace mechanism on two cells those near the means, each with no
// more than its own probability.
std::vector<std::string> ListOutputs(const LocalMechanism& mechanism, int32_t reach) {
  if (!IsLaplace(mechanism.kind())) return AcceptedPayloads(mechanism);
  std::vector<std::string> outputs;
  for (int32_t first = -reach; first <= reach + 1; ++first) {
    for (int32_t second = -reach; second <= reach + 1; ++second) {
      const std::vector<int32_t> entries = {first, second};
      outputs.push_back(EncodeIntegers(entries));
    }
  }
  return outputs;
}

Law LawOf(const LocalMechanism& mechanism, uint32_t column, int32_t reach) {
  const std::vector<std::string> outputs = ListOutputs(mechanism, reach);
  Law law;
  for (const LeafLabel row : ValuesOf(mechanism.domain())) {
    std::vector<double>& of_row = law.emplace_back();
    for (const std::string& output : outputs) {
      of_row.push_back(*mechanism.OutputProbability(row, column, output));
    }
  }
  return law;
}

std::vector<double> BlanketOf(const Law& law) {
  std::vector<double> blanket = law[0];
  for (const std::vector<double>& of_row : law) {
    for (size_t y = 0; y < blanket.size(); ++y) blanket[y] = std::min(blanket[y], of_row[y]);
  }
  return blanket;
}

// The maximum over pairs of rows of sum_y b(y) (u - 1) (E - v) / (E - 1)^2.
double MassOf(const Law& law, double e) {
  const std::vector<double> blanket = BlanketOf(law);
  double worst = 0;
  for (const std::vector<double>& first : law) {
    for (const std::vector<double>& second : law) {
      double sum = 0;
      for (size_t y = 0; y < blanket.size(); ++y) {
        if (blanket[y] == 0) continue;
        sum += (first[y] - blanket[y]) * (e - second[y] / blanket[y]);
      }
      worst = std::max(worst, sum / ((e - 1) * (e - 1)));
    }
  }
  return worst;
}

TEST(TwoSidedMassTest, CoversTheWholeLawOfEveryMechanismAndIsReached) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    for (const char* epsilon : {"0.01", "0.5", "2", "4", "9", "20"}) {
      for (const Domain domain : {Domain{1, 2}, Domain{2, 2}, Domain{2, 3}}) {
        if (IsLaplace(kind) && domain.cells() > 2) continue;
        if (domain != DomainFor(kind, domain)) continue;
        SCOPED_TRACE(
            StrCat(MechanismName(kind), " ", epsilon, " ", domain.leaves, "x", domain.classes));
        const auto mechanism = Make(kind, epsilon, domain);
        const double e = std::exp(mechanism->epsilon().epsilon());
        double worst = 0;
        for (uint32_t column = 0; column < mechanism->columns(); ++column) {
          worst = std::max(worst, MassOf(LawOf(*mechanism, column, 20), e));
        }
        // 1e-9 is for OutputProbability(), a double near 1 in places.
        EXPECT_LE(worst, mechanism->TwoSidedMass() * (1 + 1e-9));
        EXPECT_LE(mechanism->TwoSidedMass(), MaxTwoSidedMass(mechanism->epsilon()));
        // The rates for one cell have 32 bits: at epsilon 20 their rounding shows.
        if (!IsLaplace(kind)) {
          EXPECT_GE(worst, mechanism->TwoSidedMass() * 0.9);
        }
      }
    }
  }
}

// delta(epsilon) between the victim's rows 0 and 1, with the others' rows known: randomizer i gets
// a uniformly random device's row, and its output is seen.
class ExactDivergence {
 public:
  ExactDivergence(const std::vector<Law>& laws, const std::vector<size_t>& others)
      : laws_(laws), others_(others), output_(laws.size(), 0) {}

  double At(double epsilon) {
    double sum = 0;
    while (true) {
      sum +=
          std::max(0.0, ProbabilityIfVictimHas(0) - std::exp(epsilon) * ProbabilityIfVictimHas(1));
      size_t at = 0;
      while (at < output_.size() && ++output_[at] == laws_[at][0].size()) output_[at++] = 0;
      if (at == output_.size()) return sum;
    }
  }

 private:
  double ProbabilityIfVictimHas(size_t row) const {
    std::vector<size_t> device_of(laws_.size());
    std::iota(device_of.begin(), device_of.end(), 0);
    double sum = 0;
    int deals = 0;
    do {
      double product = 1;
      for (size_t i = 0; i < laws_.size(); ++i) {
        const size_t dealt = device_of[i] == 0 ? row : others_[device_of[i] - 1];
        product *= laws_[i][dealt][output_[i]];
      }
      sum += product;
      ++deals;
    } while (std::next_permutation(device_of.begin(), device_of.end()));
    return sum / deals;
  }

  const std::vector<Law>& laws_;
  const std::vector<size_t>& others_;
  std::vector<size_t> output_;
};

// All others have the victim's first row, all have its second row, and one has each.
std::vector<std::vector<size_t>> OthersRows(size_t others) {
  std::vector<std::vector<size_t>> rows = {std::vector<size_t>(others, 0),
                                           std::vector<size_t>(others, 1)};
  rows.push_back(rows[0]);
  for (size_t i = 0; i < others; i += 2) rows.back()[i] = 1;
  return rows;
}

// The exact delta as a share of the bound; the largest over several epsilons.
double LargestShare(const std::vector<Law>& laws, const Budget& local, double mass) {
  double largest = 0;
  for (const double share : {0.05, 0.3, 0.7}) {
    const auto nanos = static_cast<uint64_t>(share * static_cast<double>(local.nanos()));
    const double bound = *DeltaBound({laws.size(), local, mass}, nanos);
    for (const std::vector<size_t>& others : OthersRows(laws.size() - 1)) {
      const double exact =
          ExactDivergence(laws, others).At(static_cast<double>(nanos) / Budget::kNanosPerEpsilon);
      EXPECT_LE(exact, bound);
      largest = std::max(largest, exact / bound);
    }
  }
  return largest;
}

// Half the mass would not cover even a single report.
TEST(DeltaBoundLawTest, OneReportReachesTheBound) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    if (IsLaplace(kind)) continue;
    for (const char* epsilon : {"0.5", "2", "4"}) {
      SCOPED_TRACE(StrCat(MechanismName(kind), " ", epsilon));
      const auto mechanism = Make(kind, epsilon, Domain{2, 2});
      double share = 0;
      for (uint32_t column = 0; column < mechanism->columns(); ++column) {
        share = std::max(share, LargestShare({LawOf(*mechanism, column, 0)}, mechanism->epsilon(),
                                             mechanism->TwoSidedMass()));
      }
      EXPECT_GT(share, 0.9);
    }
  }
}

TEST(DeltaBoundLawTest, CoversEveryMechanismByEnumeration) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    for (const char* epsilon : {"0.5", "2", "4"}) {
      for (const size_t reports : {2, 3}) {
        SCOPED_TRACE(StrCat(MechanismName(kind), " ", epsilon, " x ", reports));
        const auto mechanism = Make(kind, epsilon, IsLaplace(kind) ? Domain{1, 2} : Domain{2, 2});
        std::vector<Law> laws;
        for (uint32_t i = 0; i < reports; ++i) {
          laws.push_back(LawOf(*mechanism, i % mechanism->columns(), 2));
        }
        EXPECT_GT(LargestShare(laws, mechanism->epsilon(), mechanism->TwoSidedMass()), 0);
      }
    }
  }
}

TEST(DeltaBoundLawTest, CoversFourTicketsThatAllDiffer) {
  for (const char* epsilon : {"0.5", "2", "4"}) {
    const Domain domain{1, 2};
    std::vector<Law> laws;
    double mass = 0;
    for (const MechanismKind kind :
         {MechanismKind::kDirect, MechanismKind::kOptimizedUnary, MechanismKind::kSymmetricUnary,
          MechanismKind::kLaplaceJoint}) {
      const auto mechanism = Make(kind, epsilon, domain);
      laws.push_back(LawOf(*mechanism, 0, 2));
      mass = std::max(mass, mechanism->TwoSidedMass());
    }
    LargestShare(laws, *Budget::Parse(epsilon), mass);
  }
}

// The check above must be able to fail: without the deal, a curator that knows the ticket sees
// more.
TEST(DeltaBoundLawTwin, AKnownDealIsFoundOut) {
  const auto mechanism = Make(MechanismKind::kDirect, "2", Domain{1, 2});
  const std::vector<Law> alone = {LawOf(*mechanism, 0, 0)};
  const double exact = ExactDivergence(alone, {}).At(0.5);
  EXPECT_GT(exact, *DeltaBound({3, mechanism->epsilon(), mechanism->TwoSidedMass()}, 500'000'000));
}

}  // namespace
}  // namespace coppice
