#include "client/device/journal.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "client/device/journal_format.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::SampleManifest;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

JournalEntry Entry(const std::string& subject, const std::string& study = "s1",
                   double epsilon = 1) {
  return {
      .subject = subject,
      .epsilon = *Budget::FromEpsilon(epsilon),
      .report = {.study = study, .ticket = SampleTicket(1), .payload = "payload of " + subject}};
}

std::vector<std::string> Subjects(const std::vector<JournalEntry>& entries) {
  std::vector<std::string> subjects;
  for (const JournalEntry& entry : entries) subjects.push_back(entry.subject);
  return subjects;
}

class JournalTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path() + "/journal"; }

  std::string ReadFile() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteFile(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // Writes a journal of three records: ann and bob; ann delivered; cy.
  void WriteThreeRecords() const {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    ASSERT_OK(journal->Append({Entry("ann"), Entry("bob")}));
    ASSERT_OK(journal->MarkDelivered("s1", {"ann"}));
    ASSERT_OK(journal->Append({Entry("cy")}));
  }

  TempDir dir_;
};

TEST_F(JournalTest, StartsEmptyAndReadableByItsOwnerOnly) {
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  EXPECT_TRUE(journal->Entries().value().empty());
  EXPECT_FALSE(journal->Find("ann", "s1").value().has_value());
  EXPECT_FALSE(journal->Spent("ann").value().has_value());
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
}

TEST_F(JournalTest, RemembersAcrossOpenings) {
  WriteThreeRecords();
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  EXPECT_THAT(Subjects(journal->Entries().value()), ElementsAre("ann", "bob", "cy"));
  EXPECT_THAT(Subjects(journal->Undelivered().value()), ElementsAre("bob", "cy"));
  const auto ann = journal->Find("ann", "s1").value();
  ASSERT_TRUE(ann.has_value());
  EXPECT_EQ(ann->report, Entry("ann").report);
  EXPECT_TRUE(ann->delivered);
}

SeenManifest Seen(const std::string& study, uint8_t key) {
  SeenManifest seen{.curator = "curator:1",
                    .manifest = {.study = study,
                                 .fingerprint = {1},
                                 .epsilon = *Budget::FromEpsilon(1),
                                 .mechanism = MechanismKind::kDirect,
                                 .expires_unix_seconds = 3,
                                 .min_reports = 4,
                                 .sequence = 5,
                                 .issued_unix_seconds = 6},
                    .hash = {7},
                    .key = {key},
                    .root = {8}};
  seen.manifest.key = KeyIdOf(seen.key);
  return seen;
}

TEST_F(JournalTest, RemembersManifestsAcrossOpenings) {
  ASSERT_OK((*Journal::Open(path()))->Remember(Seen("a", 1)));
  ASSERT_OK((*Journal::Open(path()))->Remember(Seen("b", 2)));
  const auto journal = *Journal::Open(path());
  EXPECT_EQ(journal->OfStudy("a"), Seen("a", 1));
  EXPECT_EQ(journal->OfStudy("b"), Seen("b", 2));
  EXPECT_EQ(journal->OfStudy("c"), std::nullopt);
  EXPECT_EQ(journal->RootOf("curator:1"), PublicKey{8});
  EXPECT_EQ(journal->RootOf("curator:2"), std::nullopt);
  EXPECT_EQ(journal->LastKeyOf(PublicKey{8}), PublicKey{2});
  EXPECT_EQ(journal->LastKeyOf(PublicKey{9}), std::nullopt);
  EXPECT_TRUE(journal->Entries().value().empty());
}

TEST_F(JournalTest, SpentAddsUpOverStudies) {
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  ASSERT_OK(journal->Append({Entry("ann", "s1", 1), Entry("ann", "s2", 0.5), Entry("bob")}));
  EXPECT_EQ(journal->Spent("ann").value(), *Budget::FromEpsilon(1.5));
  EXPECT_EQ(journal->Spent("bob").value(), *Budget::FromEpsilon(1));
}

TEST_F(JournalTest, ASumAboveTheLargestEpsilonIsTheLargest) {
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    ASSERT_OK(journal->Append({Entry("ann", "s1", 1), Entry("ann", "s2", 1e6)}));
    EXPECT_EQ(journal->Spent("ann").value(), *Budget::FromEpsilon(1e6));
  }
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  EXPECT_EQ(journal->Spent("ann").value(), *Budget::FromEpsilon(1e6));
}

TEST_F(JournalTest, SecondAnswerToAStudyIsRefusedWithAllOfItsBatch) {
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  ASSERT_OK(journal->Append({Entry("ann")}));
  EXPECT_THAT(journal->Append({Entry("bob"), Entry("ann")}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("study s1")));
  EXPECT_THAT(journal->Append({Entry("cy"), Entry("cy")}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("study s1")));
  EXPECT_THAT(Subjects(journal->Entries().value()), ElementsAre("ann"));
}

TEST_F(JournalTest, OnlyAnswersCanBeMarkedDelivered) {
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  ASSERT_OK(journal->Append({Entry("ann")}));
  EXPECT_THAT(journal->MarkDelivered("s1", {"ann", "bob"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no answer to study s1")));
  EXPECT_THAT(Subjects(journal->Undelivered().value()), ElementsAre("ann"));
}

TEST_F(JournalTest, SecondOpenerIsRefusedUntilTheFirstIsDone) {
  ASSERT_OK_AND_ASSIGN(auto journal, Journal::Open(path()));
  EXPECT_THAT(Journal::Open(path()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("in use by another process")));
  journal.reset();
  EXPECT_OK(Journal::Open(path()));
}

TEST_F(JournalTest, FolderThatIsNotThereIsNamed) {
  EXPECT_THAT(Journal::Open(dir_.path() + "/none/journal"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("none/journal")));
}

// Whatever length a crash leaves, the journal opens with the records that were complete, takes
// further ones, and keeps them.
TEST_F(JournalTest, EveryLengthReopensToAPrefix) {
  WriteThreeRecords();
  const std::string whole = ReadFile();
  size_t seen = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFile(whole.substr(0, size));
    {
      ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
      const size_t entries = journal->Entries().value().size();
      ASSERT_TRUE(entries == 0 || entries == 2) << "half a record at length " << size;
      ASSERT_GE(entries, seen) << size;
      seen = entries;
      if (size % 16 != 0) continue;  // Each append waits for the disk.
      ASSERT_OK(journal->Append({Entry("dot")}));
    }
    ASSERT_OK_AND_ASSIGN(const auto again, Journal::Open(path()));
    ASSERT_EQ(again->Entries().value().size(), seen + 1) << size;
  }
  EXPECT_EQ(seen, 2);
}

// A flipped bit of the header's version may make it a newer one.
TEST_F(JournalTest, EveryFlippedBitIsRefused) {
  WriteThreeRecords();
  const std::string whole = ReadFile();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    WriteFile(flipped);
    const StatusCode code = Journal::Open(path()).status().code();
    const bool of_version =
        bit / 8 >= JournalHeader().size() - 4 && bit / 8 < JournalHeader().size();
    ASSERT_TRUE(code == StatusCode::kDataLoss ||
                (of_version && code == StatusCode::kFailedPrecondition))
        << bit;
  }
  WriteFile(whole);
  EXPECT_OK(Journal::Open(path()));
}

TEST_F(JournalTest, RepeatedRecordIsDataLoss) {
  { ASSERT_OK(Journal::Open(path())); }
  const std::string header = ReadFile();
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    ASSERT_OK(journal->Append({Entry("ann")}));
  }
  const std::string record = ReadFile().substr(header.size());
  WriteFile(header + record + record);
  EXPECT_THAT(Journal::Open(path()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not match its check")));
}

TEST_F(JournalTest, AnotherFileIsNotTakenForAJournal) {
  WriteFile("age,sex,label\n31,f,yes\n40,m,no\n");
  EXPECT_THAT(Journal::Open(path()), StatusIs(StatusCode::kDataLoss, HasSubstr("no journal")));
  EXPECT_EQ(ReadFile().substr(0, 3), "age");
}

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
TEST_F(JournalTest, AChildAfterForkIsRefusedEveryUse) {
  if (!WipesOnFork()) GTEST_SKIP() << "MADV_WIPEONFORK does nothing here: an emulator";
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  ASSERT_OK(journal->Append({Entry("ann")}));
  const pid_t child = fork();
  if (child == 0) {
    const auto refused = [](const Status& status) {
      return IsFailedPrecondition(status) && StrContains(status.message(), "fork()");
    };
    const bool all =
        refused(journal->Append({Entry("bob")})) &&
        refused(journal->MarkDelivered("s1", {"ann"})) &&
        refused(journal->Find("ann", "s1").status()) && refused(journal->Spent("ann").status()) &&
        refused(journal->Entries().status()) && refused(journal->Undelivered().status());
    _exit(all ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_OK(journal->Append({Entry("bob")}));
}

// In the child the mutex stays locked for ever, by a thread that the child does not have.
TEST_F(JournalTest, AChildOfABusyJournalIsRefusedToo) {
  if (!WipesOnFork()) GTEST_SKIP() << "MADV_WIPEONFORK does nothing here: an emulator";
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  std::atomic<bool> done = false;
  std::thread busy([&] {
    for (int i = 0; !done; ++i) journal->Append({Entry(StrCat(i))}).IgnoreError();
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(IsFailedPrecondition(journal->Find("0", "s1").status()) ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
}

TEST_F(JournalTest, AWorkingDirectoryMayChange) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open("relative"));
  std::filesystem::current_path(before);
  EXPECT_OK(journal->Append({Entry("ann")}));
}

TEST_F(JournalTest, AFileThatSomebodyElseChangedTakesNoMore) {
  ASSERT_OK_AND_ASSIGN(auto journal, Journal::Open(path()));
  ASSERT_OK(journal->Append({Entry("ann")}));
  std::ofstream(path(), std::ios::binary | std::ios::app) << 'x';
  EXPECT_THAT(journal->Append({Entry("bob")}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("was changed")));

  journal.reset();
  std::filesystem::remove(path());
  ASSERT_OK_AND_ASSIGN(journal, Journal::Open(path()));
  {
    // Keeps the size.
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  EXPECT_THAT(journal->Append({Entry("ann")}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("was changed")));

  journal.reset();
  std::filesystem::remove(path());
  ASSERT_OK_AND_ASSIGN(journal, Journal::Open(path()));
  std::filesystem::rename(path(), path() + ".moved");
  EXPECT_THAT(journal->Append({Entry("dan")}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("replaced or removed")));
}

// Tens of megabytes test the offsets on every machine.
TEST_F(JournalTest, AGatewaysAnswersAreAllThereAfterARestart) {
  constexpr int kSubjects = 10'000;
  const auto name = [](int i) { return StrCat("subject ", i); };
  const auto payload = [](int i) { return std::string(4000, static_cast<char>(i % 251)); };
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    std::vector<JournalEntry> entries;
    std::vector<std::string> odd;
    for (int i = 0; i < kSubjects; ++i) {
      entries.push_back(Entry(name(i), "s1", 0.5));
      entries.back().report.payload = payload(i);
      if (i % 2 == 1) odd.push_back(name(i));
    }
    ASSERT_OK(journal->Append(entries));
    ASSERT_OK(journal->MarkDelivered("s1", odd));
    ASSERT_OK(journal->Append({Entry(name(0), "s2", 0.25)}));
  }
  ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
  EXPECT_EQ(journal->CountUndelivered().value(), kSubjects / 2 + 1);
  EXPECT_EQ(journal->Spent(name(0)).value(), *Budget::FromEpsilon(0.75));
  for (const int i : {1, kSubjects / 2, kSubjects - 1}) {
    const auto entry = journal->Find(name(i), "s1").value();
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->report.payload, payload(i));
    EXPECT_EQ(entry->delivered, i % 2 == 1);
  }
  const uint64_t before = journal->SizeBytes().value();
  ASSERT_OK(journal->MakeRoom(before - before / 8));
  EXPECT_LE(journal->SizeBytes().value(), before - before / 8);
  EXPECT_EQ(journal->Spent(name(kSubjects - 1)).value(), *Budget::FromEpsilon(0.5));
  EXPECT_EQ(journal->CountUndelivered().value(), kSubjects / 2 + 1);
}

TEST_F(JournalTest, KnowsWhoseAnswersItHasAfterARestartToo) {
  SeenManifest seen{.curator = "curator:1", .manifest = SampleManifest()};
  seen.key = seen.root = FakeKey(1).public_key();
  seen.manifest.key = KeyIdOf(seen.key);
  {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    ASSERT_OK(journal->Append({Entry("early", "sample")}));
    ASSERT_OK(journal->Remember(seen));
    ASSERT_OK(journal->Append({Entry("ann", "sample"), Entry("ann", "other")}));
  }
  seen.key = seen.root = FakeKey(2).public_key();
  seen.manifest.key = KeyIdOf(seen.key);
  for (int restart = 0; restart < 2; ++restart) {
    ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(path()));
    EXPECT_EQ(journal->Find("ann", "sample").value()->curator, FakeKey(1).public_key());
    EXPECT_EQ(journal->Find("ann", "other").value()->curator, std::nullopt);
    EXPECT_EQ(journal->Find("early", "sample").value()->curator, std::nullopt);
    ASSERT_OK(journal->Remember(seen));  // later trust does not move earlier answers
  }
}

}  // namespace
}  // namespace coppice
