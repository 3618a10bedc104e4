// The messages of calls over HTTP: as JSON, or in protobuf's encoding.

#ifndef COPPICE_SERVER_SERVING_HTTP_MESSAGES_H_
#define COPPICE_SERVER_SERVING_HTTP_MESSAGES_H_

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/http/protocol.h"
#include "server/process/byte_load.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/message_intake.h"

namespace coppice::http {

// Units      bytes. JSON names are lowerCamelCase or as in the .proto; unknown ones are rejected.
// Errors     InvalidArgument, naming the field and quoting no value: values are private.
//            ResourceExhausted if `intake` has no room. The result is to be kept as long as the
//            message.
StatusOr<calls::HeldBytes> ParseMessage(Encoding encoding, std::string_view bytes,
                                        service::MessageIntake& intake,
                                        google::protobuf::Message& message);

// Internal if the message is too large to serialize: 2 GB.
StatusOr<std::string> SerializeMessage(Encoding encoding, const google::protobuf::Message& message);
// `type` is a message of the pieces' type.
StatusOr<std::string> SerializePieces(Encoding encoding, const service::MessagePieces& pieces,
                                      const google::protobuf::Message& type);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_SERVING_HTTP_MESSAGES_H_
