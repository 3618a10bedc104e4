#include "server/daemon/transport/calls.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace coppice::daemon {
namespace {

TEST(RequestIdTest, OnesOfTheClientAreShortAndPlain) {
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

TEST(RequestIdTest, OursAreDifferentAndOfTheSameKind) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = MakeRequestId();
    EXPECT_TRUE(IsRequestId(id)) << id;
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(LevelOfCallTest, ReadingReportingAndPredictingWellIsForDebugging) {
  for (const char* method :
       {"coppice.v1.ReportService/SubmitReports", "coppice.v1.ReportService/StreamReports",
        "coppice.v1.ModelService/Predict", "coppice.v1.StudyService/GetOffer",
        "coppice.v1.TrainingService/WatchJob", "grpc.health.v1.Health/Check"}) {
    EXPECT_EQ(LevelOfCall(method, grpc::StatusCode::OK), LogLevel::kDebug) << method;
    EXPECT_EQ(LevelOfCall(method, grpc::StatusCode::NOT_FOUND), LogLevel::kInfo) << method;
    EXPECT_EQ(LevelOfCall(method, grpc::StatusCode::INTERNAL), LogLevel::kWarning) << method;
  }
}

TEST(LevelOfCallTest, WhateverMayChangeSomethingIsSeen) {
  for (const char* method :
       {"coppice.v1.StudyService/SealStudy", "coppice.v1.DatasetService/UploadRows",
        "coppice.v1.TrainingService/SubmitJob", "coppice.v1.NewService/NewMethod", "odd", ""}) {
    EXPECT_EQ(LevelOfCall(method, grpc::StatusCode::OK), LogLevel::kInfo) << method;
    EXPECT_EQ(LevelOfCall(method, grpc::StatusCode::DATA_LOSS), LogLevel::kWarning) << method;
  }
}

TEST(CodeNameTest, AreGrpcs) {
  EXPECT_EQ(CodeName(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(CodeName(grpc::StatusCode::NOT_FOUND), "NOT_FOUND");
  EXPECT_EQ(CodeName(grpc::StatusCode::RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(CodeName(grpc::StatusCode::UNAUTHENTICATED), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(grpc::StatusCode::DO_NOT_USE), "UNKNOWN");
}

}  // namespace
}  // namespace coppice::daemon
