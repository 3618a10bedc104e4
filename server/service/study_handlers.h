// StudyService over the curator's Studies. Growing a partition, whatever writes to the disk, and
// computing alarms, runs on the worker pool; previews, which take seconds and change nothing, run
// on one of their own, so that they keep nothing else waiting.
//
// Wire       nothing is compressed: a caller could ask for the work and leave the answer unread.
// Limits     tickets for callers without submission tokens: ResourceExhausted, with the time to
//            wait in the trailing metadata grpc-retry-pushback-ms, in milliseconds.
// Errors     those of Studies, and InvalidArgument that names the field.
// Threads    safe to share. What it is made of must outlive the server.

#ifndef COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_
#define COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_

#include "coppice/v1/study.grpc.pb.h"
#include "server/curator/studies/studies.h"
#include "server/service/calls/worker_pool.h"
#include "server/service/ticket_limiter.h"

namespace coppice::service {

// Offers are written as bytes: their large parts are the study's own, which all answers share.
using StudyServiceBase = v1::StudyService::WithCallbackMethod_CreateStudy<
    v1::StudyService::WithCallbackMethod_PreviewStudy<v1::StudyService::WithCallbackMethod_GetStudy<
        v1::StudyService::WithCallbackMethod_ListStudies<
            v1::StudyService::WithCallbackMethod_SealStudy<
                v1::StudyService::WithCallbackMethod_DeleteStudy<
                    v1::StudyService::WithCallbackMethod_IssueSubmissionTokens<
                        v1::StudyService::WithRawCallbackMethod_GetOffer<
                            v1::StudyService::WithCallbackMethod_GetCuratorKeys<
                                v1::StudyService::Service>>>>>>>>>;

class StudyServiceImpl final : public StudyServiceBase {
 public:
  StudyServiceImpl(curator::Studies& studies, WorkerPool& pool, WorkerPool& builds,
                   WorkerPool& previews, TicketLimiter& limiter)
      : studies_(studies), pool_(pool), builds_(builds), previews_(previews), limiter_(limiter) {}

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
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetCuratorKeys(grpc::CallbackServerContext* context,
                                           const v1::GetCuratorKeysRequest* request,
                                           v1::GetCuratorKeysResponse* response) override;

 private:
  curator::Studies& studies_;
  WorkerPool& pool_;
  WorkerPool& builds_;
  WorkerPool& previews_;
  TicketLimiter& limiter_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_STUDY_HANDLERS_H_
