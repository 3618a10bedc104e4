#include "server/datasets/ledger/accounting.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "absl/numeric/int128.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/budget.h"
#include "common/privacy/concentrated.h"

namespace coppice::ledger {
namespace {

using ::absl::uint128;

// rho = epsilon^2 / 2: a square of nano-epsilons is in 1e-18, so dividing it by 2,000,000 gives
// half of it in 1e-12.
constexpr uint64_t kSquaresPerRho = 2'000'000;

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

std::string Decimal(uint64_t amount, uint64_t unit) {
  std::string text = StrCat(amount / unit);
  if (amount % unit == 0) return text;
  // A leading one keeps the fraction's zeros; a unit is at most 1e18, so the sum fits.
  std::string digits = StrCat(unit + amount % unit).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return StrCat(text, ".", digits);
}

// Returns twice a release's rho, as a square of nano-epsilons; `unknown` if its rho is not known.
uint128 SquareOf(const Release& release, uint128 unknown) {
  if (release.rho_pico > 0) return uint128(release.rho_pico) * kSquaresPerRho;
  if (release.delta_atto > 0) return unknown;
  return uint128(release.epsilon_nanos) * release.epsilon_nanos;
}

// Returns the rho of the releases, by the rule of TotalCost().
uint64_t RhoOf(absl::Span<const Release> releases) {
  // Squares of epsilon; they saturate where their rho would pass 64 bits.
  constexpr uint128 kTooMuch = uint128(kSquaresPerRho) << 64;
  uint128 of_all = 0;
  std::map<std::string_view, uint128> of_part;
  for (const Release& release : releases) {
    if (release.times == 0) continue;
    uint128& sum = release.part.empty() ? of_all : of_part[release.part];
    const uint128 square = SquareOf(release, kTooMuch);
    sum = square > kTooMuch / release.times ? kTooMuch
                                            : std::min(kTooMuch, sum + square * release.times);
  }
  uint128 most = 0;
  for (const auto& [part, sum] : of_part) most = std::max(most, sum);
  const uint128 squares = std::min(kTooMuch, of_all + most);
  const uint128 rho = (squares + (kSquaresPerRho - 1)) / kSquaresPerRho;
  return absl::Uint128Low64(std::min(rho, uint128(UINT64_MAX)));
}

Status DoesNotFit(const BudgetCap& cap, const Cost& spent, const Cost& more) {
  const RemainingBudget left = RemainingAfter(cap, spent);
  if (cap.composition == Composition::kBasic) {
    const std::string deltas =
        cap.delta_atto == 0 && more.delta_atto == 0
            ? ""
            : StrCat("; of delta it needs ", DeltaText(more.delta_atto), " and ",
                     DeltaText(left.delta_atto), " is left of ", DeltaText(cap.delta_atto));
    return ResourceExhaustedError(StrCat("the job needs epsilon ", EpsilonText(more.epsilon_nanos),
                                         ", but ", EpsilonText(left.epsilon_nanos),
                                         " is left of the dataset's ",
                                         EpsilonText(cap.epsilon_nanos), deltas));
  }
  const std::string asked = more.rho_pico == UINT64_MAX ? "more" : RhoText(more.rho_pico);
  return ResourceExhaustedError(StrCat(
      "the job needs rho ", asked, " (its epsilons add up to ", EpsilonText(more.epsilon_nanos),
      "), but ", RhoText(left.rho_pico), " is left of the dataset's ", RhoText(RhoCap(cap)),
      " (epsilon ", EpsilonText(cap.epsilon_nanos), ", delta ", DeltaText(cap.delta_atto), "); ",
      more.delta_atto == 0 ? "a single release may have epsilon "
                           : "with that delta a job may have epsilon ",
      EpsilonText(more.delta_atto == 0 ? left.epsilon_nanos : EpsilonLeftAtDelta(cap, left))));
}

}  // namespace

StatusOr<Neighbours> ParseNeighbours(std::string_view name) {
  for (const Neighbours neighbours : {Neighbours::kAddOrRemoveRow, Neighbours::kChangeLabel}) {
    if (name == NeighboursName(neighbours)) return neighbours;
  }
  return InvalidArgumentError(StrCat("there is no neighbouring relation \"", name,
                                     "\"; there are add_or_remove_row, change_label"));
}

std::string_view CompositionName(Composition composition) {
  return composition == Composition::kBasic ? "basic" : "zcdp";
}

StatusOr<Composition> ParseComposition(std::string_view name) {
  for (const Composition composition : {Composition::kBasic, Composition::kZeroConcentrated}) {
    if (name == CompositionName(composition)) return composition;
  }
  return InvalidArgumentError(
      StrCat("there is no composition \"", name, "\"; there are basic, zcdp"));
}

Status Validate(const BudgetCap& cap) {
  COPPICE_RETURN_IF_ERROR(Budget::FromNanos(cap.epsilon_nanos).status());
  if (cap.delta_atto >= kDeltaOne) {
    return InvalidArgumentError("delta must be below 1: at 1 nothing would be private");
  }
  if (cap.reserve_millionths >= kMillion) {
    return InvalidArgumentError("reserve: must be below 1: some rows must be left for training");
  }
  if (cap.composition == Composition::kBasic) return OkStatus();
  if (cap.delta_atto == 0) {
    return InvalidArgumentError(
        "composition zcdp needs a delta above 0, well below one in the number of rows; without one "
        "use basic");
  }
  if (RhoCap(cap) == 0) {
    return InvalidArgumentError(StrCat("epsilon ", EpsilonText(cap.epsilon_nanos), " with delta ",
                                       DeltaText(cap.delta_atto),
                                       " leaves no room for any release under zcdp"));
  }
  return OkStatus();
}

Cost Plus(const Cost& a, const Cost& b) {
  return {.epsilon_nanos = SaturatingAdd(a.epsilon_nanos, b.epsilon_nanos),
          .delta_atto = SaturatingAdd(a.delta_atto, b.delta_atto),
          .rho_pico = SaturatingAdd(a.rho_pico, b.rho_pico)};
}

std::string_view AccountName(AccountKind account) {
  switch (account) {
    case AccountKind::kReserve:
      return "reserve";
    case AccountKind::kBoth:
      return "both";
    case AccountKind::kTraining:
      break;
  }
  return "training";
}

Spending PlusCharge(const Spending& spent, AccountKind account, const Cost& cost) {
  Spending after = spent;
  if (Charges(account, AccountKind::kTraining)) after.training = Plus(spent.training, cost);
  if (Charges(account, AccountKind::kReserve)) after.reserve = Plus(spent.reserve, cost);
  return after;
}

Spending PlusEach(const Spending& a, const Spending& b) {
  return {.training = Plus(a.training, b.training), .reserve = Plus(a.reserve, b.reserve)};
}

Cost TotalOf(const Spending& spent) { return Plus(spent.training, spent.reserve); }

Cost Max(const Cost& a, const Cost& b) {
  return {.epsilon_nanos = std::max(a.epsilon_nanos, b.epsilon_nanos),
          .delta_atto = std::max(a.delta_atto, b.delta_atto),
          .rho_pico = std::max(a.rho_pico, b.rho_pico)};
}

StatusOr<Cost> CostOf(absl::Span<const Release> releases) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t epsilon_nanos, TotalCost(releases));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta_atto, TotalDelta(releases));
  return Cost{
      .epsilon_nanos = epsilon_nanos, .delta_atto = delta_atto, .rho_pico = RhoOf(releases)};
}

StatusOr<Cost> CostOfLoss(const BudgetCap& cap, uint64_t epsilon_nanos, uint64_t delta_atto) {
  if (cap.composition == Composition::kZeroConcentrated && delta_atto != 0) {
    return InvalidArgumentError(
        "delta: under zcdp give the loss as epsilon alone, as of pure releases");
  }
  return CostOf({{.what = "lost",
                  .mechanism = "",
                  .epsilon_nanos = epsilon_nanos,
                  .delta_atto = delta_atto,
                  .times = 1}});
}

Cost ClampToRemaining(const BudgetCap& cap, const Cost& spent, const Cost& lost) {
  Cost charged = lost;
  if (cap.composition == Composition::kBasic) {
    charged.epsilon_nanos =
        std::min(lost.epsilon_nanos, SaturatingSubtract(cap.epsilon_nanos, spent.epsilon_nanos));
    charged.delta_atto =
        std::min(lost.delta_atto, SaturatingSubtract(cap.delta_atto, spent.delta_atto));
  } else {
    charged.rho_pico = std::min(lost.rho_pico, SaturatingSubtract(RhoCap(cap), spent.rho_pico));
    charged.delta_atto = 0;  // the deltas of single jobs only determine their rho
  }
  return charged;
}

Spending ClampToRemaining(const BudgetCap& cap, const Spending& spent, const Cost& lost) {
  return {.training = ClampToRemaining(cap, spent.training, lost),
          .reserve = cap.has_reserve() ? ClampToRemaining(cap, spent.reserve, lost) : Cost()};
}

uint64_t RhoCap(const BudgetCap& cap) {
  const StatusOr<Budget> epsilon = Budget::FromNanos(cap.epsilon_nanos);
  if (!epsilon.ok() || cap.delta_atto == 0) return 0;
  const StatusOr<Rho> rho = Rho::Implying(*epsilon, cap.delta_atto);
  return rho.ok() ? rho->picos() : 0;
}

bool Covers(const BudgetCap& cap, const Cost& reserved, const Cost& made) {
  if (cap.composition == Composition::kBasic) {
    return made.epsilon_nanos <= reserved.epsilon_nanos && made.delta_atto <= reserved.delta_atto;
  }
  return made.rho_pico <= reserved.rho_pico;
}

Status CheckFits(const BudgetCap& cap, const Cost& spent, const Cost& more) {
  const bool rho_is_unknown =
      more.delta_atto != 0 && (more.rho_pico == UINT64_MAX || more.rho_pico == 0);
  if (cap.composition == Composition::kZeroConcentrated && rho_is_unknown) {
    return InvalidArgumentError(
        "under zcdp a job's cost is a rho, which is not known for this algorithm with a delta: "
        "leave the delta out, or use auto");
  }
  const Cost all = Plus(spent, more);
  const bool fits = cap.composition == Composition::kBasic
                        ? all.epsilon_nanos <= cap.epsilon_nanos && all.delta_atto <= cap.delta_atto
                        : all.rho_pico <= RhoCap(cap);
  return fits ? OkStatus() : DoesNotFit(cap, spent, more);
}

Status CheckFits(const BudgetCap& cap, const Spending& spent, AccountKind account,
                 const Cost& more) {
  if (Charges(account, AccountKind::kReserve)) {
    if (!cap.has_reserve()) return InvalidArgumentError("the dataset has no reserve to charge");
    COPPICE_RETURN_IF_ERROR(CheckFits(cap, spent.reserve, more));
  }
  return Charges(account, AccountKind::kTraining) ? CheckFits(cap, spent.training, more)
                                                  : OkStatus();
}

RemainingBudget RemainingAfter(const BudgetCap& cap, const Cost& spent) {
  if (cap.composition == Composition::kBasic) {
    return {.epsilon_nanos = SaturatingSubtract(cap.epsilon_nanos, spent.epsilon_nanos),
            .delta_atto = SaturatingSubtract(cap.delta_atto, spent.delta_atto)};
  }
  const StatusOr<Rho> rho = Rho::FromPicos(SaturatingSubtract(RhoCap(cap), spent.rho_pico));
  if (!rho.ok()) return {};
  return {.epsilon_nanos = rho->ForPure().nanos(), .rho_pico = rho->picos()};
}

uint64_t EpsilonLeftAtDelta(const BudgetCap& cap, const RemainingBudget& left) {
  if (left.rho_pico == 0) return 0;
  uint64_t fits = 0, too_much = cap.epsilon_nanos + 1;
  while (too_much - fits > 1) {
    const uint64_t tried = fits + (too_much - fits) / 2;
    const StatusOr<Rho> asked = Rho::Implying(*Budget::FromNanos(tried), cap.delta_atto);
    (asked.ok() && asked->picos() > left.rho_pico ? too_much : fits) = tried;
  }
  // Below some epsilon no rho implies the guarantee, so no job fits.
  if (fits == 0 || !Rho::Implying(*Budget::FromNanos(fits), cap.delta_atto).ok()) return 0;
  return fits;
}

std::string EpsilonText(uint64_t epsilon_nanos) {
  return Decimal(epsilon_nanos, Budget::kNanosPerEpsilon);
}
std::string DeltaText(uint64_t delta_atto) { return Decimal(delta_atto, kDeltaOne); }
std::string RhoText(uint64_t rho_pico) { return Decimal(rho_pico, 1'000'000'000'000); }

}  // namespace coppice::ledger
