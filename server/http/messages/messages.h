// The messages of calls over HTTP: as JSON, or in protobuf's encoding.

#ifndef COPPICE_SERVER_HTTP_MESSAGES_MESSAGES_H_
#define COPPICE_SERVER_HTTP_MESSAGES_MESSAGES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "server/http/protocol.h"
#include "server/process/byte_load.h"

namespace coppice::http {

// Makes room for a message that will take this many bytes of memory, or refuses it.
using AdmitMessage = absl::FunctionRef<StatusOr<calls::HeldBytes>(size_t memory)>;

// Looks the bytes over, and calls `admit` before it allocates anything. The result is to be kept as
// long as the message.
//
// Units      bytes. JSON names are lowerCamelCase or as in the .proto; unknown ones are rejected.
// Errors     InvalidArgument, naming the field and quoting no value: values are private. Those of
//            `admit`.
StatusOr<calls::HeldBytes> ParseMessage(Encoding encoding, std::string_view bytes,
                                        AdmitMessage admit, google::protobuf::Message& message);

// Internal if the message is too large to serialize: 2 GB.
StatusOr<std::string> SerializeMessage(Encoding encoding, const google::protobuf::Message& message);
// For an answer that is there already in protobuf's encoding, as a message of `type`.
StatusOr<std::string> SerializeBytes(Encoding encoding, std::string bytes,
                                     const google::protobuf::Message& type);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_MESSAGES_MESSAGES_H_
