// A store on a disk that nobody may write to, such as a snapshot or a backup that is mounted: what
// only reads works there, and what must write says why it cannot.

#include <sys/mount.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/integration/daemon.h"
#include "tests/integration/small_disk.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SmallDisk;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kMegabytes = 90;

class ReadOnlyDiskTest : public ::testing::Test {
 protected:
  ReadOnlyDiskTest() : disk_(folder_.path() + "/disk", kMegabytes) {}

  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "mounting needs root";
    daemon_ = std::make_unique<Daemon>(folder_.path(), store_);
    ASSERT_TRUE(daemon_->Start());
    Synthesize(folder_.path() + "/rows", "private=1,public=100,test=1");
    daemon_->CoppiceJson({"study", "create", "--study", "s", "--public",
                          folder_.path() + "/rows/public.csv", "--schema",
                          folder_.path() + "/rows/schema.json", "--epsilon", "1"});
  }
  static Outcome Coppiced(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("coppiced"));
    return RunProgram(arguments);
  }

  const TempDir folder_;
  const SmallDisk disk_;
  const std::string store_ = folder_.path() + "/disk/store";
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(ReadOnlyDiskTest, CheckAndCopyReadIt) {
  ASSERT_EQ(daemon_->Stop(), 0);
  ASSERT_TRUE(disk_.MakeReadOnly());
  const Outcome checked = Coppiced({"check", "--data-dir", store_});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("0 problems"));
  const Outcome copied = Coppiced(
      {"copy", "--from", "rocksdb:" + store_, "--to", "rocksdb:" + folder_.path() + "/copy"});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
}

TEST_F(ReadOnlyDiskTest, WhatMustWriteSaysThatTheDiskIsReadOnly) {
  ASSERT_EQ(daemon_->Stop(), 0);
  ASSERT_TRUE(disk_.MakeReadOnly());
  const std::vector<std::vector<std::string>> writing = {
      {"backup", "--data-dir", store_, "--to", folder_.path() + "/backups"},
      {"assign-owner", "--data-dir", store_, "--owner", "lab"},
      {"--data-dir", store_, "--listen", "127.0.0.1:0", "--insecure"}};
  for (const std::vector<std::string>& arguments : writing) {
    const Outcome outcome = Coppiced(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, ::testing::ContainsRegex("[Rr]ead-only file system")) << arguments[0];
    EXPECT_THAT(outcome.err, Not(HasSubstr("another process"))) << arguments[0];
  }
}

// A mount that is read-only here may be written elsewhere.
TEST_F(ReadOnlyDiskTest, ADaemonThatWritesThroughAnotherMountIsSeen) {
  const std::string view = folder_.path() + "/view";
  std::filesystem::create_directories(view);
  const std::string disk = folder_.path() + "/disk";
  ASSERT_EQ(mount(disk.c_str(), view.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, view.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const Outcome busy = Coppiced({"check", "--data-dir", view + "/store"});
  EXPECT_EQ(busy.exit_code, 1);
  EXPECT_THAT(busy.err, HasSubstr("another process uses"));
  EXPECT_EQ(daemon_->Stop(), 0);
  EXPECT_EQ(Coppiced({"check", "--data-dir", view + "/store"}).exit_code, 0);
  umount2(view.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace coppice
