// The services' calls, independent of any transport: one class per service, one method per call.
//
// A handler takes the caller and the request, and fills the response.
// server/serving/access/method_table.h has the roles, limits and deadlines of each call.
// ReportService, whose calls are many and short, has a folder of its own (server/serving/reports).

#ifndef COPPICE_SERVER_SERVING_SERVICE_HANDLERS_H_
#define COPPICE_SERVER_SERVING_SERVICE_HANDLERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/base/cancel_check.h"
#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/curator/studies/study_calls.h"
#include "server/datasets/datasets.h"
#include "server/datasets/evaluations.h"
#include "server/datasets/jobs.h"
#include "server/serving/access/quota.h"
#include "server/serving/calls/handler_registry.h"
#include "server/serving/calls/resource_guard.h"
#include "server/serving/calls/worker_pool.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/endpoints.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::service {

// Finds this curator's resources for the guard; all must outlive the finder. A job has its
// dataset's owner and is visible with it; likewise a model with the study or job it was made from.
ResourceFinder MakeResourceFinder(const curator::StudyCalls& studies,
                                  const central::Datasets& datasets, const central::Jobs& jobs,
                                  const central::Evaluations& evaluations,
                                  const models::Models& models, const models::Endpoints& endpoints);

// StudyService over Studies. Callers without submission tokens get a limited number of tickets per
// time, of one study and of all studies of an owner with a quota. Beyond it they are refused as
// ResourceExhausted, with the time to wait.
//
// Errors     Those of Studies, and InvalidArgument that names the field.
// Threads    safe to share. The constructor's arguments must outlive it.
class StudyHandlers {
 public:
  StudyHandlers(curator::StudyCalls& studies, RateLimiter& limiter,
                owners::QuotaFinder quotas = owners::NoQuota)
      : studies_(studies), limiter_(limiter), quotas_(std::move(quotas)) {}

  void Register(HandlerRegistry& registry);

  Status CreateStudy(const Caller& caller, const v1::CreateStudyRequest& request,
                     v1::CreateStudyResponse* response, const CancelCheck& cancel);
  Status AddJoinRows(const Caller& caller, const v1::AddJoinRowsRequest& request,
                     v1::AddJoinRowsResponse* response);
  Status PreviewStudy(const Caller& caller, const v1::PreviewStudyRequest& request,
                      v1::PreviewStudyResponse* response, const CancelCheck& cancel) const;
  Status ForecastStudy(const Caller& caller, const v1::ForecastStudyRequest& request,
                       v1::ForecastStudyResponse* response, const CancelCheck& cancel) const;
  Status GetStudy(const Caller& caller, const v1::GetStudyRequest& request,
                  v1::GetStudyResponse* response) const;
  Status GetCounts(const Caller& caller, const v1::GetCountsRequest& request,
                   v1::GetCountsResponse* response) const;
  Status GetReportHistory(const Caller& caller, const v1::GetReportHistoryRequest& request,
                          v1::GetReportHistoryResponse* response) const;
  Status ListStudies(const Caller& caller, const v1::ListStudiesRequest& request,
                     v1::ListStudiesResponse* response) const;
  Status SealStudy(const Caller& caller, const v1::SealStudyRequest& request,
                   v1::SealStudyResponse* response);
  Status DeleteStudy(const Caller& caller, const v1::DeleteStudyRequest& request,
                     v1::DeleteStudyResponse* response);
  Status RotateSealingKey(const Caller& caller, const v1::RotateSealingKeyRequest& request,
                          v1::RotateSealingKeyResponse* response);
  Status IssueSubmissionTokens(const Caller& caller,
                               const v1::IssueSubmissionTokensRequest& request,
                               v1::IssueSubmissionTokensResponse* response) const;
  // Returns pieces, because the large parts are the study's own and shared by all answers.
  StatusOr<MessagePieces> GetOffer(const Caller& caller, const v1::GetOfferRequest& request);
  Status GetCuratorKeys(const Caller& caller, const v1::GetCuratorKeysRequest& request,
                        v1::GetCuratorKeysResponse* response) const;
  Status GetManifest(const Caller& caller, const v1::GetManifestRequest& request,
                     v1::GetManifestResponse* response);

 private:
  static curator::Viewer ViewerOf(const Caller& caller) {
    return IsNamedOperator(caller) ? curator::Viewer::kOperator : curator::Viewer::kReader;
  }
  // Called after an offer was made, so the study exists. Tokens limit themselves.
  Status LimitTickets(const v1::GetOfferRequest& request);

  curator::StudyCalls& studies_;
  RateLimiter& limiter_;
  const owners::QuotaFinder quotas_;
};

// ModelService over all models, over Studies, which builds some, and over the endpoints that serve
// them. A few rows are predicted on the calling thread, which is faster than waking another. Rows
// to predict are neither kept nor logged, and no error quotes a value of theirs.
//
// Errors     Those of Studies, Models and Endpoints, and InvalidArgument that names the field.
// Threads    safe to share. The constructor's arguments must outlive it. `store` holds the models.
class ModelHandlers {
 public:
  // No model has more than `max_model_bytes` bytes.
  ModelHandlers(storage::Store& store, curator::StudyCalls& studies, models::Models& models,
                models::Endpoints& endpoints, const ResourceGuard& guard,
                owners::QuotaFinder quotas = owners::NoQuota,
                uint64_t max_model_bytes = models::kMaxModelBytes)
      : store_(store),
        studies_(studies),
        models_(models),
        endpoints_(endpoints),
        guard_(guard),
        quotas_(std::move(quotas)),
        max_model_bytes_(max_model_bytes) {}

  void Register(HandlerRegistry& registry);

  Status BuildModel(const Caller& caller, const v1::BuildModelRequest& request,
                    v1::BuildModelResponse* response, const CancelCheck& cancel);
  Status GetModel(const Caller& caller, const v1::GetModelRequest& request,
                  v1::GetModelResponse* response) const;
  // Checks the certificate against this curator's key.
  Status DescribeModel(const Caller& caller, const v1::DescribeModelRequest& request,
                       v1::DescribeModelResponse* response) const;
  // FailedPrecondition for a model that the format cannot express, and for a file too large to
  // send.
  Status ExportModel(const Caller& caller, const v1::ExportModelRequest& request,
                     v1::ExportModelResponse* response) const;
  Status ListModels(const Caller& caller, const v1::ListModelsRequest& request,
                    v1::ListModelsResponse* response) const;
  Status DeleteModel(const Caller& caller, const v1::DeleteModelRequest& request,
                     v1::DeleteModelResponse* response);
  StatusOr<Later> Predict(const Caller& caller, const v1::PredictRequest& request,
                          v1::PredictResponse* response) const;
  StatusOr<StreamHandlerPtr> StreamPredictions(const Caller& caller, StreamCall& call) const;
  Status SetServingModel(const Caller& caller, const v1::SetServingModelRequest& request,
                         v1::SetServingModelResponse* response);
  Status RollBack(const Caller& caller, const v1::RollBackRequest& request,
                  v1::RollBackResponse* response);
  Status GetEndpoint(const Caller& caller, const v1::GetEndpointRequest& request,
                     v1::GetEndpointResponse* response) const;
  Status ListEndpoints(const Caller& caller, const v1::ListEndpointsRequest& request,
                       v1::ListEndpointsResponse* response) const;
  Status DeleteEndpoint(const Caller& caller, const v1::DeleteEndpointRequest& request,
                        v1::DeleteEndpointResponse* response);

 private:
  storage::Store& store_;
  curator::StudyCalls& studies_;
  models::Models& models_;
  // The most bytes that the model may have, by the request and the curator.
  StatusOr<uint64_t> MostBytes(const v1::BuildModelRequest& request) const;
  // Keeps room for the model in its owner's quota, and lowers `most_bytes` to that.
  // ResourceExhausted if the owner may have no more models.
  StatusOr<models::ModelClaim> ReserveRoom(const std::string& study, uint64_t& most_bytes);

  models::Endpoints& endpoints_;
  const ResourceGuard& guard_;
  const owners::QuotaFinder quotas_;
  const uint64_t max_model_bytes_;
};

// DatasetService over Datasets. Rows are neither logged nor quoted in errors. Only the dataset's
// owner sees their number and the ledger, which tells when jobs ended.
//
// Errors     Those of Datasets, and InvalidArgument that names the field.
// Threads    safe to share. The constructor's arguments must outlive it.
class DatasetHandlers {
 public:
  // `jobs` and `evaluations` tell who submitted what is in the ledger.
  DatasetHandlers(central::Datasets& datasets, const central::Jobs& jobs,
                  const central::Evaluations& evaluations, const ResourceGuard& guard,
                  owners::QuotaFinder quotas = owners::NoQuota)
      : datasets_(datasets),
        jobs_(jobs),
        evaluations_(evaluations),
        guard_(guard),
        quotas_(std::move(quotas)) {}

  void Register(HandlerRegistry& registry);

  Status CreateDataset(const Caller& caller, const v1::CreateDatasetRequest& request,
                       v1::CreateDatasetResponse* response);
  StatusOr<StreamHandlerPtr> UploadRows(const Caller& caller, StreamCall& call);
  Status AppendRows(const Caller& caller, const v1::AppendRowsRequest& request,
                    v1::AppendRowsResponse* response);
  Status GetDataset(const Caller& caller, const v1::GetDatasetRequest& request,
                    v1::GetDatasetResponse* response) const;
  Status ListDatasets(const Caller& caller, const v1::ListDatasetsRequest& request,
                      v1::ListDatasetsResponse* response) const;
  Status DeleteDataset(const Caller& caller, const v1::DeleteDatasetRequest& request,
                       v1::DeleteDatasetResponse* response);
  Status ConfirmLedger(const Caller& caller, const v1::ConfirmLedgerRequest& request,
                       v1::ConfirmLedgerResponse* response);
  Status WriteOffLedger(const Caller& caller, const v1::WriteOffLedgerRequest& request,
                        v1::WriteOffLedgerResponse* response);
  Status FreeDatasetName(const Caller& caller, const v1::FreeDatasetNameRequest& request,
                         v1::FreeDatasetNameResponse* response);

 private:
  central::Datasets& datasets_;
  const central::Jobs& jobs_;
  const central::Evaluations& evaluations_;
  const ResourceGuard& guard_;
  const owners::QuotaFinder quotas_;
};

// TrainingService over Jobs and Evaluations. Training has its own threads. Only its dataset's owner
// may use a job or an evaluation.
//
// Errors     Those of Jobs and Evaluations, and InvalidArgument that names the field.
// Threads    safe to share. `datasets`, `jobs` and `evaluations` must outlive it.
class TrainingHandlers {
 public:
  TrainingHandlers(const central::Datasets& datasets, central::Jobs& jobs,
                   central::Evaluations& evaluations, owners::QuotaFinder quotas = owners::NoQuota)
      : datasets_(datasets), jobs_(jobs), evaluations_(evaluations), quotas_(std::move(quotas)) {}

  void Register(HandlerRegistry& registry);

  Status ListAlgorithms(const Caller& caller, const v1::ListAlgorithmsRequest& request,
                        v1::ListAlgorithmsResponse* response) const;
  // On the method's lane; gives up after four minutes, the wait for the lane included.
  StatusOr<StreamHandlerPtr> MeasureCurve(const Caller& caller,
                                          const v1::MeasureCurveRequest& request, StreamCall& call);
  Status PreviewJob(const Caller& caller, const v1::PreviewJobRequest& request,
                    v1::PreviewJobResponse* response) const;
  Status SubmitJob(const Caller& caller, const v1::SubmitJobRequest& request,
                   v1::SubmitJobResponse* response);
  StatusOr<StreamHandlerPtr> WatchJob(const Caller& caller, const v1::WatchJobRequest& request,
                                      StreamCall& call);
  Status GetJob(const Caller& caller, const v1::GetJobRequest& request,
                v1::GetJobResponse* response) const;
  Status ListJobs(const Caller& caller, const v1::ListJobsRequest& request,
                  v1::ListJobsResponse* response) const;
  Status CancelJob(const Caller& caller, const v1::CancelJobRequest& request,
                   v1::CancelJobResponse* response);
  Status PreviewEvaluation(const Caller& caller, const v1::PreviewEvaluationRequest& request,
                           v1::PreviewEvaluationResponse* response) const;
  Status EvaluateModel(const Caller& caller, const v1::EvaluateModelRequest& request,
                       v1::EvaluateModelResponse* response);
  Status GetEvaluation(const Caller& caller, const v1::GetEvaluationRequest& request,
                       v1::GetEvaluationResponse* response) const;

 private:
  const central::Datasets& datasets_;
  central::Jobs& jobs_;
  central::Evaluations& evaluations_;
  const owners::QuotaFinder quotas_;
};

// Lists the entries of the policy in force at the time of the call.
using TokenLister = std::function<v1::ListTokensResponse()>;

// Returns the daemon's current status, without the fields that AdminHandlers fills in itself.
using StatusReader = std::function<v1::GetStatusResponse()>;

struct BackupSettings {
  std::string folder{};  // empty: no backups
  uint32_t keep = 0;     // newest backups to keep; 0: all
};

// AdminService over the store. Backups run on their own thread, one at a time, into a folder that
// the operator chose when the daemon started: callers name no path.
//
// Errors     Those of Store::Backup() and ListBackups(); FailedPrecondition without a folder or
//            while a backup runs. Those of AuditLog::Read(); FailedPrecondition without a log.
// Threads    safe to share. `store` and `audit` must outlive it.
class AdminHandlers {
 public:
  AdminHandlers(storage::Store& store, BackupSettings backups, audit::AuditLog* audit,
                TokenLister tokens = {}, StatusReader status = {})
      : store_(store),
        backups_(std::move(backups)),
        audit_(audit),
        tokens_(std::move(tokens)),
        status_(std::move(status)) {}

  void Register(HandlerRegistry& registry);

  StatusOr<StreamHandlerPtr> Backup(const Caller& caller, const v1::BackupRequest& request,
                                    StreamCall& call);
  Status ListBackups(const Caller& caller, const v1::ListBackupsRequest& request,
                     v1::ListBackupsResponse* response) const;
  Status GetStatus(const Caller& caller, const v1::GetStatusRequest& request,
                   v1::GetStatusResponse* response) const;
  Status ReadAuditLog(const Caller& caller, const v1::ReadAuditLogRequest& request,
                      v1::ReadAuditLogResponse* response) const;

  Status ListTokens(const Caller& caller, const v1::ListTokensRequest& request,
                    v1::ListTokensResponse* response) const;

  // Stops the running backup, if any.
  void Drain() { pool_.Drain(); }

 private:
  storage::Store& store_;
  const BackupSettings backups_;
  audit::AuditLog* const audit_;  // null: no audit log
  const TokenLister tokens_;      // null: no policy
  const StatusReader status_;     // null: no status
  std::atomic<bool> busy_{false};
  WorkerPool pool_{/*threads=*/1, /*max_waiting=*/1};  // last: ends its work before the rest goes
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_HANDLERS_H_
