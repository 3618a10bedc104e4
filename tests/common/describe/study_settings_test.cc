#include "common/describe/study_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "coppice/v1/study.pb.h"

namespace coppice {
namespace {

Description Described(const v1::StudySettings& settings) {
  Description json = Description::object();
  DescribeSettings(settings, json);
  return json;
}

// A value of each setting, and how it is shown.
struct Sample {
  std::string text;
  Description shown;
};

std::map<std::string, Sample> Samples() {
  return {{"require_submission_token", {"", {{"submission_tokens", "required"}}}},
          {"min_reports", {"250", {{"min_reports", 250}}}},
          {"expires", {"2030-01-31T12:00:00Z", {{"expires", "2030-01-31T12:00:00Z"}}}},
          {"retention_days", {"30", {{"retention_days", 30}}}}};
}

TEST(StudySettingsTest, EverySettingIsShownAsItWasGiven) {
  std::map<std::string, Sample> samples = Samples();
  for (const StudySetting& setting : StudySettingTable()) {
    const std::string name(setting.name);
    ASSERT_TRUE(samples.contains(name)) << "give " << name << " a sample here";
    v1::StudySettings settings;
    ASSERT_TRUE(setting.set(samples[name].text, settings).ok()) << name;
    Description expected = Described({});
    expected.update(samples[name].shown);
    for (const auto& [member, value] : expected.items()) {
      EXPECT_EQ(Described(settings)[member], value) << name;
    }
  }
}

TEST(StudySettingsTest, SettingThatIsNotGivenIsLeftToTheCurator) {
  EXPECT_FALSE(v1::StudySettings().has_min_reports());
  v1::StudySettings settings;
  ASSERT_TRUE(FindStudySetting("retention_days")->set("7", settings).ok());
  EXPECT_FALSE(settings.has_min_reports());
}

TEST(StudySettingsTest, WrongValueIsRefusedAndChangesNothing) {
  for (const char* name : {"min_reports", "expires", "retention_days"}) {
    const StudySetting* const setting = FindStudySetting(name);
    ASSERT_NE(setting, nullptr) << name;
    for (const char* text : {"", "soon", "-1", "1e3", "99999999999999999999999"}) {
      v1::StudySettings settings;
      const Status status = setting->set(text, settings);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name << "=" << text;
      EXPECT_EQ(settings.ByteSizeLong(), 0u) << name << "=" << text;
    }
  }
}

TEST(StudySettingsTest, FindsNoSettingByAnotherName) {
  EXPECT_EQ(FindStudySetting("epsilon"), nullptr);
}

}  // namespace
}  // namespace coppice
