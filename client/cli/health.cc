#include "client/cli/health.h"

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/cli/terminal/output.h"
#include "client/collector/collector_call.h"
#include "common/base/status_macros.h"

namespace coppice::cli {
namespace {

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";

struct HealthFlags {
  ServerFlags server;
  OutputFlags output;
  std::string service = "ready";
};

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

grpc::Status Check(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context,
                   const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  grpc::GenericStub stub(channel);
  grpc::Status status;
  absl::Notification ended;
  stub.UnaryCall(&context, kCheck, grpc::StubOptions(), &request, &response,
                 [&](grpc::Status result) {
                   status = std::move(result);
                   ended.Notify();
                 });
  ended.WaitForNotification();
  return status;
}

absl::Status Run(const HealthFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const auto channel, Connect(flags.server.Connection()));
  const grpc::ByteBuffer request = BufferOf(EncodeHealthRequest(flags.service));
  grpc::ByteBuffer response;
  COPPICE_RETURN_IF_ERROR(CallServer(
      *channel, flags.server.connect.server, flags.server.Once(),
      [&](grpc::ClientContext& context) { return Check(channel, context, request, response); }));
  COPPICE_ASSIGN_OR_RETURN(const HealthStatus health, ParseHealthResponse(BytesOf(response)));
  const bool serving = health == HealthStatus::kServing;
  PrintObject({{"service", flags.service}, {"serving", serving}}, flags.output.json);
  if (serving) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(flags.server.connect.server,
                   " is not ready: it starts, stops, or fails a check that its log names"));
}

}  // namespace

void AddHealthCommand(CLI::App& app, Action& action) {
  CLI::App& verb =
      *AddVerb(app, "health", "Ask the daemon whether it is fit to serve; exit code 0 if it is",
               "coppice health --server curator.example:8443 --ca ca.crt");
  const auto flags = std::make_shared<HealthFlags>();
  AddServerFlags(verb, flags->server);
  AddOutputFlags(verb, flags->output);
  verb.add_flag_callback(
      "--alive", [flags] { flags->service.clear(); },
      "Ask only whether it is up, not whether its checks pass");
  OnParsed(verb, action, flags, Run);
}

std::string EncodeHealthRequest(absl::string_view service) {
  if (service.empty()) return "";
  const std::string header = {'\x0a', static_cast<char>(service.size())};  // field 1, a string
  return absl::StrCat(header, service);
}

absl::StatusOr<HealthStatus> ParseHealthResponse(absl::string_view bytes) {
  if (bytes.empty()) return HealthStatus::kUnknown;
  if (bytes.size() != 2 || bytes[0] != '\x08') {  // field 1, a number below 128
    return absl::DataLossError("the answer is none of grpc.health.v1");
  }
  if (bytes[1] == 1) return HealthStatus::kServing;
  return bytes[1] == 2 ? HealthStatus::kNotServing : HealthStatus::kUnknown;
}

}  // namespace coppice::cli
