#include "client/cli/terminal/relay_flags.h"

#include <algorithm>
#include <cmath>

#include "client/cli/terminal/flags.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/delta.h"
#include "common/terms/public_key_file.h"
#include "common/terms/relay_promise.h"

namespace coppice::cli {
namespace {

constexpr double kMillion = 1e6;

// Converts a share to millionths, rounded up.
std::optional<uint32_t> MillionthsOf(const std::string& text) {
  double share = 0;
  if (!SimpleAtod(text, &share) || !(share >= 0 && share <= 0.999999)) return std::nullopt;
  return static_cast<uint32_t>(std::ceil(share * kMillion - 1e-6));
}

std::string CheckDelta(const std::string& text) {
  const StatusOr<uint64_t> delta = ParseDelta(text);
  return delta.ok() && *delta > 0 ? "" : "needs a number above 0 and below 1, such as 1e-8";
}

}  // namespace

Flag AddBatchFlags(const Command& command, RelayFlags& flags) {
  const Flag min_batch = command
                             .Add("--min-batch", flags.min_batch,
                                  "Smallest batch that the relay passes on; it drops smaller ones")
                             .InRange(kLeastMinBatch, kMaxEpochTickets);
  command
      .Add("--dishonest", flags.dishonest,
           "Share of a batch that is assumed to hide nobody, for what is promised towards the "
           "curator (default: its choice)")
      .Check([](const std::string& text) {
        return MillionthsOf(text).has_value() ? "" : "needs a share from 0 to 0.999999";
      })
      .Takes("SHARE")
      .Needs(min_batch);
  command
      .Add("--relay-delta", flags.delta,
           "Delta of that promise, at most a tenth of one in --min-batch (default: the curator's "
           "choice)")
      .Check(CheckDelta, "NUMBER")
      .Needs(min_batch);
  return min_batch;
}

void AddRelayFlags(const Command& command, RelayFlags& flags) {
  const Flag key =
      AddPublicKeyFlag(command, "--relay-key", flags.key,
                       "Accept reports only through the relay with this key (`coppice-relay "
                       "keygen`), so that the curator does not learn which device sent which");
  const Flag min_batch = AddBatchFlags(command, flags);
  key.Needs(min_batch);
  min_batch.Needs(key);
}

Status SetRelay(const RelayFlags& flags, v1::StudySettings& settings) {
  if (!flags.min_batch.has_value()) return OkStatus();
  v1::RelaySettings& relay = *settings.mutable_relay();
  if (!flags.key.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const PublicKey key, ReadPublicKey(flags.key));
    relay.mutable_relay_key()->assign(key.begin(), key.end());
  }
  relay.set_min_batch(*flags.min_batch);
  if (!flags.dishonest.empty()) {
    relay.set_dishonest_millionths(*MillionthsOf(flags.dishonest));
  }
  relay.set_delta_atto(flags.delta.empty() ? 0 : *ParseDelta(flags.delta));
  return OkStatus();
}

}  // namespace coppice::cli
