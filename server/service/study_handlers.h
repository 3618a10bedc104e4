// StudyService over the curator's Studies.

#ifndef COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/base/rate_limiter.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/studies/studies.h"
#include "server/service/calls/handler_registry.h"

namespace coppice::service {

// Callers without submission tokens get so many tickets in a time, and are then refused as
// ResourceExhausted, with the time to wait.
//
// Errors     those of Studies, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive it.
class StudyHandlers {
 public:
  StudyHandlers(curator::Studies& studies, RateLimiter& limiter)
      : studies_(studies), limiter_(limiter) {}

  void Register(HandlerRegistry& registry);

  absl::Status CreateStudy(const Caller& caller, const v1::CreateStudyRequest& request,
                           v1::CreateStudyResponse* response, const CancelCheck& cancel);
  absl::Status PreviewStudy(const Caller& caller, const v1::PreviewStudyRequest& request,
                            v1::PreviewStudyResponse* response, const CancelCheck& cancel) const;
  absl::Status GetStudy(const Caller& caller, const v1::GetStudyRequest& request,
                        v1::GetStudyResponse* response) const;
  absl::Status ListStudies(const Caller& caller, const v1::ListStudiesRequest& request,
                           v1::ListStudiesResponse* response) const;
  absl::Status SealStudy(const Caller& caller, const v1::SealStudyRequest& request,
                         v1::SealStudyResponse* response);
  absl::Status DeleteStudy(const Caller& caller, const v1::DeleteStudyRequest& request,
                           v1::DeleteStudyResponse* response);
  absl::Status IssueSubmissionTokens(const Caller& caller,
                                     const v1::IssueSubmissionTokensRequest& request,
                                     v1::IssueSubmissionTokensResponse* response) const;
  // In pieces: its large parts are the study's own, which all answers share.
  absl::StatusOr<MessagePieces> GetOffer(const Caller& caller, const v1::GetOfferRequest& request);
  absl::Status GetCuratorKeys(const Caller& caller, const v1::GetCuratorKeysRequest& request,
                              v1::GetCuratorKeysResponse* response) const;

 private:
  curator::Studies& studies_;
  RateLimiter& limiter_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_
