// A journal with a limit: what makes room for new answers, and what is never given up for them.

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/device/compacted_journal.h"
#include "client/device/journal.h"
#include "client/device/respondent.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SampleTree;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

constexpr uint64_t kNoLimit = ~uint64_t{0};

JournalEntry AnswerTo(const std::string& study, size_t payload_bytes = 1000) {
  return {.subject = "me",
          .epsilon = *Budget::FromEpsilon(0.5),
          .report = {.study = study,
                     .fingerprint = {static_cast<uint8_t>(study.size())},
                     .ticket = SampleTicket(1),
                     .payload = std::string(payload_bytes, 'p')}};
}

SeenManifest SeenFor(const std::string& study, const std::string& curator, uint8_t root,
                     uint64_t sequence = 1) {
  SeenManifest seen{.curator = curator,
                    .manifest = {.study = study,
                                 .fingerprint = {1},
                                 .epsilon = *Budget::FromEpsilon(0.5),
                                 .mechanism = MechanismKind::kDirect,
                                 .expires_unix_seconds = 0,
                                 .min_reports = 1,
                                 .sequence = sequence,
                                 .issued_unix_seconds = 6},
                    .hash = {7},
                    .key = {root},
                    .root = {root}};
  seen.manifest.key = KeyIdOf(seen.key);
  return seen;
}

class JournalRoomTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  std::string path() const { return dir_.path() + "/journal"; }
  void Reopen() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(path()));
  }
  std::string FileBytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Appends three answers of a kilobyte; the first two are delivered.
  void AnswerThrice() {
    ASSERT_OK(journal_->Remember(SeenFor("a", "here:1", 1)));
    ASSERT_OK(journal_->Remember(SeenFor("b", "there:1", 2)));
    for (const std::string study : {"a", "b", "c"}) ASSERT_OK(journal_->Append({AnswerTo(study)}));
    ASSERT_OK(journal_->MarkDelivered("a", {"me"}));
    ASSERT_OK(journal_->MarkDelivered("b", {"me"}));
  }

  TempDir dir_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalRoomTest, ForgetsTheOldestDeliveredReportFirstAndNoMoreThanItMust) {
  AnswerThrice();
  const uint64_t before = journal_->SizeBytes().value();
  ASSERT_OK(journal_->MakeRoom(before - 500));
  EXPECT_LE(journal_->SizeBytes().value(), before - 500);
  EXPECT_EQ(journal_->SizeBytes().value(), FileBytes().size());
  for (const bool reopened : {false, true}) {
    if (reopened) Reopen();
    EXPECT_TRUE(journal_->Find("me", "a").value()->forgotten);
    EXPECT_EQ(journal_->Find("me", "b").value()->report, AnswerTo("b").report);
    EXPECT_EQ(journal_->Find("me", "c").value()->report, AnswerTo("c").report);
  }
}

TEST_F(JournalRoomTest, KeepsSealedAnswersThatWaitAndForgetsDeliveredOnes) {
  SeenManifest seen = SeenFor("a", "relay:1", 1);
  seen.manifest.sealing = ManifestSealing{.suite = 1, .min_batch = 1000, .payload_bytes = 1000};
  ASSERT_OK(journal_->Remember(seen));
  std::vector<JournalEntry> sealed;
  for (const std::string study : {"a", "b"}) {
    sealed.push_back(AnswerTo(study, 0));
    sealed.back().sealed =
        SealedAnswer{.relay = {1}, .epoch = {2}, .ciphertext = std::string(1000, 's')};
  }
  ASSERT_OK(journal_->Append(sealed));
  ASSERT_OK(journal_->MarkDelivered("a", {"me"}));
  EXPECT_THAT(journal_->MakeRoom(1),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("deliver the answers that wait")));
  for (const bool reopened : {false, true}) {
    if (reopened) Reopen();
    EXPECT_TRUE(journal_->Find("me", "a").value()->forgotten);
    EXPECT_FALSE(journal_->Find("me", "a").value()->sealed.has_value());
    EXPECT_EQ(journal_->Find("me", "b").value()->sealed, sealed[1].sealed);
    EXPECT_EQ(journal_->OfStudy("a"), seen);
  }
}

TEST_F(JournalRoomTest, AnAnswerIsSealedOrNotAndARecordHoldsOneKind) {
  JournalEntry sealed = AnswerTo("a", 0);
  sealed.sealed.emplace();
  EXPECT_THAT(journal_->Append({sealed, AnswerTo("b")}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("in two calls")));
  EXPECT_TRUE(journal_->Entries().value().empty());
}

TEST_F(JournalRoomTest, KeepsWhatWasSpentWhoForAndWhatWaits) {
  AnswerThrice();
  EXPECT_THAT(journal_->MakeRoom(1),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("deliver the answers that wait")));
  for (const bool reopened : {false, true}) {
    if (reopened) Reopen();
    const std::vector<JournalEntry> entries = journal_->Entries().value();
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[0].curator, PublicKey{1});
    EXPECT_EQ(entries[1].curator, PublicKey{2});
    EXPECT_EQ(entries[2].curator, std::nullopt);
    EXPECT_TRUE(entries[1].forgotten);
    EXPECT_EQ(entries[1].report.fingerprint, AnswerTo("b").report.fingerprint);
    EXPECT_EQ(entries[2].report, AnswerTo("c").report);
    EXPECT_EQ(journal_->Spent("me").value(), *Budget::FromEpsilon(1.5));
    EXPECT_EQ(journal_->CountUndelivered().value(), 1u);
    EXPECT_EQ(journal_->OfStudy("a"), SeenFor("a", "here:1", 1));
    EXPECT_EQ(journal_->RootOf("there:1"), PublicKey{2});
    EXPECT_THAT(journal_->Append({AnswerTo("a")}),
                StatusIs(StatusCode::kAlreadyExists, HasSubstr("already")));
  }
  ASSERT_OK(journal_->Append({AnswerTo("d")}));
  Reopen();
  EXPECT_EQ(journal_->Entries().value().size(), 4u);
}

TEST_F(JournalRoomTest, DropsManifestsThatLaterOnesMadeVoidAndNoOther) {
  for (uint64_t sequence = 1; sequence <= 50; ++sequence) {
    ASSERT_OK(journal_->Remember(SeenFor("a", "here:1", 1, sequence)));
  }
  ASSERT_OK(journal_->Append({AnswerTo("a", 1)}));
  ASSERT_OK(journal_->Remember(SeenFor("a", "here:2", 3, 51)));
  const uint64_t before = journal_->SizeBytes().value();
  ASSERT_OK(journal_->MakeRoom(before / 5));
  Reopen();
  EXPECT_EQ(journal_->OfStudy("a"), SeenFor("a", "here:2", 3, 51));
  EXPECT_EQ(journal_->RootOf("here:1"), PublicKey{1});
  EXPECT_EQ(journal_->LastKeyOf(PublicKey{1}), PublicKey{1});
  EXPECT_EQ(journal_->Entries().value()[0].curator, PublicKey{1});
  EXPECT_FALSE(journal_->Entries().value()[0].forgotten);
}

TEST_F(JournalRoomTest, LeavesAJournalThatHasRoomAsItIs) {
  AnswerThrice();
  const std::string before = FileBytes();
  ASSERT_OK(journal_->MakeRoom(before.size()));
  EXPECT_EQ(FileBytes(), before);
}

TEST_F(JournalRoomTest, RemembersThatItsOwnerOptedOut) {
  EXPECT_FALSE(journal_->OptedOut().value());
  ASSERT_OK(journal_->SetOptedOut(true));
  AnswerThrice();
  (void)journal_->MakeRoom(1);
  Reopen();
  EXPECT_TRUE(journal_->OptedOut().value());
  ASSERT_OK(journal_->SetOptedOut(false));
  Reopen();
  EXPECT_FALSE(journal_->OptedOut().value());
}

// A full disk has no room for the new file: the old one stays, and the journal works on.
TEST_F(JournalRoomTest, AFullDiskLosesNothing) {
  AnswerThrice();
  const std::string before = FileBytes();
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit unlimited {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  struct rlimit little = unlimited;
  little.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const Status made = journal_->MakeRoom(before.size() - 500);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(made, StatusIs(StatusCode::kResourceExhausted, HasSubstr("make room")));
  EXPECT_EQ(FileBytes(), before);
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  ASSERT_OK(journal_->Append({AnswerTo("d")}));
  Reopen();
  EXPECT_EQ(journal_->Entries().value().size(), 4u);
}

// A second name of the old file would be a journal without a lock.
TEST_F(JournalRoomTest, AJournalWithSeveralNamesIsNotWrittenAnew) {
  AnswerThrice();
  const std::string before = FileBytes();
  std::filesystem::create_hard_link(path(), path() + ".other");
  EXPECT_THAT(journal_->MakeRoom(before.size() - 500),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("several names")));
  EXPECT_EQ(FileBytes(), before);
  std::filesystem::remove(path() + ".other");
  EXPECT_OK(journal_->MakeRoom(before.size() - 500));
}

// A file left by a crash of an earlier try does no harm.
TEST_F(JournalRoomTest, AHalfWrittenNewFileIsWrittenOver) {
  AnswerThrice();
  std::ofstream(path() + ".new", std::ios::binary) << std::string(100'000, 'x');
  ASSERT_OK(journal_->MakeRoom(FileBytes().size() - 500));
  Reopen();
  EXPECT_EQ(journal_->Entries().value().size(), 3u);
}

TEST_F(JournalRoomTest, StaysLockedThroughoutForOthers) {
  AnswerThrice();
  ASSERT_OK(journal_->MakeRoom(FileBytes().size() - 500));
  EXPECT_THAT(Journal::Open(path()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("in use by another process")));
}

TEST_F(JournalRoomTest, BytesThatAreNoJournalAreNotCompacted) {
  AnswerThrice();
  const std::string bytes = FileBytes();
  EXPECT_OK(CompactedJournal(bytes, kNoLimit));
  EXPECT_THAT(CompactedJournal("no journal", 1).status().code(), StatusCode::kDataLoss);
  for (size_t size = 21; size < bytes.size(); size += 97) {
    EXPECT_FALSE(CompactedJournal(bytes.substr(0, size), kNoLimit).ok()) << size;
  }
}

// The device's half: it keeps to the limit by forgetting, and if that is not enough by declining,
// which does not depend on the row.
class LimitedRespondentTest : public JournalRoomTest {
 protected:
  Status Answer(const std::string& study) {
    Terms terms = SampleTerms();
    terms.study = study;
    const Respondent respondent("me", policy_, *journal_);
    const StatusOr<bool> may_fetch = respondent.MayFetch(study);
    if (!may_fetch.ok() || !*may_fetch) return may_fetch.status();
    if (!journal_->OfStudy(study).has_value()) {
      if (Status met = journal_->Remember(SeenFor(study, "here:1", 1)); !met.ok()) return met;
    }
    return respondent.Answer(
        study, Offer{terms, {1}, {SampleTicket(7)}, AllTrees({SampleTree()})},
        [this](const Terms&) {
          ++rows_read_;
          return LabelledRow{{3}, 1};
        },
        random_);
  }

  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_journal_bytes = 4000};
  OpenSslRandom random_;
  int rows_read_ = 0;
};

TEST_F(LimitedRespondentTest, AnswersOnWhileItDelivers) {
  for (int i = 0; i < 100; ++i) {
    const std::string study = StrCat("s", i);
    const Status answered = Answer(study);
    if (IsResourceExhausted(answered)) break;
    ASSERT_OK(answered);
    ASSERT_OK(journal_->MarkDelivered(study, {"me"}));
    EXPECT_LE(journal_->SizeBytes().value(), 4000 + 300u);
  }
  EXPECT_GE(rows_read_, 8);
  EXPECT_TRUE(journal_->Find("me", "s0").value()->forgotten);
  EXPECT_OK(Answer("s0"));  // it was answered before
  EXPECT_EQ(journal_->Spent("me").value()->nanos(),
            static_cast<uint64_t>(rows_read_) * SampleTerms().epsilon.nanos());
}

TEST_F(LimitedRespondentTest, FallsSilentBeforeItFetchesWhereNothingCanGo) {
  int answered = 0;
  Status last;
  while (answered < 100 && last.ok()) {
    last = Answer(StrCat("s", answered));
    answered += last.ok() ? 1 : 0;
  }
  EXPECT_THAT(last, StatusIs(StatusCode::kResourceExhausted, HasSubstr("journal")));
  EXPECT_EQ(rows_read_, answered);
  EXPECT_EQ(journal_->CountUndelivered().value(), static_cast<uint64_t>(answered));
}

TEST_F(LimitedRespondentTest, TheOwnersWordComesBeforeTheFetch) {
  ASSERT_OK(journal_->SetOptedOut(true));
  EXPECT_THAT(Answer("s"), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  EXPECT_EQ(rows_read_, 0);
}

}  // namespace
}  // namespace coppice
