#include "client/device/grpc/grpc_carrier.h"

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>

#include <future>
#include <vector>

#include "client/device/grpc/server_call.h"
#include "common/base/status_macros.h"

namespace coppice {
namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

StatusOr<std::string> FromBuffer(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return DataLossError("the response could not be read");
  std::string bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// One unary call whose messages are bytes.
grpc::Status CallUnary(const std::shared_ptr<grpc::Channel>& channel, const char* method,
                       const grpc::ByteBuffer& request, grpc::ClientContext& context,
                       grpc::ByteBuffer& response) {
  grpc::GenericStub stub(channel);
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, {}, &request, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

}  // namespace

StatusOr<GrpcCarrier> GrpcCarrier::ToCurator(const ConnectOptions& connect,
                                             const RetryOptions& retry) {
  COPPICE_ASSIGN_OR_RETURN(auto channel, Connect(connect));
  return GrpcCarrier(std::move(channel), connect.server, /*relay_token=*/"", retry);
}

StatusOr<GrpcCarrier> GrpcCarrier::ToRelay(const ConnectOptions& connect,
                                           const RetryOptions& retry) {
  COPPICE_RETURN_IF_ERROR(CheckConnectOptions(connect));
  if (connect.ca_file.empty() && !connect.insecure) {
    return InvalidArgumentError(
        "a relay must be known by an authority that its operator names: whoever can show a device "
        "another certificate for its address, as many authorities of the system could, reads which "
        "ticket the device has. Give the authority's certificate (--relay-ca)");
  }
  std::string token;
  if (!connect.token_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(token, ReadTokenFile(connect.token_file));
  }
  ConnectOptions without_token = connect;
  without_token.token_file.clear();
  COPPICE_ASSIGN_OR_RETURN(auto channel, Connect(without_token));
  return GrpcCarrier(std::move(channel), connect.server, std::move(token), retry);
}

StatusOr<std::string> GrpcCarrier::Carry(const DeviceCall& call) {
  const grpc::ByteBuffer request = ToBuffer(call.request);
  grpc::ByteBuffer response;
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    response.Clear();
    if (call.shows_token && !relay_token_.empty()) {
      context.set_credentials(grpc::AccessTokenCredentials(relay_token_));
    }
    return CallUnary(channel_, call.method, request, context, response);
  }));
  return FromBuffer(response);
}

}  // namespace coppice
