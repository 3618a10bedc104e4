// Messages as the bytes that travel, for handlers that read or write them themselves: gRPC ends a
// stream whose message does not parse as if the client had closed it, and copies every answer.

#ifndef COPPICE_SERVER_SERVICE_RAW_MESSAGE_H_
#define COPPICE_SERVER_SERVICE_RAW_MESSAGE_H_

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace coppice::service {

// InvalidArgument unless `bytes` are a message of this type.
template <typename Message>
absl::Status ParseMessage(grpc::ByteBuffer bytes, Message& message) {
  if (grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the request is no ",
                                                 Message::descriptor()->full_name(),
                                                 ": its bytes do not parse, or a string in it is "
                                                 "no UTF-8"));
}

// In one piece.
template <typename Message>
grpc::Slice ToSlice(const Message& message) {
  return grpc::Slice(message.SerializeAsString());
}

// The bytes themselves, not a copy: they stay until gRPC needs them no more.
inline grpc::Slice ShareBytes(const std::shared_ptr<const std::string>& bytes) {
  using Holder = std::shared_ptr<const std::string>;
  return grpc::Slice(
      const_cast<char*>(bytes->data()), bytes->size(),
      [](void* holder) { delete static_cast<Holder*>(holder); }, new Holder(bytes));
}

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_RAW_MESSAGE_H_
