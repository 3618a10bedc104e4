#include "server/serving/grpc/message_bytes.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <vector>

#include "common/base/status.h"
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
  return service::TooLargeRequest(most_bytes);
}

}  // namespace

Status Parse(grpc::ByteBuffer& bytes, size_t most_bytes, Message& message) {
  const Status fits = CheckSize(bytes, most_bytes);
  if (!fits.ok()) return fits;
  const bool parsed = MessageTraits::Deserialize(&bytes, &message).ok();
  bytes.Clear();
  if (parsed) return OkStatus();
  return service::UnreadableRequest(message);
}

StatusOr<std::string> ToString(grpc::ByteBuffer& bytes, size_t most_bytes) {
  const Status fits = CheckSize(bytes, most_bytes);
  if (!fits.ok()) return fits;
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return InvalidArgumentError("the request is not readable");
  std::string text;
  text.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  bytes.Clear();
  return text;
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
