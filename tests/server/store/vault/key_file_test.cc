#include "server/store/vault/key_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/server/store/vault/vault_fixture.h"
#include "tests/support/temp_dir.h"

namespace coppice::vault {
namespace {

namespace fs = std::filesystem;

using ::coppice::testing::KeyLine;
using ::coppice::testing::KeysOf;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string Read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(KeyFileTest, TheFirstKeyIsCurrentAndAllAreFound) {
  ASSERT_OK_AND_ASSIGN(const KeyFile keys,
                       KeyFile::Parse(StrCat("# of the lab\n\n", KeyLine('a'), "  ", KeyLine('B'),
                                             "# former: ", KeyLine('c'))));
  ASSERT_THAT(keys.keys(), SizeIs(2));
  EXPECT_EQ(keys.current().id, KeysOf("a").current().id);
  EXPECT_THAT(keys.current().id, SizeIs(kMasterKeyIdChars));
  EXPECT_EQ(keys.Find(KeysOf("b").current().id)->key.bytes(), std::string(32, '\xbb'));
  EXPECT_EQ(keys.Find(KeysOf("c").current().id), nullptr);
  EXPECT_EQ(keys.Find(""), nullptr);
}

TEST(KeyFileTest, RefusesALineThatIsNotAKeyWithoutQuotingIt) {
  const std::string almost = std::string(63, 'e');
  for (const std::string& line : {almost, almost + "ee", almost + "g", almost + " e"}) {
    EXPECT_THAT(
        KeyFile::Parse(StrCat(KeyLine('a'), line, "\n")),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("line 2"), Not(HasSubstr("eee")))));
  }
  EXPECT_THAT(KeyFile::Parse(KeyLine('a') + KeyLine('A')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 2: repeats a key")));
  EXPECT_THAT(KeyFile::Parse("# nothing\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds no key")));
  std::string many;
  for (int i = 10; i < 75; ++i) StrAppend(&many, i, std::string(62, '0'), "\n");
  EXPECT_THAT(KeyFile::Parse(many), StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 65")));
}

TEST(KeyFileTest, AMadeFileIsForItsOwnerAloneAndIsNotReplaced) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.key";
  ASSERT_OK_AND_ASSIGN(const std::string id, MakeKeyFile(path));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_OK_AND_ASSIGN(const KeyFile keys, KeyFile::Load(path));
  EXPECT_EQ(keys.current().id, id);
  const std::string before = Read(path);
  EXPECT_THAT(MakeKeyFile(path), StatusIs(StatusCode::kAlreadyExists, HasSubstr(path)));
  EXPECT_EQ(Read(path), before);
}

TEST(KeyFileTest, AnAddedKeyComesFirstAndTheFormerStays) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.key";
  ASSERT_OK_AND_ASSIGN(const std::string first, MakeKeyFile(path));
  ASSERT_OK_AND_ASSIGN(const std::string second, AddKey(path));
  EXPECT_NE(first, second);
  ASSERT_OK_AND_ASSIGN(const KeyFile keys, KeyFile::Load(path));
  EXPECT_EQ(keys.current().id, second);
  EXPECT_NE(keys.Find(first), nullptr);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(KeyFileTest, AFileThatEverybodyMayReadIsRefused) {
  const TempDir dir;
  const std::string path = dir.path() + "/store.key";
  ASSERT_OK(MakeKeyFile(path));
  for (const fs::perms open : {fs::perms::others_read, fs::perms::others_write}) {
    fs::permissions(path, fs::perms::owner_read | open);
    EXPECT_THAT(KeyFile::Load(path), StatusIs(StatusCode::kFailedPrecondition,
                                              AllOf(HasSubstr(path), HasSubstr("chmod"))));
    EXPECT_FALSE(AddKey(path).ok());
  }
  // systemd and others mount secrets with these permissions.
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read);
  EXPECT_OK(KeyFile::Load(path));
}

TEST(KeyFileTest, AddsNoKeyToAFileThatIsNotAKeyFile) {
  const TempDir dir;
  const std::string path = dir.path() + "/notes";
  std::ofstream(path) << "notes\n";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(AddKey(path), StatusIs(StatusCode::kInvalidArgument, HasSubstr(path)));
  EXPECT_EQ(Read(path), "notes\n");
  EXPECT_THAT(KeyFile::Load(dir.path() + "/none"),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace coppice::vault
