#include "server/store/vault/sealing.h"

#include <set>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"

namespace coppice::vault {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::_;

SecretKey KeyOf(const std::string& hex) { return *SecretKey::FromBytes(HexStringToBytes(hex)); }
const SecretKey& SomeKey() {
  static const auto* const key = new SecretKey(KeyOf(std::string(64, '7')));
  return *key;
}

TEST(SealingTest, OpensWhatItSealedOfEverySize) {
  for (const size_t size : {0, 1, 15, 16, 17, 4096, 1 << 20}) {
    const std::string plain(size, 'p');
    ASSERT_OK_AND_ASSIGN(const std::string sealed, Seal(SomeKey(), "label", plain));
    EXPECT_EQ(sealed.size(), size + kSealedOverhead);
    EXPECT_TRUE(size < 15 || sealed.find(plain.substr(0, 15)) == std::string::npos);
    ASSERT_OK_AND_ASSIGN(const std::string opened, Open(SomeKey(), "label", sealed));
    EXPECT_EQ(opened, plain);
  }
}

// Test case 16 of McGrew and Viega, "The Galois/Counter Mode of Operation", Appendix B.
TEST(SealingTest, IsAes256Gcm) {
  const SecretKey key = KeyOf("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const std::string label = HexStringToBytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const std::string sealed = HexStringToBytes(
      "01"
      "cafebabefacedbaddecaf888"
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
      "76fc6ece0f4e1768cddf8853bb2d551b");
  ASSERT_OK_AND_ASSIGN(const std::string plain, Open(key, label, sealed));
  EXPECT_EQ(BytesToHexString(plain),
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
}

TEST(SealingTest, EveryFlippedBitAndEveryCutIsFound) {
  ASSERT_OK_AND_ASSIGN(const std::string sealed, Seal(SomeKey(), "label", "a private value"));
  for (size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    std::string changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_THAT(Open(SomeKey(), "label", changed), StatusIs(StatusCode::kDataLoss, _))
        << "bit " << bit;
  }
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_THAT(Open(SomeKey(), "label", sealed.substr(0, size)),
                StatusIs(StatusCode::kDataLoss, _));
  }
  EXPECT_THAT(Open(SomeKey(), "label", sealed + "x"), StatusIs(StatusCode::kDataLoss, _));
}

TEST(SealingTest, NeitherAnotherKeyNorAnotherLabelOpens) {
  ASSERT_OK_AND_ASSIGN(const std::string sealed, Seal(SomeKey(), "label", "value"));
  EXPECT_THAT(Open(SomeKey(), "labels", sealed), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(Open(SomeKey(), "", sealed), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(Open(KeyOf(std::string(64, '8')), "label", sealed),
              StatusIs(StatusCode::kDataLoss, _));
}

TEST(SealingTest, NoNonceComesTwice) {
  std::set<std::string> nonces;
  for (int i = 0; i < 2000; ++i) nonces.insert(Seal(SomeKey(), "", "value")->substr(1, 12));
  EXPECT_EQ(nonces.size(), 2000u);
}

TEST(SealingTest, FreshKeysDiffer) {
  EXPECT_NE(SecretKey::Make()->bytes(), SecretKey::Make()->bytes());
  EXPECT_THAT(SecretKey::FromBytes("short"), StatusIs(StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace coppice::vault
