#include <memory>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "grpc/health/v1/health.pb.h"

namespace coppice::cli {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

struct HealthFlags {
  ServerFlags server;
  OutputFlags output;
  std::string service = "ready";
};

Status CheckHealth(const HealthFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  HealthCheckRequest request;
  request.set_service(flags.service);
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<HealthCheckResponse>(request));
  const bool serving = response.status() == HealthCheckResponse::SERVING;
  PrintObject({{"service", flags.service}, {"serving", serving}}, flags.output.json);
  if (serving) return OkStatus();
  return FailedPreconditionError(
      StrCat(flags.server.connect.server,
             " is not ready: it is starting, stopping, standing by in a fleet, or failing a check "
             "that its log names"));
}

}  // namespace

void AddHealthCommand(CommandLine& line) {
  const Command verb =
      line.AddCommand("health", "Ask whether the daemon is ready to serve; exit code 0 if so",
                      "coppice health --server curator.example:8443 --ca ca.crt");
  const auto flags = std::make_shared<HealthFlags>();
  AddServerFlags(verb, flags->server);
  AddOutputFlags(verb, flags->output);
  verb.AddSwitch(
      "--alive", [flags] { flags->service.clear(); },
      "Ask only whether it is running, not whether its checks pass");
  SetAction(verb, flags, CheckHealth);
}

}  // namespace coppice::cli
