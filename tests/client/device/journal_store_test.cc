#include "client/device/journal_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "common/base/text.h"
#include "tests/client/device/sample_journal.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

namespace fs = std::filesystem;

using ::coppice::testing::SampleAnswer;
using ::coppice::testing::SampleSealedAnswer;
using ::coppice::testing::StatusIs;
using ::coppice::testing::SubjectsOf;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Status AppendTo(JournalStore& store, const JournalEntry& entry) {
  return store.Change([&](Journal& journal) { return journal.Append({entry}); });
}

std::vector<std::string> EntriesOf(JournalStore& store) {
  const StatusOr<JournalStore::Held> held = store.Hold();
  return held.ok() ? SubjectsOf((*held)->Entries()) : std::vector<std::string>();
}

class JournalStoreTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/journal"; }

  std::string FileBytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteFile(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // Makes a journal in which ann's encrypted answer is delivered and bob's answer waits.
  void MakeDelivered() const {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    ASSERT_OK(AppendTo(*store, SampleSealedAnswer("ann")));
    ASSERT_OK(AppendTo(*store, SampleAnswer("bob")));
    ASSERT_OK(store->Change([](Journal& j) { return j.MarkDelivered("s1", {"ann"}); }));
  }
  static Status Forget(JournalStore& store) {
    return store.Change([](Journal& journal) { return journal.Forget(0); });
  }
  // The subjects that a journal in this file remembers, or the error of opening it.
  StatusOr<std::vector<std::string>> Subjects() const {
    const auto store = JournalStore::Open(path());
    if (!store.ok()) return store.status();
    return EntriesOf(**store);
  }

  TempDir dir_;
};

TEST_F(JournalStoreTest, IsReadableByItsOwnerOnlyAndWholeFromTheStart) {
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  EXPECT_EQ(FileBytes(), Journal::NewBytes());
  EXPECT_FALSE(fs::exists(path() + ".new"));
}

TEST_F(JournalStoreTest, RemembersAcrossOpenings) {
  MakeDelivered();
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  ASSERT_OK_AND_ASSIGN(const JournalStore::Held held, store->Hold());
  EXPECT_THAT(SubjectsOf(held->Entries()), ElementsAre("ann", "bob"));
  EXPECT_EQ(held->SizeBytes(), FileBytes().size());
}

TEST_F(JournalStoreTest, SecondOpenerIsRefusedUntilTheFirstIsDone) {
  ASSERT_OK_AND_ASSIGN(auto store, JournalStore::Open(path()));
  const auto in_use = StatusIs(StatusCode::kUnavailable, HasSubstr("in use by another process"));
  EXPECT_THAT(JournalStore::Open(path()), in_use);
  ASSERT_OK(AppendTo(*store, SampleAnswer("ann")));
  ASSERT_OK(store->Change([](Journal& j) { return j.MarkDelivered("s1", {"ann"}); }));
  ASSERT_OK(Forget(*store));  // the new file is locked as the old one was
  EXPECT_THAT(JournalStore::Open(path()), in_use);
  store.reset();
  EXPECT_OK(JournalStore::Open(path()));
}

TEST_F(JournalStoreTest, NamesAFolderThatIsNotThere) {
  EXPECT_THAT(JournalStore::Open(dir_.path() + "/none/journal"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("none/journal")));
}

TEST_F(JournalStoreTest, StaysWhereItWasOpenedWhenTheWorkingFolderChanges) {
  const auto before = fs::current_path();
  fs::current_path(dir_.path());
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open("relative"));
  fs::current_path(before);
  EXPECT_OK(AppendTo(*store, SampleAnswer("ann")));
  EXPECT_TRUE(fs::exists(dir_.path() + "/relative"));
}

TEST_F(JournalStoreTest, FollowsALinkAndLeavesItALink) {
  fs::create_directory(dir_.path() + "/folder");
  { ASSERT_OK(JournalStore::Open(dir_.path() + "/folder/real")); }
  fs::create_symlink("folder/real", path());
  MakeDelivered();
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    ASSERT_OK(Forget(*store));
  }
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob"));
}

// A second name would go on leading to the old file, without a lock.
TEST_F(JournalStoreTest, RefusesAFileWithSeveralNames) {
  MakeDelivered();
  const std::string before = FileBytes();
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("several names"));
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    fs::create_hard_link(path(), path() + ".other");
    EXPECT_THAT(Forget(*store), refused);
  }
  EXPECT_THAT(JournalStore::Open(path()), refused);
  EXPECT_EQ(FileBytes(), before);
  fs::remove(path() + ".other");
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob"));
}

TEST_F(JournalStoreTest, WritesNothingToAFileThatSomebodyElseChanged) {
  const auto changed = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("was changed"));
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    std::ofstream(path(), std::ios::binary | std::ios::app) << 'x';
    EXPECT_THAT(AppendTo(*store, SampleAnswer("ann")), changed);
  }
  fs::remove(path());
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end);  // keeps the size
    file.put('x');
    file.close();
    EXPECT_THAT(AppendTo(*store, SampleAnswer("ann")), changed);
  }
  fs::remove(path());
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  fs::rename(path(), path() + ".moved");
  EXPECT_THAT(AppendTo(*store, SampleAnswer("ann")), changed);
}

// ---- Files that are cut off

TEST_F(JournalStoreTest, AFileThatIsShorterThanANewJournalIsDataLoss) {
  MakeDelivered();
  const std::string whole = FileBytes();
  for (size_t size = 0; size < Journal::NewBytes().size(); ++size) {
    WriteFile(whole.substr(0, size));
    EXPECT_THAT(JournalStore::Open(path()),
                StatusIs(StatusCode::kDataLoss, HasSubstr("restore it from a copy")))
        << size;
    EXPECT_EQ(FileBytes(), whole.substr(0, size));  // it is left for whoever looks into it
  }
}

TEST_F(JournalStoreTest, ATornLastRecordIsCutOff) {
  MakeDelivered();
  const std::string whole = FileBytes();
  WriteFile(whole + std::string(5, '\0'));
  EXPECT_THAT(Subjects(), StatusIs(StatusCode::kOk, ""));
  EXPECT_EQ(FileBytes(), whole);
  WriteFile(whole.substr(0, whole.size() - 1));
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob"));
  EXPECT_LT(FileBytes().size(), whole.size() - 1);
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  EXPECT_OK(AppendTo(*store, SampleAnswer("cy")));
}

// ---- Forgetting

TEST_F(JournalStoreTest, OverwritesTheOldFileWhenItForgets) {
  MakeDelivered();
  const std::string before = FileBytes();
  const std::string secret = SampleSealedAnswer("ann").report.ticket.ToBytes();
  ASSERT_THAT(before, HasSubstr(secret));
  const int old = open(path().c_str(), O_RDONLY);
  ASSERT_GE(old, 0);
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    ASSERT_OK(Forget(*store));
  }
  std::string left(before.size(), 'x');
  ASSERT_EQ(pread(old, left.data(), left.size(), 0), static_cast<ssize_t>(left.size()));
  close(old);
  EXPECT_EQ(left, std::string(before.size(), '\0'));
  EXPECT_THAT(FileBytes(), Not(HasSubstr("encrypted")));
  EXPECT_FALSE(fs::exists(path() + ".new"));
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob"));
}

// A crash leaves either the half-written new file or, after the exchange, the old one.
TEST_F(JournalStoreTest, OverwritesAndRemovesWhatACrashLeftBesideIt) {
  MakeDelivered();
  const std::string left = path() + ".new";
  std::ofstream(left, std::ios::binary) << std::string(100'000, 'x');
  const int descriptor = open(left.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob"));
  EXPECT_FALSE(fs::exists(left));
  std::string bytes(100'000, '?');
  ASSERT_EQ(pread(descriptor, bytes.data(), bytes.size(), 0), 100'000);
  close(descriptor);
  EXPECT_EQ(bytes, std::string(100'000, '\0'));
}

// Somebody who may write to the folder can have put there what leads elsewhere.
TEST_F(JournalStoreTest, LeavesAloneWhatALeftOverNameLeadsTo) {
  MakeDelivered();
  const std::string other = dir_.path() + "/other", left = path() + ".new";
  std::ofstream(other) << "precious";
  const auto is_untouched = [&] {
    std::ifstream file(other);
    return std::string{std::istreambuf_iterator<char>(file), {}} == "precious";
  };
  fs::create_hard_link(other, left);
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(is_untouched());
  fs::create_symlink("other", left);
  ASSERT_OK(Forget(*store));
  EXPECT_FALSE(fs::exists(fs::symlink_status(left)));
  EXPECT_TRUE(is_untouched());
}

TEST_F(JournalStoreTest, MakesANewJournalDespiteWhatACrashLeft) {
  std::ofstream(path() + ".new") << "half";
  EXPECT_OK(JournalStore::Open(path()));
  EXPECT_FALSE(fs::exists(path() + ".new"));
  EXPECT_EQ(FileBytes(), Journal::NewBytes());
}

// ---- Full disks and crashes

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

// The limit lets the first bytes of the record through.
TEST_F(JournalStoreTest, AWriteThatStopsHalfWayLeavesNothingBehind) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    ASSERT_OK(AppendTo(*store, SampleAnswer("ann")));
    {
      const FileSizeLimit limit(FileBytes().size() + 20);
      EXPECT_THAT(AppendTo(*store, SampleAnswer("bob")),
                  StatusIs(StatusCode::kResourceExhausted, HasSubstr("make room")));
    }
    EXPECT_THAT(EntriesOf(*store), ElementsAre("ann"));
    EXPECT_OK(AppendTo(*store, SampleAnswer("cy")));
  }
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "cy"));
}

TEST_F(JournalStoreTest, ForgettingOnAFullDiskLosesNothing) {
  MakeDelivered();
  const std::string before = FileBytes();
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    {
      const FileSizeLimit limit(50);
      EXPECT_THAT(Forget(*store), StatusIs(StatusCode::kResourceExhausted, HasSubstr("make room")));
    }
    EXPECT_EQ(FileBytes(), before);
    EXPECT_FALSE(fs::exists(path() + ".new"));
    EXPECT_OK(AppendTo(*store, SampleAnswer("cy")));
    EXPECT_OK(Forget(*store));
  }
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "bob", "cy"));
}

TEST_F(JournalStoreTest, LeavesNoFileWhereThereIsNoRoomForANewOne) {
  const FileSizeLimit limit(4);
  EXPECT_THAT(JournalStore::Open(path()),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("journal")));
  EXPECT_TRUE(fs::is_empty(dir_.path()));
}

TEST_F(JournalStoreTest, AFullDiskLeavesTheJournalUsable) {
  if (mount("coppice", dir_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small disk takes root";
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
    ASSERT_OK(AppendTo(*store, SampleAnswer("ann")));
    JournalEntry large = SampleAnswer("bob");
    large.report.payload = std::string(100'000, 'p');
    EXPECT_THAT(AppendTo(*store, large),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("No space left")));
    EXPECT_OK(AppendTo(*store, SampleAnswer("cy")));
  }
  EXPECT_THAT(*Subjects(), ElementsAre("ann", "cy"));
  umount(dir_.path().c_str());
}

// Appends for ever, forgets now and then, and tells `pipe` what was acknowledged.
[[noreturn]] void AppendUntilKilled(const std::string& path, int pipe) {
  const auto store = JournalStore::Open(path);
  if (!store.ok()) _exit(1);
  for (int subject = 1;; ++subject) {
    if (!AppendTo(**store, SampleSealedAnswer(StrCat(subject))).ok()) _exit(2);
    if (write(pipe, &subject, sizeof subject) != sizeof subject) _exit(3);
    if (subject % 3 != 0) continue;
    const Status forgotten =
        (*store)->Change([&](Journal& journal) { return journal.Forget(testing::kDealEnd); });
    if (!forgotten.ok()) _exit(4);
  }
}

TEST_F(JournalStoreTest, WhatWasAcknowledgedSurvivesAKill) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) AppendUntilKilled(path(), ends[1]);
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
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> subjects, Subjects());
  const int found = static_cast<int>(subjects.size());
  EXPECT_TRUE(found == acknowledged || found == acknowledged + 1) << found;
}

// ---- fork()

// Whether MADV_WIPEONFORK works here. QEMU 7.2, which runs the tests for ARM, accepts the advice
// from a process that it emulates and ignores it.
bool WipesOnFork() {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const mark = static_cast<unsigned char*>(page);
  if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0) return false;
  *mark = 1;
  const pid_t child = fork();
  if (child == 0) _exit(*mark);
  int status = 0;
  waitpid(child, &status, 0);
  munmap(page, 4096);
  return status == 0;
}

// Both hold the lock: flock() belongs to the open file, which fork() shares.
TEST_F(JournalStoreTest, AChildAfterForkIsRefusedEveryUse) {
  if (!WipesOnFork()) GTEST_SKIP() << "MADV_WIPEONFORK does nothing here: an emulator";
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  ASSERT_OK(AppendTo(*store, SampleAnswer("ann")));
  const pid_t child = fork();
  if (child == 0) {
    const auto refused = [](const Status& status) {
      return IsFailedPrecondition(status) && status.message().find("fork()") != std::string::npos;
    };
    _exit(refused(AppendTo(*store, SampleAnswer("bob"))) && refused(store->Hold().status()) ? 0
                                                                                            : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_OK(AppendTo(*store, SampleAnswer("bob")));
}

// In the child the mutex stays locked for ever, by a thread that the child does not have.
TEST_F(JournalStoreTest, AChildOfABusyStoreIsRefusedToo) {
  if (!WipesOnFork()) GTEST_SKIP() << "MADV_WIPEONFORK does nothing here: an emulator";
  ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(path()));
  std::atomic<bool> done = false;
  std::thread busy([&] {
    for (int i = 0; !done; ++i) AppendTo(*store, SampleAnswer(StrCat(i))).IgnoreError();
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(IsFailedPrecondition(store->Hold().status()) ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
}

}  // namespace
}  // namespace coppice
