// What a device sends to a curator or a relay, and what answers it. Names of studies are ids here,
// "studies/ID" on the wire.
//
// Reading is the first step of looking at an answer: it bounds what there is, and checks lengths,
// but no signature and no hash. Views are of the bytes that were read.
//
// Errors     InvalidArgument that names the field. All input is hostile.

#ifndef COPPICE_COMMON_WIRE_CALLS_H_
#define COPPICE_COMMON_WIRE_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/terms.h"
#include "common/wire/messages.h"

namespace coppice {

// StudyService.GetOffer. Sets the study's name; the other members are the caller's.
std::string WriteOfferRequest(std::string_view study, OfferRequestMessage request);
StatusOr<OfferMessage> ReadOffer(std::string_view response);

// StudyService.GetCuratorKeys.
std::string WriteProofRequest(std::string_view challenge);
StatusOr<ProofMessage> ReadProof(std::string_view response);

// ReportService.SubmitReports and StreamReports: what is sealed, at most kMaxReportsPerRequest
// reports, the message that holds it (common/encrypt/direct_message.h), and the sealed answer.
std::string WriteSealedReports(std::string_view study, const Fingerprint& fingerprint,
                               std::vector<ReportView> reports);
StatusOr<ReportsMessage> ReadSealedReports(std::string_view content);
std::string WriteSubmitRequest(const SubmitMessage& request);
StatusOr<std::string_view> ReadSealedOutcomes(std::string_view response);

// RelayService.GetRelayTerms.
std::string WriteRelayTermsRequest(std::string_view study);
StatusOr<DealMessage> ReadDeal(std::string_view response);

// RelayService.TakeOffer: the envelope, and the offer in it.
std::string WriteTakeOfferRequest(std::string_view study, const EpochId& epoch);
StatusOr<std::string_view> ReadEnvelope(std::string_view response);
StatusOr<RelayedOfferMessage> ReadRelayedOffer(std::string_view content);

// RelayService.SubmitSealedReport. The answer is a number of coppice.v1.SubmitOutcome, whatever it
// is.
std::string WriteSealedReportRequest(const SealedReportMessage& report);
StatusOr<int32_t> ReadSealedOutcome(std::string_view response);

// What a relay signs: its promise to devices, and the header of a batch.
//
// Guarantee  Whoever accepts one has understood all of it.
// Errors     InvalidArgument also for bytes that the Write function would not write, and for more
//            than kMaxRelayPromiseBytes.
std::string WriteRelayTerms(const RelayTerms& terms);
StatusOr<RelayTerms> ReadRelayTerms(std::string_view bytes);
std::string WriteBatchHeader(const BatchHeader& header);
StatusOr<BatchHeader> ReadBatchHeader(std::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_CALLS_H_
