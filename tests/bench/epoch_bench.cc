// Measures one deal of a relay: its memory while it is open, and how fast it is made, opened again,
// dealt, filled and frozen.
//
//   epoch_bench [--tickets 1000000] [--ciphertext 82] [--folder /tmp]

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {
namespace {

struct Flags {
  uint64_t tickets = 1'000'000;
  uint64_t ciphertext = 82;
  std::string folder = "/tmp";
};

// Resident memory in megabytes; "VmHWM" is the peak so far.
double MegabytesOf(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

// Resets the peak of resident memory.
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

class Stopwatch {
 public:
  // Seconds since the last call.
  double Seconds() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

EpochSpec SpecFor(const Flags& flags) {
  EpochSpec spec{.rules = {.min_batch = 1,
                           .deal_until_unix_seconds = 1,
                           .freeze_at_unix_seconds = 2,
                           .ciphertext_bytes = flags.ciphertext},
                 .tickets = std::vector<Ticket>(flags.tickets),
                 .documents = "documents"};
  for (uint64_t i = 0; i < flags.tickets; ++i) {
    const Sha256Digest digest = Sha256({std::to_string(i)});
    std::memcpy(spec.tickets[i].id.data(), digest.data(), kTicketIdBytes);
    std::memcpy(spec.tickets[i].mac.data(), digest.data() + kTicketIdBytes, kTicketMacBytes);
  }
  return spec;
}

std::unique_ptr<Epoch> Required(StatusOr<std::unique_ptr<Epoch>> epoch) {
  if (epoch.ok()) return *std::move(epoch);
  std::fprintf(stderr, "epoch_bench: %s\n", epoch.status().ToString().c_str());
  std::exit(1);
}

void Report(const char* what, const Flags& flags, double seconds) {
  std::printf("%-28s %8.2f s %12.0f a second\n", what, seconds,
              static_cast<double>(flags.tickets) / seconds);
}

// Deals every ticket and sends its report at once.
void Fill(Epoch& epoch, const Flags& flags) {
  Stopwatch watch;
  std::vector<SealedReport> reports;
  for (auto dealt = epoch.Deal(absl::UnixEpoch()); dealt.ok();
       dealt = epoch.Deal(absl::UnixEpoch())) {
    reports.push_back({.ticket = dealt->ticket.ToBytes(),
                       .claim = std::string(dealt->claim.begin(), dealt->claim.end()),
                       .encapsulated = std::string(kEncapsulatedBytes, 'e'),
                       .ciphertext = std::string(flags.ciphertext, 'c')});
  }
  Report("dealt", flags, watch.Seconds());
  constexpr uint64_t kWaiting = 10'000;
  std::atomic<uint64_t> stored{0};
  uint64_t sent = 0;
  for (const SealedReport& report : reports) {
    while (sent - stored >= kWaiting) std::this_thread::yield();
    epoch.Submit(report, absl::UnixEpoch(), [&](const StatusOr<SubmitOutcome>& outcome) {
      if (outcome.ok() && *outcome == SubmitOutcome::kStored) ++stored;
    });
    ++sent;
  }
  while (stored < sent) std::this_thread::yield();
  Report("stored, 10,000 at a time", flags, watch.Seconds());
}

void Run(const Flags& flags) {
  std::string parent = flags.folder + "/epoch_bench_XXXXXX";
  if (mkdtemp(parent.data()) == nullptr) {
    std::fprintf(stderr, "epoch_bench: cannot make a folder in %s\n", flags.folder.c_str());
    std::exit(1);
  }
  const std::string folder = parent + "/epoch";
  Stopwatch watch;
  Required(Epoch::Create(folder, SpecFor(flags))).reset();
  Report("made", flags, watch.Seconds());

  ForgetPeak();
  const double before = MegabytesOf("VmRSS");
  watch.Seconds();
  std::unique_ptr<Epoch> epoch = Required(Epoch::Open(folder));
  Report("opened", flags, watch.Seconds());
  std::printf("%-28s %8.1f MB, %.1f while it opens\n", "memory of an open epoch",
              MegabytesOf("VmRSS") - before, MegabytesOf("VmHWM") - before);
  Fill(*epoch, flags);
  epoch.reset();
  watch.Seconds();
  epoch = Required(Epoch::Open(folder));
  Report("opened again, full", flags, watch.Seconds());
  ForgetPeak();
  const double full = MegabytesOf("VmRSS");
  if (!epoch->Freeze(absl::FromUnixSeconds(2)).ok()) std::exit(1);
  Report("frozen", flags, watch.Seconds());
  std::printf("%-28s %8.1f MB\n", "memory to freeze it", MegabytesOf("VmHWM") - full);
  for (uint64_t first = 0; first < flags.tickets; first += 1000) {
    if (!epoch->Read(first, 1000).ok()) std::exit(1);
  }
  Report("read, 1,000 at a time", flags, watch.Seconds());
  if (!epoch->Erase().ok() || !RealDisk().RemoveFolder(parent).ok()) std::exit(1);
}

}  // namespace
}  // namespace coppice::relay

int main(int argc, char** argv) {
  coppice::relay::Flags flags;
  CLI::App app("What one deal of a relay takes", "epoch_bench");
  app.add_option("--tickets", flags.tickets, "in the pool")->capture_default_str();
  app.add_option("--ciphertext", flags.ciphertext, "bytes of a sealed report")
      ->capture_default_str();
  app.add_option("--folder", flags.folder, "on the disk to measure")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  coppice::relay::Run(flags);
  return 0;
}
