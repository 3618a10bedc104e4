// gRPC's standard service of health (grpc.health.v1), by which a balancer, a probe or `coppice
// health` asks whether a server lives and whether it should get calls.
//
// gRPC's own takes a request as long as the transport's limit, from anybody, and copies it several
// times before it looks for the name in it.

#ifndef COPPICE_SERVER_PROCESS_HEALTH_SERVICE_H_
#define COPPICE_SERVER_PROCESS_HEALTH_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <cstddef>
#include <memory>

namespace coppice {

inline constexpr char kHealthCheckPath[] = "/grpc.health.v1.Health/Check";
inline constexpr char kHealthWatchPath[] = "/grpc.health.v1.Health/Watch";

// The name under which health is asked whether the server should get calls. The empty name asks
// whether it lives.
inline constexpr char kReadyService[] = "ready";

// Guarantee  A watcher is told the present state, and after any number of changes the last one. A
//            server is not ready at first.
// Errors     NotFound to Check for another name than these two, which a watcher is told instead.
//            ResourceExhausted for a request of more bytes than the constructor was given, before
//            any of it is read; InvalidArgument for one that does not parse.
// Threads    safe to share. Must outlive the server.
class HealthService final : public grpc::Service {
 public:
  explicit HealthService(size_t most_request_bytes);
  ~HealthService() override;

  void SetReady(bool ready);
  // From now on the server neither lives nor is ready.
  void Stop();

 private:
  class State;
  class Watch;

  const std::shared_ptr<State> state_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_HEALTH_SERVICE_H_
