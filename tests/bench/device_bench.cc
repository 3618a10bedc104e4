// Measures what a report costs a device: Privatize(), leaf location included, by mechanism and
// number of leaves. Its limit is the random generator's own time for as many bytes as the report
// draws.

#include <benchmark/benchmark.h>
#include <openssl/rand.h>

#include <memory>
#include <string>
#include <vector>

#include "client/device/privatizer.h"
#include "common/ldp/laplace_noise.h"
#include "common/privacy/openssl_random.h"
#include "common/privacy/samplers.h"

namespace coppice {
namespace {

// A balanced tree on x in [0, 1] with `leaves` leaves, a power of two.
Tree BalancedTree(uint32_t leaves, const Schema& schema) {
  std::vector<Node> nodes(2 * leaves - 1);  // in the order of a heap
  for (uint32_t i = 0; i + 1 < leaves; ++i) {
    uint32_t first_of_level = 1;
    while (2 * first_of_level <= i + 1) first_of_level *= 2;
    const double cells = first_of_level;
    nodes[i] = {.kind = SplitKind::kNumeric,
                .missing_left = false,
                .feature = 0,
                .threshold = (i + 1 - first_of_level + 0.5) / cells,
                .left = 2 * i + 1,
                .right = 2 * i + 2};
  }
  return *Tree::Create(std::move(nodes), schema);
}

void BM_Privatize(benchmark::State& state, MechanismKind mechanism) {
  const auto schema = std::make_shared<const Schema>(
      *Schema::Create({{.name = "x", .min = 0, .max = 1, .values = {}}}, "y", {"0", "1"}));
  const Privatizer privatizer = *Privatizer::Create(
      {.study = "bench",
       .schema = schema,
       .trees = 1,
       .epsilon = *Budget::Parse("1"),
       .mechanism = mechanism},
      Fingerprint{}, AllTrees({BalancedTree(static_cast<uint32_t>(state.range(0)), *schema)}));
  OpenSslRandom random;
  const LabelledRow row = {{0.3}, 1};
  size_t bytes = 0;
  for (auto _ : state) {
    const auto report = privatizer.Privatize(row, Ticket{}, random);
    if (!report.ok()) state.SkipWithError(report.status().ToString().c_str());
    bytes += report->payload.size();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["payload_bytes"] =
      static_cast<double>(bytes) / static_cast<double>(state.iterations());
}
// By number of leaves.
void AtEachSize(benchmark::internal::Benchmark* bench) {
  for (const int64_t leaves : {16, 256, 4096, 65536}) bench->Arg(leaves);
}
BENCHMARK_CAPTURE(BM_Privatize, laplace_split, MechanismKind::kLaplaceSplit)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, laplace_joint, MechanismKind::kLaplaceJoint)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, symmetric_unary, MechanismKind::kSymmetricUnary)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, optimized_unary, MechanismKind::kOptimizedUnary)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, subset_selection, MechanismKind::kSubsetSelection)
    ->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, direct, MechanismKind::kDirect)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, hadamard_response, MechanismKind::kHadamardResponse)
    ->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, local_hashing, MechanismKind::kLocalHashing)->Apply(AtEachSize);
BENCHMARK_CAPTURE(BM_Privatize, signed_hadamard, MechanismKind::kSignedHadamard)->Apply(AtEachSize);

// One draw of discrete Laplace noise of scale 4: ours by look-up, and the textbook's exact sampler
// (Canonne, Kamath, Steinke 2020), which the central trainers use. numpy_draws.py has NumPy's
// inexact one.
constexpr size_t kDraws = 512;

void BM_LookUpDraw(benchmark::State& state) {
  const LaplaceNoise noise = *LaplaceNoise::Create(*Budget::Parse("1"), 4);
  OpenSslRandom random;
  const auto take = [](size_t /*start*/, absl::Span<int32_t> draws) {
    benchmark::DoNotOptimize(draws.data());
  };
  for (auto _ : state) {
    if (!noise.Draw(random, kDraws, take).ok()) state.SkipWithError("no randomness");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kDraws));
}
BENCHMARK(BM_LookUpDraw);

void BM_TextbookDraw(benchmark::State& state) {
  const Budget epsilon = *Budget::Parse("1");
  OpenSslRandom random;
  for (auto _ : state) benchmark::DoNotOptimize(DiscreteLaplace(epsilon, 4, random));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_TextbookDraw);

void BM_RandomBytes(benchmark::State& state) {
  std::vector<unsigned char> bytes(16384);  // what OpenSslRandom asks for at once
  for (auto _ : state) {
    if (RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
      state.SkipWithError("the random source failed");
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(BM_RandomBytes);

}  // namespace
}  // namespace coppice
