// Delivering reports in bytes: that the curator is the one they are for, then the reports.
// coppice.v1.GetCuratorKeys*, in proto/coppice/v1/study.proto, and SubmitReports*, in report.proto.

#ifndef COPPICE_CLIENT_MESSAGES_DELIVERY_H_
#define COPPICE_CLIENT_MESSAGES_DELIVERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/curator_link.h"
#include "client/privatizer.h"
#include "common/study/key_chain.h"

namespace coppice {

std::string ProofRequestBytes(absl::string_view challenge);

struct CuratorProof {
  PublicKey key{};
  KeyChain endorsements;  // that lead to it, not looked at yet
};
// A GetCuratorKeysResponse that proves, by its signature of `challenge`, that whoever sent it has
// the key. DataLoss: no such message; FailedPrecondition: no such proof.
absl::StatusOr<CuratorProof> OpenProof(absl::string_view response, absl::string_view challenge);

// A SubmitReportsRequest with this report.
std::string ReportRequestBytes(const PrivateReport& report);

// What a SubmitReportsResponse says of the one report. DataLoss: no such message, or not one
// outcome.
absl::StatusOr<DeliveryResult> ReadDelivery(absl::string_view response);

}  // namespace coppice

#endif  // COPPICE_CLIENT_MESSAGES_DELIVERY_H_
