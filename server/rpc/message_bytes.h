// Messages as gRPC carries them. All of ours are parsed and written here, not by gRPC: it ends a
// stream whose message does not parse as if the client had closed it, and copies every answer.

#ifndef COPPICE_SERVER_RPC_MESSAGE_BYTES_H_
#define COPPICE_SERVER_RPC_MESSAGE_BYTES_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/service/calls/handler_registry.h"

namespace coppice::rpc {

// Both free `bytes`. InvalidArgument unless they are a message of this type, or cannot be read.
absl::Status Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message);
absl::StatusOr<std::string> ToString(grpc::ByteBuffer& bytes);

// Internal if it is too large for a message: 2 GB.
absl::Status Serialize(const google::protobuf::Message& message, grpc::ByteBuffer& bytes);

// Shared pieces are not copied: they stay until gRPC needs them no more.
grpc::ByteBuffer Join(const service::MessagePieces& pieces);

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_RPC_MESSAGE_BYTES_H_
