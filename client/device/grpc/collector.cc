#include "client/device/grpc/collector.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "client/device/grpc/collector_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"

namespace coppice {
namespace {

constexpr uint32_t kMaxTickets = 1000;
constexpr size_t kMaxReports = 1000;

std::string AsBytes(const Fingerprint& fingerprint) {
  return std::string(fingerprint.begin(), fingerprint.end());
}

StatusOr<v1::GetOfferRequest> OfferRequest(std::string_view study, uint32_t tickets,
                                           absl::Span<const std::string> submission_tokens) {
  if (!IsValidId(study)) {
    return InvalidArgumentError("a study's id is 1 to 63 of a-z 0-9 - _");
  }
  if (tickets < 1 || tickets > kMaxTickets) {
    return InvalidArgumentError(StrCat("ask for 1 to ", kMaxTickets, " tickets at once"));
  }
  v1::GetOfferRequest request;
  request.set_name(MakeName(kStudies, study));
  request.set_tickets(tickets);
  request.mutable_submission_tokens()->Assign(submission_tokens.begin(), submission_tokens.end());
  return request;
}

// A device's request: one ticket, with its submission token if it has one.
StatusOr<v1::GetOfferRequest> OfferRequest(std::string_view study,
                                           std::string_view submission_token) {
  const std::string token(submission_token);
  return OfferRequest(study, /*tickets=*/1, absl::MakeConstSpan(&token, token.empty() ? 0 : 1));
}

StatusOr<std::vector<Ticket>> ReadTickets(const v1::GetOfferResponse& response, uint32_t asked) {
  if (static_cast<uint32_t>(response.tickets_size()) != asked) {
    return DataLossError(StrCat("the curator sent ", response.tickets_size(), " tickets where ",
                                asked, " were asked for"));
  }
  std::vector<Ticket> tickets;
  tickets.reserve(asked);
  for (const std::string& bytes : response.tickets()) {
    COPPICE_ASSIGN_OR_RETURN(tickets.emplace_back(), Ticket::FromBytes(bytes));
  }
  return tickets;
}

StatusOr<Terms> ReadTerms(const v1::GetOfferResponse& response, std::string_view study) {
  if (response.fingerprint() != AsBytes(FingerprintOf(response.terms()))) {
    return DataLossError(
        StrCat("the terms of study ", study,
               " do not match their fingerprint; do not answer, and tell the curator"));
  }
  StatusOr<Terms> parsed = coppice::ReadTerms(response.terms());
  if (!parsed.ok()) return OfServer(parsed.status());
  Terms terms = *std::move(parsed);
  if (terms.study != study) {
    return DataLossError(StrCat("the curator sent the terms of study ", terms.study,
                                " where those of ", study, " were asked for"));
  }
  return terms;
}

// Reads the one tree that came, which must be the ticket's.
StatusOr<TreesByIndex> ReadTree(const v1::GetOfferResponse& response, const Terms& terms,
                                const Ticket& ticket) {
  const uint32_t number = TreeOfTicket(ticket, terms.trees);
  StatusOr<Tree> tree = ReadProvenTree(terms, number, response.tree(), response.tree_path());
  if (!tree.ok()) return OfServer(tree.status());
  TreesByIndex trees;
  trees.emplace(number, *std::move(tree));
  return trees;
}

StatusOr<TreesByIndex> ReadForest(const v1::GetOfferResponse& response, const Terms& terms) {
  StatusOr<Forest> forest =
      OpenForest(terms, PackTrees({response.forest().begin(), response.forest().end()}));
  if (!forest.ok()) return OfServer(forest.status());
  return AllTrees(*std::move(forest));
}

Status CheckStillKnown(const v1::GetOfferResponse& response, std::string_view study,
                       const Fingerprint& known) {
  if (response.fingerprint() == AsBytes(known)) return OkStatus();
  return FailedPreconditionError(
      StrCat("study ", study, " has other terms now; fetch its offer again"));
}

// Everything a fetch needs of its collector.
struct Line {
  const std::shared_ptr<grpc::Channel>& channel;
  const std::string& server;
  const RetryOptions& retry;
  Trust& trust;
};

StatusOr<v1::GetOfferResponse> GetOffer(const Line& line, std::string_view study,
                                        v1::GetOfferRequest request) {
  if (const std::optional<Sha256Digest> known = line.trust.Known(line.server, study)) {
    request.mutable_known_manifest()->assign(known->begin(), known->end());
  }
  v1::GetOfferResponse response;
  const auto stub = v1::StudyService::NewStub(line.channel);
  COPPICE_RETURN_IF_ERROR(CallServer(
      *line.channel, line.server, line.retry,
      [&](grpc::ClientContext& context) { return stub->GetOffer(&context, request, &response); }));
  return response;
}

// Must come before anything else of the offer is used. `terms` is null if they were checked before.
Status Admit(const Line& line, const v1::GetOfferResponse& response, std::string_view study,
             const Fingerprint& fingerprint, const Terms* terms) {
  std::optional<SignedManifest> manifest;
  if (response.has_manifest()) {
    StatusOr<SignedManifest> read = ParseSignedManifest(response.manifest());
    if (!read.ok()) {
      return DataLossError(StrCat("the manifest of study ", study,
                                  " is bad: ", read.status().message(),
                                  "; do not answer, and tell the curator"));
    }
    manifest = *std::move(read);
  }
  return OfServer(line.trust.Admit(line.server, study, fingerprint, terms, manifest, ReadManifest));
}

StatusOr<v1::SubmitReportsRequest> SubmitRequest(absl::Span<const PrivateReport> reports) {
  if (reports.size() > kMaxReports) {
    return InvalidArgumentError(StrCat("deliver at most ", kMaxReports, " at once"));
  }
  v1::SubmitReportsRequest request;
  request.set_study(MakeName(kStudies, reports[0].study));
  request.set_fingerprint(AsBytes(reports[0].fingerprint));
  for (const PrivateReport& report : reports) {
    if (report.study != reports[0].study || report.fingerprint != reports[0].fingerprint) {
      return InvalidArgumentError("reports of one call must be of one study and fingerprint");
    }
    v1::Report& added = *request.add_reports();
    added.set_ticket(report.ticket.ToBytes());
    added.set_payload(report.payload);
    added.set_public_values(report.public_values);
  }
  return request;
}

// The outcome in words, such as "stale fingerprint", from the enumeration's own name.
std::string InWords(v1::ReportOutcome outcome) {
  if (!v1::ReportOutcome_IsValid(outcome)) {
    return StrCat("outcome ", static_cast<int>(outcome), ", unknown to this version");
  }
  const std::string name = v1::ReportOutcome_Name(outcome);
  return StrReplaceAll(AsciiStrToLower(StripPrefix(name, "REPORT_OUTCOME_")), {{"_", " "}});
}

DeliveryResult ReadOutcome(v1::ReportOutcome outcome) {
  if (outcome == v1::REPORT_OUTCOME_ACCEPTED) return {Delivery::kAccepted, ""};
  if (outcome == v1::REPORT_OUTCOME_DUPLICATE) return {Delivery::kDuplicate, ""};
  if (outcome == v1::REPORT_OUTCOME_UNKNOWN_STUDY)
    return {Delivery::kUnknownStudy, InWords(outcome)};
  return {Delivery::kRefused, InWords(outcome)};
}

StatusOr<std::vector<DeliveryResult>> ReadOutcomes(const v1::SubmitReportsResponse& response,
                                                   size_t sent) {
  if (static_cast<size_t>(response.outcomes_size()) != sent) {
    return DataLossError(StrCat("the curator judged ", response.outcomes_size(), " reports where ",
                                sent, " were sent"));
  }
  std::vector<DeliveryResult> results;
  results.reserve(sent);
  for (int i = 0; i < response.outcomes_size(); ++i) {
    if (response.outcomes(i) == v1::REPORT_OUTCOME_UNSPECIFIED) {
      return DataLossError("the curator left a report without an outcome");
    }
    results.push_back(ReadOutcome(response.outcomes(i)));
  }
  return results;
}

}  // namespace

Collector::Collector(std::shared_ptr<grpc::Channel> channel, std::string server,
                     const RetryOptions& retry, Trust* trust)
    : channel_(std::move(channel)), server_(std::move(server)), retry_(retry), trust_(trust) {
  if (trust_ != nullptr) return;
  own_memory_ = ManifestMemory::InMemory();
  own_trust_ = std::make_shared<Trust>(OfferPolicy(), *own_memory_);
  trust_ = own_trust_.get();
}

StatusOr<Collector> Collector::Create(const ConnectOptions& connect, const RetryOptions& retry,
                                      Trust* trust) {
  COPPICE_ASSIGN_OR_RETURN(auto channel, Connect(connect));
  return Collector(std::move(channel), connect.server, retry, trust);
}

StatusOr<Offer> Collector::FetchOffer(std::string_view study,
                                      std::string_view submission_token) const {
  const Line line{channel_, server_, retry_, *trust_};
  COPPICE_ASSIGN_OR_RETURN(const v1::GetOfferRequest request,
                           OfferRequest(study, submission_token));
  COPPICE_ASSIGN_OR_RETURN(const v1::GetOfferResponse response, GetOffer(line, study, request));
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(response, study));
  const Fingerprint fingerprint = FingerprintOf(response.terms());
  COPPICE_RETURN_IF_ERROR(Admit(line, response, study, fingerprint, &terms));
  COPPICE_ASSIGN_OR_RETURN(auto tickets, ReadTickets(response, 1));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees, ReadTree(response, terms, tickets[0]));
  return Offer{std::move(terms), fingerprint, std::move(tickets), std::move(trees)};
}

StatusOr<Offer> Collector::FetchOffer(const Terms& known, const Fingerprint& fingerprint,
                                      std::string_view submission_token) const {
  const Line line{channel_, server_, retry_, *trust_};
  COPPICE_ASSIGN_OR_RETURN(v1::GetOfferRequest request,
                           OfferRequest(known.study, submission_token));
  request.set_known_fingerprint(AsBytes(fingerprint));
  COPPICE_ASSIGN_OR_RETURN(const v1::GetOfferResponse response,
                           GetOffer(line, known.study, request));
  COPPICE_RETURN_IF_ERROR(CheckStillKnown(response, known.study, fingerprint));
  COPPICE_RETURN_IF_ERROR(Admit(line, response, known.study, fingerprint, &known));
  COPPICE_ASSIGN_OR_RETURN(auto tickets, ReadTickets(response, 1));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees, ReadTree(response, known, tickets[0]));
  return Offer{known, fingerprint, std::move(tickets), std::move(trees)};
}

StatusOr<Offer> Collector::FetchForest(std::string_view study, uint32_t tickets,
                                       absl::Span<const std::string> submission_tokens) const {
  const Line line{channel_, server_, retry_, *trust_};
  COPPICE_ASSIGN_OR_RETURN(v1::GetOfferRequest request,
                           OfferRequest(study, tickets, submission_tokens));
  request.set_whole_forest(true);
  COPPICE_ASSIGN_OR_RETURN(const v1::GetOfferResponse response, GetOffer(line, study, request));
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(response, study));
  const Fingerprint fingerprint = FingerprintOf(response.terms());
  COPPICE_RETURN_IF_ERROR(Admit(line, response, study, fingerprint, &terms));
  COPPICE_ASSIGN_OR_RETURN(auto read, ReadTickets(response, tickets));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees, ReadForest(response, terms));
  return Offer{std::move(terms), fingerprint, std::move(read), std::move(trees)};
}

StatusOr<std::vector<Ticket>> Collector::FetchTickets(
    std::string_view study, const Fingerprint& fingerprint, uint32_t tickets,
    absl::Span<const std::string> submission_tokens) const {
  const Line line{channel_, server_, retry_, *trust_};
  COPPICE_ASSIGN_OR_RETURN(v1::GetOfferRequest request,
                           OfferRequest(study, tickets, submission_tokens));
  request.set_whole_forest(true);
  request.set_known_fingerprint(AsBytes(fingerprint));
  COPPICE_ASSIGN_OR_RETURN(const v1::GetOfferResponse response, GetOffer(line, study, request));
  COPPICE_RETURN_IF_ERROR(CheckStillKnown(response, study, fingerprint));
  COPPICE_RETURN_IF_ERROR(Admit(line, response, study, fingerprint, /*terms=*/nullptr));
  return ReadTickets(response, tickets);
}

StatusOr<std::vector<DeliveryResult>> Collector::Deliver(
    absl::Span<const PrivateReport> reports) const {
  if (reports.empty()) return std::vector<DeliveryResult>();
  COPPICE_ASSIGN_OR_RETURN(const v1::SubmitReportsRequest request, SubmitRequest(reports));
  v1::SubmitReportsResponse response;
  const auto stub = v1::ReportService::NewStub(channel_);
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    return stub->SubmitReports(&context, request, &response);
  }));
  return ReadOutcomes(response, reports.size());
}

StatusOr<v1::GetCuratorKeysResponse> Collector::AskForProof(const std::string& challenge) const {
  v1::GetCuratorKeysRequest request;
  request.set_challenge(challenge);
  v1::GetCuratorKeysResponse response;
  const auto stub = v1::StudyService::NewStub(channel_);
  COPPICE_RETURN_IF_ERROR(CallServer(*channel_, server_, retry_, [&](grpc::ClientContext& context) {
    return stub->GetCuratorKeys(&context, request, &response);
  }));
  return response;
}

Status Collector::CheckIs(const PublicKey& root) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string challenge, RandomHex(kChallengeBytes / 2));
  COPPICE_ASSIGN_OR_RETURN(const v1::GetCuratorKeysResponse response, AskForProof(challenge));
  COPPICE_ASSIGN_OR_RETURN(const PublicKey key, ParsePublicKeyBytes(response.key()));
  COPPICE_ASSIGN_OR_RETURN(const KeyChain chain, ParseKeyChain(response.endorsements()));
  Signature proof{};
  if (response.proof().size() == proof.size()) {
    std::copy(response.proof().begin(), response.proof().end(), proof.begin());
  }
  if (!IsSignedBy(key, kCuratorDomain, challenge, proof)) {
    return FailedPreconditionError(
        StrCat("the curator at ", server_, " does not prove that it has its key"));
  }
  const Status led = trust_->CheckLedTo(key, chain, root);
  if (led.ok()) return led;
  return FailedPreconditionError(StrCat("the curator at ", server_,
                                        " is another one, with the key ", ToPin(key), ": ",
                                        led.message()));
}

}  // namespace coppice
