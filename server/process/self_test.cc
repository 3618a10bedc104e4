#include "server/process/self_test.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr size_t kWords = 2048;  // words of 32 bits
using Words = std::array<uint32_t, kWords>;
constexpr double kBits = 32.0 * kWords;

Status BadSource(std::string_view what) {
  return UnavailableError(
      StrCat("the random source ", what,
             ": nothing private may be made on this machine; check its kernel, its virtual "
             "hardware and OpenSSL's configuration"));
}

StatusOr<Words> DrawWords(PrivateRandom& random) {
  Words words{};
  for (uint32_t& word : words) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(uint64_t{1} << 32));
    word = static_cast<uint32_t>(drawn);
  }
  return words;
}

// 512 blocks of 128 bits: two are equal with probability below 2^-110.
bool RepeatsItself(const Words& words) {
  std::set<std::array<uint32_t, 4>> seen;
  for (size_t i = 0; i < words.size(); i += 4) {
    if (!seen.insert({words[i], words[i + 1], words[i + 2], words[i + 3]}).second) return true;
  }
  return false;
}

// Checks each of the 32 bit positions; a sound source fails with probability below 2^-62.
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

// Counts bits that differ from the bit before; for fair, independent bits these differences are
// fair and independent too. Comparing the first with the last takes at most one from the sum; the
// limit is 1196.
double ChangesOf(const Words& words) {
  uint32_t last = words.back();
  size_t changes = 0;
  for (const uint32_t word : words) {
    changes += std::bitset<32>(word ^ (word << 1 | last >> 31)).count();
    last = word;
  }
  return static_cast<double>(changes);
}

// Among 8192 bytes one value is expected 32 times, and occurs 108 times with probability below
// 2^-79 (Chernoff: exp(-(k ln(k / 32) - k + 32))); for one of 256 values that is 2^-71.
bool FavoursAByte(const Words& words) {
  std::array<size_t, 256> counts{};
  for (const uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) ++counts[word >> shift & 0xff];
  }
  return *std::max_element(counts.begin(), counts.end()) >= 108;
}

}  // namespace

Status TestRandomSource(PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const Words words, DrawWords(random));
  if (RepeatsItself(words)) return BadSource("repeats itself");
  if (LeansTooFar(OnesOf(words))) return BadSource("has too many ones or zeros");
  if (HasStuckBit(words)) return BadSource("has a bit with too many ones or zeros");
  if (LeansTooFar(ChangesOf(words))) return BadSource("has bits that depend on each other");
  if (FavoursAByte(words)) return BadSource("favours a byte");
  return OkStatus();
}

Status TestClockIsAfterBuild(absl::Time now) {
  const absl::Time built = absl::FromUnixSeconds(COPPICE_BUILD_UNIX_SECONDS);
  if (now < built) {
    return FailedPreconditionError(
        StrCat("the clock says ", absl::FormatTime(now, absl::UTCTimeZone()),
               ", before this program was built (", absl::FormatTime(built, absl::UTCTimeZone()),
               "); set the clock"));
  }
  return OkStatus();
}

std::vector<Status> RunSelfTests(const std::vector<SelfTest>& tests) {
  std::vector<Status> failures;
  for (const SelfTest& test : tests) {
    const Status status = test.run();
    if (status.ok()) continue;
    failures.emplace_back(status.code(), StrCat(test.name, ": ", status.message()));
  }
  return failures;
}

}  // namespace coppice
