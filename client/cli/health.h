// coppice health: is the daemon fit to serve? For people and for probes of containers.

#ifndef COPPICE_CLIENT_CLI_HEALTH_H_
#define COPPICE_CLIENT_CLI_HEALTH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddHealthCommand(CLI::App& app, Action& action);

// grpc.health.v1, whose messages have one field each.
enum class HealthStatus : uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2 };
std::string EncodeHealthRequest(absl::string_view service);  // at most 127 bytes
absl::StatusOr<HealthStatus> ParseHealthResponse(absl::string_view bytes);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_HEALTH_H_
