#include "server/daemon/config/limits.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>

#include <string>

#include <CLI/CLI.hpp>

#include "common/base/text.h"

namespace coppice::daemon {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Adds a flag for bytes; "67108864", "64MB" and "64MiB" are equal.
void AddBytes(CLI::App& app, const std::string& flag, uint64_t& bytes, uint64_t least,
              uint64_t most, const std::string& description) {
  app.add_option(flag, bytes, description)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(least, most).description(""))
      ->type_name("BYTES")
      ->capture_default_str();
}

// A rate must allow a whole batch of reports, or such a call would never pass.
std::string CheckRate(const std::string& text) {
  uint64_t rate = 0;
  return SimpleAtoi(text, &rate) && (rate == 0 || rate >= 1000) ? "" : "needs 0, or at least 1000";
}

}  // namespace

void AddLimitFlags(CLI::App& app, TransportLimits& transport, CuratorLimits& limits) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  constexpr uint64_t kMostOnDisk = uint64_t{1} << 50;
  AddBytes(app, "--max-message-bytes", transport.max_message_bytes, kMebibyte, 2047 * kMebibyte,
           "Largest request, or message of a stream; rows are uploaded in blocks of up to 64 MiB");
  AddBytes(app, "--max-queued-bytes", limits.max_queued_bytes, kMebibyte, kMost,
           "Memory for reports waiting to be stored; further ones are refused, with a hint when to "
           "retry");
  AddBytes(app, "--max-spool-bytes", limits.spool.bytes, kMebibyte, kMostOnDisk,
           "Disk space for relays' batches that are not counted yet; further batches wait at their "
           "relays");
  AddBytes(app, "--max-relay-spool-bytes", limits.spool.bytes_per_relay, kMebibyte, kMostOnDisk,
           "The same for the batches signed by one relay's key");
  AddBytes(app, "--max-model-bytes", limits.max_model_bytes, kMebibyte, 2047 * kMebibyte,
           "Largest model, as a message; a job whose model might be larger is refused before it is "
           "charged. The daemon does not export models above 63 MiB");
  AddBytes(app, "--model-cache-bytes", limits.model_cache_bytes, kMebibyte, kMost,
           "Memory for models in use, each about six times its message; others stay in the store");
  AddBytes(app, "--training-memory", limits.training_memory, 0, kMost,
           "Memory of each training job; one that might take more is refused before it is charged. "
           "0: half of the machine's or the control group's, divided by --training-jobs");
  app.add_option("--max-report-rate", limits.max_report_rate,
                 "Reports per second of one study, at least 1000; more are refused, with a hint "
                 "when to retry (0: no limit)")
      ->type_name("N")
      ->check(CheckRate)
      ->capture_default_str();
}

void SetTransportLimits(const TransportLimits& limits, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.max_message_bytes));
  grpc::ResourceQuota quota("coppiced");
  quota.Resize(limits.max_transport_bytes);
  builder.SetResourceQuota(quota);
  const auto milliseconds = [](absl::Duration duration) {
    return static_cast<int>(absl::ToInt64Milliseconds(duration));
  };
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, milliseconds(limits.connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             milliseconds(limits.connection_grace));
}

}  // namespace coppice::daemon
