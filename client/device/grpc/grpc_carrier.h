// Carries a device's calls over gRPC.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_GRPC_CARRIER_H_
#define COPPICE_CLIENT_DEVICE_GRPC_GRPC_CARRIER_H_

#include <memory>
#include <string>
#include <utility>

#include "client/device/grpc/connect.h"
#include "client/device/run_session.h"
#include "common/base/status.h"

namespace coppice {

// Calls are tried again as server_call.h says; the error is then the last one, with the number of
// tries.
//
// Guarantee  The same bytes are sent at every try. TLS unless `insecure` is asked for, and that on
//            loopback addresses only. A token travels over TLS only; a relay's is shown by those
//            calls alone that ask for it: the relay counts tickets, and no report shows whose it
//            is.
// Errors     InvalidArgument (options), Unavailable (nobody answers: says where and what to check),
//            and what the other end returns.
// Threads    safe to share.
class GrpcCarrier final : public Carrier {
 public:
  static StatusOr<GrpcCarrier> ToCurator(const ConnectOptions& connect, const RetryOptions& retry);
  // InvalidArgument also without ca_file, unless `insecure`: the signature on the relay's terms
  // says nothing of the line that a ticket comes over.
  static StatusOr<GrpcCarrier> ToRelay(const ConnectOptions& connect, const RetryOptions& retry);

  const std::string& server() const { return server_; }  // HOST:PORT

  StatusOr<std::string> Carry(const DeviceCall& call) override;

 private:
  GrpcCarrier(std::shared_ptr<grpc::Channel> channel, std::string server, std::string relay_token,
              const RetryOptions& retry)
      : channel_(std::move(channel)),
        server_(std::move(server)),
        relay_token_(std::move(relay_token)),
        retry_(retry) {}

  std::shared_ptr<grpc::Channel> channel_;
  std::string server_;
  std::string relay_token_;  // empty: none
  RetryOptions retry_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_GRPC_CARRIER_H_
