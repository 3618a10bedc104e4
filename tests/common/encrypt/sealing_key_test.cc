// Sealing keys and their files.

#include "common/encrypt/sealing_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/terms/pem.h"
#include "common/terms/sha256.h"
#include "tests/support/scripted_bytes.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::seal {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::ScriptedBytes;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SealingKeyTest : public ::testing::Test {
 protected:
  TempDir dir_;
  const std::string path_ = dir_.path() + "/sealing.pem";
};

TEST_F(SealingKeyTest, AFileIsReadAgainAndOnlyItsOwnerMayOpenIt) {
  ASSERT_OK_AND_ASSIGN(const SealingKey key, SealingKey::Generate());
  ASSERT_THAT(key.Save(path_), IsOk());
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  ASSERT_OK_AND_ASSIGN(const SealingKey again, SealingKey::Load(path_));
  EXPECT_EQ(again.secret(), key.secret());
  EXPECT_EQ(again.public_key(), key.public_key());
}

TEST_F(SealingKeyTest, NoKeyIsWrittenOverAnother) {
  ASSERT_THAT(SealingKey::Generate()->Save(path_), IsOk());
  const std::string before = *ReadFile(path_);
  EXPECT_THAT(SealingKey::Generate()->Save(path_),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(path_)));
  EXPECT_EQ(*ReadFile(path_), before);
}

TEST_F(SealingKeyTest, AFileThatEverybodyMayOpenIsRefused) {
  ASSERT_THAT(SealingKey::Generate()->Save(path_), IsOk());
  for (const mode_t mode : {0604, 0602, 0644}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_THAT(SealingKey::Load(path_), StatusIs(StatusCode::kFailedPrecondition,
                                                  AllOf(HasSubstr(path_), HasSubstr("chmod 600"))));
  }
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(SealingKey::Load(path_).status(), IsOk()) << "its group may be given it";
}

std::string PemOf(const char* kind) {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, kind));
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

TEST_F(SealingKeyTest, OtherFilesAreNamed) {
  EXPECT_THAT(SealingKey::Load(path_), StatusIs(StatusCode::kNotFound, HasSubstr(path_)));
  ASSERT_THAT(SealingKey::FromPem(PemOf("X25519")).status(), IsOk());
  const auto is_refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("openssl genpkey -algorithm x25519"));
  EXPECT_THAT(SealingKey::FromPem(PemOf("ED25519")), is_refused);
  EXPECT_THAT(SealingKey::FromPem(PemOf("X448")), is_refused);
  EXPECT_THAT(SealingKey::FromPem("no key"), is_refused);
  std::ofstream(path_) << "no key";
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  EXPECT_THAT(SealingKey::Load(path_),
              StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(path_), HasSubstr("X25519"))));
}

TEST_F(SealingKeyTest, AnErasedFileIsOverwrittenAndGone) {
  ASSERT_THAT(SealingKey::Generate()->Save(path_), IsOk());
  const std::string other_name = dir_.path() + "/linked.pem";
  std::filesystem::create_hard_link(path_, other_name);  // shows what the bytes became
  ASSERT_THAT(EraseKeyFile(path_), IsOk());
  EXPECT_FALSE(std::filesystem::exists(path_));
  const std::string left = *ReadFile(other_name);
  EXPECT_EQ(left, std::string(left.size(), '\0'));
  EXPECT_GT(left.size(), 32u);
  EXPECT_THAT(EraseKeyFile(path_), StatusIs(StatusCode::kNotFound, HasSubstr(path_)));
}

// A link may lead to a file that belongs to somebody else.
TEST_F(SealingKeyTest, ALinkIsNotFollowed) {
  ASSERT_THAT(SealingKey::Generate()->Save(path_), IsOk());
  const std::string before = *ReadFile(path_);
  const std::string link = dir_.path() + "/link.pem";
  std::filesystem::create_symlink(path_, link);
  EXPECT_THAT(EraseKeyFile(link), StatusIs(StatusCode::kUnavailable, HasSubstr(link)));
  EXPECT_EQ(*ReadFile(path_), before);
}

TEST_F(SealingKeyTest, AFailingRandomSourceMakesNoKey) {
  const ScriptedBytes script([](unsigned char*, int) { return 0; });
  EXPECT_THAT(SealingKey::Generate(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no sealing key")));
}

// Follows the formula of docs/relay.md#sealing, so that other devices compute the same.
TEST_F(SealingKeyTest, TheIdNamesTheSuiteToo) {
  const SealingKey key = *SealingKey::Generate();
  const SealingKeyId aes = SealingKeyIdOf(Aead::kAes128Gcm, key.public_key());
  const Sha256Digest digest =
      Sha256({std::string_view("coppice.v1.sealing_key\0\0\x20\0\1\0\1", 29),
              std::string_view(reinterpret_cast<const char*>(key.public_key().data()), 32)});
  EXPECT_TRUE(std::equal(aes.begin(), aes.end(), digest.begin()));
  EXPECT_NE(aes, SealingKeyIdOf(Aead::kChaCha20Poly1305, key.public_key()));
  EXPECT_NE(aes, SealingKeyIdOf(Aead::kAes128Gcm, SealingKey::Generate()->public_key()));
}

}  // namespace
}  // namespace coppice::seal
