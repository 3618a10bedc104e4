// The journal on a full disk, and when its process is killed.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

JournalEntry Entry(int subject, size_t payload_bytes = 100) {
  return {
      .subject = StrCat(subject),
      .epsilon = *Budget::FromEpsilon(1),
      .report = {
          .study = "s1", .ticket = SampleTicket(1), .payload = std::string(payload_bytes, 'p')}};
}

// Limits files to `bytes` while this lives; writing past it fails instead of killing the process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

// A write stops half-way: the limit lets the first bytes of the record through.
TEST(JournalCrashTest, WriteThatStopsHalfWayLeavesNothingBehind) {
  const TempDir dir;
  const std::string path = dir.path() + "/journal";
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path));
    ASSERT_OK(journal->Append({Entry(1)}));
    {
      const FileSizeLimit limit(1000);
      EXPECT_THAT(journal->Append({Entry(2, 5000)}),
                  StatusIs(StatusCode::kResourceExhausted, HasSubstr("make room")));
    }
    EXPECT_EQ(journal->Entries().value().size(), 1);
    EXPECT_OK(journal->Append({Entry(3)}));
  }
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path));
  EXPECT_TRUE(journal->Find("1", "s1").value().has_value());
  EXPECT_FALSE(journal->Find("2", "s1").value().has_value());
  EXPECT_TRUE(journal->Find("3", "s1").value().has_value());
}

TEST(JournalCrashTest, FullDiskLeavesTheJournalUsable) {
  const TempDir dir;
  if (mount("coppice", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small disk takes root";
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(dir.path() + "/journal"));
    ASSERT_OK(journal->Append({Entry(1)}));
    EXPECT_THAT(journal->Append({Entry(2, 100'000)}),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("No space left")));
    EXPECT_OK(journal->Append({Entry(3)}));
    EXPECT_EQ(journal->Entries().value().size(), 2);
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(dir.path() + "/journal"));
    EXPECT_EQ(journal->Entries().value().size(), 2);
  }
  umount(dir.path().c_str());
}

TEST(JournalCrashTest, FailsToOpenWhereThereIsNoRoomAtAll) {
  const TempDir dir;
  const FileSizeLimit limit(4);
  EXPECT_THAT(Journal::Open(dir.path() + "/journal"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("journal")));
}

// Appends for ever, and tells `pipe` what was acknowledged.
[[noreturn]] void AppendUntilKilled(const std::string& path, int pipe) {
  const auto journal = Journal::Open(path);
  if (!journal.ok()) _exit(1);
  for (int subject = 1;; ++subject) {
    if (!(*journal)->Append({Entry(subject)}).ok()) _exit(2);
    if (write(pipe, &subject, sizeof subject) != sizeof subject) _exit(3);
  }
}

TEST(JournalCrashTest, WhatWasAcknowledgedSurvivesAKill) {
  const TempDir dir;
  const std::string path = dir.path() + "/journal";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) AppendUntilKilled(path, ends[1]);
  close(ends[1]);
  int acknowledged = 0;
  for (int subject = 0; acknowledged < 20 && read(ends[0], &subject, sizeof subject) > 0;) {
    acknowledged = subject;
  }
  kill(child, SIGKILL);
  for (int subject = 0; read(ends[0], &subject, sizeof subject) > 0;) acknowledged = subject;
  close(ends[0]);
  waitpid(child, nullptr, 0);

  ASSERT_GE(acknowledged, 20);
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path));
  const int entries = static_cast<int>(journal->Entries().value().size());
  EXPECT_TRUE(entries == acknowledged || entries == acknowledged + 1) << entries;
}

}  // namespace
}  // namespace coppice
