#include "server/service/study_handlers.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "common/wire/manifest.h"
#include "server/service/load_limits.h"
#include "server/service/messages.h"
#include "server/service/preview.h"
#include "server/service/raw_message.h"
#include "server/service/unary.h"

namespace coppice::service {
namespace {

absl::Status Create(curator::Studies& studies, const v1::CreateStudyRequest& request,
                    v1::CreateStudyResponse& response, const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const curator::StudySpec spec, FromProto(request));
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies.Create(spec, cancel));
  *response.mutable_study() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Get(curator::Studies& studies, const v1::GetStudyRequest& request,
                 v1::GetStudyResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies.Get(id));
  *response.mutable_study() = ToProto(info);
  return absl::OkStatus();
}

absl::Status List(const curator::Studies& studies, const v1::ListStudiesRequest& request,
                  v1::ListStudiesResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const Page page, PageOf(request.page_size(), request.page_token()));
  const std::vector<curator::StudyInfo> infos = studies.List(page);
  for (const curator::StudyInfo& info : infos) *response.add_studies() = SummaryOf(info);
  if (infos.size() == page.size && !studies.List({.size = 1, .after = infos.back().id}).empty()) {
    response.set_next_page_token(infos.back().id);
  }
  return absl::OkStatus();
}

absl::Status Seal(curator::Studies& studies, const v1::SealStudyRequest& request,
                  v1::SealStudyResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyInfo info, studies.Seal(id));
  *response.mutable_study() = ToProto(info);
  return absl::OkStatus();
}

absl::Status Delete(curator::Studies& studies, const v1::DeleteStudyRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  return studies.Delete(id);
}

absl::Status CheckKnownManifest(absl::string_view known) {
  if (known.empty() || known.size() == std::tuple_size_v<Sha256Digest>) return absl::OkStatus();
  return FieldError("known_manifest",
                    absl::StrCat("must be empty or have ", std::tuple_size_v<Sha256Digest>,
                                 " bytes, has ", known.size()));
}

bool IsKnown(const SignedManifest& manifest, absl::string_view known) {
  const Sha256Digest digest = Sha256({manifest.bytes});
  return known == absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
}

absl::Status IssueTokens(curator::Studies& studies, const v1::IssueSubmissionTokensRequest& request,
                         v1::IssueSubmissionTokensResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> tokens,
                           studies.IssueSubmissionTokens(request.count()));
  for (std::string& token : tokens) response.add_tokens(std::move(token));
  return absl::OkStatus();
}

uint32_t TicketsOf(const v1::GetOfferRequest& request) {
  return std::max(request.tickets(), uint32_t{1});
}

// Field `number`, of bytes that the answer shares.
void AddSharedField(int number, const std::shared_ptr<const std::string>& bytes,
                    std::vector<grpc::Slice>& answer) {
  using google::protobuf::internal::WireFormatLite;
  std::string head;
  {
    google::protobuf::io::StringOutputStream stream(&head);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    output.WriteVarint64(bytes->size());
  }
  answer.emplace_back(head);
  answer.push_back(ShareBytes(bytes));
}

// A GetOfferResponse in pieces.
absl::StatusOr<std::vector<grpc::Slice>> MakeOffer(curator::Studies& studies,
                                                   const v1::GetOfferRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  if (request.tickets() > curator::Studies::kMaxTicketsPerOffer) {
    return FieldError(
        "tickets", absl::StrCat("must be at most ", curator::Studies::kMaxTicketsPerOffer, ", are ",
                                request.tickets()));
  }
  if (request.tickets() > 1 && !request.whole_forest()) {
    return FieldError("tickets", "more than one go with whole_forest only");
  }
  const std::string& known = request.known_fingerprint();
  if (!known.empty() && known.size() != std::tuple_size_v<Fingerprint>) {
    return FieldError("known_fingerprint",
                      absl::StrCat("must be empty or have ", std::tuple_size_v<Fingerprint>,
                                   " bytes, has ", known.size()));
  }
  COPPICE_RETURN_IF_ERROR(CheckKnownManifest(request.known_manifest()));
  const std::vector<std::string> tokens(request.submission_tokens().begin(),
                                        request.submission_tokens().end());
  COPPICE_ASSIGN_OR_RETURN(const curator::Studies::Offer offered,
                           studies.MakeOffer(id, TicketsOf(request), tokens));
  v1::GetOfferResponse response;
  response.mutable_fingerprint()->assign(offered.fingerprint.begin(), offered.fingerprint.end());
  for (const Ticket& ticket : offered.tickets) response.add_tickets(ticket.ToBytes());
  if (!IsKnown(*offered.manifest, request.known_manifest())) {
    *response.mutable_manifest() = ToProto(*offered.manifest);
  }
  const PackedForest& forest = *offered.forest;
  const bool is_known = response.fingerprint() == known;
  std::vector<grpc::Slice> shared;
  if (!is_known) {
    AddSharedField(v1::GetOfferResponse::kTermsFieldNumber, offered.terms_bytes, shared);
  }
  if (!request.whole_forest()) {
    const auto trees = static_cast<uint32_t>(forest.trees.size());
    const uint32_t tree = TreeOfTicket(offered.tickets[0], trees);
    AddSharedField(v1::GetOfferResponse::kTreeFieldNumber, {offered.forest, &forest.trees[tree]},
                   shared);
    response.set_tree_path(forest.merkle.paths[tree]);
  } else if (!is_known) {
    shared.push_back(ShareBytes({offered.forest, &forest.as_field}));
  }
  shared.push_back(ToSlice(response));
  return shared;
}

absl::Status AddProof(const curator::Studies& studies, absl::string_view challenge,
                      v1::GetCuratorKeysResponse& response) {
  if (challenge.empty()) return absl::OkStatus();
  if (challenge.size() != kChallengeBytes) {
    return FieldError("challenge", absl::StrCat("must be empty or ", kChallengeBytes, " bytes"));
  }
  COPPICE_ASSIGN_OR_RETURN(const Signature proof, studies.ProveKey(challenge));
  response.mutable_proof()->assign(proof.begin(), proof.end());
  return absl::OkStatus();
}

// For an offer that was made, so the study is there. Tokens bound themselves.
absl::Status LimitTickets(TicketLimiter& limiter, const v1::GetOfferRequest& request,
                          grpc::CallbackServerContext& context) {
  if (request.submission_tokens_size() > 0) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  const absl::Duration wait = limiter.Take(id, TicketsOf(request));
  if (wait == absl::ZeroDuration()) return absl::OkStatus();
  AskToWait(context, wait);
  return absl::ResourceExhaustedError(
      absl::StrCat("tickets of this study are being asked for faster than it gives them: ask "
                   "again in ",
                   absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))),
                   " ms, or for fewer at once"));
}

absl::StatusOr<std::vector<grpc::Slice>> AnswerOffer(curator::Studies& studies,
                                                     TicketLimiter& limiter,
                                                     const grpc::ByteBuffer& bytes,
                                                     grpc::CallbackServerContext& context) {
  v1::GetOfferRequest request;
  COPPICE_RETURN_IF_ERROR(ParseMessage(bytes, request));
  COPPICE_ASSIGN_OR_RETURN(std::vector<grpc::Slice> answer, MakeOffer(studies, request));
  COPPICE_RETURN_IF_ERROR(LimitTickets(limiter, request, context));
  return answer;
}

void AddKeys(const curator::CuratorKeys& keys, v1::GetCuratorKeysResponse& response) {
  response.mutable_key()->assign(keys.key.begin(), keys.key.end());
  for (const KeyEndorsement& step : keys.endorsements) {
    *response.add_endorsements() = ToProto(step);
  }
}

}  // namespace

grpc::ServerUnaryReactor* StudyServiceImpl::CreateStudy(grpc::CallbackServerContext* context,
                                                        const v1::CreateStudyRequest* request,
                                                        v1::CreateStudyResponse* response) {
  return ReplyLater(builds_, context, [this, request, response](const CancelCheck& cancel) {
    return Create(studies_, *request, *response, cancel);
  });
}

grpc::ServerUnaryReactor* StudyServiceImpl::PreviewStudy(grpc::CallbackServerContext* context,
                                                         const v1::PreviewStudyRequest* request,
                                                         v1::PreviewStudyResponse* response) {
  return ReplyLater(previews_, context, [request, response](const CancelCheck& cancel) {
    return PreviewStudyFor(*request, *response, cancel);
  });
}

grpc::ServerUnaryReactor* StudyServiceImpl::GetStudy(grpc::CallbackServerContext* context,
                                                     const v1::GetStudyRequest* request,
                                                     v1::GetStudyResponse* response) {
  return ReplyLater(pool_, context,
                    [this, request, response] { return Get(studies_, *request, *response); });
}

grpc::ServerUnaryReactor* StudyServiceImpl::ListStudies(grpc::CallbackServerContext* context,
                                                        const v1::ListStudiesRequest* request,
                                                        v1::ListStudiesResponse* response) {
  return Reply(context, List(studies_, *request, *response));
}

grpc::ServerUnaryReactor* StudyServiceImpl::SealStudy(grpc::CallbackServerContext* context,
                                                      const v1::SealStudyRequest* request,
                                                      v1::SealStudyResponse* response) {
  return ReplyLater(pool_, context,
                    [this, request, response] { return Seal(studies_, *request, *response); });
}

grpc::ServerUnaryReactor* StudyServiceImpl::DeleteStudy(grpc::CallbackServerContext* context,
                                                        const v1::DeleteStudyRequest* request,
                                                        v1::DeleteStudyResponse*) {
  return ReplyLater(pool_, context, [this, request] { return Delete(studies_, *request); });
}

grpc::ServerUnaryReactor* StudyServiceImpl::IssueSubmissionTokens(
    grpc::CallbackServerContext* context, const v1::IssueSubmissionTokensRequest* request,
    v1::IssueSubmissionTokensResponse* response) {
  return Reply(context, IssueTokens(studies_, *request, *response));
}

grpc::ServerUnaryReactor* StudyServiceImpl::GetOffer(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  const absl::StatusOr<std::vector<grpc::Slice>> answer =
      AnswerOffer(studies_, limiter_, *request, *context);
  if (answer.ok()) *response = grpc::ByteBuffer(answer->data(), answer->size());
  return Reply(context, answer.status());
}

grpc::ServerUnaryReactor* StudyServiceImpl::GetCuratorKeys(grpc::CallbackServerContext* context,
                                                           const v1::GetCuratorKeysRequest* request,
                                                           v1::GetCuratorKeysResponse* response) {
  AddKeys(studies_.SigningKeysInUse(), *response);
  return Reply(context, AddProof(studies_, request->challenge(), *response));
}

}  // namespace coppice::service
