#include "common/terms/public_key_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::coppice::testing::TempFile;
using ::testing::StartsWith;

TEST(ReadPublicKeyTest, IsReadAsWhatIsPrintedOrFromAFileOfIt) {
  const PublicKey key = SigningKey::FromSeed({1})->public_key();
  const TempFile pem(".pem", ToPem(key));
  const TempFile pin(".txt", ToPin(key) + "\n");
  const TempFile marked(".pem", "\xEF\xBB\xBF" + ToPem(key));
  for (const std::string& given : {ToPin(key), pem.path(), pin.path(), marked.path()}) {
    ASSERT_OK_AND_ASSIGN(const PublicKey read, ReadPublicKey(given));
    EXPECT_EQ(read, key);
  }
}

TEST(ReadPublicKeyTest, WhatHoldsNoKeyIsNamed) {
  const TempDir folder;
  const TempFile empty(".pem", "hello");
  const std::pair<std::string, std::string> wrong[] = {
      {"ed25519:nonsense", "ed25519:nonsense is no public Ed25519 key"},
      {"/nowhere/curator.pem", "/nowhere/curator.pem: cannot be read (No such file"},
      {folder.path(), folder.path() + ": cannot be read (Is a directory"},
      {empty.path(), empty.path() + " is no public Ed25519 key"}};
  for (const auto& [given, what] : wrong) {
    EXPECT_THAT(ReadPublicKey(given), StatusIs(StatusCode::kInvalidArgument, StartsWith(what)));
  }
}

}  // namespace
}  // namespace coppice
