// What the daemon writes is for its user alone, wherever it is put and whatever the shell's umask
// is: it holds rows, keys and tokens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Eventually;
using ::coppice::testing::Outcome;
using ::coppice::testing::Process;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;
using fs::perms;

constexpr perms kForOthers = perms::group_all | perms::others_all;

// Files in `folder` that others may open, and folders that they may enter.
std::vector<std::string> OpenToOthers(const std::string& folder) {
  std::vector<std::string> open;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if ((entry.status().permissions() & kForOthers) != perms::none) open.push_back(entry.path());
  }
  return open;
}

class PrivateFilesTest : public ::testing::Test {
 protected:
  PrivateFilesTest() : mask_(umask(022)) {}
  ~PrivateFilesTest() override { umask(mask_); }

  // A folder as an operator's mkdir leaves it: everybody may enter and list it.
  std::string OpenFolder(const std::string& name) const {
    fs::create_directory(folder_.path() + "/" + name);
    fs::permissions(folder_.path() + "/" + name, perms(0755));
    return folder_.path() + "/" + name;
  }
  void FillDataset(const Daemon& daemon) const {
    const std::string rows = folder_.path() + "/rows";
    Synthesize(rows, "private=50,public=1,test=1");
    daemon.CoppiceJson({"dataset", "create", "--dataset", "d", "--data", rows + "/private.csv",
                        "--schema", rows + "/schema.json", "--epsilon-total", "1"});
  }

  const mode_t mask_;
  const TempDir folder_;
};

TEST_F(PrivateFilesTest, NothingInADataDirectoryIsOpenToOthers) {
  Daemon daemon(folder_.path(), OpenFolder("data"));
  ASSERT_TRUE(daemon.Start());
  FillDataset(daemon);
  EXPECT_THAT(OpenToOthers(daemon.data_dir()), IsEmpty());
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_THAT(OpenToOthers(daemon.data_dir()), IsEmpty());
}

TEST_F(PrivateFilesTest, NoBackupGoesWhereOthersMayRead) {
  const std::string open = OpenFolder("open");
  const auto refused = AllOf(HasSubstr(open), HasSubstr("open to everyone"), HasSubstr("chmod"));
  Daemon daemon(folder_.path());
  ASSERT_TRUE(daemon.Start());
  FillDataset(daemon);
  EXPECT_EQ(daemon.Stop(), 0);

  const std::vector<std::string> offline = {BinaryPath("coppiced"), "backup", "--data-dir",
                                            daemon.data_dir(),      "--to",   open};
  const Outcome backup = RunProgram(offline);
  EXPECT_EQ(backup.exit_code, 1);
  EXPECT_THAT(backup.err, refused);
  EXPECT_TRUE(fs::is_empty(open));

  daemon.AddFlags({"--backup-dir", open});
  const std::vector<std::string> start = daemon.CommandLine("127.0.0.1:0");
  std::vector<std::string> check = start;
  check.emplace_back("--check-config");
  ASSERT_THAT(RunProgram(check).err, AllOf(refused, HasSubstr("--backup-dir")));
  const Outcome started = RunProgram(start);
  EXPECT_EQ(started.exit_code, 1);
  EXPECT_THAT(started.err, AllOf(refused, HasSubstr("--backup-dir")));

  fs::permissions(open, perms(0700));
  ASSERT_TRUE(daemon.Start());
  EXPECT_EQ(daemon.CoppiceJson({"admin", "backup"})["backup"], 1);
  EXPECT_EQ(daemon.Stop(), 0);
  EXPECT_EQ(RunProgram(offline).exit_code, 0);
  EXPECT_THAT(OpenToOthers(open), IsEmpty());

  // The folder is opened to others while the daemon works.
  ASSERT_TRUE(daemon.Start());
  fs::permissions(open, perms(0755));
  const Outcome asked = daemon.Coppice({"admin", "backup"});
  EXPECT_EQ(asked.exit_code, 1);
  EXPECT_THAT(asked.err, refused);
}

TEST_F(PrivateFilesTest, NothingThatIsRestoredIsOpenToOthers) {
  Daemon daemon(folder_.path());
  ASSERT_TRUE(daemon.Start());
  FillDataset(daemon);
  EXPECT_EQ(daemon.Stop(), 0);
  const std::string backups = folder_.path() + "/backups";
  EXPECT_EQ(RunProgram({BinaryPath("coppiced"), "backup", "--data-dir", daemon.data_dir(), "--to",
                        backups})
                .exit_code,
            0);
  const std::string restored = OpenFolder("restored");
  const Outcome outcome =
      RunProgram({BinaryPath("coppiced"), "restore", "--from", backups, "--data-dir", restored});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(OpenToOthers(restored), IsEmpty());
}

// A user who may write to the port file's folder can guess names in it and put links there.
TEST_F(PrivateFilesTest, ThePortFileFollowsNoLink) {
  Daemon daemon(folder_.path());
  const std::string victim = folder_.path() + "/victim";
  const std::string port = folder_.path() + "/port";
  std::ofstream(victim) << "precious\n";
  const std::string link = "ln -s " + victim + " " + port;
  // The shell becomes the daemon by exec, so $$ is the daemon's process.
  std::vector<std::string> command = {"/bin/sh", "-c", link + "; " + link + ".$$.tmp; exec \"$@\"",
                                      "sh"};
  for (const std::string& word : daemon.CommandLine("127.0.0.1:0")) command.push_back(word);
  Process process(command);
  // If the daemon followed a link, the port would end up in its target, or the link in its place.
  EXPECT_TRUE(Eventually([&] {
    return fs::is_regular_file(fs::symlink_status(port)) || ReadWhole(victim) != "precious\n" ||
           !process.Running();
  }));
  ASSERT_TRUE(process.Running()) << process.err();
  EXPECT_EQ(ReadWhole(victim), "precious\n");
  EXPECT_GT(std::stoi(ReadWhole(port)), 0);
  EXPECT_EQ(fs::status(port).permissions(), perms(0644)) << "a port is no secret";
}

}  // namespace
}  // namespace coppice
