#include "server/access/method_table.h"

#include <algorithm>

namespace coppice::access {
namespace {

constexpr RoleSet kAdmins = {Role::kAdmin};
constexpr RoleSet kTrainers = {Role::kTrainer, Role::kAdmin};
constexpr RoleSet kAnalysts = {Role::kAnalyst, Role::kTrainer, Role::kAdmin};
constexpr RoleSet kDevices = {Role::kDevice, Role::kAdmin};
constexpr RoleSet kAnyRole = {Role::kDevice, Role::kAnalyst, Role::kTrainer, Role::kAdmin};

// Longer than the default: large answers over slow lines, and what waits for the disk or computes.
constexpr absl::Duration kOffer = absl::Seconds(30);
constexpr absl::Duration kMinute = absl::Minutes(1);
constexpr absl::Duration kPreview = absl::Minutes(5);
constexpr absl::Duration kBuild = absl::Hours(1);
constexpr absl::Duration kStream = absl::InfiniteDuration();

constexpr Method kTable[] = {
    {"/coppice.v1.AdminService/Backup", kAdmins, /*open=*/false, kStream},
    {"/coppice.v1.DatasetService/ConfirmLedger", kAdmins},
    {"/coppice.v1.DatasetService/CreateDataset", kTrainers, /*open=*/false, kMinute},
    {"/coppice.v1.DatasetService/DeleteDataset", kTrainers, /*open=*/false, kMinute},
    {"/coppice.v1.DatasetService/FreeDatasetName", kAdmins},
    {"/coppice.v1.DatasetService/GetDataset", kTrainers},
    {"/coppice.v1.DatasetService/ListDatasets", kTrainers},
    {"/coppice.v1.DatasetService/UploadRows", kTrainers, /*open=*/false, kStream},
    {"/coppice.v1.DatasetService/WriteOffLedger", kAdmins},
    {"/coppice.v1.ModelService/BuildModel", kTrainers, /*open=*/false, kBuild},
    {"/coppice.v1.ModelService/DeleteEndpoint", kAdmins},
    {"/coppice.v1.ModelService/DeleteModel", kTrainers, /*open=*/false, kMinute},
    {"/coppice.v1.ModelService/GetEndpoint", kAnalysts},
    {"/coppice.v1.ModelService/GetModel", kAnalysts, /*open=*/false, kMinute},
    {"/coppice.v1.ModelService/ListEndpoints", kAnalysts},
    {"/coppice.v1.ModelService/ListModels", kAnalysts},
    {"/coppice.v1.ModelService/Predict", kAnalysts, /*open=*/false, kMinute},
    {"/coppice.v1.ModelService/RollBack", kAdmins},
    {"/coppice.v1.ModelService/SetServingModel", kAdmins},
    {"/coppice.v1.ModelService/StreamPredictions", kAnalysts, /*open=*/false, kStream},
    {"/coppice.v1.ReportService/StreamReports", kDevices, /*open=*/false, kStream},
    {"/coppice.v1.ReportService/SubmitReports", kDevices, /*open=*/false, kOffer},
    {"/coppice.v1.StudyService/CreateStudy", kAdmins, /*open=*/false, kBuild},
    {"/coppice.v1.StudyService/DeleteStudy", kAdmins, /*open=*/false, kMinute},
    {"/coppice.v1.StudyService/GetCuratorKeys", kAnyRole},
    {"/coppice.v1.StudyService/GetOffer", kDevices, /*open=*/false, kOffer},
    {"/coppice.v1.StudyService/GetStudy", kAnalysts, /*open=*/false, kMinute},
    {"/coppice.v1.StudyService/IssueSubmissionTokens", kAdmins},
    {"/coppice.v1.StudyService/ListStudies", kAnalysts},
    {"/coppice.v1.StudyService/PreviewStudy", kAnalysts, /*open=*/false,
     kPreview},  // makes nothing
    {"/coppice.v1.StudyService/SealStudy", kAdmins, /*open=*/false, kMinute},
    {"/coppice.v1.TrainingService/CancelJob", kTrainers},
    {"/coppice.v1.TrainingService/GetJob", kTrainers},
    {"/coppice.v1.TrainingService/ListAlgorithms", kTrainers},
    {"/coppice.v1.TrainingService/ListJobs", kTrainers},
    {"/coppice.v1.TrainingService/PreviewJob", kTrainers, /*open=*/false, kMinute},
    {"/coppice.v1.TrainingService/SubmitJob", kTrainers, /*open=*/false, kMinute},
    {"/coppice.v1.TrainingService/WatchJob", kTrainers, /*open=*/false, kStream},
    {"/grpc.health.v1.Health/Check", {}, /*open=*/true},
    {"/grpc.health.v1.Health/Watch", {}, /*open=*/true, kStream},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAnyRole, /*open=*/false,
     kStream},
};

constexpr bool ByPath(const Method& a, const Method& b) { return a.path < b.path; }
static_assert(std::is_sorted(std::begin(kTable), std::end(kTable), ByPath));

}  // namespace

absl::Span<const Method> AllMethods() { return kTable; }

const Method* FindMethod(absl::string_view path) {
  const auto* const end = std::end(kTable);
  const auto* const found = std::lower_bound(std::begin(kTable), end, Method{path, {}}, ByPath);
  return found != end && found->path == path ? found : nullptr;
}

absl::Duration DeadlineOf(absl::string_view path) {
  const Method* const method = FindMethod(path);
  return method != nullptr ? method->deadline : Method{}.deadline;
}

}  // namespace coppice::access
