// Measures how fast sealed reports open, against X25519, which no opening can do without, as
// `openssl speed ecdhx25519` times it with keys that are set once. Both take turns in one process
// on the same threads and count processor time; on a busy machine compare the ratio.
//
//   seal_bench [--threads 1] [--rounds 11] [--seconds 0.5] [--payload 64]

#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/encrypt/report_seal.h"
#include "common/terms/pem.h"

namespace coppice::seal {
namespace {

struct Flags {
  int threads = 1;
  int rounds = 11;
  double seconds = 0.5;
  size_t payload = 64;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// How often `make()()` runs per second of one thread's processor time, while `threads` threads run
// it.
double RateOf(const Flags& flags, const std::function<std::function<void()>()>& make) {
  std::vector<double> rates(static_cast<size_t>(flags.threads));
  std::vector<std::thread> threads;
  for (double& rate : rates) {
    threads.emplace_back([&] {
      const std::function<void()> once = make();
      const double start = ThreadSeconds();
      double taken = 0;
      double count = 0;
      for (; taken < flags.seconds; taken = ThreadSeconds() - start) {
        for (int i = 0; i < 16; ++i) once();
        count += 16;
      }
      rate = count / taken;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0) / flags.threads;
}

std::function<void()> CurveAlone() {
  const std::shared_ptr<EVP_PKEY> ours(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"),
                                       &EVP_PKEY_free);
  const KeyPtr peer(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  const std::shared_ptr<EVP_PKEY_CTX> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, ours.get(), nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY_derive_init(context.get());
  EVP_PKEY_derive_set_peer(context.get(), peer.get());
  return [context] {
    uint8_t agreed[32];
    size_t size = sizeof(agreed);
    if (EVP_PKEY_derive(context.get(), agreed, &size) != 1) std::abort();
  };
}

struct Sealed {
  Ticket ticket;
  std::string encapsulated, ciphertext;
};

class Measured {
 public:
  Measured(Aead aead, size_t payload)
      : sealing_{.aead = aead, .fingerprint = {1}, .payload_bytes = payload} {
    for (uint8_t i = 0; i < 200; ++i) {
      Ticket ticket;
      ticket.id[0] = i;
      const SealedMessage sealed = *Sealer().Seal(ticket, std::string(payload, 'p'));
      reports_.push_back(
          {ticket, {sealed.encapsulated.begin(), sealed.encapsulated.end()}, sealed.ciphertext});
    }
  }

  std::function<void()> Open() const {
    const auto opener = std::make_shared<ReportOpener>(*ReportOpener::Create(sealing_, key_));
    return [this, opener, next = size_t{0}]() mutable {
      const Sealed& report = reports_[next++ % reports_.size()];
      if (!opener->Open(report.ticket, report.encapsulated, report.ciphertext).ok()) std::abort();
    };
  }
  std::function<void()> Seal() const {
    const auto sealer = std::make_shared<ReportSealer>(Sealer());
    return [sealer, payload = std::string(sealing_.payload_bytes, 'p')] {
      if (!sealer->Seal(Ticket(), payload).ok()) std::abort();
    };
  }

 private:
  ReportSealer Sealer() const { return *ReportSealer::Create(sealing_, key_.public_key()); }

  const SealingKey key_ = *SealingKey::Generate();
  const ReportSealing sealing_;
  std::vector<Sealed> reports_;
};

void Measure(const Flags& flags, Aead aead, const char* name) {
  const Measured measured(aead, flags.payload);
  std::vector<double> curve, open, seal, ratio;
  for (int round = 0; round <= flags.rounds; ++round) {
    const double before = RateOf(flags, &CurveAlone);
    const double opened = RateOf(flags, [&] { return measured.Open(); });
    const double after = RateOf(flags, &CurveAlone);
    const double sealed = RateOf(flags, [&] { return measured.Seal(); });
    if (round == 0) continue;  // warm-up
    curve.push_back((before + after) / 2);
    open.push_back(opened);
    seal.push_back(sealed);
    ratio.push_back(opened / curve.back());
  }
  std::printf(
      "{\"aead\":\"%s\",\"threads\":%d,\"payload_bytes\":%zu,\"x25519_per_second\":%.0f,"
      "\"opened_per_second\":%.0f,\"sealed_per_second\":%.0f,\"opened_to_x25519\":%.3f,"
      "\"lowest\":%.3f,\"highest\":%.3f}\n",
      name, flags.threads, flags.payload, Median(curve), Median(open), Median(seal), Median(ratio),
      *std::min_element(ratio.begin(), ratio.end()), *std::max_element(ratio.begin(), ratio.end()));
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("How fast sealed reports open, beside X25519 alone", "seal_bench");
  app.add_option("--threads", flags.threads, "Threads")->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Rounds; medians are printed")->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Processor seconds of each part of a round")
      ->capture_default_str();
  app.add_option("--payload", flags.payload, "Bytes of a report")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Measure(flags, Aead::kAes128Gcm, "AES-128-GCM");
  Measure(flags, Aead::kChaCha20Poly1305, "ChaCha20-Poly1305");
  return 0;
}

}  // namespace
}  // namespace coppice::seal

int main(int argc, char** argv) { return coppice::seal::Main(argc, argv); }
