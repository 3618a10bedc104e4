#include "server/curator/study/study_settings.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "common/base/status.h"
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

constexpr RelaySettings kRelay = {
    .relay_key = {7}, .min_batch = 2000, .dishonest_millionths = 100'000, .delta_atto = 1'000'000};

v1::StudySettings WithRelay() {
  StudySettings settings;
  settings.relay = kRelay;
  return ToProto(settings);
}

TEST(StudySettingsTest, AMessageHoldsTheRelay) {
  EXPECT_EQ(*ParseStudySettings(WithRelay())->relay, kRelay);
  EXPECT_FALSE(ToProto(StudySettings()).has_relay());
  EXPECT_FALSE(ParseStudySettings(v1::StudySettings())->relay.has_value());
}

TEST(StudySettingsTest, ADeltaThatIsNotSaidIsSmall) {
  v1::StudySettings settings = WithRelay();
  settings.mutable_relay()->set_delta_atto(0);
  EXPECT_EQ(ParseStudySettings(settings)->relay->delta_atto, 10'000'000'000u) << "1e-8";
  settings.mutable_relay()->set_min_batch(16'000'000);
  EXPECT_EQ(ParseStudySettings(settings)->relay->delta_atto, 6'250'000'000u)
      << "a tenth of one in a batch";
}

TEST(StudySettingsTest, ARelayThatNoStudyCanHaveIsRefused) {
  struct Case {
    std::function<void(v1::StudySettings&)> change;
    const char* what;
  };
  const std::vector<Case> cases = {
      {[](auto& s) { s.mutable_relay()->clear_relay_key(); }, "settings.relay.relay_key"},
      {[](auto& s) { s.mutable_relay()->mutable_relay_key()->append("x"); },
       "settings.relay.relay_key"},
      {[](auto& s) { s.mutable_relay()->set_min_batch(999); }, "settings.relay.min_batch"},
      {[](auto& s) { s.mutable_relay()->set_min_batch((uint64_t{1} << 24) + 1); },
       "settings.relay.min_batch"},
      {[](auto& s) { s.mutable_relay()->set_dishonest_millionths(1'000'000); },
       "settings.relay.dishonest_millionths"},
      {[](auto& s) { s.mutable_relay()->set_delta_atto(50'000'000'000'001); },
       "settings.relay.delta_atto: must be at most 50000000000000"},
      {[](auto& s) { s.set_require_submission_token(true); }, "settings.require_submission_token"},
      {[](auto& s) {
         v1::RelaySettings& relay = *s.mutable_relay();
         relay.GetReflection()->MutableUnknownFields(&relay)->AddVarint(1000, 1);
       },
       "settings.relay: has a setting"}};
  for (const Case& bad : cases) {
    v1::StudySettings settings = WithRelay();
    bad.change(settings);
    EXPECT_THAT(ParseStudySettings(settings),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(bad.what)));
  }
}

TEST(StudySettingsTest, TheCuratorIsNotItsOwnRelay) {
  StudySettings settings;
  EXPECT_OK(CheckAnotherParty(settings, kRelay.relay_key));
  settings.relay = kRelay;
  EXPECT_THAT(CheckAnotherParty(settings, kRelay.relay_key),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("relay_key")));
  EXPECT_OK(CheckAnotherParty(settings, PublicKey{8}));
}

TEST(StudySettingsTest, AMessageHoldsThemAll) {
  const StudySettings largest = {.min_reports = std::numeric_limits<uint64_t>::max(),
                                 .expires_unix_seconds = std::numeric_limits<int64_t>::max(),
                                 .retention_days = std::numeric_limits<uint32_t>::max(),
                                 .require_submission_token = true};
  for (const StudySettings& settings : {StudySettings(), kAll, largest}) {
    EXPECT_EQ(*ParseStudySettings(ToProto(settings)), settings);
  }
}

TEST(StudySettingsTest, AMinimumThatIsNotSaidIsOneReport) {
  EXPECT_EQ(*ParseStudySettings(v1::StudySettings()), StudySettings{.min_reports = 1});
}

TEST(StudySettingsTest, WhatNoStudyCanHaveIsRefused) {
  v1::StudySettings early;
  early.set_expires_unix_seconds(-1);
  EXPECT_THAT(ParseStudySettings(early),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("settings.expires_unix_seconds: must be 0")));
  v1::StudySettings later;
  later.GetReflection()->MutableUnknownFields(&later)->AddVarint(1000, 1);
  EXPECT_THAT(ParseStudySettings(later),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
}

TEST(StudySettingsTest, AStudyMadeNowMustBeOpen) {
  EXPECT_OK(CheckSettings(kAll, 1999));
  EXPECT_THAT(CheckSettings(kAll, 2000),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("must be 0 or in the future, is 2000, and now is 2000")));
  EXPECT_OK(CheckSettings({}, std::numeric_limits<int64_t>::max()));
}

// Stored hashes of requests are computed from these bytes.
TEST(StudySettingsTest, TheCanonicalTextIsAsItWas) {
  EXPECT_EQ(CanonicalText({}), "0 0 0");
  EXPECT_EQ(CanonicalText(kAll), "300 2000 30 tokens");
  StudySettings relayed;
  relayed.relay = kRelay;
  EXPECT_EQ(CanonicalText(relayed),
            "0 0 0 relay 0700000000000000000000000000000000000000000000000000000000000000 2000 "
            "100000 1000000");
}

}  // namespace
}  // namespace coppice::curator
