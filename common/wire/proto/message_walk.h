// Looks over a message before protobuf parses it, and says what it will take in memory.
//
// Protobuf allocates as it reads: two bytes of an empty element become fifty to a hundred, and so a
// message within its limit of bytes could take gigabytes before anybody counts its elements. The
// walk counts them first, and allocates nothing.
//
// Guarantee  The result is at least what protobuf 3.21 will hold for the message, and at most a few
//            times that: lists that grow by doubling are counted as if they had just grown. Time is
//            linear in the bytes.
// Errors     InvalidArgument for what no honest client sends: a group, a singular field twice, more
//            than kMaxUnknownFields unknown fields, nesting deeper than protobuf takes, and bytes
//            that are no message. Texts are not checked: protobuf does that.
// Threads    safe to call from any thread.

#ifndef COPPICE_COMMON_WIRE_PROTO_MESSAGE_WALK_H_
#define COPPICE_COMMON_WIRE_PROTO_MESSAGE_WALK_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>

#include "common/base/status.h"

namespace coppice {

// Reads `bytes` to their end.
StatusOr<size_t> MeasureMessage(google::protobuf::io::ZeroCopyInputStream& bytes,
                                const google::protobuf::Descriptor& type);

// What one more value of the field takes in a parsed message, without the bytes of a text: a whole
// message, or a number. Also for those who read another format than the wire's.
size_t BytesOfElement(const google::protobuf::FieldDescriptor& field);
// What the type takes by itself, empty.
size_t BytesOfMessage(const google::protobuf::Descriptor& type);

// The status of a request whose bytes the walk passed and protobuf cannot read as this type.
Status UnreadableRequest(const google::protobuf::Descriptor& type);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_MESSAGE_WALK_H_
