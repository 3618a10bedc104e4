// Requests and answers as bytes, for services that read theirs by the tables of common/wire.

#ifndef COPPICE_SERVER_PROCESS_REQUEST_BYTES_H_
#define COPPICE_SERVER_PROCESS_REQUEST_BYTES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

// Frees `bytes`, whatever it returns. ResourceExhausted if there are more than `most`, before any
// of them is copied; InvalidArgument if the call came without a request.
StatusOr<std::string> TakeRequestBytes(grpc::ByteBuffer& bytes, size_t most);

grpc::ByteBuffer ToByteBuffer(std::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_REQUEST_BYTES_H_
