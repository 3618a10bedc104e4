// Reads messages from Protobuf's JSON.
//
// Protobuf 3.21 reads some texts as something else than they say: it leaves null out of a list, so
// that the values behind it move to other rows; joins a list in a list with the outer one; gives a
// null in a map a default value; and joins a field that occurs twice, or takes its last value. All
// of these are refused here, as ProtoJSON allows or demands.
//
// Source     https://protobuf.dev/programming-guides/json

#ifndef COPPICE_COMMON_WIRE_PROTO_JSON_MESSAGE_H_
#define COPPICE_COMMON_WIRE_PROTO_JSON_MESSAGE_H_

#include <google/protobuf/message.h>

#include <string_view>

#include "common/base/status.h"

namespace coppice {

// What becomes of members that the message has no field for.
enum class UnknownFields { kRefused, kSkipped };

// Reads `json` into `message`, which holds a part of it after an error.
//
// Units      JSON names are lowerCamelCase or as in the .proto; a missing number is "NaN".
// Errors     InvalidArgument, which continues "this is no model: ". It names the field by its path,
//            "rows[3].values[0]", and quotes no value, because values may be private.
Status ParseJsonMessage(std::string_view json, google::protobuf::Message& message,
                        UnknownFields unknown = UnknownFields::kRefused);

// The two steps of ParseJsonMessage(): the first refuses what is listed above and returns what the
// message will take in memory, as MeasureMessage() (message_walk.h), without allocating; the second
// reads a text that the first took.
StatusOr<size_t> MeasureJsonMessage(std::string_view json, const google::protobuf::Descriptor& type,
                                    UnknownFields unknown = UnknownFields::kRefused);
Status ParseMeasuredJson(std::string_view json, google::protobuf::Message& message,
                         UnknownFields unknown = UnknownFields::kRefused);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_JSON_MESSAGE_H_
