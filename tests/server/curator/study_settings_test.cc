#include "server/curator/study/study_settings.h"

#include <cstdint>
#include <limits>

#include "coppice/v1/study.pb.h"
#include "tests/support/status_matchers.h"

namespace coppice::curator {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr StudySettings kAll = {.min_reports = 300,
                                .expires_unix_seconds = 2000,
                                .retention_days = 30,
                                .require_submission_token = true};

TEST(StudySettingsTest, AMessageHoldsThemAll) {
  const StudySettings largest = {.min_reports = std::numeric_limits<uint64_t>::max(),
                                 .expires_unix_seconds = std::numeric_limits<int64_t>::max(),
                                 .retention_days = std::numeric_limits<uint32_t>::max(),
                                 .require_submission_token = true};
  for (const StudySettings& settings : {StudySettings(), kAll, largest}) {
    EXPECT_EQ(*FromProto(ToProto(settings)), settings);
  }
}

TEST(StudySettingsTest, AMinimumThatIsNotSaidIsOneReport) {
  EXPECT_EQ(*FromProto(v1::StudySettings()), StudySettings{.min_reports = 1});
}

TEST(StudySettingsTest, WhatNoStudyCanHaveIsRefused) {
  v1::StudySettings early;
  early.set_expires_unix_seconds(-1);
  EXPECT_THAT(FromProto(early), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("settings.expires_unix_seconds: must be 0")));
  v1::StudySettings later;
  later.GetReflection()->MutableUnknownFields(&later)->AddVarint(1000, 1);
  EXPECT_THAT(FromProto(later),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not know")));
}

TEST(StudySettingsTest, AStudyMadeNowMustBeOpen) {
  EXPECT_OK(CheckSettings(kAll, 1999));
  EXPECT_THAT(CheckSettings(kAll, 2000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be 0 or in the future, is 2000, and now is 2000")));
  EXPECT_OK(CheckSettings({}, std::numeric_limits<int64_t>::max()));
}

// The stored hashes of requests are made of these bytes.
TEST(StudySettingsTest, TheCanonicalTextIsAsItWas) {
  EXPECT_EQ(CanonicalText({}), "0 0 0");
  EXPECT_EQ(CanonicalText(kAll), "300 2000 30 tokens");
}

}  // namespace
}  // namespace coppice::curator
