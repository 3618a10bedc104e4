#include "common/terms/signature.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename Bytes>
Bytes FromHex(std::string_view hex) {
  const std::string raw = HexStringToBytes(hex);
  Bytes bytes{};
  std::copy_n(raw.begin(), bytes.size(), bytes.begin());
  return bytes;
}

// The first test vector of RFC 8032, 7.1.
SigningKey RfcKey() {
  return *SigningKey::FromSeed(FromHex<SigningKey::Seed>(
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
}

TEST(SignatureTest, IsThatOfRfc8032) {
  const SigningKey key = RfcKey();
  EXPECT_EQ(key.public_key(),
            FromHex<PublicKey>("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
  ASSERT_OK_AND_ASSIGN(const Signature signature, key.Sign("", ""));
  EXPECT_EQ(signature, FromHex<Signature>(
                           "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8"
                           "821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"));
  EXPECT_TRUE(IsSignedBy(key.public_key(), "", "", signature));
}

TEST(SignatureTest, DoesNotCheckWithAnyBitTurned) {
  const SigningKey key = RfcKey();
  const std::string message = "forty-two";
  const Signature signature = *key.Sign(kManifestDomain, message);
  ASSERT_TRUE(IsSignedBy(key.public_key(), kManifestDomain, message, signature));
  for (size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    Signature turned = signature;
    turned[bit / 8] = static_cast<uint8_t>(turned[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(IsSignedBy(key.public_key(), kManifestDomain, message, turned)) << bit;
  }
  for (size_t bit = 0; bit < 8 * message.size(); ++bit) {
    std::string turned = message;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(IsSignedBy(key.public_key(), kManifestDomain, turned, signature)) << bit;
  }
  for (size_t bit = 0; bit < 8 * key.public_key().size(); ++bit) {
    PublicKey turned = key.public_key();
    turned[bit / 8] = static_cast<uint8_t>(turned[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(IsSignedBy(turned, kManifestDomain, message, signature)) << bit;
  }
}

TEST(SignatureTest, ASignatureOfOneKindDoesNotVerifyAsAnother) {
  const SigningKey key = RfcKey();
  const Signature signature = *key.Sign(kManifestDomain, "message");
  EXPECT_FALSE(IsSignedBy(key.public_key(), kEndorsementDomain, "message", signature));
  EXPECT_EQ(kManifestDomain.back(), '\0');
  EXPECT_EQ(kEndorsementDomain.back(), '\0');
  EXPECT_EQ(std::count(kManifestDomain.begin(), kManifestDomain.end(), '\0'), 1);
  EXPECT_EQ(std::count(kEndorsementDomain.begin(), kEndorsementDomain.end(), '\0'), 1);
}

TEST(SigningKeyTest, DifferentSeedsGiveDifferentKeys) {
  const SigningKey a = RfcKey();
  ASSERT_OK_AND_ASSIGN(const SigningKey b, SigningKey::FromSeed({1}));
  EXPECT_NE(a.public_key(), b.public_key());
  EXPECT_NE(KeyIdOf(a.public_key()), KeyIdOf(b.public_key()));
}

// The keys of RFC 8410 (10.3 and 10.1).
constexpr std::string_view kPrivatePem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
    "-----END PRIVATE KEY-----\n";
constexpr std::string_view kPublicPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    "-----END PUBLIC KEY-----\n";

TEST(SigningKeyTest, IsReadFromPem) {
  ASSERT_OK_AND_ASSIGN(const SigningKey key, SigningKey::FromPem(kPrivatePem));
  EXPECT_EQ(ToPem(key.public_key()), kPublicPem);
  for (const std::string_view bad :
       {std::string_view(), std::string_view("hello"), kPublicPem, kPrivatePem.substr(0, 60)}) {
    EXPECT_THAT(SigningKey::FromPem(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("openssl genpkey")));
  }
}

TEST(PublicKeyTest, IsReadAsPemAndAsPin) {
  const PublicKey key = SigningKey::FromPem(kPrivatePem)->public_key();
  EXPECT_THAT(ToPin(key), AllOf(StartsWith("ed25519:"), HasSubstr("=")));
  for (const std::string& text : {ToPem(key), ToPin(key), "\n " + ToPin(key) + " \r\n"}) {
    ASSERT_OK_AND_ASSIGN(const PublicKey read, ParsePublicKey(text));
    EXPECT_EQ(read, key);
  }
  const std::string pin = ToPin(key);
  for (const std::string& bad :
       {std::string(), std::string("ed25519:"), pin.substr(8), pin.substr(0, pin.size() - 5),
        pin + "AAAA", "x" + pin, std::string(kPrivatePem), ToPem(key).substr(0, 70)}) {
    EXPECT_THAT(ParsePublicKey(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("coppice study key")))
        << bad;
  }
}

}  // namespace
}  // namespace coppice
