// What the ledger's tests share: caps, releases, and a ledger on a store.

#ifndef COPPICE_TESTS_SERVER_DATASETS_LEDGER_LEDGER_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DATASETS_LEDGER_LEDGER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "server/datasets/ledger/ledger.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

inline constexpr uint64_t kEpsilon = Budget::kNanosPerEpsilon;  // epsilon 1
inline constexpr int64_t kNow = 1'700'000'000;

inline ledger::BudgetCap BasicCap(uint64_t nanos) { return {.epsilon_nanos = nanos}; }
inline ledger::BudgetCap ZcdpCap(uint64_t nanos) {
  return {.epsilon_nanos = nanos,
          .delta_atto = 1'000'000'000'000,
          .composition = ledger::Composition::kZeroConcentrated,
          .neighbours = Neighbours::kChangeLabel};
}

inline std::vector<Release> Releases(uint64_t nanos, uint64_t times = 1) {
  return {{.what = "counts",
           .mechanism = "laplace",
           .epsilon_nanos = nanos,
           .times = times,
           .part = ""}};
}

inline StatusOr<std::unique_ptr<ledger::Ledger>> OpenLedger(storage::Store& store) {
  return ledger::Ledger::Open(store, [] { return kNow; });
}

inline storage::StoreBatch Marker(std::string key) {
  storage::StoreBatch with;
  with.Put(std::move(key), "here");
  return with;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DATASETS_LEDGER_LEDGER_FIXTURE_H_
