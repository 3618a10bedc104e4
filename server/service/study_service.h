// StudyService over the curator's Studies. Growing a partition, whatever writes to the disk, and
// computing alarms, runs on the worker pool; previews, which take seconds and change nothing, run on
// one of their own, so that they keep nothing else waiting.
//
// Wire       nothing is compressed: a caller could ask for the work and leave the answer unread.
// Limits     tickets for callers without submission tokens: ResourceExhausted, with the time to
//            wait in the trailing metadata grpc-retry-pushback-ms, in milliseconds.
// Errors     those of Studies, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_STUDY_SERVICE_H_
#define COPPICE_SERVER_SERVICE_STUDY_SERVICE_H_

#include "coppice/v1/study.grpc.pb.h"
#include "server/curator/studies.h"
#include "server/service/ticket_limiter.h"
#include "server/service/worker_pool.h"

namespace coppice {

class StudyServiceImpl final : public v1::StudyService::CallbackService {
 public:
  StudyServiceImpl(Studies& studies, WorkerPool& pool, WorkerPool& previews, TicketLimiter& limiter)
      : studies_(studies), pool_(pool), previews_(previews), limiter_(limiter) {}

  grpc::ServerUnaryReactor* CreateStudy(grpc::CallbackServerContext* context,
                                        const v1::CreateStudyRequest* request,
                                        v1::CreateStudyResponse* response) override;
  grpc::ServerUnaryReactor* PreviewStudy(grpc::CallbackServerContext* context,
                                         const v1::PreviewStudyRequest* request,
                                         v1::PreviewStudyResponse* response) override;
  grpc::ServerUnaryReactor* GetStudy(grpc::CallbackServerContext* context,
                                     const v1::GetStudyRequest* request,
                                     v1::GetStudyResponse* response) override;
  grpc::ServerUnaryReactor* ListStudies(grpc::CallbackServerContext* context,
                                        const v1::ListStudiesRequest* request,
                                        v1::ListStudiesResponse* response) override;
  grpc::ServerUnaryReactor* SealStudy(grpc::CallbackServerContext* context,
                                      const v1::SealStudyRequest* request,
                                      v1::SealStudyResponse* response) override;
  grpc::ServerUnaryReactor* DeleteStudy(grpc::CallbackServerContext* context,
                                        const v1::DeleteStudyRequest* request,
                                        v1::DeleteStudyResponse* response) override;
  grpc::ServerUnaryReactor* IssueSubmissionTokens(
      grpc::CallbackServerContext* context, const v1::IssueSubmissionTokensRequest* request,
      v1::IssueSubmissionTokensResponse* response) override;
  grpc::ServerUnaryReactor* GetOffer(grpc::CallbackServerContext* context,
                                     const v1::GetOfferRequest* request,
                                     v1::GetOfferResponse* response) override;
  grpc::ServerUnaryReactor* GetCuratorKeys(grpc::CallbackServerContext* context,
                                           const v1::GetCuratorKeysRequest* request,
                                           v1::GetCuratorKeysResponse* response) override;

 private:
  Studies& studies_;
  WorkerPool& pool_;
  WorkerPool& previews_;
  TicketLimiter& limiter_;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_STUDY_SERVICE_H_
