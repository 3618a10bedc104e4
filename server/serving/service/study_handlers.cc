#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/envelope.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "server/process/retry_after.h"
#include "server/serving/calls/unchanged.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"

namespace coppice::service {
namespace {

// The burst of an owner's ticket quota, in seconds of its rate.
constexpr double kQuotaBurstSeconds = 10;

Status CheckKnownManifest(std::string_view known) {
  if (known.empty() || known.size() == std::tuple_size_v<Sha256Digest>) return OkStatus();
  return FieldError("known_manifest",
                    StrCat("must be empty or have ", std::tuple_size_v<Sha256Digest>,
                           " bytes, has ", known.size()));
}

bool IsKnown(const SignedManifest& manifest, std::string_view known) {
  const Sha256Digest digest = Sha256({manifest.bytes});
  return known == AsBytes(digest);
}

uint32_t TicketsOf(const v1::GetOfferRequest& request) {
  return std::max(request.tickets(), uint32_t{1});
}

// Begins field `number`, of `bytes` bytes.
std::string FieldHead(int number, size_t bytes) {
  using google::protobuf::internal::WireFormatLite;
  std::string head;
  {
    google::protobuf::io::StringOutputStream stream(&head);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    output.WriteVarint64(bytes);
  }
  return head;
}

// Adds field `number`, whose bytes the answer shares.
void AddSharedField(int number, const std::shared_ptr<const std::string>& bytes,
                    MessagePieces& answer) {
  answer.push_back({.own = FieldHead(number, bytes->size())});
  answer.push_back({.shared = bytes});
}

// Adds field `number`, an envelope with shared bytes that has room for `longest`.
void AddSharedEnvelope(int number, const std::shared_ptr<const std::string>& bytes, size_t longest,
                       MessagePieces& answer) {
  answer.push_back({.own = StrCat(FieldHead(number, kEnvelopeHeadBytes + longest),
                                  EnvelopeHead(bytes->size()))});
  answer.push_back({.shared = bytes});
  answer.push_back({.own = std::string(longest - bytes->size(), '\0')});
}

Status CheckMayHaveTickets(const Caller& caller, const std::string& study,
                           const curator::StudyCalls::Offer& offered) {
  const owners::Resource resource{.names = {MakeName(kStudies, study)}, .owner = offered.owner};
  if (!offered.relayed || caller.MayRelay(resource)) return OkStatus();
  return FailedPreconditionError(StrCat(
      "the study ", study, " gives its tickets only to its relay: answer it through the relay"));
}

// Makes a GetOfferResponse in pieces.
StatusOr<MessagePieces> MakeOffer(curator::StudyCalls& studies, const Caller& caller,
                                  const v1::GetOfferRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  if (request.tickets() > curator::StudyCalls::kMaxTicketsPerOffer) {
    return FieldError("tickets",
                      StrCat("must be at most ", curator::StudyCalls::kMaxTicketsPerOffer, ", are ",
                             request.tickets()));
  }
  if (request.tickets() > 1 && !request.whole_forest()) {
    return FieldError("tickets", "more than one needs whole_forest");
  }
  const std::string& known = request.known_fingerprint();
  if (!known.empty() && known.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("known_fingerprint",
                      StrCat("must be empty or have ", std::tuple_size_v<Fingerprint>,
                             " bytes, has ", known.size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckKnownManifest(request.known_manifest()));
  const std::vector<std::string> tokens(request.submission_tokens().begin(),
                                        request.submission_tokens().end());
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyCalls::Offer offered,
                           studies.MakeOffer(id, TicketsOf(request), tokens));
  COPPICE_RETURN_IF_ERROR(CheckMayHaveTickets(caller, id, offered));
  v1::GetOfferResponse response;
  response.mutable_fingerprint()->assign(offered.fingerprint.begin(), offered.fingerprint.end());
  for (const Ticket& ticket : offered.tickets) response.add_tickets(ticket.ToBytes());
  if (!IsKnown(*offered.manifest, request.known_manifest())) {
    *response.mutable_manifest() = ToProto(*offered.manifest);
  }
  const PackedForest& forest = *offered.forest;
  const bool is_known = response.fingerprint() == known;
  MessagePieces pieces;
  if (!is_known) {
    AddSharedField(v1::GetOfferResponse::kTermsFieldNumber, offered.terms_bytes, pieces);
  }
  if (!request.whole_forest()) {
    const auto trees = static_cast<uint32_t>(forest.trees.size());
    const uint32_t tree = TreeOfTicket(offered.tickets[0], trees);
    AddSharedEnvelope(v1::GetOfferResponse::kTreeFieldNumber, {offered.forest, &forest.trees[tree]},
                      forest.longest_tree, pieces);
    response.set_tree_path(
        MakeEnvelope(forest.merkle.paths[tree], kEnvelopeHeadBytes + forest.longest_path));
  } else if (!is_known) {
    pieces.push_back({.shared = {offered.forest, &forest.as_field}});
  }
  pieces.push_back({.own = response.SerializeAsString()});
  return pieces;
}

Status AddProof(const curator::StudyCalls& studies, std::string_view challenge,
                v1::GetCuratorKeysResponse& response) {
  if (!challenge.empty() && challenge.size() != kChallengeBytes) {
    return FieldError("challenge", StrCat("must be empty or ", kChallengeBytes, " bytes"));
  }
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyCalls::KeyProof proof, studies.ProveKeys(challenge));
  response.set_direct_suite(proof.direct.suite);
  response.mutable_direct_key()->assign(proof.direct.key.begin(), proof.direct.key.end());
  if (proof.signature.has_value()) {
    response.mutable_proof()->assign(proof.signature->begin(), proof.signature->end());
  }
  return OkStatus();
}

Status TooManyTickets(std::string_view whose, absl::Duration wait) {
  return AskToWait(
      ResourceExhaustedError(
          StrCat("tickets of ", whose, " are requested faster than it gives them: ask again in ",
                 absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))),
                 " ms, or for fewer at once")),
      wait);
}

void AddKeys(const curator::CuratorKeys& keys, v1::GetCuratorKeysResponse& response) {
  response.mutable_key()->assign(keys.key.begin(), keys.key.end());
  for (const KeyEndorsement& step : keys.endorsements) {
    *response.add_endorsements() = ToProto(step);
  }
}

}  // namespace

void StudyHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &StudyHandlers::CreateStudy);
  registry.Add(*this, &StudyHandlers::AddJoinRows);
  registry.Add(*this, &StudyHandlers::PreviewStudy);
  registry.Add(*this, &StudyHandlers::ForecastStudy);
  registry.Add(*this, &StudyHandlers::GetStudy);
  registry.Add(*this, &StudyHandlers::GetCounts);
  registry.Add(*this, &StudyHandlers::GetReportHistory);
  registry.Add(*this, &StudyHandlers::ListStudies);
  registry.Add(*this, &StudyHandlers::SealStudy);
  registry.Add(*this, &StudyHandlers::DeleteStudy);
  registry.Add(*this, &StudyHandlers::IssueSubmissionTokens);
  registry.Add(*this, &StudyHandlers::GetOffer);
  registry.Add(*this, &StudyHandlers::RotateSealingKey);
  registry.Add(*this, &StudyHandlers::GetCuratorKeys);
  registry.Add(*this, &StudyHandlers::GetManifest);
}

Status StudyHandlers::CreateStudy(const Caller& caller, const v1::CreateStudyRequest& request,
                                  v1::CreateStudyResponse* response, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(curator::StudySpec spec, ParseStudySpec(request));
  spec.owner = caller.name;
  spec.may_draw = MayDraw(caller, {kStudies});
  spec.most_owned = quotas_(caller.name).studies;
  const bool was_made = studies_.WasCreated(spec);
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies_.Create(spec, cancel));
  if (was_made) NoteUnchanged();
  *response->mutable_study() = ToProto(info);
  return OkStatus();
}

Status StudyHandlers::AddJoinRows(const Caller& /*caller*/, const v1::AddJoinRowsRequest& request,
                                  v1::AddJoinRowsResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  std::vector<curator::JoinRow> rows;
  rows.reserve(request.rows_size());
  for (const v1::JoinRow& row : request.rows()) {
    rows.push_back({.id = row.id(), .row = {row.row().values().begin(), row.row().values().end()}});
  }
  const std::optional<curator::StudyInfo> before = studies_.FindInfo(id);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t count, studies_.AddJoinRows(id, rows));
  // Features that are there are never replaced.
  if (before.has_value() && before->join_rows == count) NoteUnchanged();
  response->set_rows(count);
  return OkStatus();
}

Status StudyHandlers::GetStudy(const Caller& caller, const v1::GetStudyRequest& request,
                               v1::GetStudyResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies_.Get(id, ViewerOf(caller)));
  *response->mutable_study() = ToProto(info);
  return OkStatus();
}

Status StudyHandlers::GetReportHistory(const Caller& /*caller*/,
                                       const v1::GetReportHistoryRequest& request,
                                       v1::GetReportHistoryResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::ReportSteps steps, studies_.ReportsOverTime(id));
  *response = ToProto(steps);
  return OkStatus();
}

Status StudyHandlers::ListStudies(const Caller& caller, const v1::ListStudiesRequest& request,
                                  v1::ListStudiesResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  response->set_next_page_token(AddPage(
      page, [this](const Page& part) { return studies_.List(part); },
      [&](const curator::StudyInfo& info) {
        return caller.sees_all ||
               caller.MaySee({.names = {MakeName(kStudies, info.id)}, .owner = info.owner});
      },
      [&](const curator::StudyInfo& info) { *response->add_studies() = SummaryOf(info); }));
  return OkStatus();
}

Status StudyHandlers::SealStudy(const Caller& /*caller*/, const v1::SealStudyRequest& request,
                                v1::SealStudyResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  const std::optional<curator::StudyInfo> before = studies_.FindInfo(id);
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies_.Seal(id));
  if (before.has_value() && before->state != curator::StudyState::kOpen) NoteUnchanged();
  *response->mutable_study() = ToProto(info);
  return OkStatus();
}

Status StudyHandlers::DeleteStudy(const Caller& /*caller*/, const v1::DeleteStudyRequest& request,
                                  v1::DeleteStudyResponse* /*response*/) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  return studies_.Delete(id);
}

Status StudyHandlers::RotateSealingKey(const Caller& /*caller*/,
                                       const v1::RotateSealingKeyRequest& request,
                                       v1::RotateSealingKeyResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  SealingKeyName current;
  const std::string& bytes = request.sealing_key_id();
  if (bytes.size() != current.size()) {
    return FieldError("sealing_key_id",
                      StrCat("must have ", current.size(), " bytes, has ", bytes.size()));
  }
  std::copy(bytes.begin(), bytes.end(), current.begin());
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies_.RotateSealingKey(id, current));
  *response->mutable_study() = ToProto(info);
  return OkStatus();
}

Status StudyHandlers::IssueSubmissionTokens(const Caller& /*caller*/,
                                            const v1::IssueSubmissionTokensRequest& request,
                                            v1::IssueSubmissionTokensResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> tokens,
                           studies_.IssueSubmissionTokens(request.count()));
  for (std::string& token : tokens) response->add_tokens(std::move(token));
  return OkStatus();
}

StatusOr<MessagePieces> StudyHandlers::GetOffer(const Caller& caller,
                                                const v1::GetOfferRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(MessagePieces offer, MakeOffer(studies_, caller, request));
  COPPICE_RETURN_IF_ERROR(LimitTickets(request));
  return offer;
}

Status StudyHandlers::LimitTickets(const v1::GetOfferRequest& request) {
  if (request.submission_tokens_size() > 0) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  const uint32_t tickets = TicketsOf(request);
  const absl::Duration wait = limiter_.Take(id, tickets);
  if (wait > absl::ZeroDuration()) return TooManyTickets("this study", wait);
  const std::string owner = studies_.OwnerOf(id).value_or("");
  const auto rate = static_cast<double>(quotas_(owner).tickets_per_second);
  // Ids contain no slash, so no study's bucket is an owner's.
  const absl::Duration of_owner = limiter_.Take(StrCat("owner/", owner), tickets,
                                                {.rate = rate, .burst = rate * kQuotaBurstSeconds});
  return of_owner > absl::ZeroDuration() ? TooManyTickets("this study's owner", of_owner)
                                         : OkStatus();
}

Status StudyHandlers::GetCuratorKeys(const Caller& /*caller*/,
                                     const v1::GetCuratorKeysRequest& request,
                                     v1::GetCuratorKeysResponse* response) const {
  AddKeys(studies_.SigningKeysInUse(), *response);
  return AddProof(studies_, request.challenge(), *response);
}

Status StudyHandlers::GetManifest(const Caller& /*caller*/, const v1::GetManifestRequest& request,
                                  v1::GetManifestResponse* response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyCalls::Notice notice, studies_.GetNotice(id));
  if (notice.manifest != nullptr) *response->mutable_manifest() = ToProto(*notice.manifest);
  if (notice.closing.has_value()) *response->mutable_closing() = ToProto(*notice.closing);
  return OkStatus();
}

}  // namespace coppice::service
