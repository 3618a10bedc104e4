#include "server/daemon/operation/self_test.h"

#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/geometric_table.h"
#include "common/privacy/samplers.h"
#include "server/curator/keys/ticket_authority.h"

namespace coppice::daemon {
namespace {

// Outside every prefix of a study, dataset or job.
constexpr char kProbePrefix[] = "probe/start/";
constexpr char kProbeKey[] = "probe/start/key";
constexpr char kWritingKey[] = "probe/ready";

// How often draws had a property whose probability is known.
struct Frequency {
  const char* what;
  double probability;
  size_t count = 0;
};

constexpr size_t kDraws = 4096;
constexpr size_t kFrequencies = 7;  // of all samplers

// P(count is this far off) <= 2 exp(-n KL(count/n || p)), one factor per side (Chernoff). For all
// frequencies together: 14 exp(-31) < 2^-40.
bool IsTooFarOff(const Frequency& frequency) {
  static_assert(kFrequencies == 7);
  const double p = frequency.probability;
  const double q = static_cast<double>(frequency.count) / kDraws;
  const double ones = q > 0 ? q * std::log(q / p) : 0;
  const double zeros = q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0;
  return kDraws * (ones + zeros) > 31;
}

Status CheckFrequencies(std::string_view sampler, absl::Span<const Frequency> frequencies) {
  for (const Frequency& frequency : frequencies) {
    if (!IsTooFarOff(frequency)) continue;
    return UnavailableError(StrCat(
        "the sampler of ", sampler, " does not have its law: ", frequency.count, " of ", kDraws,
        " draws were ", frequency.what, ", about ", std::lround(frequency.probability * kDraws),
        " are expected; this program or its machine is damaged"));
  }
  return OkStatus();
}

// Noise at epsilon 1 and sensitivity 1: P(x) is proportional to e^-|x|.
Status TestLaplace(PrivateRandom& random) {
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

// The devices' sampler at the ratio 1/2: P(steps >= i) = 2^-i, and a fair sign.
Status TestGeometric(PrivateRandom& random) {
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

Status BadStore(std::string_view what) {
  return DataLossError(
      StrCat("the store ", what, ": check the disk of --data-dir before anything is stored"));
}

Status WriteProbe(storage::Store& store, const std::string& key, const std::string& value) {
  storage::StoreBatch batch;
  batch.Put(key, value);
  return store.Apply(batch);
}

Status BadKeys(std::string_view what) {
  return InternalError(
      StrCat("the ticket key ", what,
             ": reports would be counted twice or refused; check the disk and restore a backup"));
}

}  // namespace

Status TestSamplers(PrivateRandom& random) {
  COPPICE_RETURN_IF_ERROR(TestLaplace(random));
  return TestGeometric(random);
}

Status TestStore(storage::Store& store) {
  const std::string written(256, 'p');
  COPPICE_RETURN_IF_ERROR(WriteProbe(store, kProbeKey, written));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> read, store.Get(kProbeKey));
  if (!read.has_value()) return BadStore("has lost what was stored");
  if (*read != written) return BadStore("returns other bytes than were stored");
  storage::StoreBatch removal;
  removal.DeletePrefix(kProbePrefix);
  COPPICE_RETURN_IF_ERROR(store.Apply(removal));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> removed, store.Get(kProbeKey));
  if (removed.has_value()) return BadStore("still has what was deleted");
  return OkStatus();
}

Status TestWriting(storage::Store& store) { return WriteProbe(store, kWritingKey, "1"); }

StatusOr<TicketSeam> TicketsOf(storage::Store& store) {
  COPPICE_ASSIGN_OR_RETURN(curator::TicketAuthority opened, curator::TicketAuthority::Open(store));
  const auto authority = std::make_shared<const curator::TicketAuthority>(std::move(opened));
  return TicketSeam{
      .issue = [authority](const Fingerprint& fingerprint,
                           size_t count) { return authority->Issue(fingerprint, count); },
      .recognize = [authority](absl::Span<const Ticket> tickets,
                               const Fingerprint& fingerprint) -> StatusOr<std::vector<bool>> {
        COPPICE_ASSIGN_OR_RETURN(const auto serials, authority->Recognize(tickets, fingerprint));
        std::vector<bool> known;
        for (const auto& serial : serials) known.push_back(serial.has_value());
        return known;
      }};
}

Status TestTicketKey(const TicketSeam& tickets) {
  Fingerprint ours{};
  ours.fill(0x5a);
  Fingerprint other = ours;
  other[0] ^= 1;
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> issued, tickets.issue(ours, 2));
  if (issued.size() != 2 || issued[0].ToBytes() == issued[1].ToBytes()) {
    return BadKeys("does not issue different tickets");
  }
  std::string forged_bytes = issued[0].ToBytes();
  forged_bytes.back() = static_cast<char>(forged_bytes.back() ^ 1);
  COPPICE_ASSIGN_OR_RETURN(const Ticket forged, Ticket::FromBytes(forged_bytes));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> known,
                           tickets.recognize({issued[0], issued[1], forged}, ours));
  if (known.size() != 3 || !known[0] || !known[1])
    return BadKeys("does not recognize its own tickets");
  if (known[2]) return BadKeys("accepts a forged ticket");
  COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> elsewhere, tickets.recognize(issued, other));
  if (elsewhere != std::vector<bool>{false, false}) {
    return BadKeys("accepts a ticket of other terms");
  }
  return OkStatus();
}

Status TestClock(absl::Time now, absl::Time newest_record, absl::Duration tolerance) {
  COPPICE_RETURN_IF_ERROR(TestClockIsAfterBuild(now));
  if (now + tolerance < newest_record) {
    return FailedPreconditionError(StrCat(
        "the clock says ", absl::FormatTime(now, absl::UTCTimeZone()),
        ", but the store has a record of ", absl::FormatTime(newest_record, absl::UTCTimeZone()),
        "; set the clock, or, if it was wrong when that was written, allow for the difference with "
        "--clock-tolerance SECONDS"));
  }
  return OkStatus();
}

}  // namespace coppice::daemon
