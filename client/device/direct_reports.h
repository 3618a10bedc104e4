// Reports that a device sends to the curator itself.

#ifndef COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_
#define COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/device/delivery.h"
#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/terms/key_chain.h"
#include "common/terms/signature.h"

namespace coppice {

// Who the curator is, as it proved for a challenge.
struct CuratorProof {
  PublicKey key{};
  KeyChain endorsements;  // that lead to it, not looked at yet
};

// A GetCuratorKeysRequest.
std::string ProofRequest(std::string_view challenge);
// Reads a GetCuratorKeysResponse. DataLoss: no such message. FailedPrecondition: whoever sent it does
// not prove, by a signature of `challenge`, that it has the key.
StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge);

// How many of `entries` go into one call: from one study and fingerprint, at most `batch`, and well
// below the four megabytes that a gRPC server accepts by default. At least 1.
size_t ReportsPerCall(absl::Span<const JournalEntry> entries, size_t batch);

// One call with reports of one study and fingerprint.
//
// Errors     Open(): DataLoss for a response that does not say what became of each report; then
//            nothing is known, and the reports wait on.
class DirectReports {
 public:
  static StatusOr<DirectReports> Make(absl::Span<const JournalEntry> entries);

  const std::string& request() const { return request_; }  // a SubmitReportsRequest
  StatusOr<std::vector<DeliveryResult>> Open(std::string_view response) const;

 private:
  DirectReports(std::string request, size_t reports)
      : request_(std::move(request)), reports_(reports) {}

  std::string request_;
  size_t reports_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_DIRECT_REPORTS_H_
