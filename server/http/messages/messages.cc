#include "server/http/messages/messages.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>

#include <memory>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/json_message.h"
#include "common/wire/proto/message_walk.h"

namespace coppice::http {

using google::protobuf::Message;

StatusOr<calls::HeldBytes> ParseMessage(Encoding encoding, std::string_view bytes,
                                        AdmitMessage admit, Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  if (encoding == Encoding::kProto) {
    const auto size = static_cast<int>(bytes.size());
    google::protobuf::io::ArrayInputStream stream(bytes.data(), size);
    COPPICE_ASSIGN_OR_RETURN(const size_t memory, MeasureMessage(stream, type));
    COPPICE_ASSIGN_OR_RETURN(calls::HeldBytes held, admit(memory));
    if (message.ParseFromArray(bytes.data(), size)) return held;
    return UnreadableRequest(type);
  }
  const auto refuse = [&](const Status& status) {
    return InvalidArgumentError(
        StrCat("the request is no ", type.full_name(), ": ", status.message()));
  };
  const StatusOr<size_t> memory = MeasureJsonMessage(bytes, type);
  if (!memory.ok()) return refuse(memory.status());
  COPPICE_ASSIGN_OR_RETURN(calls::HeldBytes held, admit(*memory));
  const Status status = ParseMeasuredJson(bytes, message);
  if (!status.ok()) return refuse(status);
  return held;
}

StatusOr<std::string> SerializeMessage(Encoding encoding, const Message& message) {
  std::string bytes;
  if (encoding == Encoding::kProto) {
    if (message.SerializeToString(&bytes)) return bytes;
    return InternalError("the answer is too large for a message");
  }
  const auto status = google::protobuf::util::MessageToJsonString(message, &bytes);
  if (status.ok()) return bytes;
  return InternalError("the answer cannot be written as JSON");
}

StatusOr<std::string> SerializeBytes(Encoding encoding, std::string bytes, const Message& type) {
  if (encoding == Encoding::kProto) return bytes;
  const std::unique_ptr<Message> message(type.New());
  if (!message->ParseFromString(bytes)) return InternalError("the answer does not parse");
  return SerializeMessage(encoding, *message);
}

}  // namespace coppice::http
