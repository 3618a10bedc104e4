#include "common/terms/manifest.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

Manifest Sample() {
  return {.study = "sample",
          .fingerprint = {1},
          .epsilon = *Budget::FromEpsilon(1),
          .mechanism = MechanismKind::kOptimizedUnary,
          .expires_unix_seconds = 2000,
          .min_reports = 100,
          .sequence = 3,
          .issued_unix_seconds = 1000,
          .key = {7},
          .direct = DirectSealing{.key = {.suite = 1, .key = {5}}, .report_bytes = 8}};
}

Manifest Relayed() {
  Manifest manifest = Sample();
  manifest.direct.reset();
  manifest.sealing =
      ManifestSealing{.suite = 1, .key = {9}, .min_batch = 1000, .payload_bytes = 40};
  return manifest;
}

using Change = std::function<void(Manifest&)>;

TEST(ManifestTest, FieldsOutOfRangeAreRefused) {
  EXPECT_OK(ValidateManifest(Sample()));
  const std::vector<Change> changes = {
      [](Manifest& m) { m.study = "No/Id"; },
      [](Manifest& m) { m.epsilon = *Budget::FromNanos(20'000'000'001); },
      [](Manifest& m) { m.epsilon = *Budget::FromNanos(1); },
      [](Manifest& m) { m.mechanism = static_cast<MechanismKind>(99); },
      [](Manifest& m) { m.expires_unix_seconds = -1; },
      [](Manifest& m) { m.issued_unix_seconds = -1; },
      [](Manifest& m) { m.sequence = 0; }};
  for (const Change& change : changes) {
    Manifest manifest = Sample();
    change(manifest);
    EXPECT_THAT(ValidateManifest(manifest), StatusIs(StatusCode::kInvalidArgument, _));
  }
}

TEST(ManifestTest, ASealingOutOfRangeIsRefused) {
  EXPECT_OK(ValidateManifest(Relayed()));
  const std::vector<Change> changes = {
      [](Manifest& m) { m.sealing->suite = 0; }, [](Manifest& m) { m.sealing->suite = 2; },
      [](Manifest& m) { m.sealing->min_batch = 0; },
      [](Manifest& m) { m.sealing->payload_bytes = 0; },
      [](Manifest& m) { m.sealing->payload_bytes = kMaxSealedPayloadBytes + 1; }};
  for (const Change& change : changes) {
    Manifest manifest = Relayed();
    change(manifest);
    EXPECT_THAT(ValidateManifest(manifest), StatusIs(StatusCode::kInvalidArgument, _));
  }
}

TEST(ManifestTest, ADirectKeyOutOfRangeIsRefused) {
  const std::vector<Change> changes = {
      [](Manifest& m) { m.direct->key.suite = 0; }, [](Manifest& m) { m.direct->key.suite = 2; },
      [](Manifest& m) { m.direct->report_bytes = 0; },
      [](Manifest& m) { m.direct->report_bytes = kMaxDirectReportBytes + 1; }};
  for (const Change& change : changes) {
    Manifest manifest = Sample();
    change(manifest);
    EXPECT_THAT(ValidateManifest(manifest), StatusIs(StatusCode::kInvalidArgument, _));
  }
}

// A relay's key is none of the curator's, and reports are never sent unsealed.
TEST(ManifestTest, HasTheRelaysKeyOrTheCuratorsAndNotBothOrNone) {
  Manifest none = Sample();
  none.direct.reset();
  EXPECT_THAT(ValidateManifest(none),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("direct_key: is missing")));
  Manifest both = Sample();
  both.sealing = Relayed().sealing;
  EXPECT_THAT(ValidateManifest(both),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("in one way")));
}

TEST(ManifestTest, IsAboutItsTermsOnly) {
  const Terms terms{.study = "sample",
                    .schema = std::make_shared<const Schema>(
                        *Schema::Create({testing::Numeric("age", 0, 100)}, "sick", {"no", "yes"})),
                    .trees = 1,
                    .epsilon = *Budget::FromEpsilon(1),
                    .mechanism = MechanismKind::kOptimizedUnary};
  EXPECT_OK(CheckManifestIsOf(Sample(), terms, {1}));
  const std::vector<Change> changes = {
      [](Manifest& m) { m.study = "another"; }, [](Manifest& m) { m.fingerprint[31] = 1; },
      [](Manifest& m) { m.epsilon = *Budget::FromNanos(999'999'999); },
      [](Manifest& m) { m.mechanism = MechanismKind::kSymmetricUnary; },
      [](Manifest& m) { m.public_features = 1; }};
  for (const Change& change : changes) {
    Manifest manifest = Sample();
    change(manifest);
    EXPECT_THAT(CheckManifestIsOf(manifest, terms, {1}),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not about the terms")));
  }
}

TEST(ManifestTest, WhatLoosensIsRefused) {
  const std::vector<std::pair<Change, std::string>> changes = {
      {[](Manifest& m) { m.study = "another"; }, "another study"},
      {[](Manifest& m) { m.fingerprint = {2}; }, "other terms"},
      {[](Manifest& m) { m.mechanism = MechanismKind::kDirect; }, "another mechanism"},
      {[](Manifest& m) { m.epsilon = *Budget::FromNanos(1'000'000'001); }, "greater epsilon"},
      {[](Manifest& m) { m.min_reports = 99; }, "fewer reports"},
      {[](Manifest& m) { m.expires_unix_seconds = 2001; }, "expires later"},
      {[](Manifest& m) { m.expires_unix_seconds = 0; }, "expires later"}};
  for (const auto& [change, reason] : changes) {
    Manifest now = Sample();
    now.sequence = 4;
    change(now);
    EXPECT_THAT(CheckNotWeakened(Sample(), now),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr(reason)));
  }
}

TEST(ManifestTest, AWeakerWayThroughARelayIsRefused) {
  const std::vector<std::pair<Change, std::string>> changes = {
      {[](Manifest& m) {
         m.sealing.reset();
         m.direct = Sample().direct;
       },
       "sends reports in another way"},
      {[](Manifest& m) { m.sealing->suite = 3; }, "sends reports in another way"},
      {[](Manifest& m) { m.sealing->payload_bytes = 41; }, "sends reports in another way"},
      {[](Manifest& m) { m.sealing->payload_bytes = 39; }, "sends reports in another way"},
      {[](Manifest& m) { m.sealing->min_batch = 999; }, "takes smaller batches"},
      {[](Manifest& m) {
         m.sequence = 3;
         m.sealing->key = {8};
       },
       "same sequence"}};
  for (const auto& [change, reason] : changes) {
    Manifest now = Relayed();
    now.sequence = 4;
    change(now);
    EXPECT_THAT(CheckNotWeakened(Relayed(), now),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr(reason)));
  }
  Manifest now = Relayed();
  now.sequence = 4;
  EXPECT_THAT(CheckNotWeakened(Sample(), now),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("in another way")));
}

TEST(ManifestTest, TheNextSealingKeyAndLargerBatchesAreNotRefused) {
  Manifest now = Relayed();
  now.sequence = 4;
  now.sealing->key = {8};
  EXPECT_OK(CheckNotWeakened(Relayed(), now));
  now.sealing->min_batch = 1001;
  EXPECT_OK(CheckNotWeakened(Relayed(), now));
}

TEST(ManifestTest, OtherLengthsOfDirectReportsAreRefused) {
  for (const Change& change :
       std::vector<Change>{[](Manifest& m) { m.direct->key.suite = 3; },
                           [](Manifest& m) { m.direct->report_bytes = 7; },
                           [](Manifest& m) { m.direct->report_bytes = 9; }}) {
    Manifest now = Sample();
    now.sequence = 4;
    change(now);
    EXPECT_THAT(CheckNotWeakened(Sample(), now),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("in another way")));
  }
}

// Time replaces it, and a store that was restored may have an earlier one again.
TEST(ManifestTest, AnotherDirectKeyIsNotRefused) {
  Manifest now = Sample();
  now.direct->key.key = {6};
  EXPECT_OK(CheckNotWeakened(Sample(), now));
  EXPECT_OK(CheckNotWeakened(now, Sample()));
}

TEST(ProvenBytesTest, CoverTheChallengeAndTheKey) {
  const DirectKey key{.suite = 3, .key = {5}};
  EXPECT_EQ(ProvenBytes("challenge", key),
            "challenge" + std::string("\0\x03\x05", 3) + std::string(31, '\0'));
}

TEST(ManifestTest, WhatTightensIsNotRefused) {
  EXPECT_OK(CheckNotWeakened(Sample(), Sample()));
  const std::vector<Change> changes = {
      [](Manifest& m) { m.min_reports = 101; }, [](Manifest& m) { m.expires_unix_seconds = 1999; },
      [](Manifest& m) { m.epsilon = *Budget::FromNanos(999'999'999); },
      [](Manifest& m) { m.issued_unix_seconds = 1001; }};
  for (const Change& change : changes) {
    Manifest now = Sample();
    now.sequence = 4;
    change(now);
    EXPECT_OK(CheckNotWeakened(Sample(), now));
  }
  Manifest forever = Sample();
  forever.expires_unix_seconds = 0;
  Manifest ends = Sample();
  ends.sequence = 4;
  EXPECT_OK(CheckNotWeakened(forever, ends));
}

TEST(ManifestTest, AnOlderSequenceIsRefused) {
  Manifest now = Sample();
  now.sequence = 2;
  EXPECT_THAT(CheckNotWeakened(Sample(), now),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is older")));
}

// Refused even if it is tighter: the curator would tell different devices different things.
TEST(ManifestTest, TheSameSequenceWithAnotherContentIsRefused) {
  Manifest now = Sample();
  now.min_reports = 101;
  EXPECT_THAT(CheckNotWeakened(Sample(), now),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("same sequence")));
  now = Sample();
  now.issued_unix_seconds = 1001;
  EXPECT_THAT(CheckNotWeakened(Sample(), now),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("same sequence")));
  now = Sample();
  now.key = {8};  // a new key signs what the old one did
  EXPECT_OK(CheckNotWeakened(Sample(), now));
}

}  // namespace
}  // namespace coppice
