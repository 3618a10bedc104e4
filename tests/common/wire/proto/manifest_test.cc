
#include "common/wire/manifest.h"

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/manifest.h"
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
                    .key = KeyIdOf(SampleKey().public_key())};
  manifest.fingerprint.fill(0xab);
  return manifest;
}

Manifest RelayedManifest() {
  Manifest manifest = SampleManifest();
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
  manifest.sealing =
      ManifestSealing{.suite = 3, .min_batch = UINT64_MAX, .payload_bytes = kMaxSealedPayloadBytes};
  const std::string bytes = WriteManifest(manifest);
  EXPECT_LE(bytes.size(), kMaxManifestBytes);
  EXPECT_OK(ReadManifest(bytes));
}

// The test vector of docs/protocol.md.
TEST(WireManifestTest, HasTheBytesAndTheSignatureOfTheDocumentation) {
  const std::string bytes = WriteManifest(SampleManifest());
  const Signature signature = *SampleKey().Sign(kManifestDomain, bytes);
  EXPECT_EQ(BytesToHexString(bytes),
            "0a03666c751220abababababababababababababababababababababababababababababababab1880a8d6"
            "b90720042880a4a7da0630e80738014080e2cfaa064a1056475aa75463474c0285df5dbf2bcab7");
  EXPECT_EQ(BytesToHexString(std::string(signature.begin(), signature.end())),
            "052e19d34158d73a6523681e82a4c1406a77891df531858c3cbe4f6c433e9fcdc5222c2667c488f547fc58"
            "1ba8dbd8fd0affa5f3d23ba37399347f2b7ce36906");
}

TEST(WireManifestTest, EveryCutIsRefused) {
  // Without its last fields a relayed study's manifest is another study's, with another signature.
  const size_t direct = WriteManifest(SampleManifest()).size();
  for (const Manifest& manifest : {SampleManifest(), RelayedManifest()}) {
    const std::string bytes = WriteManifest(manifest);
    for (size_t size = 0; size < bytes.size(); ++size) {
      if (manifest.sealing.has_value() && size == direct) continue;
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

TEST(WireManifestTest, BytesOfAnotherEncodingAreRefused) {
  const std::string bytes = WriteManifest(SampleManifest());
  const std::string unknown_field("\x78\x01", 2);     // field 15
  const std::string second_sequence("\x38\x01", 2);   // the same value again
  const std::string overlong("\x38\x81\x80\x00", 4);  // the same value in more bytes
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
