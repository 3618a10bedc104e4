#include "server/coppiced_limits.h"

#include <grpcpp/resource_quota.h>

#include <string>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"

namespace coppice {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// "67108864", "64MB" and "64MiB" are the same.
void AddBytes(CLI::App& app, const std::string& flag, uint64_t& bytes, uint64_t least,
              uint64_t most, const std::string& description) {
  app.add_option(flag, bytes, description)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(least, most).description(""))
      ->type_name("BYTES")
      ->capture_default_str();
}

// A whole batch of reports, or one call would never pass.
std::string CheckRate(const std::string& text) {
  uint64_t rate = 0;
  return absl::SimpleAtoi(text, &rate) && (rate == 0 || rate >= 1000) ? ""
                                                                      : "wants 0, or at least 1000";
}

}  // namespace

void AddLimitFlags(CLI::App& app, DaemonLimits& limits) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  AddBytes(app, "--max-message-bytes", limits.max_message_bytes, kMebibyte, 2047 * kMebibyte,
           "Largest request, also of a stream; uploads of rows come in blocks of up to 64 MiB");
  AddBytes(app, "--max-queued-bytes", limits.max_queued_bytes, kMebibyte, kMost,
           "Reports that wait to be written; more are refused, with a hint when to come again");
  AddBytes(app, "--max-stream-bytes", limits.max_stream_bytes, kMebibyte, kMost,
           "What all report streams together may hold; beyond it each is read one request at a "
           "time");
  app.add_option("--max-streams", limits.max_streams,
                 "Report streams that may be open; more are refused, with a hint when to come "
                 "again")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}).description(""))
      ->capture_default_str();
  AddBytes(app, "--max-transport-bytes", limits.max_transport_bytes, 64 * kMebibyte, kMost,
           "What gRPC may hold for all connections; beyond it it reads more slowly and closes "
           "idle ones");
  app.add_option("--max-report-rate", limits.max_report_rate,
                 "Reports a second of one study, at least 1000; more are refused, with a hint "
                 "when to come again (0: no limit)")
      ->type_name("N")
      ->check(CheckRate)
      ->capture_default_str();
}

void SetTransportLimits(const DaemonLimits& limits, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.max_message_bytes));
  grpc::ResourceQuota quota("coppiced");
  quota.Resize(limits.max_transport_bytes);
  builder.SetResourceQuota(quota);
}

}  // namespace coppice
