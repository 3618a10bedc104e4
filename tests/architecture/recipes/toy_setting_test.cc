// The setting that the recipe's test adds, from the flag to the device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/describe/study_settings.h"
#include "common/wire/manifest.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/study/study_settings.h"

namespace coppice {
namespace {

v1::StudySettings Asked(const char* toy) {
  v1::StudySettings settings;
  EXPECT_TRUE(FindStudySetting("toy")->set(toy, settings).ok());
  return settings;
}

// What a device reads if an operator asks for this.
StatusOr<Manifest> Told(const char* toy) {
  const StatusOr<curator::StudySettings> settings = curator::ParseStudySettings(Asked(toy));
  EXPECT_TRUE(settings.ok());
  Manifest manifest{.study = "s1",
                    .epsilon = *Budget::FromNanos(1'000'000'000),
                    .mechanism = MechanismKind::kDirect,
                    .direct = DirectSealing{.key = {.suite = 1, .key = {5}}, .report_bytes = 8}};
  curator::PromiseToDevices(*settings, manifest);
  return ReadManifest(WriteManifest(manifest));
}

TEST(ToySettingTest, DevicesSeeWhatTheOperatorAskedFor) {
  const StatusOr<Manifest> manifest = Told("7");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->toy, 7u);
}

TEST(ToySettingTest, DevicesRefuseAManifestThatBreaksItsRule) {
  EXPECT_THAT(Told("10").status().message(), ::testing::HasSubstr("toy: must be 0 to 9"));
}

TEST(ToySettingTest, CuratorKeepsItAndSaysSo) {
  const StatusOr<curator::StudySettings> settings = curator::ParseStudySettings(Asked("7"));
  ASSERT_TRUE(settings.ok());
  Description json;
  DescribeSettings(curator::ToProto(*settings), json);
  EXPECT_EQ(json["toy"], 7);
}

}  // namespace
}  // namespace coppice
