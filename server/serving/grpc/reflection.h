// gRPC's service of reflection, by which grpcurl and the like learn the services of a server and
// their messages.
//
// gRPC's own has no limit for a request but the transport's, and keeps every unknown field of one:
// 62 MiB of them took over a gigabyte, from anybody with a role. This one reads a request as a
// device reads its messages (common/wire), which keeps nothing that it does not know.
//
// Source     https://github.com/grpc/grpc/blob/master/src/proto/grpc/reflection/v1alpha

#ifndef COPPICE_SERVER_SERVING_GRPC_REFLECTION_H_
#define COPPICE_SERVER_SERVING_GRPC_REFLECTION_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::rpc {

// Answers about the types that the program is linked with, and names `services`.
//
// Errors     ResourceExhausted, which ends the stream: a request of more bytes than the method
// table
//            allows, before any of it is read. What does not parse, or is not found, is part of an
//            answer.
// Threads    safe to share. Must outlive the server.
class ReflectionService final : public grpc::Service {
 public:
  explicit ReflectionService(std::vector<std::string> services);

  // The answer to one request, both serialized; for tests.
  std::string Answer(std::string_view request) const;

  // The bytes that a request may have.
  size_t most_request_bytes() const { return most_request_bytes_; }

 private:
  const std::vector<std::string> services_;
  const size_t most_request_bytes_;
};

}  // namespace coppice::rpc

#endif  // COPPICE_SERVER_SERVING_GRPC_REFLECTION_H_
