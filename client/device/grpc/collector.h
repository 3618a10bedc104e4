// Talks to the curator over gRPC: fetches offers, delivers reports.

#ifndef COPPICE_CLIENT_DEVICE_GRPC_COLLECTOR_H_
#define COPPICE_CLIENT_DEVICE_GRPC_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/device/curator_link.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/terms/terms.h"

namespace grpc {
class Channel;
}
namespace coppice::v1 {
class GetCuratorKeysResponse;
}

namespace coppice {

struct ConnectOptions {
  std::string server;       // HOST:PORT
  std::string ca_file{};    // PEM; the system's roots if empty
  std::string cert_file{};  // PEM, with key_file, for mutual TLS
  std::string key_file{};
  std::string token_file{};  // one line, the bearer token; read once
  bool insecure = false;     // loopback only
};

struct RetryOptions {
  absl::Duration deadline = absl::Seconds(20);       // for each try
  absl::Duration give_up_after = absl::Seconds(60);  // for all tries together
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(10);
  // Called once, when a call gives up without an answer from the curator. Returns why, in words for
  // people, or OK if it does not know; the error is then gRPC's.
  std::function<Status()> diagnose{};
};

// The token in `path`, one line. InvalidArgument, naming the file.
StatusOr<std::string> ReadTokenFile(const std::string& path);

// InvalidArgument unless the options make sense together; reads no file.
Status CheckConnectOptions(const ConnectOptions& options);

// The channel alone, for callers with stubs of their own (the command line).
StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectOptions& options);

// Calls are tried again as collector_call.h says, until `give_up_after`; the error is then the last
// one, with the number of tries.
//
// Guarantee  The same bytes are sent at every try. Terms are checked against their fingerprint,
//            every tree against the terms, and both against the manifest that the curator signed,
//            before use (trust.h says what a device refuses). TLS unless `insecure` is asked for,
//            and that on loopback addresses only. A token travels over TLS only.
// Errors     InvalidArgument (options), NotFound, FailedPrecondition, DataLoss (a fingerprint or a
//            tree that does not match the terms), Unavailable (no curator: says where and what to
//            check).
// Threads    safe to share.
class Collector final : public CuratorLink {
 public:
  // `trust` must outlive the collector, and should rest on the device's journal. Without it the
  // collector remembers keys and manifests only as long as it lives: for tests and tools.
  static StatusOr<Collector> Create(const ConnectOptions& connect, const RetryOptions& retry,
                                    Trust* trust = nullptr);

  // Fetches what a device needs. Device calls it before it reads the row, and answers any row.
  StatusOr<Offer> FetchOffer(std::string_view study,
                             std::string_view submission_token = "") const override;

  // The same for a device that has the terms already, from an earlier offer or with the program:
  // only the ticket and its tree travel. FailedPrecondition if the study's terms have changed.
  StatusOr<Offer> FetchOffer(const Terms& known, const Fingerprint& fingerprint,
                             std::string_view submission_token = "") const;

  // Fetches what a gateway needs: the terms, `tickets` tickets (1 to 1000), and all trees.
  // Submission tokens, if given, are one per ticket, in the same order.
  StatusOr<Offer> FetchForest(std::string_view study, uint32_t tickets,
                              absl::Span<const std::string> submission_tokens = {}) const;

  // Fetches further tickets for terms and trees that the caller has already. FailedPrecondition if
  // the study's terms have changed.
  StatusOr<std::vector<Ticket>> FetchTickets(
      std::string_view study, const Fingerprint& fingerprint, uint32_t tickets,
      absl::Span<const std::string> submission_tokens = {}) const;

  // Delivers at most 1000 reports, in one call.
  StatusOr<std::vector<DeliveryResult>> Deliver(
      absl::Span<const PrivateReport> reports) const override;

  // Has the curator sign a challenge that is drawn here. A man in the middle could pass it on,
  // which only TLS prevents.
  Status CheckIs(const PublicKey& root) const override;

 private:
  StatusOr<v1::GetCuratorKeysResponse> AskForProof(const std::string& challenge) const;

  Collector(std::shared_ptr<grpc::Channel> channel, std::string server, const RetryOptions& retry,
            Trust* trust);

  std::shared_ptr<grpc::Channel> channel_;
  std::string server_;
  RetryOptions retry_;
  std::shared_ptr<ManifestMemory> own_memory_;  // set if no trust was given; own_trust_ uses it
  std::shared_ptr<Trust> own_trust_;
  Trust* trust_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_GRPC_COLLECTOR_H_
