// Measures what sealing costs: the same blocks of rows are uploaded to a plain and a sealed store,
// in turns in one process, and read again; and what a batch of reports, which holds nothing
// private, pays for passing through the seal.
//
//   vault_bench --folder DIR [--features 20] [--rows 65536] [--blocks 12] [--rounds 5]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/text.h"
#include "server/datasets/datasets.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/memory_store.h"
#include "server/store/store_format.h"
#include "server/store/vault/keyed_store.h"
#include "tests/bench/uniform_rows.h"

namespace coppice {
namespace {

struct Flags {
  std::string folder;
  size_t features = 20;
  size_t rows = 65536;  // per block
  int blocks = 12;      // per dataset
  int rounds = 5;
};

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

vault::KeyOptions SomeKeys() { return {.keys = *vault::KeyFile::Parse(std::string(64, '7'))}; }

// Datasets over one store.
struct Side {
  Side(vault::KeyedStore opened, const char* side_name)
      : name(side_name), store(std::move(opened)) {
    const auto clock = [] { return int64_t{0}; };
    ledger = *ledger::Ledger::Open(*store, clock);
    datasets = *central::Datasets::Open(*store, *ledger, clock);
  }

  void Upload(const std::string& id, const Table& block, int blocks) {
    (void)*datasets->Create({.id = id,
                             .request_id = "request of " + id,
                             .schema = block.shared_schema(),
                             .cap = {.epsilon_nanos = 1}});
    for (int i = 0; i < blocks; ++i) {
      const bool last = i + 1 == blocks;
      (void)*datasets->Upload(id, static_cast<uint64_t>(i) * block.num_rows(), block, last);
    }
  }

  const char* name;
  vault::KeyedStore store;
  std::unique_ptr<ledger::Ledger> ledger;
  std::unique_ptr<central::Datasets> datasets;
  std::vector<double> upload, load;
};

void MeasureRows(const Flags& flags) {
  const Table block =
      MakeUniformRows(flags.features, flags.rows, [](const Row& row) { return row[0] > 0.5; });
  Side plain(*vault::OpenKeyedStore(flags.folder + "/plain", {}), "plain");
  Side sealed(*vault::OpenKeyedStore(flags.folder + "/sealed", SomeKeys()), "sealed");
  std::vector<double> upload_ratios, load_ratios;
  for (int round = 0; round <= flags.rounds; ++round) {
    const std::string id = StrCat("d", round);
    // The two sides take turns at going first.
    Side* const turns[] = {round % 2 == 0 ? &plain : &sealed, round % 2 == 0 ? &sealed : &plain};
    for (Side* const side : turns) {
      const double up = SecondsOf([&] { side->Upload(id, block, flags.blocks); });
      const double down = SecondsOf([&] { (void)*side->datasets->ReadyRows(id); });
      side->datasets->Delete(id).IgnoreError();
      if (round == 0) continue;  // warm-up: fills buffers
      side->upload.push_back(up);
      side->load.push_back(down);
    }
    if (round == 0) continue;
    upload_ratios.push_back(sealed.upload.back() / plain.upload.back());
    load_ratios.push_back(sealed.load.back() / plain.load.back());
  }
  const double megabytes = 8e-6 * static_cast<double>(flags.features * flags.rows) * flags.blocks;
  for (const Side* side : {&plain, &sealed}) {
    std::printf(
        "{\"store\":\"%s\",\"megabytes\":%.0f,\"upload_seconds\":%.3f,\"load_seconds\":%.3f}\n",
        side->name, megabytes, Median(side->upload), Median(side->load));
  }
  std::printf("{\"upload_ratio\":%.3f,\"load_ratio\":%.3f}\n", Median(upload_ratios),
              Median(load_ratios));
}

// A group of reports touches the sums of each tree, its counts and its spent tickets.
void MeasureReports(const Flags& flags) {
  storage::StoreBatch batch;
  for (int tree = 0; tree < 30; ++tree) {
    batch.Put(StrCat("sums/study/", ZeroPadded(tree, 4)), std::string(512, 's'));
  }
  batch.Put("count/study/", "counts");
  batch.Put("spent/study/0000000000000000", std::string(2000, 't'));
  constexpr int kBatches = 20'000;
  std::vector<double> plain, sealed;
  for (int round = 0; round < flags.rounds; ++round) {
    for (const bool seals : {false, true}) {
      const auto store = *vault::KeyedStore::Open(std::make_unique<storage::MemoryStore>(),
                                                  seals ? SomeKeys() : vault::KeyOptions());
      (seals ? sealed : plain).push_back(SecondsOf([&] {
        for (int i = 0; i < kBatches; ++i) store->Apply(batch).IgnoreError();
      }));
    }
  }
  std::printf(
      "{\"report_batch_in_memory_plain_us\":%.2f,\"report_batch_in_memory_sealed_us\":%.2f}\n",
      Median(plain) / kBatches * 1e6, Median(sealed) / kBatches * 1e6);
}

// Reads the features of an id, as judging its report does.
void MeasureJoinedRow(const Flags& flags) {
  std::vector<double> plain, sealed;
  constexpr int kReads = 200'000;
  for (int round = 0; round < flags.rounds; ++round) {
    for (const bool seals : {false, true}) {
      const auto store = *vault::OpenKeyedStore(flags.folder + (seals ? "/sealed" : "/plain"),
                                                seals ? SomeKeys() : vault::KeyOptions());
      storage::StoreBatch batch;
      for (int id = 0; id < 1000; ++id) {
        batch.Put(StrCat("join/s/", id), std::string(8 * flags.features, 'j'));
      }
      store->Apply(batch).IgnoreError();
      (seals ? sealed : plain).push_back(SecondsOf([&] {
        for (int i = 0; i < kReads; ++i) (void)*store->Get(StrCat("join/s/", i % 1000));
      }));
    }
  }
  std::printf("{\"joined_row_plain_us\":%.2f,\"joined_row_sealed_us\":%.2f}\n",
              Median(plain) / kReads * 1e6, Median(sealed) / kReads * 1e6);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("What sealing costs, against a plain store", "vault_bench");
  app.add_option("--folder", flags.folder, "Folder for the stores, on the disk to measure")
      ->required();
  app.add_option("--features", flags.features, "Numbers a row")->capture_default_str();
  app.add_option("--rows", flags.rows, "Rows a block, at most 65536")->capture_default_str();
  app.add_option("--blocks", flags.blocks, "Blocks a dataset")->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Rounds; medians are printed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::filesystem::create_directories(flags.folder);
  MeasureRows(flags);
  MeasureReports(flags);
  MeasureJoinedRow(flags);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
