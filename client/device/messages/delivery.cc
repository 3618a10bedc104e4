#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/messages/message_reader.h"
#include "client/device/messages/message_writer.h"
#include "client/device/messages/messages.h"
#include "client/device/messages/parts.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// The numbers of coppice.v1.ReportOutcome that are no refusal.
constexpr int32_t kAccepted = 1;
constexpr int32_t kDuplicate = 2;
constexpr int32_t kUnknownStudy = 3;

}  // namespace

std::string ProofRequestBytes(std::string_view challenge) {
  MessageWriter writer;
  writer.Bytes(1, challenge);
  return writer.Finish();
}

StatusOr<CuratorProof> OpenProof(std::string_view response, std::string_view challenge) {
  std::string_view key;
  std::vector<EndorsementMessage> endorsements;
  std::string_view signature;
  MessageReader field(response);
  while (field.Next()) {
    if (field.field() == 1) field.ReadBytes(key);
    if (field.field() == 2) AddEndorsement(field, endorsements);
    if (field.field() == 3) field.ReadBytes(signature);
  }
  if (field.failed()) return DataLossError("the response is no key of a curator's");
  CuratorProof proof;
  COPPICE_RETURN_IF_ERROR(CopyExactly("key", key, proof.key));
  COPPICE_ASSIGN_OR_RETURN(proof.endorsements, MakeKeyChain(endorsements));
  Signature signed_challenge{};
  if (signature.size() == signed_challenge.size()) {
    std::copy(signature.begin(), signature.end(), signed_challenge.begin());
  }
  if (IsSignedBy(proof.key, kCuratorDomain, challenge, signed_challenge)) return proof;
  return FailedPreconditionError(
      "the curator does not prove that it has its key; nothing is sent to it");
}

std::string ReportRequestBytes(const PrivateReport& report) {
  MessageWriter inner;
  inner.Bytes(1, report.ticket.ToBytes());
  inner.Bytes(2, report.payload);
  inner.Bytes(3, report.public_values);
  MessageWriter writer;
  writer.Bytes(1, StrCat("studies/", report.study));
  writer.Bytes(2, AsBytes(report.fingerprint));
  writer.Element(3, inner.Finish());
  return writer.Finish();
}

StatusOr<DeliveryResult> ReadDelivery(std::string_view response) {
  std::vector<int32_t> outcomes;
  MessageReader field(response);
  while (field.Next()) {
    if (field.field() == 1) field.Add(outcomes);
  }
  if (field.failed() || outcomes.size() != 1) {
    return DataLossError("the response has not one outcome for the one report");
  }
  switch (outcomes[0]) {
    case kAccepted:
      return DeliveryResult{Delivery::kAccepted, ""};
    case kDuplicate:
      return DeliveryResult{Delivery::kDuplicate, ""};
    case kUnknownStudy:
      return DeliveryResult{Delivery::kUnknownStudy, "unknown study"};
    default:
      return DeliveryResult{Delivery::kRefused, StrCat("outcome ", outcomes[0])};
  }
}

}  // namespace coppice
