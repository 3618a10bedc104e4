#include "server/access/method_roles.h"

#include <algorithm>

namespace coppice {
namespace {

constexpr RoleSet kAdmins = {Role::kAdmin};
constexpr RoleSet kTrainers = {Role::kTrainer, Role::kAdmin};
constexpr RoleSet kAnalysts = {Role::kAnalyst, Role::kTrainer, Role::kAdmin};
constexpr RoleSet kDevices = {Role::kDevice, Role::kAdmin};
constexpr RoleSet kAnyRole = {Role::kDevice, Role::kAnalyst, Role::kTrainer, Role::kAdmin};

constexpr MethodRoles kTable[] = {
    {"/coppice.v1.AdminService/Backup", kAdmins},
    {"/coppice.v1.DatasetService/ConfirmLedger", kAdmins},
    {"/coppice.v1.DatasetService/CreateDataset", kTrainers},
    {"/coppice.v1.DatasetService/DeleteDataset", kTrainers},
    {"/coppice.v1.DatasetService/FreeDatasetName", kAdmins},
    {"/coppice.v1.DatasetService/GetDataset", kTrainers},
    {"/coppice.v1.DatasetService/ListDatasets", kTrainers},
    {"/coppice.v1.DatasetService/UploadRows", kTrainers},
    {"/coppice.v1.DatasetService/WriteOffLedger", kAdmins},
    {"/coppice.v1.ModelService/BuildModel", kTrainers},
    {"/coppice.v1.ModelService/DeleteEndpoint", kAdmins},
    {"/coppice.v1.ModelService/DeleteModel", kTrainers},
    {"/coppice.v1.ModelService/GetEndpoint", kAnalysts},
    {"/coppice.v1.ModelService/GetModel", kAnalysts},
    {"/coppice.v1.ModelService/ListEndpoints", kAnalysts},
    {"/coppice.v1.ModelService/ListModels", kAnalysts},
    {"/coppice.v1.ModelService/Predict", kAnalysts},
    {"/coppice.v1.ModelService/RollBack", kAdmins},
    {"/coppice.v1.ModelService/SetServingModel", kAdmins},
    {"/coppice.v1.ModelService/StreamPredictions", kAnalysts},
    {"/coppice.v1.ReportService/StreamReports", kDevices},
    {"/coppice.v1.ReportService/SubmitReports", kDevices},
    {"/coppice.v1.StudyService/CreateStudy", kAdmins},
    {"/coppice.v1.StudyService/DeleteStudy", kAdmins},
    {"/coppice.v1.StudyService/GetCuratorKeys", kAnyRole},
    {"/coppice.v1.StudyService/GetOffer", kDevices},
    {"/coppice.v1.StudyService/GetStudy", kAnalysts},
    {"/coppice.v1.StudyService/IssueSubmissionTokens", kAdmins},
    {"/coppice.v1.StudyService/ListStudies", kAnalysts},
    {"/coppice.v1.StudyService/PreviewStudy", kAnalysts},  // makes nothing
    {"/coppice.v1.StudyService/SealStudy", kAdmins},
    {"/coppice.v1.TrainingService/CancelJob", kTrainers},
    {"/coppice.v1.TrainingService/GetJob", kTrainers},
    {"/coppice.v1.TrainingService/ListAlgorithms", kTrainers},
    {"/coppice.v1.TrainingService/ListJobs", kTrainers},
    {"/coppice.v1.TrainingService/PreviewJob", kTrainers},
    {"/coppice.v1.TrainingService/SubmitJob", kTrainers},
    {"/coppice.v1.TrainingService/WatchJob", kTrainers},
    {"/grpc.health.v1.Health/Check", {}, /*open=*/true},
    {"/grpc.health.v1.Health/Watch", {}, /*open=*/true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAnyRole},
};

constexpr bool ByPath(const MethodRoles& a, const MethodRoles& b) { return a.path < b.path; }
static_assert(std::is_sorted(std::begin(kTable), std::end(kTable), ByPath));

}  // namespace

absl::Span<const MethodRoles> AllMethodRoles() { return kTable; }

const MethodRoles* FindMethodRoles(absl::string_view path) {
  const auto* const end = std::end(kTable);
  const auto* const found =
      std::lower_bound(std::begin(kTable), end, MethodRoles{path, {}}, ByPath);
  return found != end && found->path == path ? found : nullptr;
}

}  // namespace coppice
