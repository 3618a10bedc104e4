#include "client/device/grpc/relay_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <string_view>

#include "client/device/grpc/collector_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/relay.grpc.pb.h"

namespace coppice {
namespace {

template <typename Bytes>
std::string BytesOf(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

Status NoAnswer(std::string_view what) {
  return DataLossError(StrCat("the relay sent ", what, "; do not answer, and tell its operator"));
}

StatusOr<SubmitOutcome> ReadSubmitOutcome(v1::SubmitOutcome outcome) {
  switch (outcome) {
    case v1::SUBMIT_OUTCOME_STORED:
      return SubmitOutcome::kStored;
    case v1::SUBMIT_OUTCOME_CONFLICT:
      return SubmitOutcome::kConflict;
    case v1::SUBMIT_OUTCOME_CLOSED:
      return SubmitOutcome::kClosed;
    case v1::SUBMIT_OUTCOME_UNKNOWN:
      return SubmitOutcome::kUnknown;
    case v1::SUBMIT_OUTCOME_BAD_LENGTH:
      return SubmitOutcome::kBadLength;
    default:
      return DataLossError(StrCat("the relay answered with outcome ", static_cast<int>(outcome),
                                  ", which this version does not know"));
  }
}

}  // namespace

StatusOr<RelayClient> RelayClient::Create(const ConnectOptions& connect,
                                          const RetryOptions& retry) {
  COPPICE_RETURN_IF_ERROR(CheckConnectOptions(connect));
  if (connect.ca_file.empty() && !connect.insecure) {
    return InvalidArgumentError(
        "a relay must be known by an authority that its operator names: whoever can show a device "
        "another certificate for its address, as many authorities of the system could, reads which "
        "ticket the device has. Give the authority's certificate (--relay-ca)");
  }
  std::string token;
  if (!connect.token_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(token, ReadTokenFile(connect.token_file));
  }
  ConnectOptions without_token = connect;
  without_token.token_file.clear();
  COPPICE_ASSIGN_OR_RETURN(auto channel, Connect(without_token));
  return RelayClient(std::move(channel), connect.server, std::move(token), retry);
}

StatusOr<DealOffer> RelayClient::GetRelayTerms(std::string_view study) const {
  v1::GetRelayTermsRequest request;
  request.set_study(MakeName(kStudies, study));
  v1::GetRelayTermsResponse response;
  const auto stub = v1::RelayService::NewStub(channel_);
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    return stub->GetRelayTerms(&context, request, &response);
  }));
  DealOffer offer;
  offer.relay_terms = std::move(*response.mutable_relay_terms());
  offer.terms = std::move(*response.mutable_terms());
  if (response.signature().size() != offer.signature.size()) {
    return NoAnswer("terms without a signature");
  }
  std::copy(response.signature().begin(), response.signature().end(), offer.signature.begin());
  StatusOr<SignedManifest> manifest = ParseSignedManifest(response.manifest());
  if (!manifest.ok()) {
    return NoAnswer(StrCat("a bad manifest: ", OfServer(manifest.status().message())));
  }
  offer.manifest = *std::move(manifest);
  return offer;
}

StatusOr<std::string> RelayClient::TakeOffer(std::string_view study, const EpochId& epoch) const {
  v1::TakeOfferRequest request;
  request.set_study(MakeName(kStudies, study));
  request.set_epoch(BytesOf(epoch));
  v1::TakeOfferResponse response;
  const auto stub = v1::RelayService::NewStub(channel_);
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    if (!token_.empty()) context.set_credentials(grpc::AccessTokenCredentials(token_));
    return stub->TakeOffer(&context, request, &response);
  }));
  return std::move(*response.mutable_envelope());
}

StatusOr<SubmitOutcome> RelayClient::Submit(const JournalEntry& entry) const {
  const SealedAnswer& sealed = *entry.sealed;
  v1::SubmitSealedReportRequest request;
  request.set_epoch(BytesOf(sealed.epoch));
  request.set_ticket(entry.report.ticket.ToBytes());
  request.set_claim(BytesOf(sealed.claim));
  request.set_encapsulated(BytesOf(sealed.encapsulated));
  request.set_ciphertext(sealed.ciphertext);
  v1::SubmitSealedReportResponse response;
  const auto stub = v1::RelayService::NewStub(channel_);
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    return stub->SubmitSealedReport(&context, request, &response);
  }));
  return ReadSubmitOutcome(response.outcome());
}

}  // namespace coppice
