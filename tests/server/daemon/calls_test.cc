#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/base/status.h"
#include "server/serving/gate/call_record.h"

namespace coppice::calls {
namespace {

TEST(RequestIdTest, AcceptsOnlyShortPlainIdsFromClients) {
  for (const char* good : {"abcdefgh", "0f8fad5b-d9cd-469f-a165-70867728950e", "A-Z-0-9-"}) {
    EXPECT_TRUE(IsRequestId(good)) << good;
  }
  EXPECT_TRUE(IsRequestId(std::string(64, 'x')));
  for (const char* bad : {"", "abcdefg", "with space", "line\nbreak", "under_score", "quote\"xx",
                          "caf\xc3\xa9-cafe"}) {
    EXPECT_FALSE(IsRequestId(bad)) << bad;
  }
  EXPECT_FALSE(IsRequestId(std::string(65, 'x')));
  EXPECT_FALSE(IsRequestId(std::string("abcdefgh\0", 9)));
}

TEST(RequestIdTest, MakesValidIdsThatDoNotRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = MakeRequestId();
    EXPECT_TRUE(IsRequestId(id)) << id;
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(LevelOfTest, SuccessfulReadsReportsAndPredictionsAreForDebugging) {
  for (const char* method :
       {"coppice.v1.ReportService/SubmitReports", "coppice.v1.ReportService/StreamReports",
        "coppice.v1.ModelService/Predict", "coppice.v1.StudyService/GetOffer",
        "coppice.v1.TrainingService/WatchJob", "grpc.health.v1.Health/Check"}) {
    EXPECT_EQ(LevelOf(method, StatusCode::kOk), LogLevel::kDebug) << method;
    EXPECT_EQ(LevelOf(method, StatusCode::kNotFound), LogLevel::kInfo) << method;
    EXPECT_EQ(LevelOf(method, StatusCode::kInternal), LogLevel::kWarning) << method;
  }
}

TEST(LevelOfTest, CallsThatMayChangeSomethingAreWorthALine) {
  for (const char* method :
       {"coppice.v1.StudyService/SealStudy", "coppice.v1.DatasetService/UploadRows",
        "coppice.v1.TrainingService/SubmitJob", "coppice.v1.NewService/NewMethod", "odd", ""}) {
    EXPECT_EQ(LevelOf(method, StatusCode::kOk), LogLevel::kInfo) << method;
    EXPECT_EQ(LevelOf(method, StatusCode::kDataLoss), LogLevel::kWarning) << method;
  }
}

TEST(CodeNameTest, UsesTheNamesOfGrpc) {
  EXPECT_EQ(CodeName(StatusCode::kOk), "OK");
  EXPECT_EQ(CodeName(StatusCode::kNotFound), "NOT_FOUND");
  EXPECT_EQ(CodeName(StatusCode::kResourceExhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(CodeName(StatusCode::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(static_cast<StatusCode>(-1)), "UNKNOWN");
}

}  // namespace
}  // namespace coppice::calls
