#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "client/cli/studies/collect.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AnsweredRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_STATE_HOME", (folder_.path() + "/state").c_str(), 1);
    rows_.data_file = Write("rows.csv", "age,sick\n41,secretly\n");
    rows_.journal_file = folder_.path() + "/first.journal";
    rows_.study = "s1";
    rows_.curator = PublicKey{1};
  }
  void TearDown() override { unsetenv("XDG_STATE_HOME"); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() + "/" + name) << bytes;
    return folder_.path() + "/" + name;
  }
  std::string state() const { return folder_.path() + "/state/coppice/simulated"; }

  testing::TempDir folder_;
  AnsweringRows rows_;
};

TEST_F(AnsweredRowsTest, TheSameRowsAreRefusedTheSecondTimeAndTheirJournalNamed) {
  ASSERT_OK(NoteAnswering(rows_));
  rows_.data_file = Write("copy.csv", "age,sick\n41,secretly\n");
  rows_.journal_file = folder_.path() + "/second.journal";
  EXPECT_THAT(
      NoteAnswering(rows_),
      StatusIs(StatusCode::kFailedPrecondition,
               "these rows have already answered study s1; name their journal with --journal " +
                   folder_.path() +
                   "/first.journal to continue, or give --again to let every device spend its "
                   "epsilon once more"));
  rows_.refuse_again = false;
  EXPECT_OK(NoteAnswering(rows_));
}

TEST_F(AnsweredRowsTest, OtherRowsStudiesOrCuratorsAreNotRefused) {
  ASSERT_OK(NoteAnswering(rows_));
  AnsweringRows other = rows_;
  other.study = "s2";
  EXPECT_OK(NoteAnswering(other));
  other = rows_;
  other.curator = PublicKey{2};
  EXPECT_OK(NoteAnswering(other));
  other = rows_;
  other.data_file = Write("more.csv", "age,sick\n41,secretly\n42,no\n");
  EXPECT_OK(NoteAnswering(other));
  EXPECT_THAT(NoteAnswering(rows_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("have already answered")));
}

TEST_F(AnsweredRowsTest, WhatIsKeptSaysNothingOfARowAndIsForNobodyElse) {
  ASSERT_OK(NoteAnswering(rows_));
  ASSERT_OK_AND_ASSIGN(const std::string kept, ReadFile(state()));
  EXPECT_THAT(kept,
              AllOf(HasSubstr("first.journal"), Not(HasSubstr("secretly")), Not(HasSubstr("s1 "))));
  struct stat facts {};
  ASSERT_EQ(stat(state().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600);
}

TEST_F(AnsweredRowsTest, TheSameRowsHaveAnotherHashForAnotherUser) {
  ASSERT_OK(NoteAnswering(rows_));
  ASSERT_OK_AND_ASSIGN(const std::string one, ReadFile(state()));
  setenv("XDG_STATE_HOME", (folder_.path() + "/other").c_str(), 1);
  ASSERT_OK(NoteAnswering(rows_));
  ASSERT_OK_AND_ASSIGN(const std::string other,
                       ReadFile(folder_.path() + "/other/coppice/simulated"));
  EXPECT_NE(one.substr(one.find('\n')), other.substr(other.find('\n')));
}

TEST_F(AnsweredRowsTest, WhatCannotBeNotedIsSaidWithWhatToDo) {
  setenv("XDG_STATE_HOME", rows_.data_file.c_str(), 1);  // not a folder
  EXPECT_THAT(
      NoteAnswering(rows_),
      StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("cannot record that these rows answered"),
                                               HasSubstr("Not a directory"),
                                               HasSubstr("name a --journal, or give --again"))));
  rows_.refuse_again = false;  // as with --journal or --again
  EXPECT_THAT(NoteAnswering(rows_),
              StatusIs(StatusCode::kUnavailable, Not(HasSubstr("--journal"))));
}

}  // namespace
}  // namespace coppice::cli
