#include "server/serving/grpc/message_bytes.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/message_walk.h"
#include "server/serving/calls/unary_call.h"

namespace coppice::rpc {
namespace {

using google::protobuf::Message;
using MessageTraits = grpc::SerializationTraits<Message>;

grpc::Slice Share(const std::shared_ptr<const std::string>& bytes) {
  using Holder = std::shared_ptr<const std::string>;
  return grpc::Slice(
      const_cast<char*>(bytes->data()), bytes->size(),
      [](void* holder) { delete static_cast<Holder*>(holder); }, new Holder(bytes));
}

// Frees bytes that are too many.
Status CheckSize(grpc::ByteBuffer& bytes, size_t most_bytes) {
  if (bytes.Length() <= most_bytes) return OkStatus();
  bytes.Clear();
  return calls::TooLargeRequest(most_bytes);
}

StatusOr<calls::HeldBytes> Admit(grpc::ByteBuffer& bytes, service::MessageIntake& intake,
                                 const Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return UnreadableRequest(*message.GetDescriptor());
  COPPICE_ASSIGN_OR_RETURN(const size_t size, MeasureMessage(reader, *message.GetDescriptor()));
  return intake.Admit(size);
}

}  // namespace

StatusOr<calls::HeldBytes> Parse(grpc::ByteBuffer& bytes, size_t most_bytes,
                                 service::MessageIntake& intake, Message& message) {
  COPPICE_RETURN_IF_ERROR(CheckSize(bytes, most_bytes));
  StatusOr<calls::HeldBytes> held = Admit(bytes, intake, message);
  const bool parsed = held.ok() && MessageTraits::Deserialize(&bytes, &message).ok();
  bytes.Clear();
  if (parsed || !held.ok()) return held;
  return UnreadableRequest(*message.GetDescriptor());
}

Status Serialize(const Message& message, grpc::ByteBuffer& bytes) {
  bytes.Clear();  // gRPC has sent the last message, but leaves its bytes here
  bool own = false;
  const grpc::Status written = MessageTraits::Serialize(message, &bytes, &own);
  return written.ok() ? OkStatus() : InternalError(written.error_message());
}

grpc::ByteBuffer Join(const service::MessagePieces& pieces) {
  std::vector<grpc::Slice> slices;
  slices.reserve(pieces.size());
  for (const service::MessagePiece& piece : pieces) {
    if (piece.shared != nullptr) {
      slices.push_back(Share(piece.shared));
    } else {
      slices.emplace_back(piece.own);
    }
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace coppice::rpc
