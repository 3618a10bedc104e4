// Measures the curator's arithmetic: adding up reports that are ready, estimating, pruning.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "common/base/public_random.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/partition/partition.h"

namespace coppice {
namespace {

constexpr uint32_t kReports = 10'000;

// 1000 public rows on the unit square, split at depth 8: about 240 leaves, as in the paper.
Table PublicRows() {
  auto schema = std::make_shared<const Schema>(
      *Schema::Create({{.name = "x1", .min = 0, .max = 1, .values = {}},
                       {.name = "x2", .min = 0, .max = 1, .values = {}}},
                      "y", {"0", "1"}));
  Table rows(schema);
  PublicRandom random(1);
  for (int i = 0; i < 1000; ++i) {
    rows.Append(Row{random.Unit(), random.Unit()}, static_cast<uint32_t>(random.Below(2)));
  }
  return rows;
}

void BM_AddAndPrune(benchmark::State& state, MechanismKind kind) {
  const Table rows = PublicRows();
  const Tree tree = (*curator::GrowPartition(rows, {.max_depth = 8}))[0];
  const curator::PublicCounts counts = curator::CountPublicRows(tree, rows);
  const auto mechanism = *MakeLocalMechanism(kind, *Budget::Parse("2"), {tree.num_leaves(), 2});
  OpenSslRandom random;
  std::vector<std::string> payloads;
  for (uint32_t i = 0; i < kReports; ++i) {
    payloads.push_back(*mechanism->Randomize({i % tree.num_leaves(), i % 2}, 0, random));
  }
  for (auto _ : state) {
    curator::TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size()),
                           .reports = kReports};
    std::vector<Contribution> reports;
    for (const std::string& payload : payloads) {
      if (!mechanism->Check(payload).ok()) state.SkipWithError("refused");
      reports.push_back({.payload = payload});
    }
    mechanism->AddAll(reports, absl::MakeSpan(sums.sums));
    const auto leaves = curator::EstimateTree(
        tree, *mechanism, sums, counts, {.kind = curator::EstimatorKind::kPrune, .lambda = 1});
    if (!leaves.ok()) state.SkipWithError(leaves.status().ToString().c_str());
    benchmark::DoNotOptimize(leaves);
  }
  state.counters["leaves"] = tree.num_leaves();
  state.SetItemsProcessed(state.iterations() * kReports);
}
BENCHMARK_CAPTURE(BM_AddAndPrune, laplace_split, MechanismKind::kLaplaceSplit)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AddAndPrune, optimized_unary, MechanismKind::kOptimizedUnary)
    ->Unit(benchmark::kMillisecond);

// Grows, simulates with the exact law and estimates, as one run of coppice-lab does.
void BM_SimulateAndFit(benchmark::State& state) {
  const Table rows = PublicRows();
  OpenSslRandom random;
  for (auto _ : state) {
    const Tree tree = (*curator::GrowPartition(rows, {.max_depth = 8}))[0];
    const curator::PublicCounts counts = curator::CountPublicRows(tree, rows);
    const auto mechanism = *MakeLocalMechanism(MechanismKind::kLaplaceSplit, *Budget::Parse("2"),
                                               {tree.num_leaves(), 2});
    std::vector<uint64_t> rows_of(mechanism->domain().cells());
    PublicRandom places(7);
    Row row(2);
    for (uint32_t i = 0; i < kReports; ++i) {
      row = {places.Unit(), places.Unit()};
      ++rows_of[tree.FindLeaf(row) * 2 + i % 2];
    }
    curator::TreeSums sums{.sums = std::vector<int64_t>(mechanism->sum_size()),
                           .reports = kReports};
    if (!mechanism->RandomizeAllInto(rows_of, random, absl::MakeSpan(sums.sums)).ok()) {
      state.SkipWithError("no randomness");
    }
    benchmark::DoNotOptimize(
        curator::EstimateTree(tree, *mechanism, sums, counts, curator::EstimatorOptions()));
  }
}
BENCHMARK(BM_SimulateAndFit)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice
