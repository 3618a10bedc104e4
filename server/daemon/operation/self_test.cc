#include "server/daemon/operation/self_test.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/privacy/geometric_table.h"
#include "common/privacy/samplers.h"
#include "server/curator/keys/ticket_authority.h"

namespace coppice::daemon {
namespace {

// Not under any prefix that a study, a dataset or a job has.
constexpr char kProbePrefix[] = "probe/start/";
constexpr char kProbeKey[] = "probe/start/key";
constexpr char kWritingKey[] = "probe/ready";

constexpr size_t kWords = 2048;  // of 32 bits
using Words = std::array<uint32_t, kWords>;
constexpr double kBits = 32.0 * kWords;

absl::Status BadSource(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("the random source ", what,
                   ": nothing private may be made on this machine; check its kernel, its virtual "
                   "hardware and OpenSSL's configuration"));
}

absl::StatusOr<Words> DrawWords(PrivateRandom& random) {
  Words words{};
  for (uint32_t& word : words) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(uint64_t{1} << 32));
    word = static_cast<uint32_t>(drawn);
  }
  return words;
}

// 512 blocks of 128 bits: two are the same with probability below 2^-110.
bool RepeatsItself(const Words& words) {
  std::set<std::array<uint32_t, 4>> seen;
  for (size_t i = 0; i < words.size(); i += 4) {
    if (!seen.insert({words[i], words[i + 1], words[i + 2], words[i + 3]}).second) return true;
  }
  return false;
}

// Each of the 32 bits over all words: one is so far from its mean with probability below 2^-62.
bool HasStuckBit(const Words& words) {
  const auto size = static_cast<double>(words.size());
  const double limit = std::sqrt(68 * std::log(2.0) * size / 2);
  for (int bit = 0; bit < 32; ++bit) {
    double ones = 0;
    for (const uint32_t word : words) ones += word >> bit & 1;
    if (std::abs(ones - size / 2) > limit) return true;
  }
  return false;
}

// A sum of kBits fair bits is this far from its mean with probability below 2^-62 (Hoeffding:
// 2 exp(-2 t^2 / n)).
bool LeansTooFar(double ones) {
  static const double limit = std::sqrt(63 * std::log(2.0) * kBits / 2);
  return std::abs(ones - kBits / 2) > limit;
}

double OnesOf(const Words& words) {
  size_t ones = 0;
  for (const uint32_t word : words) ones += std::bitset<32>(word).count();
  return static_cast<double>(ones);
}

// Bits that differ from the one before, which of fair and independent bits are fair and independent
// too. The first is compared with the last: that takes one from the sum at most, of a limit of
// 1196.
double ChangesOf(const Words& words) {
  uint32_t last = words.back();
  size_t changes = 0;
  for (const uint32_t word : words) {
    changes += std::bitset<32>(word ^ (word << 1 | last >> 31)).count();
    last = word;
  }
  return static_cast<double>(changes);
}

// Of 8192 bytes one value is expected 32 times, and comes 108 times with probability below 2^-79
// (Chernoff: exp(-(k ln(k / 32) - k + 32))); one of 256 values with 2^-71.
bool FavoursAByte(const Words& words) {
  std::array<size_t, 256> counts{};
  for (const uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) ++counts[word >> shift & 0xff];
  }
  return *std::max_element(counts.begin(), counts.end()) >= 108;
}

// How often a draw had a property that it has with a known probability.
struct Frequency {
  const char* what;
  double probability;
  size_t count = 0;
};

constexpr size_t kDraws = 4096;
constexpr size_t kFrequencies = 7;  // of all samplers together

// P(count is this far off) <= 2 exp(-n KL(count/n || p)), one side each (Chernoff). All of them
// together: 14 exp(-31) < 2^-40.
bool IsTooFarOff(const Frequency& frequency) {
  static_assert(kFrequencies == 7);
  const double p = frequency.probability;
  const double q = static_cast<double>(frequency.count) / kDraws;
  const double ones = q > 0 ? q * std::log(q / p) : 0;
  const double zeros = q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0;
  return kDraws * (ones + zeros) > 31;
}

absl::Status CheckFrequencies(absl::string_view sampler, absl::Span<const Frequency> frequencies) {
  for (const Frequency& frequency : frequencies) {
    if (!IsTooFarOff(frequency)) continue;
    return absl::UnavailableError(absl::StrCat(
        "the sampler of ", sampler, " does not have its law: ", frequency.count, " of ", kDraws,
        " draws were ", frequency.what, ", about ", std::lround(frequency.probability * kDraws),
        " are expected; this program or its machine is damaged"));
  }
  return absl::OkStatus();
}

// Noise at epsilon 1 and sensitivity 1: P(x) is proportional to e^-|x|.
absl::Status TestLaplace(PrivateRandom& random) {
  const double r = std::exp(-1.0);
  std::array<Frequency, 4> seen = {
      Frequency{.what = "0", .probability = (1 - r) / (1 + r)},
      Frequency{.what = "negative", .probability = r / (1 + r)},
      Frequency{.what = "2 or more from 0", .probability = 2 * r * r / (1 + r)},
      Frequency{.what = "4 or more from 0", .probability = 2 * std::pow(r, 4) / (1 + r)}};
  for (size_t i = 0; i < kDraws; ++i) {
    COPPICE_ASSIGN_OR_RETURN(const int64_t x, DiscreteLaplace(1, 1, random));
    seen[0].count += x == 0;
    seen[1].count += x < 0;
    seen[2].count += std::abs(x) >= 2;
    seen[3].count += std::abs(x) >= 4;
  }
  return CheckFrequencies("discrete Laplace noise", seen);
}

// What devices' samplers draw by, at the ratio 1/2: P(steps >= i) = 2^-i, and a fair sign.
absl::Status TestGeometric(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const GeometricTable table, GeometricTable::Create(uint32_t{1} << 31));
  std::vector<SignedSteps> draws(kDraws);
  COPPICE_RETURN_IF_ERROR(random.Geometric(table, absl::MakeSpan(draws)));
  std::array<Frequency, 3> seen = {Frequency{.what = "0", .probability = 0.5},
                                   Frequency{.what = "3 or more", .probability = 0.125},
                                   Frequency{.what = "negative", .probability = 0.5}};
  for (const SignedSteps draw : draws) {
    seen[0].count += StepsOf(draw) == 0;
    seen[1].count += StepsOf(draw) >= 3;
    seen[2].count += IsNegative(draw);
  }
  return CheckFrequencies("geometric steps", seen);
}

absl::Status BadStore(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the store ", what, ": check the disk of --data-dir before anything is stored"));
}

absl::Status WriteProbe(storage::Store& store, const std::string& key, const std::string& value) {
  storage::StoreBatch batch;
  batch.Put(key, value);
  return store.Apply(batch);
}

absl::Status BadKeys(absl::string_view what) {
  return absl::InternalError(absl::StrCat(
      "the ticket key ", what,
      ": reports would be counted twice or refused; check the disk and restore a backup"));
}

}  // namespace

absl::Status TestRandomSource(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const Words words, DrawWords(random));
  if (RepeatsItself(words)) return BadSource("repeats itself");
  if (LeansTooFar(OnesOf(words))) return BadSource("has too many ones or zeros");
  if (HasStuckBit(words)) return BadSource("has a bit with too many ones or zeros");
  if (LeansTooFar(ChangesOf(words))) return BadSource("has bits that depend on each other");
  if (FavoursAByte(words)) return BadSource("favours a byte");
  return absl::OkStatus();
}

absl::Status TestSamplers(PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(TestLaplace(random));
  return TestGeometric(random);
}

absl::Status TestStore(storage::Store& store) {
  const std::string written(256, 'p');
  COPPICE_RETURN_IF_ERROR(WriteProbe(store, kProbeKey, written));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> read, store.Get(kProbeKey));
  if (!read.has_value()) return BadStore("has lost what it took");
  if (*read != written) return BadStore("returns other bytes than it took");
  storage::StoreBatch removal;
  removal.DeletePrefix(kProbePrefix);
  COPPICE_RETURN_IF_ERROR(store.Apply(removal));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> removed, store.Get(kProbeKey));
  if (removed.has_value()) return BadStore("keeps what was deleted");
  return absl::OkStatus();
}

absl::Status TestWriting(storage::Store& store) { return WriteProbe(store, kWritingKey, "1"); }

absl::StatusOr<TicketSeam> TicketsOf(storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(curator::TicketAuthority opened, curator::TicketAuthority::Open(store));
  const auto authority = std::make_shared<const curator::TicketAuthority>(std::move(opened));
  return TicketSeam{
      .issue = [authority](const Fingerprint& fingerprint,
                           size_t count) { return authority->Issue(fingerprint, count); },
      .recognize = [authority](absl::Span<const Ticket> tickets, const Fingerprint& fingerprint)
          -> absl::StatusOr<std::vector<bool>> {
        COPPICE_ASSIGN_OR_RETURN(const auto serials, authority->Recognize(tickets, fingerprint));
        std::vector<bool> known;
        for (const auto& serial : serials) known.push_back(serial.has_value());
        return known;
      }};
}

absl::Status TestTicketKey(const TicketSeam& tickets) {
  Fingerprint ours{};
  ours.fill(0x5a);
  Fingerprint other = ours;
  other[0] ^= 1;
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> issued, tickets.issue(ours, 2));
  if (issued.size() != 2 || issued[0].ToBytes() == issued[1].ToBytes()) {
    return BadKeys("issues no two different tickets");
  }
  std::string forged_bytes = issued[0].ToBytes();
  forged_bytes.back() = static_cast<char>(forged_bytes.back() ^ 1);
  COPPICE_ASSIGN_OR_RETURN(const Ticket forged, Ticket::FromBytes(forged_bytes));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> known,
                           tickets.recognize({issued[0], issued[1], forged}, ours));
  if (known.size() != 3 || !known[0] || !known[1]) return BadKeys("does not know its own tickets");
  if (known[2]) return BadKeys("takes a forged ticket");
  COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> elsewhere, tickets.recognize(issued, other));
  if (elsewhere != std::vector<bool>{false, false}) {
    return BadKeys("takes a ticket of other terms");
  }
  return absl::OkStatus();
}

absl::Status TestClock(absl::Time now, absl::Time newest_record, absl::Duration tolerance) {
  const absl::Time built = absl::FromUnixSeconds(COPPICE_BUILD_UNIX_SECONDS);
  if (now < built) {
    return absl::FailedPreconditionError(
        absl::StrCat("the clock says ", absl::FormatTime(now, absl::UTCTimeZone()),
                     ", before this program was built (",
                     absl::FormatTime(built, absl::UTCTimeZone()), "); set the clock"));
  }
  if (now + tolerance < newest_record) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the clock says ", absl::FormatTime(now, absl::UTCTimeZone()),
        ", but the store has a record of ", absl::FormatTime(newest_record, absl::UTCTimeZone()),
        "; set the clock, or, if it was wrong when that was written, allow for the difference with "
        "--clock-tolerance SECONDS"));
  }
  return absl::OkStatus();
}

std::vector<absl::Status> RunSelfTests(const std::vector<SelfTest>& tests) {
  std::vector<absl::Status> failures;
  for (const SelfTest& test : tests) {
    const absl::Status status = test.run();
    if (status.ok()) continue;
    failures.emplace_back(status.code(), absl::StrCat(test.name, ": ", status.message()));
  }
  return failures;
}

}  // namespace coppice::daemon
