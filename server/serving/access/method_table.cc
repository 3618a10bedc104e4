#include "server/serving/access/method_table.h"

#include <algorithm>
#include <string_view>

#include "common/base/text.h"

namespace coppice::access {
namespace {

constexpr RoleSet kNobody = {};  // except for methods open to everybody
constexpr RoleSet kAdmins = {Role::kAdmin};
constexpr RoleSet kTrainers = {Role::kTrainer, Role::kAdmin};
constexpr RoleSet kAnalysts = {Role::kAnalyst, Role::kTrainer, Role::kAdmin};
constexpr RoleSet kDevices = {Role::kDevice, Role::kAdmin};
constexpr RoleSet kRelays = {Role::kRelay, Role::kAdmin};
constexpr RoleSet kGateways = {Role::kDevice, Role::kRelay, Role::kAdmin};
constexpr RoleSet kAnyRole = {Role::kDevice, Role::kRelay, Role::kAnalyst, Role::kTrainer,
                              Role::kAdmin};

constexpr Lane kInline = Lane::kInline;
constexpr Lane kPool = Lane::kPool;
constexpr Lane kBuilds = Lane::kBuilds;
constexpr Lane kPreviews = Lane::kPreviews;
constexpr Lane kPlans = Lane::kPlans;
constexpr Lane kOpenings = Lane::kOpenings;
constexpr Lane kEvaluations = Lane::kEvaluations;

constexpr absl::Duration kShort = kDefaultDeadline;
// Longer times: for large answers over slow lines, for waiting on the disk, for computing.
constexpr absl::Duration kOffer = absl::Seconds(30);
constexpr absl::Duration kMinute = absl::Minutes(1);
constexpr absl::Duration kPreview = absl::Minutes(5);
constexpr absl::Duration kBuild = absl::Hours(1);
constexpr absl::Duration kStream = absl::InfiniteDuration();

constexpr size_t kBrief = kBriefRequest;
constexpr size_t kWhole = kAnyRequest;       // rows, and relays' batches
constexpr size_t kSealed = size_t{3} << 19;  // a sealed message of 2^20 bytes, in base64

constexpr bool kReads = false;  // or changes only counts: reports, predictions
constexpr bool kChanges = true;

constexpr Privacy kPublic = Privacy::kPublic;
constexpr Privacy kPrivate = Privacy::kPrivateDuration;
constexpr Privacy kPrivateEnd = Privacy::kPrivateEnd;

constexpr Scope kNamed = Scope::kNamed;
constexpr Scope kOperator = Scope::kOperator;
constexpr Scope kNothing = Scope::kPublic;

constexpr NamedResource kSeenStudy[] = {{"name", "studies", Use::kSee}};
constexpr NamedResource kNewStudy[] = {{"study_id", "studies", Use::kMake}};
constexpr NamedResource kRelayedStudy[] = {{"study", "studies", Use::kSee}};
constexpr NamedResource kSeenDataset[] = {{"name", "datasets", Use::kSee}};
constexpr NamedResource kOwnDataset[] = {{"name", "datasets", Use::kOwn}};
constexpr NamedResource kUploadedDataset[] = {{"dataset", "datasets", Use::kOwn}};
constexpr NamedResource kNewDataset[] = {{"dataset_id", "datasets", Use::kMake}};
constexpr NamedResource kOwnJob[] = {{"name", "jobs", Use::kOwn}};
constexpr NamedResource kPlannedJob[] = {{"spec.dataset", "datasets", Use::kOwn}};
constexpr NamedResource kNewJob[] = {{"spec.dataset", "datasets", Use::kOwn},
                                     {"job_id", "jobs", Use::kMake},
                                     {"model_id", "models", Use::kMake}};
constexpr NamedResource kOwnEvaluation[] = {{"name", "evaluations", Use::kOwn}};
constexpr NamedResource kEvaluated[] = {{"spec.dataset", "datasets", Use::kOwn},
                                        {"spec.model", "models", Use::kSee}};
constexpr NamedResource kSeenModel[] = {{"name", "models", Use::kSee}};
constexpr NamedResource kBuiltModel[] = {{"study", "studies", Use::kSee},
                                         {"model_id", "models", Use::kMake}};
constexpr NamedResource kPredicting[] = {{"name", "", Use::kSee}};
constexpr NamedResource kSeenEndpoint[] = {{"name", "endpoints", Use::kSee}};
constexpr NamedResource kSwitchedEndpoint[] = {{"endpoint", "endpoints", Use::kSee}};
constexpr NamedResource kServing[] = {{"endpoint", "endpoints", Use::kSet},
                                      {"model", "models", Use::kSee}};
constexpr absl::Span<const NamedResource> kList = {};
constexpr NamedResource kListOfStudy[] = {{"study", "studies", Use::kFilter}};
constexpr NamedResource kListOfDataset[] = {{"dataset", "datasets", Use::kFilter}};

// clang-format off
constexpr Method kTable[] = {
    {"/coppice.v1.AdminService/Backup",                   kAdmins,    kInline,   kStream,  kBrief,    kChanges, kPrivate,    kOperator},
    {"/coppice.v1.AdminService/GetStatus",                kAdmins,    kPool,     kShort,   kBrief,    kReads,   kPrivate,    kOperator},
    {"/coppice.v1.AdminService/ListBackups",              kAdmins,    kPool,     kMinute,  kBrief,    kReads,   kPrivate,    kOperator},
    {"/coppice.v1.AdminService/ListTokens",               kAdmins,    kInline,   kShort,   kBrief,    kReads,   kPrivate,    kOperator},
    {"/coppice.v1.AdminService/ReadAuditLog",             kAdmins,    kPool,     kMinute,  kBrief,    kReads,   kPrivate,    kOperator},
    {"/coppice.v1.DatasetService/AppendRows",             kTrainers,  kPool,     kMinute,  kWhole,    kChanges, kPrivateEnd, kNamed, kUploadedDataset},
    {"/coppice.v1.DatasetService/ConfirmLedger",          kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPrivate,    kNamed, kSeenDataset},
    {"/coppice.v1.DatasetService/CreateDataset",          kTrainers,  kPool,     kMinute,  kWhole,    kChanges, kPrivate,    kNamed, kNewDataset},
    {"/coppice.v1.DatasetService/DeleteDataset",          kTrainers,  kPool,     kMinute,  kBrief,    kChanges, kPrivate,    kNamed, kOwnDataset},
    {"/coppice.v1.DatasetService/FreeDatasetName",        kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPrivate,    kNamed, kSeenDataset},
    {"/coppice.v1.DatasetService/GetDataset",             kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNamed, kSeenDataset},
    {"/coppice.v1.DatasetService/ListDatasets",           kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNamed, kList},
    {"/coppice.v1.DatasetService/UploadRows",             kTrainers,  kPool,     kStream,  kWhole,    kChanges, kPrivate,    kNamed, kUploadedDataset},
    {"/coppice.v1.DatasetService/WriteOffLedger",         kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPrivate,    kNamed, kSeenDataset},
    {"/coppice.v1.ModelService/BuildModel",               kTrainers,  kBuilds,   kBuild,   kBrief,    kChanges, kPublic,     kNamed, kBuiltModel},
    {"/coppice.v1.ModelService/DeleteEndpoint",           kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPublic,     kNamed, kSeenEndpoint},
    {"/coppice.v1.ModelService/DeleteModel",              kTrainers,  kPool,     kMinute,  kBrief,    kChanges, kPublic,     kNamed, kSeenModel},
    {"/coppice.v1.ModelService/DescribeModel",            kAnalysts,  kPool,     kMinute,  kBrief,    kReads,   kPublic,     kNamed, kSeenModel},
    {"/coppice.v1.ModelService/ExportModel",              kAnalysts,  kPool,     kMinute,  kBrief,    kReads,   kPublic,     kNamed, kSeenModel},
    {"/coppice.v1.ModelService/GetEndpoint",              kAnalysts,  kInline,   kShort,   kBrief,    kReads,   kPublic,     kNamed, kSeenEndpoint},
    {"/coppice.v1.ModelService/GetModel",                 kAnalysts,  kPool,     kMinute,  kBrief,    kReads,   kPublic,     kNamed, kSeenModel},
    {"/coppice.v1.ModelService/ListEndpoints",            kAnalysts,  kInline,   kShort,   kBrief,    kReads,   kPublic,     kNamed, kList},
    {"/coppice.v1.ModelService/ListModels",               kAnalysts,  kInline,   kShort,   kBrief,    kReads,   kPublic,     kNamed, kListOfStudy},
    {"/coppice.v1.ModelService/Predict",                  kAnalysts,  kPool,     kMinute,  kWhole,    kReads,   kPublic,     kNamed, kPredicting},
    {"/coppice.v1.ModelService/RollBack",                 kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPublic,     kNamed, kSwitchedEndpoint},
    {"/coppice.v1.ModelService/SetServingModel",          kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPublic,     kNamed, kServing},
    {"/coppice.v1.ModelService/StreamPredictions",        kAnalysts,  kPool,     kStream,  kWhole,    kReads,   kPublic,     kNamed, kPredicting},
    {"/coppice.v1.ReportService/StreamReports",           kDevices,   kOpenings, kStream,  kSealed,   kReads,   kPublic,     kNothing},
    {"/coppice.v1.ReportService/SubmitReports",           kDevices,   kOpenings, kOffer,   kSealed,   kReads,   kPublic,     kNothing},
    {"/coppice.v1.SealedReportService/DeliverBatch",      kRelays,    kPool,     kMinute,  kWhole,    kReads,   kPublic,     kNamed, kRelayedStudy},
    {"/coppice.v1.StudyService/AddJoinRows",              kAdmins,    kPool,     kMinute,  kWhole,    kChanges, kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/CreateStudy",              kAdmins,    kBuilds,   kBuild,   kWhole,    kChanges, kPublic,     kNamed, kNewStudy},
    {"/coppice.v1.StudyService/DeleteStudy",              kAdmins,    kPool,     kMinute,  kBrief,    kChanges, kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/ForecastStudy",            kAnalysts,  kPreviews, kPreview, kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/GetCounts",                kAnalysts,  kPool,     kMinute,  kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/GetCuratorKeys",           kAnyRole,   kInline,   kShort,   kBrief,    kReads,   kPublic,     kNothing},
    {"/coppice.v1.StudyService/GetManifest",              kGateways,  kPool,     kShort,   kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/GetOffer",                 kGateways,  kInline,   kOffer,   kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/GetReportHistory",         kAnalysts,  kInline,   kShort,   kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/GetStudy",                 kAnalysts,  kPool,     kMinute,  kBrief,    kReads,   kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/IssueSubmissionTokens",    kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPublic,     kOperator},
    {"/coppice.v1.StudyService/ListStudies",              kAnalysts,  kInline,   kShort,   kBrief,    kReads,   kPublic,     kNamed, kList},
    {"/coppice.v1.StudyService/PreviewStudy",             kAnalysts,  kPreviews, kPreview, kWhole,    kReads,   kPublic,     kNothing},
    {"/coppice.v1.StudyService/RotateSealingKey",         kAdmins,    kPool,     kShort,   kBrief,    kChanges, kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.StudyService/SealStudy",                kAdmins,    kPool,     kMinute,  kBrief,    kChanges, kPublic,     kNamed, kSeenStudy},
    {"/coppice.v1.TrainingService/CancelJob",             kTrainers,  kPool,     kShort,   kBrief,    kChanges, kPrivate,    kNamed, kOwnJob},
    {"/coppice.v1.TrainingService/EvaluateModel",         kTrainers,  kEvaluations, kBuild, kBrief,   kChanges, kPrivateEnd, kNamed, kEvaluated},
    {"/coppice.v1.TrainingService/GetEvaluation",         kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNamed, kOwnEvaluation},
    {"/coppice.v1.TrainingService/GetJob",                kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNamed, kOwnJob},
    {"/coppice.v1.TrainingService/ListAlgorithms",        kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNothing},
    {"/coppice.v1.TrainingService/ListJobs",              kTrainers,  kInline,   kShort,   kBrief,    kReads,   kPrivate,    kNamed, kListOfDataset},
    {"/coppice.v1.TrainingService/MeasureCurve",          kAnalysts,  kPreviews, kStream,  kWhole,    kReads,   kPrivate,    kNothing},
    {"/coppice.v1.TrainingService/PreviewEvaluation",     kTrainers,  kPool,     kMinute,  kBrief,    kReads,   kPrivate,    kNamed, kEvaluated},
    {"/coppice.v1.TrainingService/PreviewJob",            kTrainers,  kPlans,    kPreview, kWhole,    kReads,   kPrivate,    kNamed, kPlannedJob},
    {"/coppice.v1.TrainingService/SubmitJob",             kTrainers,  kPool,     kMinute,  kWhole,    kChanges, kPrivate,    kNamed, kNewJob},
    {"/coppice.v1.TrainingService/WatchJob",              kTrainers,  kInline,   kStream,  kBrief,    kReads,   kPrivateEnd, kNamed, kOwnJob},
    // gRPC's standard services, in our own versions.
    {"/grpc.health.v1.Health/Check",                      kNobody,    kInline,   kShort,   kBrief,    kReads,   kPublic,     kNothing, {}, /*open=*/true},
    {"/grpc.health.v1.Health/Watch",                      kNobody,    kInline,   kStream,  kBrief,    kReads,   kPublic,     kNothing, {}, /*open=*/true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                                          kAnyRole,   kInline,   kStream,  kBrief,    kReads,   kPublic,     kNothing},
};
// clang-format on

constexpr bool ByPath(const Method& a, const Method& b) { return a.path < b.path; }
static_assert(std::is_sorted(std::begin(kTable), std::end(kTable), ByPath));

const Method* FindNamed(std::string_view name) {
  const auto* const end = std::end(kTable);
  const auto before = [](const Method& method, std::string_view other) {
    return method.path.substr(1) < other;
  };
  const auto* const found = std::lower_bound(std::begin(kTable), end, name, before);
  return found != end && found->path.substr(1) == name ? found : nullptr;
}

}  // namespace

absl::Span<const Method> AllMethods() { return kTable; }

const Method* FindMethod(std::string_view path) {
  return StartsWith(path, "/") ? FindNamed(path.substr(1)) : nullptr;
}

absl::Duration DeadlineOf(std::string_view path) {
  const Method* const method = FindMethod(path);
  return method != nullptr ? method->deadline : kDefaultDeadline;
}

size_t MaxRequestBytesOf(std::string_view path) {
  const Method* const method = FindMethod(path);
  return method != nullptr ? method->max_request_bytes : kBriefRequest;
}

bool HasPrivateDuration(std::string_view name) {
  const Method* const method = FindNamed(name);
  if (method == nullptr) return StartsWith(name, "coppice.");
  return method->privacy != Privacy::kPublic;
}

bool HasPrivateEnd(std::string_view name, std::string_view code) {
  if (code != "OK" && code != "CANCELLED") return false;
  const Method* const method = FindNamed(name);
  return method != nullptr && method->privacy == Privacy::kPrivateEnd;
}

bool MayChange(std::string_view name) {
  const Method* const method = FindNamed(name);
  return method == nullptr || method->changes;
}

}  // namespace coppice::access
