// Measures how fast a curator takes a relay's batch, against writing and syncing the same bytes to
// a plain file on the same disk; and what opening and counting it costs, against X25519 alone
// (seal_bench). Opening and X25519 are measured in processor time of the whole process; on a busy
// machine compare the ratios.
//
//   batch_bench [--reports 100000] [--part 1000] [--folder DIR]

#include <fcntl.h>
#include <openssl/evp.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/privacy/openssl_random.h"
#include "common/terms/pem.h"
#include "common/wire/manifest.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/studies/studies.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/batch_maker.h"
#include "tests/support/schemas.h"

namespace coppice {
namespace {

struct Flags {
  uint32_t reports = 100'000;
  size_t part = 1000;
  std::string folder = std::filesystem::temp_directory_path() / "coppice_batch_bench";
};

double Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

curator::StudySpec Spec() {
  auto schema = std::make_shared<const Schema>(*Schema::Create(
      {testing::Numeric("x", 0, 1), testing::Numeric("y", 0, 1)}, "label", {"no", "yes"}));
  auto table = std::make_shared<Table>(schema);
  for (uint32_t i = 0; i < 256; ++i) {
    table->Append(Row{(i % 16 + 0.5) / 16, (i / 16 + 0.5) / 16}, i % 2);
  }
  curator::StudySpec spec{.id = "bench",
                          .request_id = "bench",
                          .public_rows = table,
                          .partition = {.max_depth = 7},
                          .epsilon = *Budget::FromEpsilon(4),
                          .mechanism = MechanismKind::kSubsetSelection};
  spec.settings.relay = curator::RelaySettings{.relay_key = testing::RelayKey().public_key(),
                                               .min_batch = kLeastMinBatch,
                                               .delta_atto = curator::kDefaultRelayDeltaAtto};
  return spec;
}

testing::SealedBatch MakeBatch(curator::Studies& studies, const curator::StudyInfo& info,
                               uint32_t reports) {
  const auto mechanisms = *MakeMechanisms(*info.terms, *info.forest);
  OpenSslRandom random;
  std::vector<std::pair<std::string, std::string>> payloads;
  std::optional<Manifest> manifest;
  while (payloads.size() < reports) {
    const auto offer = *studies.MakeOffer(info.id, 1000);
    manifest = *ReadManifest(offer.manifest->bytes);
    for (const Ticket& ticket : offer.tickets) {
      const TicketDraw draw = DrawOf(ticket);
      payloads.emplace_back(ticket.ToBytes(), *mechanisms[0]->Randomize(
                                                  {.leaf = 1, .label = 1},
                                                  draw.Column(mechanisms[0]->columns()), random));
    }
  }
  return testing::MakeBatch(*manifest, 1, testing::RelayKey(), payloads);
}

// Returns the seconds that writing and syncing the parts one by one takes.
double WritePlainly(const std::string& path, const std::vector<std::string>& parts) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  const double start = Now(CLOCK_MONOTONIC);
  for (const std::string& part : parts) {
    if (write(file, part.data(), part.size()) != static_cast<ssize_t>(part.size()) ||
        fdatasync(file) != 0) {
      std::abort();
    }
  }
  const double taken = Now(CLOCK_MONOTONIC) - start;
  close(file);
  return taken;
}

double CurvesPerSecond() {
  const std::shared_ptr<EVP_PKEY> ours(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"),
                                       &EVP_PKEY_free);
  const KeyPtr peer(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  const std::shared_ptr<EVP_PKEY_CTX> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, ours.get(), nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY_derive_init(context.get());
  EVP_PKEY_derive_set_peer(context.get(), peer.get());
  constexpr int kTimes = 20'000;
  const double start = Now(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < kTimes; ++i) {
    uint8_t agreed[32];
    size_t size = sizeof(agreed);
    if (EVP_PKEY_derive(context.get(), agreed, &size) != 1) std::abort();
  }
  return kTimes / (Now(CLOCK_PROCESS_CPUTIME_ID) - start);
}

int Run(const Flags& flags) {
  std::filesystem::remove_all(flags.folder);
  auto store = *storage::OpenRocksDbStore(flags.folder);
  models::Models models;
  auto studies = *curator::Studies::Open(*store, models, [] { return int64_t{1000}; });
  const curator::StudyInfo info = *studies->Create(Spec());
  const testing::SealedBatch batch = MakeBatch(*studies, info, flags.reports);
  std::vector<testing::SealedBatch::Columns> columns;
  std::vector<std::string> bytes;
  size_t all_bytes = 0;
  for (size_t first = 0; first < batch.reports.size(); first += flags.part) {
    columns.push_back(batch.Part(first, flags.part));
    bytes.push_back(columns.back().tickets + columns.back().encapsulated +
                    columns.back().ciphertexts);
    all_bytes += bytes.back().size();
  }
  const double plain = WritePlainly(flags.folder + "/plain", bytes);
  const double before = CurvesPerSecond();

  const double start = Now(CLOCK_MONOTONIC);
  curator::BatchProgress progress;
  for (const auto& part : columns) {
    progress = *studies->DeliverBatch("bench", {.header = batch.header_bytes,
                                                .signature = batch.signature,
                                                .first_report = progress.received,
                                                .tickets = part.tickets,
                                                .encapsulated = part.encapsulated,
                                                .ciphertexts = part.ciphertexts});
  }
  if (progress.state != curator::BatchState::kStored) std::abort();
  const double delivered = Now(CLOCK_MONOTONIC) - start;
  const double wall = Now(CLOCK_MONOTONIC);
  const double cpu = Now(CLOCK_PROCESS_CPUTIME_ID);
  while (studies->List({.size = 1, .after = ""})[0].relay->batches.counted == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const double opened_wall = Now(CLOCK_MONOTONIC) - wall;
  const double opened_cpu = Now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const double curves = (before + CurvesPerSecond()) / 2;
  const double reports = static_cast<double>(batch.reports.size());
  const curator::StudyInfo counted = *studies->Get("bench");
  const auto accepted = counted.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)];
  if (accepted != batch.reports.size()) std::abort();
  std::printf(
      "{\"reports\":%.0f,\"bytes_a_report\":%.0f,\"delivered_per_second\":%.0f,"
      "\"delivered_mb_per_second\":%.1f,\"plain_mb_per_second\":%.1f,\"delivered_to_plain\":%.2f,"
      "\"opened_per_second\":%.0f,\"opened_per_cpu_second\":%.0f,"
      "\"x25519_per_cpu_second\":%.0f,\"opened_to_x25519\":%.3f}\n",
      reports, static_cast<double>(all_bytes) / reports, reports / delivered,
      1e-6 * static_cast<double>(all_bytes) / delivered,
      1e-6 * static_cast<double>(all_bytes) / plain, plain / delivered, reports / opened_wall,
      reports / opened_cpu, curves, reports / opened_cpu / curves);
  studies.reset();
  store.reset();
  std::filesystem::remove_all(flags.folder);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  coppice::Flags flags;
  CLI::App app("How fast a curator takes a relay's batch, and opens it");
  app.add_option("--reports", flags.reports, "Reports of the batch, a multiple of 1000");
  app.add_option("--part", flags.part, "Reports of each part");
  app.add_option("--folder", flags.folder, "Where the store is; what is there is removed");
  CLI11_PARSE(app, argc, argv);
  return coppice::Run(flags);
}
