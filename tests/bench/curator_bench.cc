// Measures what a report costs the curator on RocksDB: judging, adding and making durable. CPU time
// is that of the whole process, all threads included. Payloads are about 540 bytes.

#include <benchmark/benchmark.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ldp/payload/bit_sums.h"
#include "common/privacy/openssl_random.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/studies/studies.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/schemas.h"

namespace coppice {
namespace {

constexpr uint32_t kReportsPerSubmit = 500;

// 256 public rows on a grid, split into 128 leaves of 3 classes.
std::shared_ptr<const Table> PublicRows() {
  auto schema = std::make_shared<const Schema>(*Schema::Create(
      {testing::Numeric("x", 0, 1), testing::Numeric("y", 0, 1)}, "label", {"a", "b", "c"}));
  auto table = std::make_shared<Table>(schema);
  for (uint32_t i = 0; i < 256; ++i) {
    table->Append(Row{(i % 16 + 0.5) / 16, (i / 16 + 0.5) / 16}, i % 3);
  }
  return table;
}

// A curator on a fresh store, and devices.
class Bench {
 public:
  explicit Bench(MechanismKind mechanism = MechanismKind::kLaplaceSplit)
      : folder_(std::filesystem::temp_directory_path() / "coppice_curator_bench") {
    std::filesystem::remove_all(folder_);
    store_ = *storage::OpenRocksDbStore(folder_);
    studies_ = *curator::Studies::Open(*store_, models_, [] { return int64_t{0}; });
    const Budget epsilon = *Budget::FromEpsilon(1);
    info_ = *studies_->Create({.id = "bench",
                               .request_id = "bench",
                               .public_rows = PublicRows(),
                               .partition = {.max_depth = 7},
                               .epsilon = epsilon,
                               .mechanism = mechanism});
    fingerprint_.assign(info_.fingerprint.begin(), info_.fingerprint.end());
    mechanisms_ = *MakeMechanisms(*info_.terms, *info_.forest);
    OpenSslRandom random;
    for (uint32_t i = 0; i < kReportsPerSubmit; ++i) {
      payloads_.push_back(*mechanisms_[0]->Randomize({.leaf = i % 128, .label = i % 3}, 0, random));
    }
  }
  ~Bench() {
    studies_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  curator::ReportBatch MakeReports() const {
    const auto offered = *studies_->MakeOffer("bench", kReportsPerSubmit);
    curator::ReportBatch reports;
    for (uint32_t i = 0; i < kReportsPerSubmit; ++i) {
      reports.Add(offered.tickets[i].ToBytes(), payloads_[i]);
    }
    return reports;
  }

  std::future<bool> Submit(curator::ReportBatch reports) const {
    auto promise = std::make_shared<std::promise<bool>>();
    studies_->Submit("bench", fingerprint_, std::move(reports), [promise](auto outcomes) {
      promise->set_value(outcomes.ok() && outcomes->back() == curator::ReportOutcome::kAccepted);
    });
    return promise->get_future();
  }

  const std::vector<std::string>& payloads() const { return payloads_; }
  const LocalMechanism& mechanism() const { return *mechanisms_[0]; }
  storage::Store& store() { return *store_; }

 private:
  std::string folder_;
  std::unique_ptr<storage::Store> store_;
  models::Models models_;
  std::unique_ptr<curator::Studies> studies_;
  curator::StudyInfo info_;
  std::string fingerprint_;
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms_;
  std::vector<std::string> payloads_;
};

// A report's whole way, by number of submits in flight; more of them make larger groups.
void BM_SubmitReports(benchmark::State& state, MechanismKind mechanism) {
  const Bench bench(mechanism);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<curator::ReportBatch> submits;
    for (int64_t i = 0; i < state.range(0); ++i) submits.push_back(bench.MakeReports());
    state.ResumeTiming();
    std::vector<std::future<bool>> answers;
    for (auto& reports : submits) answers.push_back(bench.Submit(std::move(reports)));
    for (auto& answer : answers) {
      if (!answer.get()) state.SkipWithError("a report was not accepted");
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * kReportsPerSubmit);
}
BENCHMARK_CAPTURE(BM_SubmitReports, laplace_split, MechanismKind::kLaplaceSplit)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(BM_SubmitReports, optimized_unary, MechanismKind::kOptimizedUnary)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

// By number of tickets at once: one, as for a report in a call of its own, or a batch.
void BM_RecognizeTickets(benchmark::State& state) {
  Bench bench;
  const curator::TicketAuthority authority = *curator::TicketAuthority::Open(bench.store());
  const Fingerprint terms{};
  const std::vector<Ticket> tickets = *authority.Issue(terms, static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(authority.Recognize(tickets, terms));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RecognizeTickets)->Arg(1)->Arg(kReportsPerSubmit);

void BM_AddPayloads(benchmark::State& state) {
  const Bench bench;
  std::vector<Contribution> reports;
  for (const std::string& payload : bench.payloads()) reports.push_back({.payload = payload});
  std::vector<int64_t> sums(bench.mechanism().sum_size());
  for (auto _ : state) {
    for (const Contribution& report : reports) {
      benchmark::DoNotOptimize(bench.mechanism().Check(report.payload));
    }
    bench.mechanism().AddAll(reports, absl::MakeSpan(sums));
  }
  state.SetItemsProcessed(state.iterations() * kReportsPerSubmit);
}
BENCHMARK(BM_AddPayloads);

// Adds up reports of bits that together exceed a cache; to compare, only copies them. Counts the
// payloads' bytes, by bytes per payload.
class Bits {
 public:
  explicit Bits(const benchmark::State& state)
      : bytes_(static_cast<size_t>(state.range(0))), block_(kBlockBytes, 0x5a) {
    for (size_t at = 0; at < block_.size(); at += bytes_) {
      reports_.push_back({.payload = std::string_view(block_).substr(at, bytes_)});
    }
  }
  size_t num_bits() const { return 8 * bytes_; }
  const std::string& block() const { return block_; }
  const std::vector<Contribution>& reports() const { return reports_; }

 private:
  static constexpr size_t kBlockBytes = size_t{64} << 20;
  const size_t bytes_;
  const std::string block_;
  std::vector<Contribution> reports_;
};

void BM_AddBits(benchmark::State& state) {
  const Bits bits(state);
  std::vector<int64_t> sums(bits.num_bits());
  for (auto _ : state) AddBits(bits.reports(), absl::MakeSpan(sums));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bits.block().size()));
}
BENCHMARK(BM_AddBits)->Arg(64)->Arg(1024);

void BM_Copy(benchmark::State& state) {
  const Bits bits(state);
  std::string copy(bits.block().size(), '\0');
  for (auto _ : state) {
    std::memcpy(copy.data(), bits.block().data(), copy.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(copy.size()));
}
BENCHMARK(BM_Copy)->Arg(64);

}  // namespace
}  // namespace coppice
