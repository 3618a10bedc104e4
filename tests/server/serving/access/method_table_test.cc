#include "server/serving/access/method_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace coppice::access {
namespace {

TEST(MethodTableTest, FindsEveryLineAndNothingElse) {
  for (const Method& line : AllMethods()) {
    ASSERT_NE(FindMethod(line.path), nullptr) << line.path;
    EXPECT_EQ(FindMethod(line.path)->path, line.path);
  }
  for (const char* path :
       {"", "/", "/coppice.v1.StudyService/", "/coppice.v1.StudyService/getoffer",
        "/coppice.v1.StudyService/GetOffer/", "/zzz", "coppice"}) {
    EXPECT_EQ(FindMethod(path), nullptr) << path;
  }
}

TEST(MethodTableTest, OnlyRequestsWithRowsReportsOrASchemaAreLarge) {
  std::vector<std::string> large;
  for (const Method& line : AllMethods()) {
    EXPECT_EQ(MaxRequestBytesOf(line.path), line.max_request_bytes) << line.path;
    EXPECT_GE(line.max_request_bytes, kBriefRequest) << line.path;
    const bool is_ours = line.path.find("coppice") != std::string_view::npos;
    if (is_ours && line.max_request_bytes != kBriefRequest) {
      large.emplace_back(line.path.substr(line.path.rfind('/') + 1));
    }
  }
  EXPECT_THAT(large,
              ::testing::UnorderedElementsAre(
                  "AppendRows", "UploadRows", "CreateDataset", "Predict", "StreamPredictions",
                  "StreamReports", "SubmitReports", "DeliverBatch", "AddJoinRows", "CreateStudy",
                  "PreviewStudy", "MeasureCurve", "PreviewJob", "SubmitJob"));
  EXPECT_EQ(MaxRequestBytesOf("/coppice.v1.StudyService/Fresh"), kBriefRequest);
}

TEST(MethodTableTest, AnAdminMayCallAllThatAnybodyMay) {
  for (const Method& line : AllMethods()) {
    EXPECT_TRUE(line.open || line.roles.Has(Role::kAdmin)) << line.path;
  }
}

TEST(MethodTableTest, ATrainerMayCallAllThatAnAnalystMay) {
  for (const Method& line : AllMethods()) {
    EXPECT_LE(line.roles.Has(Role::kAnalyst), line.roles.Has(Role::kTrainer)) << line.path;
  }
}

TEST(MethodTableTest, OnlyHealthIsOpen) {
  for (const Method& line : AllMethods()) {
    EXPECT_EQ(line.open, line.path.substr(0, 23) == "/grpc.health.v1.Health/") << line.path;
  }
}

TEST(MethodTableTest, NothingThatTouchesPrivateRowsIsTimed) {
  for (const Method& line : AllMethods()) {
    const bool touches = line.path.find(".DatasetService/") != std::string_view::npos ||
                         line.path.find(".TrainingService/") != std::string_view::npos ||
                         line.path.find(".AdminService/") != std::string_view::npos;
    EXPECT_EQ(HasPrivateDuration(line.path.substr(1)), touches) << line.path;
  }
  EXPECT_TRUE(HasPrivateDuration("coppice.v1.DatasetService/NewMethod"));
}

// The lines whose change by mistake would do most harm.
TEST(MethodTableTest, DevicesOnlyFetchAndSendAndOnlyAdminsMakeAndEndStudiesAndLiftHolds) {
  const auto roles = [](const char* path) { return FindMethod(path)->roles; };
  const RoleSet admin = {Role::kAdmin};
  for (const char* path :
       {"/coppice.v1.StudyService/CreateStudy", "/coppice.v1.StudyService/AddJoinRows",
        "/coppice.v1.StudyService/SealStudy", "/coppice.v1.StudyService/RotateSealingKey",
        "/coppice.v1.StudyService/DeleteStudy", "/coppice.v1.DatasetService/ConfirmLedger",
        "/coppice.v1.DatasetService/WriteOffLedger",
        "/coppice.v1.DatasetService/FreeDatasetName"}) {
    EXPECT_EQ(roles(path), admin) << path;
  }
  size_t devices = 0;
  for (const Method& line : AllMethods()) {
    const bool reflection = line.path.find("Reflection") != std::string_view::npos;
    if (line.roles.Has(Role::kDevice) && !reflection) ++devices;
  }
  EXPECT_EQ(devices, 5u);
  EXPECT_TRUE(roles("/coppice.v1.StudyService/GetManifest").Has(Role::kDevice));
  EXPECT_TRUE(roles("/coppice.v1.StudyService/GetCuratorKeys").Has(Role::kDevice));
  EXPECT_TRUE(roles("/coppice.v1.StudyService/GetOffer").Has(Role::kDevice));
  EXPECT_TRUE(roles("/coppice.v1.ReportService/SubmitReports").Has(Role::kDevice));
  EXPECT_TRUE(roles("/coppice.v1.ReportService/StreamReports").Has(Role::kDevice));
}

TEST(MethodTableTest, RelaysFetchOffersAndHandBatchesOverAndDoNothingElse) {
  for (const Method& line : AllMethods()) {
    const bool is_reflection = line.path.find("Reflection") != std::string_view::npos;
    const bool is_for_relays = line.path == "/coppice.v1.StudyService/GetOffer" ||
                               line.path == "/coppice.v1.StudyService/GetManifest" ||
                               line.path == "/coppice.v1.StudyService/GetCuratorKeys" ||
                               line.path == "/coppice.v1.SealedReportService/DeliverBatch";
    EXPECT_EQ(line.roles.Has(Role::kRelay), is_for_relays || is_reflection) << line.path;
  }
  const RoleSet relays = {Role::kRelay, Role::kAdmin};
  const Method& deliver = *FindMethod("/coppice.v1.SealedReportService/DeliverBatch");
  EXPECT_EQ(deliver.roles, relays);  // no device may learn how its report was judged
}

TEST(MethodTableTest, WhoMayGetAStudyMayGetItsCounts) {
  const Method& study = *FindMethod("/coppice.v1.StudyService/GetStudy");
  const Method& counts = *FindMethod("/coppice.v1.StudyService/GetCounts");
  EXPECT_EQ(counts.roles, study.roles);
  EXPECT_FALSE(counts.changes);
  const Method& history = *FindMethod("/coppice.v1.StudyService/GetReportHistory");
  EXPECT_EQ(history.roles, study.roles);
  EXPECT_EQ(history.names[0].field, study.names[0].field);
  EXPECT_EQ(history.names[0].use, study.names[0].use);
}

// There is one call per block, so their number would tell how many rows a dataset has.
TEST(MethodTableTest, BlocksOfRowsAreNeitherCountedNorLogged) {
  for (const char* code : {"OK", "CANCELLED"}) {
    EXPECT_TRUE(HasPrivateEnd("coppice.v1.DatasetService/AppendRows", code)) << code;
    EXPECT_FALSE(HasPrivateEnd("coppice.v1.DatasetService/UploadRows", code)) << code;
  }
  EXPECT_FALSE(HasPrivateEnd("coppice.v1.DatasetService/AppendRows", "NOT_FOUND"));
}

TEST(MethodTableTest, StatusAndBackupsAreTheOperators) {
  for (const char* name : {"GetStatus", "ListBackups", "ListTokens", "Backup", "ReadAuditLog"}) {
    const Method& method = *FindMethod(std::string("/coppice.v1.AdminService/") + name);
    EXPECT_EQ(method.scope, Scope::kOperator) << name;
    EXPECT_EQ(method.roles, RoleSet({Role::kAdmin})) << name;
  }
}

TEST(MethodTableTest, RowsAreAppendedByWhoeverMayUploadThem) {
  const Method& stream = *FindMethod("/coppice.v1.DatasetService/UploadRows");
  const Method& single = *FindMethod("/coppice.v1.DatasetService/AppendRows");
  EXPECT_EQ(single.roles, stream.roles);
  EXPECT_EQ(single.scope, stream.scope);
  EXPECT_EQ(single.lane, stream.lane);
  EXPECT_TRUE(single.changes);
  ASSERT_EQ(single.names.size(), stream.names.size());
  EXPECT_EQ(single.names[0].field, stream.names[0].field);
  EXPECT_EQ(single.names[0].use, stream.names[0].use);
}

TEST(RoleTest, NamesGoBothWays) {
  for (const Role role : kAllRoles) EXPECT_EQ(RoleOf(RoleName(role)), role);
  EXPECT_EQ(RoleOf("Admin"), std::nullopt);
  EXPECT_EQ(RoleOf(""), std::nullopt);
  EXPECT_EQ(RoleSet({Role::kAdmin, Role::kDevice}).ToString(), "device or admin");
  EXPECT_EQ(RoleSet().ToString(), "nobody");
}

}  // namespace
}  // namespace coppice::access
