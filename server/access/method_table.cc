#include "server/access/method_table.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace coppice::access {
namespace {

constexpr RoleSet kNobody = {};  // but for what is open to everybody
constexpr RoleSet kAdmins = {Role::kAdmin};
constexpr RoleSet kTrainers = {Role::kTrainer, Role::kAdmin};
constexpr RoleSet kAnalysts = {Role::kAnalyst, Role::kTrainer, Role::kAdmin};
constexpr RoleSet kDevices = {Role::kDevice, Role::kAdmin};
constexpr RoleSet kAnyRole = {Role::kDevice, Role::kAnalyst, Role::kTrainer, Role::kAdmin};

constexpr Lane kInline = Lane::kInline;
constexpr Lane kPool = Lane::kPool;
constexpr Lane kBuilds = Lane::kBuilds;
constexpr Lane kPreviews = Lane::kPreviews;

constexpr absl::Duration kShort = kDefaultDeadline;
// Longer: large answers over slow lines, and what waits for the disk or computes.
constexpr absl::Duration kOffer = absl::Seconds(30);
constexpr absl::Duration kMinute = absl::Minutes(1);
constexpr absl::Duration kPreview = absl::Minutes(5);
constexpr absl::Duration kBuild = absl::Hours(1);
constexpr absl::Duration kStream = absl::InfiniteDuration();

constexpr bool kReads = false;  // or only counts: reports, predictions
constexpr bool kChanges = true;

constexpr Privacy kPublic = Privacy::kPublic;
constexpr Privacy kPrivate = Privacy::kPrivateDuration;
constexpr Privacy kPrivateEnd = Privacy::kPrivateEnd;

// clang-format off
constexpr Method kTable[] = {
    {"/coppice.v1.AdminService/Backup",                   kAdmins,    kInline,   kStream,  kChanges, kPrivate},
    {"/coppice.v1.DatasetService/ConfirmLedger",          kAdmins,    kPool,     kShort,   kChanges, kPrivate},
    {"/coppice.v1.DatasetService/CreateDataset",          kTrainers,  kPool,     kMinute,  kChanges, kPrivate},
    {"/coppice.v1.DatasetService/DeleteDataset",          kTrainers,  kPool,     kMinute,  kChanges, kPrivate},
    {"/coppice.v1.DatasetService/FreeDatasetName",        kAdmins,    kPool,     kShort,   kChanges, kPrivate},
    {"/coppice.v1.DatasetService/GetDataset",             kTrainers,  kInline,   kShort,   kReads,   kPrivate},
    {"/coppice.v1.DatasetService/ListDatasets",           kTrainers,  kInline,   kShort,   kReads,   kPrivate},
    {"/coppice.v1.DatasetService/UploadRows",             kTrainers,  kPool,     kStream,  kChanges, kPrivate},
    {"/coppice.v1.DatasetService/WriteOffLedger",         kAdmins,    kPool,     kShort,   kChanges, kPrivate},
    {"/coppice.v1.ModelService/BuildModel",               kTrainers,  kBuilds,   kBuild,   kChanges, kPublic},
    {"/coppice.v1.ModelService/DeleteEndpoint",           kAdmins,    kPool,     kShort,   kChanges, kPublic},
    {"/coppice.v1.ModelService/DeleteModel",              kTrainers,  kPool,     kMinute,  kChanges, kPublic},
    {"/coppice.v1.ModelService/GetEndpoint",              kAnalysts,  kInline,   kShort,   kReads,   kPublic},
    {"/coppice.v1.ModelService/GetModel",                 kAnalysts,  kInline,   kMinute,  kReads,   kPublic},
    {"/coppice.v1.ModelService/ListEndpoints",            kAnalysts,  kInline,   kShort,   kReads,   kPublic},
    {"/coppice.v1.ModelService/ListModels",               kAnalysts,  kInline,   kShort,   kReads,   kPublic},
    {"/coppice.v1.ModelService/Predict",                  kAnalysts,  kPool,     kMinute,  kReads,   kPublic},
    {"/coppice.v1.ModelService/RollBack",                 kAdmins,    kPool,     kShort,   kChanges, kPublic},
    {"/coppice.v1.ModelService/SetServingModel",          kAdmins,    kPool,     kShort,   kChanges, kPublic},
    {"/coppice.v1.ModelService/StreamPredictions",        kAnalysts,  kPool,     kStream,  kReads,   kPublic},
    {"/coppice.v1.ReportService/StreamReports",           kDevices,   kInline,   kStream,  kReads,   kPublic},
    {"/coppice.v1.ReportService/SubmitReports",           kDevices,   kInline,   kOffer,   kReads,   kPublic},
    {"/coppice.v1.StudyService/AddJoinRows",              kAdmins,    kPool,     kMinute,  kChanges, kPublic},
    {"/coppice.v1.StudyService/CreateStudy",              kAdmins,    kBuilds,   kBuild,   kChanges, kPublic},
    {"/coppice.v1.StudyService/DeleteStudy",              kAdmins,    kPool,     kMinute,  kChanges, kPublic},
    {"/coppice.v1.StudyService/GetCounts",                kAnalysts,  kPool,     kMinute,  kReads,   kPublic},
    {"/coppice.v1.StudyService/GetCuratorKeys",           kAnyRole,   kInline,   kShort,   kReads,   kPublic},
    {"/coppice.v1.StudyService/GetOffer",                 kDevices,   kInline,   kOffer,   kReads,   kPublic},
    {"/coppice.v1.StudyService/GetStudy",                 kAnalysts,  kPool,     kMinute,  kReads,   kPublic},
    {"/coppice.v1.StudyService/IssueSubmissionTokens",    kAdmins,    kInline,   kShort,   kChanges, kPublic},
    {"/coppice.v1.StudyService/ListStudies",              kAnalysts,  kInline,   kShort,   kReads,   kPublic},
    {"/coppice.v1.StudyService/PreviewStudy",             kAnalysts,  kPreviews, kPreview, kReads,   kPublic},
    {"/coppice.v1.StudyService/SealStudy",                kAdmins,    kPool,     kMinute,  kChanges, kPublic},
    {"/coppice.v1.TrainingService/CancelJob",             kTrainers,  kPool,     kShort,   kChanges, kPrivate},
    {"/coppice.v1.TrainingService/GetJob",                kTrainers,  kInline,   kShort,   kReads,   kPrivate},
    {"/coppice.v1.TrainingService/ListAlgorithms",        kTrainers,  kInline,   kShort,   kReads,   kPrivate},
    {"/coppice.v1.TrainingService/ListJobs",              kTrainers,  kInline,   kShort,   kReads,   kPrivate},
    {"/coppice.v1.TrainingService/PreviewJob",            kTrainers,  kPool,     kMinute,  kReads,   kPrivate},
    {"/coppice.v1.TrainingService/SubmitJob",             kTrainers,  kPool,     kMinute,  kChanges, kPrivate},
    {"/coppice.v1.TrainingService/WatchJob",              kTrainers,  kInline,   kStream,  kReads,   kPrivateEnd},
    {"/grpc.health.v1.Health/Check",                      kNobody,    kInline,   kShort,   kReads,   kPublic, /*open=*/true},
    {"/grpc.health.v1.Health/Watch",                      kNobody,    kInline,   kStream,  kReads,   kPublic, /*open=*/true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                                          kAnyRole,   kInline,   kStream,  kReads,   kPublic},
};
// clang-format on

constexpr bool ByPath(const Method& a, const Method& b) { return a.path < b.path; }
static_assert(std::is_sorted(std::begin(kTable), std::end(kTable), ByPath));

const Method* FindNamed(absl::string_view name) {
  const auto* const end = std::end(kTable);
  const auto before = [](const Method& method, absl::string_view other) {
    return method.path.substr(1) < other;
  };
  const auto* const found = std::lower_bound(std::begin(kTable), end, name, before);
  return found != end && found->path.substr(1) == name ? found : nullptr;
}

}  // namespace

absl::Span<const Method> AllMethods() { return kTable; }

const Method* FindMethod(absl::string_view path) {
  return absl::StartsWith(path, "/") ? FindNamed(path.substr(1)) : nullptr;
}

absl::Duration DeadlineOf(absl::string_view path) {
  const Method* const method = FindMethod(path);
  return method != nullptr ? method->deadline : kDefaultDeadline;
}

bool HasPrivateDuration(absl::string_view name) {
  const Method* const method = FindNamed(name);
  if (method == nullptr) return absl::StartsWith(name, "coppice.");
  return method->privacy != Privacy::kPublic;
}

bool HasPrivateEnd(absl::string_view name, absl::string_view code) {
  if (code != "OK" && code != "CANCELLED") return false;
  const Method* const method = FindNamed(name);
  return method != nullptr && method->privacy == Privacy::kPrivateEnd;
}

bool MayChange(absl::string_view name) {
  const Method* const method = FindNamed(name);
  return method == nullptr || method->changes;
}

}  // namespace coppice::access
