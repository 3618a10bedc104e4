// Computes what a job costs and whether it fits the budget of a dataset: whole numbers, no store.
//
// A dataset may keep a part of its rows as a reserve. Then it has two accounts under one cap: what
// reads the training rows is charged to one, what reads the reserve to the other, and what reads
// both, or may have, to both. Every row is in one of the two parts, by a coin of its own, so the
// promise to each is that of the account that its part is charged to
// (docs/research/mechanisms.md#two-accounts).
//
// Units      epsilon in billionths, delta in 1e-18, rho in 1e-12. Epsilons here are sums; rho is
//            for zero-concentrated privacy, where a pure epsilon-DP release is epsilon^2/2-zCDP.
// Guarantee  costs are exact or rounded up, caps are rounded down; no sum wraps around. While costs
//            fit, all jobs together are (epsilon, delta)-DP for the cap's neighbours, even if each
//            job is chosen after seeing the others' results (docs/research/mechanisms.md#ledger).
// Threads    plain values.
// Source     Bun, Steinke 2016 (zCDP); Canonne, Kamath, Steinke 2020, Proposition 12 (conversion);
//            Feldman, Zrnic 2021 and Whitehouse et al. 2023 (adaptive costs under a fixed cap).

#ifndef COPPICE_SERVER_DATASETS_LEDGER_ACCOUNTING_H_
#define COPPICE_SERVER_DATASETS_LEDGER_ACCOUNTING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/certificate.h"
#include "common/privacy/delta.h"
#include "common/privacy/neighbours.h"

namespace coppice::ledger {

StatusOr<Neighbours> ParseNeighbours(std::string_view name);

// How the costs of jobs add up. These numbers are stable: records hold them.
//
// Basic adds epsilons and deltas. Zero-concentrated adds rhos, which costs far less for many small
// releases and more for a few large ones: at (1, 1e-6) one release may have epsilon 1 under basic
// and 0.22 under zcdp, but 200 releases of epsilon 0.0156 fit instead of 64. Fully adaptive
// advanced composition is zcdp with the looser conversion epsilon = rho + 2 sqrt(rho ln(1/delta)),
// so it is not offered.
enum class Composition : uint8_t { kBasic = 1, kZeroConcentrated = 2 };
std::string_view CompositionName(Composition composition);  // "basic", "zcdp"
StatusOr<Composition> ParseComposition(std::string_view name);

// The most that all jobs on a dataset may cost together.
struct BudgetCap {
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;  // in 1e-18
  Composition composition = Composition::kBasic;
  Neighbours neighbours = Neighbours::kAddOrRemoveRow;
  // The share of rows, in millionths, that training never reads, and that have an account of their
  // own under the same cap; 0: there is one account.
  uint32_t reserve_millionths = 0;

  bool has_reserve() const { return reserve_millionths > 0; }
  friend bool operator==(const BudgetCap&, const BudgetCap&) = default;
};

inline constexpr uint32_t kMillion = 1'000'000;

// InvalidArgument unless Budget accepts the epsilon, delta is below 1, and the reserve is a part of
// the rows. Under zcdp, delta must also be above 0, and large enough with epsilon that some release
// fits.
Status Validate(const BudgetCap& cap);

struct Cost {
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;
  // Rounded up. UINT64_MAX means that much or more: it fits no cap.
  uint64_t rho_pico = 0;

  friend bool operator==(const Cost&, const Cost&) = default;
};

// Subtracts, saturating at 0.
inline uint64_t SaturatingSubtract(uint64_t whole, uint64_t part) {
  return whole > part ? whole - part : 0;
}

// Adds field by field, saturating at UINT64_MAX.
Cost Plus(const Cost& a, const Cost& b);
// What was charged to each account. Without a reserve all is charged to training.
struct Spending {
  Cost training{};
  Cost reserve{};

  friend bool operator==(const Spending&, const Spending&) = default;
};

// Which rows a charge is for. These numbers are stable: records hold them.
enum class AccountKind : uint8_t { kTraining = 1, kReserve = 2, kBoth = 3 };
std::string_view AccountName(AccountKind account);  // "training", "reserve", "both"
inline bool Charges(AccountKind charged, AccountKind account) {
  return charged == account || charged == AccountKind::kBoth;
}
// What is spent once `cost` is charged to `account`.
Spending PlusCharge(const Spending& spent, AccountKind account, const Cost& cost);
Spending PlusEach(const Spending& a, const Spending& b);
// The sum over both accounts: no less than either.
Cost TotalOf(const Spending& spent);

// The larger value of each field.
Cost Max(const Cost& a, const Cost& b);

// Adds up the releases on all records; of those on parts of the records only the most expensive
// part counts, which may be one part for epsilon and another for rho. A release's rho is the stated
// one, else half the square of its epsilon; UINT64_MAX if it has a delta and states no rho.
// InvalidArgument if epsilon or delta passes 64 bits.
StatusOr<Cost> CostOf(absl::Span<const Release> releases);

// Returns the charge for releases of which only the sums are known. Under zcdp they cost at most as
// much as one release of all their epsilon, because the squares of parts add up to less than the
// square of the whole; a delta is an InvalidArgument there.
StatusOr<Cost> CostOfLoss(const BudgetCap& cap, uint64_t epsilon_nanos, uint64_t delta_atto);

// Returns `lost`, or as much of it as `cap` has left after `spent`.
Cost ClampToRemaining(const BudgetCap& cap, const Cost& spent, const Cost& lost);
// Nobody knows which account lost charges were of, so each is charged all of them, as far as it has
// room: what each is charged.
Spending ClampToRemaining(const BudgetCap& cap, const Spending& spent, const Cost& lost);

// Returns the largest rho, in 1e-12 and rounded down, for which rho-zCDP is known to imply
// (epsilon, delta)-DP. 0 without a delta.
uint64_t RhoCap(const BudgetCap& cap);

// OK if `more` may be spent after `spent`. ResourceExhausted says what is left and what was asked.
// InvalidArgument, under zcdp, for a cost with a delta whose rho is not known.
Status CheckFits(const BudgetCap& cap, const Cost& spent, const Cost& more);
// The same for a charge to one account, or to both; InvalidArgument for a charge to a reserve that
// there is not.
Status CheckFits(const BudgetCap& cap, const Spending& spent, AccountKind account,
                 const Cost& more);

// Whether a job that reserved `reserved` may have made releases that cost `made`.
bool Covers(const BudgetCap& cap, const Cost& reserved, const Cost& made);

// The budget that is left, in the units that people are told.
struct RemainingBudget {
  uint64_t epsilon_nanos = 0;  // the largest single release that fits
  uint64_t delta_atto = 0;     // basic only
  uint64_t rho_pico = 0;       // zcdp only

  friend bool operator==(const RemainingBudget&, const RemainingBudget&) = default;
};
RemainingBudget RemainingAfter(const BudgetCap& cap, const Cost& spent);
// Under zcdp: returns the largest epsilon of a job with the cap's delta that still fits, if the job
// costs the rho that implies both. (auto costs that, except that its count of rows costs a little
// more from epsilon 100 on.) It bisects, so call it for one dataset, not for a list.
uint64_t EpsilonLeftAtDelta(const BudgetCap& cap, const RemainingBudget& left);

// Each returns the exact decimal of an amount: EpsilonText(1500000000) is "1.5".
std::string EpsilonText(uint64_t epsilon_nanos);
std::string DeltaText(uint64_t delta_atto);
std::string RhoText(uint64_t rho_pico);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_ACCOUNTING_H_
