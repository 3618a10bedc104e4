#include "server/datasets/ledger/spending_journal.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::ledger {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SpendingLine Line(const std::string& dataset, uint64_t entries) {
  SpendingLine line{.dataset = dataset, .entries = entries};
  line.head.fill(static_cast<uint8_t>(entries));
  line.spent = {.epsilon_nanos = entries * 10, .delta_atto = 3, .rho_pico = UINT64_MAX};
  return line;
}

class SpendingJournalTest : public ::testing::Test {
 protected:
  void Note(const std::vector<SpendingLine>& lines) {
    ASSERT_OK_AND_ASSIGN(const auto journal, SpendingJournal::Open(path_));
    for (const SpendingLine& line : lines) ASSERT_OK(journal->Append(line));
  }
  std::vector<SpendingLine> Lines() {
    const auto journal = SpendingJournal::Open(path_);
    EXPECT_OK(journal);
    return journal.ok() ? (*journal)->lines() : std::vector<SpendingLine>();
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Overwrite(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  TempDir folder_;
  const std::string path_ = folder_.path() + "/journal";
};

TEST_F(SpendingJournalTest, LinesAreThereAgainInTheirOrder) {
  Note({Line("a", 1), Line("b", 1)});
  Note({Line("a", 2)});
  EXPECT_THAT(Lines(), ElementsAre(Line("a", 1), Line("b", 1), Line("a", 2)));
}

TEST_F(SpendingJournalTest, TheFileIsForItsOwnerAlone) {
  Overwrite("");
  chmod(path_.c_str(), 0666);
  Note({Line("a", 1)});
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(SpendingJournalTest, TwoDaemonsDoNotShareOne) {
  ASSERT_OK_AND_ASSIGN(const auto first, SpendingJournal::Open(path_));
  EXPECT_THAT(SpendingJournal::Open(path_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another process")));
}

TEST_F(SpendingJournalTest, WhateverACrashLeavesOfTheLastLineIsCutOff) {
  Note({Line("a", 1)});
  const std::string one = Bytes();
  Note({Line("a", 2)});
  const std::string two = Bytes();
  for (size_t size = 0; size < two.size(); ++size) {
    Overwrite(two.substr(0, size));
    EXPECT_EQ(Lines().size(), size < one.size() ? 0 : 1) << size;
    Note({Line("b", 1)});
    EXPECT_EQ(Lines().back(), Line("b", 1)) << size;
  }
  std::string unwritten = two;
  unwritten.replace(one.size(), 20, 20, '\0');
  Overwrite(unwritten);
  EXPECT_THAT(Lines(), ElementsAre(Line("a", 1)));
}

TEST_F(SpendingJournalTest, AChangedByteIsFoundAndTheLineNamed) {
  Note({Line("a", 1), Line("a", 2), Line("a", 3)});
  const std::string sound = Bytes();
  for (size_t i = 0; i + 1 < sound.size(); ++i) {
    std::string bytes = sound;
    bytes[i] ^= 1;
    Overwrite(bytes);
    EXPECT_THAT(SpendingJournal::Open(path_), StatusIs(StatusCode::kDataLoss, HasSubstr(path_)))
        << i;
  }
}

TEST_F(SpendingJournalTest, ALineThatIsMissingOrMovedIsFound) {
  Note({Line("a", 1), Line("a", 2), Line("a", 3)});
  std::ifstream file(path_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line + "\n");
  ASSERT_EQ(lines.size(), 4u);
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 2, 3}, {0, 1, 3}, {0, 2, 1, 3}, {0, 1, 1, 2, 3}}) {
    std::string bytes;
    for (const int i : order) bytes += lines[i];
    Overwrite(bytes);
    EXPECT_THAT(SpendingJournal::Open(path_), StatusIs(StatusCode::kDataLoss, _));
  }
}

TEST_F(SpendingJournalTest, LeavesAFileThatIsNotAJournalUntouched) {
  Overwrite("data-dir = \"/var/lib/coppice\"\n");
  EXPECT_THAT(SpendingJournal::Open(path_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("is not a spending journal")));
  EXPECT_EQ(Bytes(), "data-dir = \"/var/lib/coppice\"\n");
}

TEST_F(SpendingJournalTest, AFileThatSomebodyElseChangesTakesNoMoreLines) {
  ASSERT_OK_AND_ASSIGN(const auto journal, SpendingJournal::Open(path_));
  ASSERT_OK(journal->Append(Line("a", 1)));
  const std::string sound = Bytes();
  for (const std::string& changed : {sound + "x", sound.substr(0, sound.size() - 1)}) {
    Overwrite(changed);
    EXPECT_THAT(journal->Append(Line("a", 2)),
                StatusIs(StatusCode::kUnavailable, HasSubstr("was changed")));
    EXPECT_EQ(Bytes(), changed);
  }
  Overwrite(sound);
  EXPECT_OK(journal->Append(Line("a", 2)));
}

TEST_F(SpendingJournalTest, AFullDiskTakesNoLineAndALaterOneStandsOnceInItsPlace) {
  ASSERT_OK_AND_ASSIGN(const auto full, SpendingJournal::Open(path_));
  ASSERT_OK(full->Append(Line("a", 1)));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = Bytes().size() + 10;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT(full->Append(Line("a", 2)), StatusIs(StatusCode::kUnavailable, _));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_OK(full->Append(Line("a", 3)));
}

TEST_F(SpendingJournalTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(SpendingJournal::Open(folder_.path() + "/none/journal"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("none/journal")));
  EXPECT_THAT(Lines(), IsEmpty());
}

}  // namespace
}  // namespace coppice::ledger
