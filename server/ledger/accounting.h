// What a job costs, and whether it fits into what a dataset may spend: whole numbers, no store.
//
// Units      epsilon in billionths, delta in 1e-18, rho in 1e-12. An epsilon here is a sum, a rho
//            is for zero-concentrated privacy: a pure epsilon-DP release is epsilon^2/2-zCDP.
// Guarantee  costs are exact or rounded up, caps rounded down; no sum wraps around. While costs
//            fit, all jobs together are (epsilon, delta)-DP for the cap's neighbours, each job
//            chosen after seeing the others' results (docs/research/mechanisms.md#ledger).
// Threads    plain values.
// Source     Bun, Steinke 2016 (zCDP); Canonne, Kamath, Steinke 2020, Proposition 12 (conversion);
//            Feldman, Zrnic 2021 and Whitehouse et al. 2023 (adaptive costs under a fixed cap).

#ifndef COPPICE_SERVER_LEDGER_ACCOUNTING_H_
#define COPPICE_SERVER_LEDGER_ACCOUNTING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/privacy/delta.h"
#include "common/privacy/neighbours.h"
#include "common/tree/certificate.h"

namespace coppice::ledger {

absl::StatusOr<Neighbours> ParseNeighbours(absl::string_view name);

// How the costs of jobs add up. Stable numbers: records hold them.
//
// Basic adds epsilons and deltas. Zero-concentrated adds rhos, which is far less for many small
// releases and more for a few large ones: at (1, 1e-6) one release may have epsilon 1 under basic
// and 0.22 under zcdp, but 200 of epsilon 0.0156 fit against 64. Advanced composition in its fully
// adaptive form is zcdp with the looser conversion epsilon = rho + 2 sqrt(rho ln(1/delta)), so it
// is not offered.
enum class Composition : uint8_t { kBasic = 1, kZeroConcentrated = 2 };
absl::string_view CompositionName(Composition composition);  // "basic", "zcdp"
absl::StatusOr<Composition> ParseComposition(absl::string_view name);

// The most that a dataset's jobs may cost together.
struct BudgetCap {
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;  // in 1e-18
  Composition composition = Composition::kBasic;
  Neighbours neighbours = Neighbours::kAddOrRemoveRow;

  friend bool operator==(const BudgetCap&, const BudgetCap&) = default;
};

// InvalidArgument unless epsilon is one that Budget takes, delta is below 1, and under zcdp above
// 0 and large enough with epsilon that some release fits.
absl::Status Validate(const BudgetCap& cap);

struct Cost {
  uint64_t epsilon_nanos = 0;
  uint64_t delta_atto = 0;
  // Rounded up. UINT64_MAX stands for that or more: no cap has room for it.
  uint64_t rho_pico = 0;

  friend bool operator==(const Cost&, const Cost&) = default;
};

// Saturates at 0.
inline uint64_t SaturatingSubtract(uint64_t whole, uint64_t part) {
  return whole > part ? whole - part : 0;
}

// Field by field, saturating at UINT64_MAX.
Cost Plus(const Cost& a, const Cost& b);
// Field by field.
Cost Max(const Cost& a, const Cost& b);

// Releases of all records add up; among the parts only the most expensive counts, which may be one
// in epsilon and another in rho. A release's rho is the one that it states, else half the square of
// its epsilon; UINT64_MAX if it has a delta and states none.
// InvalidArgument if epsilon or delta passes 64 bits.
absl::StatusOr<Cost> CostOf(absl::Span<const Release> releases);

// What to charge for releases of which only the sums are known. Under zcdp they cost no more than
// one release of all their epsilon, since squares of parts add up to less than that of the whole;
// InvalidArgument for a delta there.
absl::StatusOr<Cost> CostOfLoss(const BudgetCap& cap, uint64_t epsilon_nanos, uint64_t delta_atto);

// `lost`, or as much of it as `cap` has left after `spent`.
Cost ClampToRemaining(const BudgetCap& cap, const Cost& spent, const Cost& lost);

// The largest rho, in 1e-12 and rounded down, for which rho-zCDP is known to imply
// (epsilon, delta)-DP. 0 without a delta.
uint64_t RhoCap(const BudgetCap& cap);

// OK if `more` may be spent after `spent`. ResourceExhausted says what is left and what was asked.
// InvalidArgument under zcdp for a cost with a delta whose rho is not known.
absl::Status CheckFits(const BudgetCap& cap, const Cost& spent, const Cost& more);

// Whether a job that reserved `reserved` may have made releases that cost `made`.
bool Covers(const BudgetCap& cap, const Cost& reserved, const Cost& made);

// What may still be spent, as people are told.
struct RemainingBudget {
  uint64_t epsilon_nanos = 0;  // the largest single release that fits
  uint64_t delta_atto = 0;     // basic only
  uint64_t rho_pico = 0;       // zcdp only

  friend bool operator==(const RemainingBudget&, const RemainingBudget&) = default;
};
RemainingBudget RemainingAfter(const BudgetCap& cap, const Cost& spent);
// Under zcdp: the largest epsilon of a job with the cap's delta whose rho is left, if the job costs
// the rho that implies them. (auto does, and its count of rows a little more from epsilon 100 on.)
// Searches by halves, so it is for one dataset and not for a list of them.
uint64_t EpsilonLeftAtDelta(const BudgetCap& cap, const RemainingBudget& left);

// The exact decimal of an amount: EpsilonText(1500000000) is "1.5".
std::string EpsilonText(uint64_t epsilon_nanos);
std::string DeltaText(uint64_t delta_atto);
std::string RhoText(uint64_t rho_pico);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_LEDGER_ACCOUNTING_H_
