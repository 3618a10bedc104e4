#include "client/device/journal.h"

#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/client/device/sample_journal.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::kDealEnd;
using ::coppice::testing::SampleAnswer;
using ::coppice::testing::SampleSealedAnswer;
using ::coppice::testing::SampleSeen;
using ::coppice::testing::StatusIs;
using ::coppice::testing::StoredJournal;
using ::coppice::testing::SubjectsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Three records after the owner's choice: ann and bob; ann delivered; cy.
StoredJournal ThreeRecords() {
  StoredJournal stored;
  EXPECT_OK(stored.Store(stored->Append({SampleAnswer("ann"), SampleAnswer("bob")})));
  EXPECT_OK(stored.Store(stored->MarkDelivered("s1", {"ann"})));
  EXPECT_OK(stored.Store(stored->Append({SampleAnswer("cy")})));
  return stored;
}

// ---- What it remembers

TEST(JournalTest, RemembersNothingAtFirst) {
  StoredJournal stored;
  EXPECT_THAT(stored->Entries(), IsEmpty());
  EXPECT_FALSE(stored->Find("ann", "s1").has_value());
  EXPECT_FALSE(stored->Spent("ann").has_value());
  EXPECT_FALSE(stored->OptedOut());
  EXPECT_EQ(stored->pending(), nullptr);
  EXPECT_EQ(stored->SizeBytes(), Journal::NewBytes().size());
}

TEST(JournalTest, RemembersAnswersWhenItIsOpenedAgain) {
  const std::string bytes = ThreeRecords().bytes();
  StoredJournal stored(bytes);
  EXPECT_EQ(stored->SizeBytes(), bytes.size());
  EXPECT_THAT(SubjectsOf(stored->Entries()), ElementsAre("ann", "bob", "cy"));
  EXPECT_THAT(SubjectsOf(stored->Undelivered()), ElementsAre("bob", "cy"));
  EXPECT_THAT(SubjectsOf(stored->Undelivered("cy")), ElementsAre("cy"));
  EXPECT_EQ(stored->CountUndelivered(), 2u);
  EXPECT_EQ(stored->Find("bob", "s1")->report, SampleAnswer("bob").report);
  EXPECT_TRUE(stored->Find("ann", "s1")->delivered);
}

TEST(JournalTest, RemembersManifestsWhenItIsOpenedAgain) {
  StoredJournal first;
  ASSERT_OK(first.Store(first->Remember(SampleSeen("a", 1))));
  ASSERT_OK(first.Store(first->Remember(SampleSeen("b", 2))));
  StoredJournal stored(first.bytes());
  const SeenManifests& manifests = stored->manifests();
  EXPECT_EQ(manifests.OfStudy("a"), SampleSeen("a", 1));
  EXPECT_EQ(manifests.OfStudy("b"), SampleSeen("b", 2));
  EXPECT_EQ(manifests.OfStudy("c"), std::nullopt);
  EXPECT_EQ(manifests.RootOf("curator:1"), FakeKey(2).public_key());
  EXPECT_EQ(manifests.RootOf("curator:2"), std::nullopt);
  EXPECT_EQ(manifests.LastKeyOf(FakeKey(1).public_key()), FakeKey(1).public_key());
  EXPECT_EQ(manifests.LastKeyOf(FakeKey(3).public_key()), std::nullopt);
}

TEST(JournalTest, RemembersThatItsOwnerOptedOut) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->SetOptedOut(true)));
  EXPECT_THAT(stored->CheckOptedIn(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  StoredJournal again(stored.bytes());
  EXPECT_TRUE(again->OptedOut());
  ASSERT_OK(again.Store(again->SetOptedOut(false)));
  EXPECT_FALSE(StoredJournal(again.bytes())->OptedOut());
  EXPECT_OK(again->CheckOptedIn());
}

TEST(JournalTest, KnowsWhichCuratorAnAnswerIsFor) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("early", "a")})));
  ASSERT_OK(stored.Store(stored->Remember(SampleSeen("a", 1))));
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann", "a"), SampleAnswer("ann", "b")})));
  ASSERT_OK(stored.Store(stored->Remember(SampleSeen("a", 2))));
  ASSERT_OK(stored.Store(stored->MarkDelivered("a", {"early", "ann"})));
  StoredJournal reopened(stored.bytes());
  ASSERT_OK(stored.Store(stored->Forget(0)));  // also when it is written anew
  for (StoredJournal* journal : {&stored, &reopened}) {
    EXPECT_EQ((*journal)->Find("early", "a")->curator, std::nullopt);
    EXPECT_EQ((*journal)->Find("ann", "a")->curator, FakeKey(1).public_key());
    EXPECT_EQ((*journal)->Find("ann", "b")->curator, std::nullopt);
  }
}

TEST(JournalTest, AddsUpWhatASubjectSpentOverStudies) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append(
      {SampleAnswer("ann", "s1", 1), SampleAnswer("ann", "s2", 0.5), SampleAnswer("bob")})));
  EXPECT_EQ(stored->Spent("ann"), *Budget::FromEpsilon(1.5));
  EXPECT_EQ(stored->Spent("bob"), *Budget::FromEpsilon(1));
}

TEST(JournalTest, CountsASumAboveTheLargestEpsilonAsTheLargest) {
  StoredJournal stored;
  ASSERT_OK(
      stored.Store(stored->Append({SampleAnswer("ann", "s1", 1), SampleAnswer("ann", "s2", 1e6)})));
  EXPECT_EQ(stored->Spent("ann"), *Budget::FromEpsilon(1e6));
  EXPECT_EQ(stored->Append({SampleAnswer("ann", "s3")}).code(), StatusCode::kOutOfRange);
  // Also where the two answers are in two records.
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", {"ann"})));
  ASSERT_OK(stored.Store(stored->Forget(0)));
  EXPECT_EQ(StoredJournal(stored.bytes())->Spent("ann"), *Budget::FromEpsilon(1e6));
}

// ---- What it refuses

TEST(JournalTest, RefusesASecondAnswerToAStudyWithAllOfItsBatch) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann")})));
  const auto refused = StatusIs(StatusCode::kAlreadyExists, HasSubstr("study s1"));
  EXPECT_THAT(stored->Append({SampleAnswer("bob"), SampleAnswer("ann")}), refused);
  EXPECT_THAT(stored->Append({SampleAnswer("cy"), SampleAnswer("cy")}), refused);
  EXPECT_EQ(stored->pending(), nullptr);
  EXPECT_THAT(SubjectsOf(stored->Entries()), ElementsAre("ann"));
}

TEST(JournalTest, RefusesEncryptedAndOtherAnswersInOneRecord) {
  StoredJournal stored;
  EXPECT_THAT(stored->Append({SampleSealedAnswer("ann"), SampleAnswer("bob")}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("in two calls")));
  EXPECT_EQ(stored->pending(), nullptr);
}

TEST(JournalTest, MarksOnlyAnswersAsDelivered) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann")})));
  EXPECT_THAT(stored->MarkDelivered("s1", {"ann", "bob"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("no answer to study s1")));
  EXPECT_EQ(stored->pending(), nullptr);
  EXPECT_THAT(SubjectsOf(stored->Undelivered()), ElementsAre("ann"));
}

TEST(JournalTest, WritesNothingWhereNothingChanges) {
  StoredJournal stored = ThreeRecords();
  const std::string before = stored.bytes();
  ASSERT_OK(stored.Store(stored->Append({})));
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", {"ann"})));
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", {})));
  ASSERT_OK(stored.Store(stored->SetOptedOut(false)));
  ASSERT_OK(stored.Store(stored->MakeRoom(before.size())));
  EXPECT_EQ(stored.bytes(), before);
}

// ---- Writes

TEST(JournalTest, AChangeIsSeenOnceItIsStored) {
  StoredJournal stored;
  ASSERT_OK(stored->Append({SampleAnswer("ann")}));
  ASSERT_NE(stored->pending(), nullptr);
  EXPECT_EQ(stored->pending()->kind, JournalWrite::Kind::kAppend);
  EXPECT_THAT(stored->Entries(), IsEmpty());
  EXPECT_EQ(stored->Spent("ann"), std::nullopt);
  stored->Committed();
  EXPECT_EQ(stored->pending(), nullptr);
  EXPECT_TRUE(stored->Find("ann", "s1").has_value());
}

TEST(JournalTest, AChangeWhoseWriteFailedNeverWas) {
  StoredJournal stored = ThreeRecords();
  const std::string before = stored.bytes();
  const auto fails = [&](const Status& change) {
    ASSERT_OK(change);
    ASSERT_NE(stored->pending(), nullptr);
    stored->Failed();
    EXPECT_EQ(stored->pending(), nullptr);
  };
  fails(stored->Append({SampleAnswer("dot")}));
  fails(stored->MarkDelivered("s1", {"bob"}));
  fails(stored->SetOptedOut(true));
  fails(stored->Remember(SampleSeen("a", 1)));
  fails(stored->Forget(0));
  EXPECT_EQ(stored->SizeBytes(), before.size());
  EXPECT_THAT(SubjectsOf(stored->Undelivered()), ElementsAre("bob", "cy"));
  EXPECT_FALSE(stored->OptedOut());
  EXPECT_EQ(stored->manifests().OfStudy("a"), std::nullopt);
  // The next write follows what is stored.
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("dot")})));
  EXPECT_EQ(StoredJournal(stored.bytes())->Entries().size(), 4u);
}

TEST(JournalTest, OneWriteAtATimeMayBePending) {
  StoredJournal stored;
  ASSERT_OK(stored->Append({SampleAnswer("ann")}));
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("finish it first"));
  EXPECT_THAT(stored->Append({SampleAnswer("bob")}), refused);
  EXPECT_THAT(stored->MarkDelivered("s1", {}), refused);
  EXPECT_THAT(stored->SetOptedOut(true), refused);
  EXPECT_THAT(stored->Remember(SampleSeen("a", 1)), refused);
  EXPECT_THAT(stored->Forget(0), refused);
  EXPECT_THAT(stored->MakeRoom(0), refused);
  stored->Committed();
  EXPECT_THAT(SubjectsOf(stored->Entries()), ElementsAre("ann"));
}

// ---- Damaged bytes

// Whatever length a crash leaves, the journal opens with the records that were complete. The first
// record is stored with the name, so that nothing shorter can be a crash's.
TEST(JournalTest, EveryLengthOpensToAPrefixOrIsDataLoss) {
  const std::string whole = ThreeRecords().bytes();
  const size_t least = Journal::NewBytes().size();
  size_t seen = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto journal = Journal::Open(whole.substr(0, size));
    if (size < least) {
      ASSERT_THAT(journal, StatusIs(StatusCode::kDataLoss, HasSubstr(StrCat(size, " bytes"))));
      continue;
    }
    ASSERT_OK(journal) << size;
    ASSERT_LE((*journal)->SizeBytes(), size);
    const size_t entries = (*journal)->Entries().size();
    ASSERT_TRUE(entries == 0 || entries == 2 || size == whole.size())
        << "half a record at " << size;
    ASSERT_GE(entries, seen) << size;
    seen = entries;
  }
  EXPECT_EQ(seen, 3u);
}

// A flipped bit of the header's version may make it a newer one.
TEST(JournalTest, EveryFlippedBitIsRefused) {
  const std::string whole = ThreeRecords().bytes();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const StatusCode code = Journal::Open(flipped).status().code();
    const bool of_version =
        bit / 8 >= JournalHeader().size() - 4 && bit / 8 < JournalHeader().size();
    ASSERT_TRUE(code == StatusCode::kDataLoss ||
                (of_version && code == StatusCode::kFailedPrecondition))
        << bit;
  }
  EXPECT_OK(Journal::Open(whole));
}

TEST(JournalTest, RepeatedRecordIsDataLoss) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann")})));
  const std::string record = stored.bytes().substr(Journal::NewBytes().size());
  EXPECT_THAT(Journal::Open(stored.bytes() + record),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not match its check")));
}

TEST(JournalTest, AnotherFileIsNotTakenForAJournal) {
  EXPECT_THAT(Journal::Open("age,sex,label\n31,f,yes\n40,m,no\n"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("no journal")));
}

// ---- Forgetting

// A journal in which both subjects answered two studies, all of it delivered, and what its history
// leaves of the tickets: `number` decides every byte and length that follows from them.
StoredJournal DeliveredWithTickets(uint8_t number) {
  StoredJournal stored;
  EXPECT_OK(stored.Store(stored->Remember(SampleSeen("direct", 1))));
  EXPECT_OK(stored.Store(stored->Append({SampleAnswer("ann", "direct", 1, number)})));
  EXPECT_OK(stored.Store(stored->Remember(SampleSeen("relayed", 1, "relay:1"))));
  EXPECT_OK(stored.Store(stored->Append({SampleSealedAnswer("ann", "relayed", number),
                                         SampleSealedAnswer("bob", "relayed", number + 1)})));
  EXPECT_OK(stored.Store(stored->MarkDelivered("relayed", {"bob"})));
  EXPECT_OK(stored.Store(stored->MarkDelivered("direct", {"ann"})));
  EXPECT_OK(stored.Store(stored->MarkDelivered("relayed", {"ann"})));
  return stored;
}

TEST(JournalForgettingTest, JournalsAfterDifferentTicketsAreEqualByteForByte) {
  StoredJournal one = DeliveredWithTickets(1), other = DeliveredWithTickets(7);
  ASSERT_NE(one.bytes(), other.bytes());
  ASSERT_OK(one.Store(one->Forget(0)));
  ASSERT_OK(other.Store(other->Forget(0)));
  EXPECT_EQ(one.bytes(), other.bytes());
  // What follows is chained over nothing that was forgotten.
  ASSERT_OK(one.Store(one->SetOptedOut(true)));
  ASSERT_OK(other.Store(other->SetOptedOut(true)));
  EXPECT_EQ(one.bytes(), other.bytes());
}

TEST(JournalForgettingTest, KeepsSubjectEpsilonStudyAndFingerprintOfAFinalAnswer) {
  StoredJournal stored = DeliveredWithTickets(5);
  for (const bool forgotten : {false, true}) {
    if (forgotten) {
      ASSERT_OK(stored.Store(stored->Forget(0)));
    }
    StoredJournal reopened(stored.bytes());
    for (StoredJournal* journal : {&stored, &reopened}) {
      JournalEntry left = SampleAnswer("ann", "relayed");
      left.report.ticket = Ticket();
      left.report.payload.clear();
      const std::optional<JournalEntry> entry = (*journal)->Find("ann", "relayed");
      ASSERT_TRUE(entry.has_value());
      EXPECT_TRUE(entry->delivered);
      EXPECT_EQ(entry->epsilon, left.epsilon);
      EXPECT_EQ(entry->report, left.report);
      EXPECT_EQ(entry->sealed, std::nullopt);
      EXPECT_EQ((*journal)->Spent("ann"), *Budget::FromEpsilon(2));
      EXPECT_EQ((*journal)->CountUndelivered(), 0u);
      EXPECT_EQ((*journal)->Append({SampleAnswer("ann", "relayed")}).code(),
                StatusCode::kAlreadyExists);
    }
  }
}

TEST(JournalForgettingTest, KeepsWhatWaits) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann"), SampleAnswer("bob")})));
  ASSERT_OK(stored.Store(stored->Append({SampleSealedAnswer("cy")})));
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", {"ann"})));
  ASSERT_OK(stored.Store(stored->Forget(kDealEnd - 1)));
  StoredJournal again(stored.bytes());
  EXPECT_EQ(again->Find("bob", "s1")->report, SampleAnswer("bob").report);
  EXPECT_EQ(again->Find("cy", "s1")->sealed, SampleSealedAnswer("cy").sealed);
  EXPECT_EQ(again->Find("cy", "s1")->report.ticket, SampleSealedAnswer("cy").report.ticket);
}

TEST(JournalForgettingTest, AnAnswerIsFinalAfterTheEndOfItsDeal) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleSealedAnswer("ann")})));
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("bob")})));
  ASSERT_OK(stored->Forget(kDealEnd - 1));
  EXPECT_EQ(stored->pending(), nullptr);
  ASSERT_OK(stored.Store(stored->Forget(kDealEnd)));
  EXPECT_TRUE(stored->Find("ann", "s1")->delivered);
  EXPECT_FALSE(stored->Find("ann", "s1")->sealed.has_value());
  EXPECT_EQ(stored->Spent("ann"), *Budget::FromEpsilon(1));
  EXPECT_THAT(SubjectsOf(stored->Undelivered()), ElementsAre("bob"));
  EXPECT_THAT(stored.bytes(), Not(HasSubstr("encrypted")));
}

TEST(JournalForgettingTest, WritesAnewOnlyWhenSomethingIsToBeForgotten) {
  StoredJournal stored;
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann")})));
  ASSERT_OK(stored->Forget(0));
  EXPECT_EQ(stored->pending(), nullptr);
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", {"ann"})));
  ASSERT_OK(stored->Forget(0));
  ASSERT_NE(stored->pending(), nullptr);
  EXPECT_EQ(stored->pending()->kind, JournalWrite::Kind::kReplace);
  stored->Failed();
  ASSERT_OK(stored.Store(stored->Forget(0)));
  ASSERT_OK(stored->Forget(0));
  EXPECT_EQ(stored->pending(), nullptr);
  // Nor when it was written anew by an earlier process.
  StoredJournal again(stored.bytes());
  ASSERT_OK(again->Forget(0));
  EXPECT_EQ(again->pending(), nullptr);
}

// ---- Making room

TEST(JournalRoomTest, DropsManifestsThatLaterOnesMadeVoidAndNoOther) {
  StoredJournal stored;
  for (uint64_t sequence = 1; sequence <= 50; ++sequence) {
    ASSERT_OK(stored.Store(stored->Remember(SampleSeen("a", 1, "here:1", sequence))));
  }
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer("ann", "a")})));
  ASSERT_OK(stored.Store(stored->Remember(SampleSeen("a", 3, "here:2", 51))));
  ASSERT_OK(stored.Store(stored->MakeRoom(stored.bytes().size() / 5)));
  EXPECT_LT(stored.bytes().size(), 1500u);
  StoredJournal again(stored.bytes());
  EXPECT_EQ(again->manifests().OfStudy("a"), SampleSeen("a", 3, "here:2", 51));
  EXPECT_EQ(again->manifests().RootOf("here:1"), FakeKey(1).public_key());
  EXPECT_EQ(again->Entries()[0].curator, FakeKey(1).public_key());
  EXPECT_EQ(again->Entries()[0].report, SampleAnswer("ann", "a").report);
}

TEST(JournalRoomTest, RefusesLessThanWhatWaitsAndWhatWasSpentTake) {
  StoredJournal stored = ThreeRecords();
  const std::string before = stored.bytes();
  EXPECT_THAT(stored->MakeRoom(1),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("deliver the answers that wait")));
  EXPECT_EQ(stored->pending(), nullptr);
  ASSERT_OK(stored.Store(stored->MakeRoom(before.size() - 1)));
  EXPECT_EQ(StoredJournal(stored.bytes())->Entries().size(), 3u);
}

TEST(JournalRoomTest, AnEntryAddsNoMoreThanItSays) {
  for (const JournalEntry& entry : {SampleAnswer("ann"), SampleSealedAnswer("ann")}) {
    StoredJournal stored;
    const size_t before = stored.bytes().size();
    ASSERT_OK(stored.Store(stored->Append({entry})));
    EXPECT_EQ(stored.bytes().size() - before, Journal::BytesOf(entry));
  }
}

TEST(JournalRoomTest, AGatewaysAnswersAreAllThereAfterItIsWrittenAnew) {
  constexpr int kSubjects = 10'000;
  const auto name = [](int i) { return StrCat("subject ", i); };
  const auto payload = [](int i) { return std::string(400, static_cast<char>(i % 251)); };
  StoredJournal stored;
  std::vector<JournalEntry> entries;
  std::vector<std::string> odd;
  for (int i = 0; i < kSubjects; ++i) {
    entries.push_back(SampleAnswer(name(i), "s1", 0.5));
    entries.back().report.payload = payload(i);
    if (i % 2 == 1) odd.push_back(name(i));
  }
  ASSERT_OK(stored.Store(stored->Append(entries)));
  ASSERT_OK(stored.Store(stored->MarkDelivered("s1", odd)));
  ASSERT_OK(stored.Store(stored->Append({SampleAnswer(name(0), "s2", 0.25)})));
  ASSERT_OK(stored.Store(stored->Forget(0)));
  StoredJournal again(stored.bytes());
  EXPECT_EQ(again->CountUndelivered(), kSubjects / 2 + 1u);
  EXPECT_EQ(again->Spent(name(0)), *Budget::FromEpsilon(0.75));
  for (const int i : {0, 1, kSubjects / 2, kSubjects - 1}) {
    const std::optional<JournalEntry> entry = again->Find(name(i), "s1");
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->delivered, i % 2 == 1);
    EXPECT_EQ(entry->report.payload, i % 2 == 1 ? "" : payload(i));
  }
}

}  // namespace
}  // namespace coppice
