// Messages in gRPC's form. This code, not gRPC, parses and serializes all of ours: gRPC ends a
// stream whose message does not parse as if the client had closed it, and copies every answer.

#ifndef COPPICE_SERVER_SERVING_GRPC_MESSAGE_BYTES_H_
#define COPPICE_SERVER_SERVING_GRPC_MESSAGE_BYTES_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "common/base/status.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/message_intake.h"

namespace coppice::rpc {

// Frees `bytes`, whatever it returns, which is to be kept as long as the message. ResourceExhausted
// if there are more than `most_bytes`, before anything of them is read, or `intake` has no room;
// InvalidArgument if they are no message of this type.
StatusOr<calls::HeldBytes> Parse(grpc::ByteBuffer& bytes, size_t most_bytes,
                                 service::MessageIntake& intake,
                                 google::protobuf::Message& message);

// Internal if the message is too large to serialize: 2 GB.
Status Serialize(const google::protobuf::Message& message, grpc::ByteBuffer& bytes);

// Does not copy shared pieces; gRPC holds them while it needs them.
grpc::ByteBuffer Join(const service::MessagePieces& pieces);

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_MESSAGE_BYTES_H_
