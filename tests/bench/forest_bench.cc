// Measures what a forest of public partitions costs the curator: its size, its growth, the basis of
// the pooled estimator, and a model from the sums of a million reports. Uses adult's rows (data
// sets are in COPPICE_DATA_DIR), of which the first 200 or 1000 are public.

#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/privacy/openssl_random.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/curator/estimation/pooled/pooled.h"
#include "server/curator/partition/forest_size.h"
#include "server/curator/partition/partition.h"
#include "tests/support/data_dir.h"

namespace coppice {
namespace {

constexpr uint64_t kReports = 1'000'000;

Table PublicRows(size_t count) {
  const std::string folder = testing::DataSet("adult");
  const auto schema = ReadSchema(folder + "/schema.json")->schema;
  const TableFile file = *ReadTable(folder + "/adult_train.csv", schema, {});
  std::vector<size_t> first(count);
  std::iota(first.begin(), first.end(), size_t{0});
  return file.table.Select(first);
}

curator::PartitionOptions ForestOf(const Table& rows) {
  return *curator::ChooseForestSize(
      rows, {.rule = curator::SplitRule::kHybrid, .trees = curator::kForestTrees}, 1000);
}

void BM_ChooseSize(benchmark::State& state) {
  const Table rows = PublicRows(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ForestOf(rows));
}

void BM_GrowForest(benchmark::State& state) {
  const Table rows = PublicRows(static_cast<size_t>(state.range(0)));
  const curator::PartitionOptions options = ForestOf(rows);
  for (auto _ : state) benchmark::DoNotOptimize(curator::GrowPartition(rows, options));
}

void BM_Basis(benchmark::State& state) {
  const Table rows = PublicRows(static_cast<size_t>(state.range(0)));
  const Forest forest = *curator::GrowPartition(rows, ForestOf(rows));
  for (auto _ : state) benchmark::DoNotOptimize(curator::PooledBasis::Create(forest, rows));
}

// The part that depends on the reports: from added-up sums to a forest with errors.
void BM_EstimatePooled(benchmark::State& state) {
  const Table rows = PublicRows(static_cast<size_t>(state.range(0)));
  const Forest forest = *curator::GrowPartition(rows, ForestOf(rows));
  const curator::PooledBasis basis = *curator::PooledBasis::Create(forest, rows);
  OpenSslRandom random;
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  std::vector<curator::TreeSums> sums;
  for (const Tree& tree : forest) {
    mechanisms.push_back(*MakeLocalMechanism(MechanismKind::kOptimizedUnary, *Budget::Parse("1"),
                                             {tree.num_leaves(), 2}));
    const LocalMechanism& mechanism = *mechanisms.back();
    const size_t cells = mechanism.domain().cells();
    sums.push_back({.sums = std::vector<int64_t>(mechanism.sum_size()),
                    .reports = kReports / forest.size() / cells * cells});
    const std::vector<uint64_t> rows_of(cells, kReports / forest.size() / cells);
    if (!mechanism.RandomizeAllInto(rows_of, random, absl::MakeSpan(sums.back().sums)).ok()) {
      state.SkipWithError("no randomness");
    }
  }
  for (auto _ : state) {
    std::vector<curator::PrivateCounts> counts;
    for (size_t t = 0; t < forest.size(); ++t) {
      counts.push_back(*curator::CountReports(*mechanisms[t], sums[t],
                                              curator::CountPublicRows(forest[t], rows)));
    }
    benchmark::DoNotOptimize(
        curator::EstimatePooled(basis, forest, counts, curator::Evidence::kBoth));
  }
}

#define COPPICE_FOREST_BENCH(name) \
  BENCHMARK(name)->Arg(200)->Arg(1000)->Unit(benchmark::kMillisecond)
COPPICE_FOREST_BENCH(BM_ChooseSize);
COPPICE_FOREST_BENCH(BM_GrowForest);
COPPICE_FOREST_BENCH(BM_Basis);
COPPICE_FOREST_BENCH(BM_EstimatePooled);

}  // namespace
}  // namespace coppice
