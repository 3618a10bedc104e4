// Talks to a relay over gRPC.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_RELAY_CLIENT_H_
#define COPPICE_CLIENT_DEVICE_GRPC_RELAY_CLIENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/device/grpc/collector.h"
#include "client/device/relay/relay_link.h"
#include "common/base/status.h"

namespace coppice {

// Guarantee  As RelayLink. TLS as Collector has it: only the connection tells the relay from others
//            when a report is sent. Only TakeOffer() sends the token: the relay counts tickets.
// Errors     InvalidArgument: options that Connect() refuses, or no ca_file without `insecure`, as
//            the signature on the relay's terms says nothing of the line that a ticket comes over.
//            DataLoss: a malformed answer. From the relay: NotFound, FailedPrecondition (no deal,
//            or it is over), ResourceExhausted (no ticket is left for this device, or at all),
//            Unavailable.
// Threads    safe to share.
class RelayClient final : public RelayLink {
 public:
  static StatusOr<RelayClient> Create(const ConnectOptions& connect, const RetryOptions& retry);

  const std::string& address() const override { return server_; }
  StatusOr<DealOffer> GetRelayTerms(std::string_view study) const override;
  StatusOr<std::string> TakeOffer(std::string_view study, const EpochId& epoch) const override;
  StatusOr<SubmitOutcome> Submit(const JournalEntry& entry) const override;

 private:
  RelayClient(std::shared_ptr<grpc::Channel> channel, std::string server, std::string token,
              const RetryOptions& retry)
      : channel_(std::move(channel)),
        server_(std::move(server)),
        token_(std::move(token)),
        retry_(retry) {}

  std::shared_ptr<grpc::Channel> channel_;
  std::string server_;
  std::string token_;  // empty: none
  RetryOptions retry_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_RELAY_CLIENT_H_
