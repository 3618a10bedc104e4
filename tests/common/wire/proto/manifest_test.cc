#include "common/wire/proto/manifest.h"

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

SigningKey SampleKey() {
  SigningKey::Seed seed{};
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(i);
  return *SigningKey::FromSeed(seed);
}

Manifest SampleManifest() {
  Manifest manifest{.study = "flu",
                    .epsilon = *Budget::FromEpsilon(2),
                    .mechanism = MechanismKind::kOptimizedUnary,
                    .expires_unix_seconds = 1800000000,
                    .min_reports = 1000,
                    .sequence = 1,
                    .issued_unix_seconds = 1700000000,
                    .key = KeyIdOf(SampleKey().public_key()),
                    .direct = DirectSealing{.key = {.suite = 1}, .report_bytes = 40}};
  manifest.fingerprint.fill(0xab);
  manifest.direct->key.key.fill(0xcd);
  return manifest;
}

Manifest RelayedManifest() {
  Manifest manifest = SampleManifest();
  manifest.direct.reset();
  manifest.sealing = ManifestSealing{.suite = 1, .min_batch = 1000, .payload_bytes = 40};
  manifest.sealing->key.fill(0xcd);
  return manifest;
}

TEST(WireManifestTest, ComesBackAsItWas) {
  ASSERT_OK_AND_ASSIGN(const Manifest read, ReadManifest(WriteManifest(SampleManifest())));
  EXPECT_EQ(read, SampleManifest());
  ASSERT_OK_AND_ASSIGN(const Manifest relayed, ReadManifest(WriteManifest(RelayedManifest())));
  EXPECT_EQ(relayed, RelayedManifest());
}

TEST(WireManifestTest, TheLargestFits) {
  Manifest manifest = SampleManifest();
  manifest.study = std::string(63, 'x');
  manifest.expires_unix_seconds = manifest.issued_unix_seconds = INT64_MAX;
  manifest.min_reports = manifest.sequence = UINT64_MAX;
  manifest.epsilon = *Budget::FromNanos(20'000'000'000);
  manifest.public_features = UINT32_MAX;
  manifest.direct->report_bytes = kMaxDirectReportBytes;
  EXPECT_LE(WriteManifest(manifest).size(), kMaxManifestBytes);
  EXPECT_OK(ReadManifest(WriteManifest(manifest)));
  manifest.direct.reset();
  manifest.sealing =
      ManifestSealing{.suite = 3, .min_batch = UINT64_MAX, .payload_bytes = kMaxSealedPayloadBytes};
  EXPECT_LE(WriteManifest(manifest).size(), kMaxManifestBytes);
  EXPECT_OK(ReadManifest(WriteManifest(manifest)));
}

// The test vector of docs/protocol.md.
TEST(WireManifestTest, HasTheBytesAndTheSignatureOfTheDocumentation) {
  const std::string bytes = WriteManifest(SampleManifest());
  const Signature signature = *SampleKey().Sign(kManifestDomain, bytes);
  EXPECT_EQ(BytesToHexString(bytes),
            "0a03666c751220abababababababababababababababababababababababababababababababab1880a8d6"
            "b90720042880a4a7da0630e80738014080e2cfaa064a1056475aa75463474c0285df5dbf2bcab778018201"
            "20cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd880128");
  EXPECT_EQ(BytesToHexString(std::string(signature.begin(), signature.end())),
            "18d464854fe2b2ea28e82f8ba30eaed4e6b5c00a37989430aea6f5857207b94cc3f33c5f22e5d2c119d4d3"
            "a21a9dc1145e4bb79992104ef7d55e5ef660c32c0b");
}

TEST(WireManifestTest, EveryCutIsRefused) {
  for (const Manifest& manifest : {SampleManifest(), RelayedManifest()}) {
    const std::string bytes = WriteManifest(manifest);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(ReadManifest(bytes.substr(0, size)), StatusIs(StatusCode::kInvalidArgument, _))
          << size;
    }
  }
}

TEST(WireManifestTest, HalfASealingIsRefused) {
  const std::vector<std::function<void(v1::Manifest&)>> changes = {
      [](v1::Manifest& m) { m.clear_sealing_suite(); },
      [](v1::Manifest& m) { m.set_sealing_suite(2); },
      [](v1::Manifest& m) { m.set_sealing_suite(65537); },
      [](v1::Manifest& m) { m.clear_sealing_key(); },
      [](v1::Manifest& m) { m.mutable_sealing_key()->pop_back(); },
      [](v1::Manifest& m) { m.mutable_sealing_key()->append("x"); },
      [](v1::Manifest& m) { m.clear_min_batch(); },
      [](v1::Manifest& m) { m.clear_sealed_payload_bytes(); },
      [](v1::Manifest& m) { m.set_sealed_payload_bytes(65536); }};
  for (size_t i = 0; i < changes.size(); ++i) {
    v1::Manifest proto;
    ASSERT_TRUE(proto.ParseFromString(WriteManifest(RelayedManifest())));
    changes[i](proto);
    EXPECT_THAT(ReadManifest(proto.SerializeAsString()), StatusIs(StatusCode::kInvalidArgument, _))
        << i;
  }
}

TEST(WireManifestTest, HalfADirectSealingIsRefused) {
  const std::vector<std::function<void(v1::Manifest&)>> changes = {
      [](v1::Manifest& m) { m.clear_direct_suite(); },
      [](v1::Manifest& m) { m.set_direct_suite(2); },
      [](v1::Manifest& m) { m.set_direct_suite(65537); },
      [](v1::Manifest& m) { m.clear_direct_key(); },
      [](v1::Manifest& m) { m.mutable_direct_key()->pop_back(); },
      [](v1::Manifest& m) { m.clear_report_bytes(); },
      [](v1::Manifest& m) { m.set_report_bytes(1 << 20); },
      [](v1::Manifest& m) { m.set_min_batch(1000); }};
  for (size_t i = 0; i < changes.size(); ++i) {
    v1::Manifest proto;
    ASSERT_TRUE(proto.ParseFromString(WriteManifest(SampleManifest())));
    changes[i](proto);
    EXPECT_THAT(ReadManifest(proto.SerializeAsString()), StatusIs(StatusCode::kInvalidArgument, _))
        << i;
  }
}

TEST(WireManifestTest, AClosingComesBackAsItWasAndOnlySo) {
  for (const ClosingReason reason : {ClosingReason::kSealed, ClosingReason::kDeleted}) {
    const Closing closing{.study = "flu", .reason = reason, .key = {7}};
    const std::string bytes = WriteClosing(closing);
    ASSERT_OK_AND_ASSIGN(const Closing read, ReadClosing(bytes));
    EXPECT_EQ(read, closing);
    EXPECT_LE(WriteClosing({.study = std::string(63, 's'), .reason = reason}).size(),
              kMaxClosingBytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(ReadClosing(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(ReadClosing(bytes + std::string("\x78\x01", 2)).ok());
  }
  EXPECT_FALSE(ReadClosing(WriteClosing({.study = "flu", .reason = ClosingReason{3}})).ok());
}

TEST(WireManifestTest, BytesOfAnotherEncodingAreRefused) {
  const std::string bytes = WriteManifest(SampleManifest());
  const std::string unknown_field("\x90\x01\x01", 3);  // field 18
  const std::string second_sequence("\x38\x01", 2);    // the same value again
  const std::string overlong("\x38\x81\x80\x00", 4);   // the same value in more bytes
  EXPECT_THAT(ReadManifest(bytes + unknown_field),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not know")));
  for (const std::string& added : {second_sequence, overlong}) {
    EXPECT_THAT(ReadManifest(bytes + added),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("sequence: occurs twice")));
  }
  EXPECT_THAT(ReadManifest(bytes + std::string(kMaxManifestBytes, '\0')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at most 256")));
}

TEST(WireManifestTest, FieldsOutOfRangeAreRefused) {
  const std::vector<std::function<void(v1::Manifest&)>> changes = {
      [](v1::Manifest& m) { m.set_study("../x"); },
      [](v1::Manifest& m) { m.set_fingerprint(std::string(31, 'x')); },
      [](v1::Manifest& m) { m.set_fingerprint(std::string(33, 'x')); },
      [](v1::Manifest& m) { m.set_key_id(std::string(15, 'x')); },
      [](v1::Manifest& m) { m.clear_epsilon_nanos(); },
      [](v1::Manifest& m) { m.set_epsilon_nanos(UINT64_MAX); },
      [](v1::Manifest& m) { m.clear_mechanism(); },
      [](v1::Manifest& m) { m.set_mechanism(static_cast<v1::Mechanism>(99)); },
      [](v1::Manifest& m) { m.set_expires_unix_seconds(-1); },
      [](v1::Manifest& m) { m.clear_sequence(); }};
  for (size_t i = 0; i < changes.size(); ++i) {
    v1::Manifest proto;
    ASSERT_TRUE(proto.ParseFromString(WriteManifest(SampleManifest())));
    changes[i](proto);
    EXPECT_THAT(ReadManifest(proto.SerializeAsString()), StatusIs(StatusCode::kInvalidArgument, _))
        << i;
  }
}

v1::SignedManifest SampleSigned() {
  return ToProto(SignedManifest{.bytes = "bytes",
                                .signature = {1},
                                .key = {2},
                                .endorsements = {*Endorse(SampleKey(), PublicKey{3}, 5)}});
}

TEST(WireManifestTest, ASignedManifestComesBackAsItWas) {
  ASSERT_OK_AND_ASSIGN(const SignedManifest read, ParseSignedManifest(SampleSigned()));
  EXPECT_EQ(ToProto(read).SerializeAsString(), SampleSigned().SerializeAsString());
}

TEST(WireManifestTest, ASignedManifestOfWrongLengthsIsRefused) {
  const std::vector<std::function<void(v1::SignedManifest&)>> changes = {
      [](v1::SignedManifest& m) { m.set_manifest(std::string(257, 'x')); },
      [](v1::SignedManifest& m) { m.clear_signature(); },
      [](v1::SignedManifest& m) { m.mutable_signature()->append("x"); },
      [](v1::SignedManifest& m) { m.clear_key(); },
      [](v1::SignedManifest& m) { m.mutable_key()->pop_back(); },
      [](v1::SignedManifest& m) { m.mutable_endorsements(0)->mutable_key()->pop_back(); },
      [](v1::SignedManifest& m) { m.mutable_endorsements(0)->clear_signature(); },
      [](v1::SignedManifest& m) { m.mutable_endorsements(0)->clear_endorser_id(); },
      [](v1::SignedManifest& m) {
        for (int i = 0; i < 8; ++i) *m.add_endorsements() = m.endorsements(0);
      }};
  for (size_t i = 0; i < changes.size(); ++i) {
    v1::SignedManifest proto = SampleSigned();
    changes[i](proto);
    EXPECT_THAT(ParseSignedManifest(proto), StatusIs(StatusCode::kInvalidArgument, _)) << i;
  }
}

}  // namespace
}  // namespace coppice
