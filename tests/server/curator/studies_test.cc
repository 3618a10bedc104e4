// The life of a study: made, listed, sealed, deleted.

#include "server/curator/studies/studies.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/wire/manifest.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class StudiesTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_));
  }

  std::vector<std::string> Ids(const Page& page) const {
    std::vector<std::string> ids;
    for (const StudyInfo& info : studies_->List(page)) ids.push_back(info.id);
    return ids;
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
};

TEST_F(StudiesTest, CreateReturnsTheStudyThatGetReturns) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo made, studies_->Create(Spec("one", /*trees=*/3)));
  ASSERT_OK_AND_ASSIGN(const StudyInfo got, studies_->Get("one"));
  EXPECT_EQ(got.id, "one");
  EXPECT_EQ(got.state, StudyState::kOpen);
  EXPECT_EQ(got.created_unix_seconds, 1000);
  EXPECT_EQ(got.fingerprint, made.fingerprint);
  EXPECT_EQ(got.public_rows, 64u);
  EXPECT_EQ(got.terms->trees, 3u);
  EXPECT_EQ(got.forest->size(), 3u);
  EXPECT_EQ(got.terms->forest_root, PackForest(*got.forest).merkle.root);
  EXPECT_EQ(Received(got), 0u);
}

TEST_F(StudiesTest, NothingIsMadeOnceItIsToldToStop) {
  for (const int at : {1, 2, 5}) {
    int asked = 0;
    const CancelCheck cancel([&] { return ++asked < at ? OkStatus() : CancelledError("gone"); });
    EXPECT_THAT(studies_->Create(Spec("one", /*trees=*/3), cancel),
                StatusIs(StatusCode::kCancelled, "gone"));
    EXPECT_EQ(asked, at);
  }
  EXPECT_THAT(Ids({}), ElementsAre());
  ASSERT_OK(studies_->Create(Spec("one", /*trees=*/3)));
  const CancelCheck cancel([] { return CancelledError("gone"); });
  EstimatorOptions options;
  EXPECT_THAT(studies_->BuildModel("one", "model", options, cancel),
              StatusIs(StatusCode::kCancelled, "gone"));
  EXPECT_THAT(models_->Get("model"), StatusIs(StatusCode::kNotFound, HasSubstr("model")));
}

TEST_F(StudiesTest, CreateMakesAnIdWhenNoneIsAsked) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo made, studies_->Create(Spec("")));
  EXPECT_THAT(made.id, MatchesRegex("[a-z0-9]{12}"));
  EXPECT_EQ(made.terms->study, made.id);
}

TEST_F(StudiesTest, SameRequestReturnsTheStudyItMadeAlsoAfterReopening) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo made, studies_->Create(Spec("")));
  ASSERT_OK_AND_ASSIGN(const StudyInfo again, studies_->Create(Spec("")));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const StudyInfo later, studies_->Create(Spec("")));
  EXPECT_EQ(again.id, made.id);
  EXPECT_EQ(later.id, made.id);
  EXPECT_EQ(later.fingerprint, made.fingerprint);
  EXPECT_THAT(Ids({}), ElementsAre(made.id));
}

TEST_F(StudiesTest, SameRequestIdForAnotherStudyAlreadyExists) {
  ASSERT_OK(studies_->Create(Spec("one")));
  StudySpec deeper = Spec("one");
  deeper.partition.max_depth = 3;
  EXPECT_THAT(studies_->Create(deeper),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("request_id")));
  StudySpec richer = Spec("one");
  richer.epsilon = *Budget::FromEpsilon(2);
  EXPECT_THAT(studies_->Create(richer),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("another request")));
}

TEST_F(StudiesTest, RequestIdsAreEachOwnersOwnAlsoAfterReopening) {
  curator::StudySpec mine = Spec("mine"), other = Spec("other");
  mine.owner = "a";
  other.owner = "b";
  other.request_id = mine.request_id;
  ASSERT_OK(studies_->Create(mine).status());
  ASSERT_OK(studies_->Create(other).status());
  Reopen();
  EXPECT_EQ(studies_->Create(mine)->id, "mine");
  EXPECT_EQ(studies_->Create(other)->id, "other");
  EXPECT_EQ(studies_->Get("mine")->owner, "a");
  ASSERT_OK(studies_->Delete("mine"));
  Reopen();
  EXPECT_THAT(studies_->Create(mine).status(),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("was deleted")));
  EXPECT_EQ(studies_->Create(other)->id, "other");
}

TEST_F(StudiesTest, AnOwnerHasNoMoreStudiesThanItsQuota) {
  curator::StudySpec first = Spec("first"), second = Spec("second"), others = Spec("others");
  first.owner = second.owner = "a";
  others.owner = "b";
  first.most_owned = second.most_owned = others.most_owned = 1;
  ASSERT_OK(studies_->Create(first).status());
  EXPECT_THAT(studies_->Create(second).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("may have 1 study, and has")));
  EXPECT_OK(studies_->Create(first).status()) << "a request that is repeated asks for no more";
  EXPECT_OK(studies_->Create(others).status());
  ASSERT_OK(studies_->Delete("first"));
  EXPECT_OK(studies_->Create(second).status());
}

TEST_F(StudiesTest, TakenIdAlreadyExists) {
  ASSERT_OK(studies_->Create(Spec("one")));
  StudySpec other = Spec("one");
  other.request_id = "other";
  EXPECT_THAT(studies_->Create(other), StatusIs(StatusCode::kAlreadyExists, HasSubstr("study_id")));
}

TEST_F(StudiesTest, CreateNamesTheBadField) {
  StudySpec spec = Spec("one");
  spec.request_id.clear();
  EXPECT_THAT(studies_->Create(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("request_id")));
  EXPECT_THAT(studies_->Create(Spec("No")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("study_id")));
  spec = Spec("one");
  spec.public_rows = nullptr;
  EXPECT_THAT(studies_->Create(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("public_rows")));
  spec = Spec("one");
  spec.epsilon = *Budget::FromEpsilon(21);
  EXPECT_THAT(studies_->Create(spec), StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")));
  EXPECT_THAT(Ids({}), ElementsAre());
}

TEST_F(StudiesTest, CreateThatCannotBeStoredLeavesNothing) {
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_THAT(studies_->Create(Spec("one")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no disk")));
  store_.FailWrites(OkStatus());
  EXPECT_THAT(studies_->Get("one"), StatusIs(StatusCode::kNotFound, HasSubstr("one")));
  EXPECT_OK(studies_->Create(Spec("one")));
}

TEST_F(StudiesTest, ListGoesPageByPageInOrderOfIds) {
  for (const char* id : {"c", "a", "b"}) ASSERT_OK(studies_->Create(Spec(id)));
  EXPECT_THAT(Ids({.size = 2, .after = ""}), ElementsAre("a", "b"));
  EXPECT_THAT(Ids({.size = 2, .after = "b"}), ElementsAre("c"));
  EXPECT_THAT(Ids({.size = 2, .after = "c"}), ElementsAre());
}

TEST_F(StudiesTest, SealIsForGood) {
  ASSERT_OK(studies_->Create(Spec("one")));
  ASSERT_OK_AND_ASSIGN(const StudyInfo sealed, studies_->Seal("one"));
  EXPECT_EQ(sealed.state, StudyState::kSealed);
  EXPECT_OK(studies_->Seal("one"));
  Reopen();
  EXPECT_EQ(studies_->Get("one")->state, StudyState::kSealed);
  EXPECT_THAT(studies_->MakeOffer("one", 1),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
}

TEST_F(StudiesTest, SealThatCannotBeStoredLeavesTheStudyOpen) {
  ASSERT_OK(studies_->Create(Spec("one")));
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_THAT(studies_->Seal("one"), StatusIs(StatusCode::kUnavailable, HasSubstr("disk")));
  EXPECT_EQ(studies_->Get("one")->state, StudyState::kOpen);
}

TEST_F(StudiesTest, DeleteRemovesEverythingButTheTombstone) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(Spec("one")));
  ASSERT_OK(studies_->Create(Spec("one-more")));
  ASSERT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 5)));
  ASSERT_OK(studies_->BuildModel("one", "model", {}));
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_THAT(studies_->Get("one"), StatusIs(StatusCode::kNotFound, HasSubstr("one")));
  EXPECT_THAT(models_->Get("model"), StatusIs(StatusCode::kNotFound, HasSubstr("model")));
  std::vector<std::string> keys;
  ASSERT_OK(store_.Scan("", [&](std::string_view key, std::string_view) {
    keys.emplace_back(key);
    return OkStatus();
  }));
  EXPECT_THAT(keys, ElementsAre("count/one-more/", "gone/one/", StartsWith("meta/direct_key/"),
                                "meta/format", "meta/manifest_key", "meta/ticket_key",
                                "rows/one-more/", "study/one-more/"));
}

TEST_F(StudiesTest, TellsDevicesOfADeletedStudyAndOfNoOther) {
  ASSERT_OK_AND_ASSIGN(StudyInfo one, studies_->Create(Spec("one")));
  const auto reports = HonestReports(*studies_, one, 1);
  ASSERT_OK(studies_->Delete("one"));
  for (int life = 0; life < 2; ++life) {
    EXPECT_THAT(*SendAndWait(*studies_, one, reports), ElementsAre(ReportOutcome::kStudyDeleted));
    Reopen();
  }
  one.id = "two";
  EXPECT_THAT(*SendAndWait(*studies_, one, reports), ElementsAre(ReportOutcome::kUnknownStudy));
}

// Answers that wait are final once the curator has signed that the study takes no more.
TEST_F(StudiesTest, SignsThatAStudyIsSealedOrDeleted) {
  ASSERT_OK(studies_->Create(Spec("one")));
  const auto closing = [&]() -> std::optional<Closing> {
    const auto notice = *studies_->GetNotice("one");
    if (!notice.closing.has_value()) return std::nullopt;
    EXPECT_TRUE(IsSignedBy(notice.closing->key, kClosingDomain, notice.closing->bytes,
                           notice.closing->signature));
    EXPECT_EQ(notice.closing->key, studies_->SigningKeysInUse().key);
    const auto read = ReadClosing(notice.closing->bytes);
    EXPECT_OK(read);
    EXPECT_EQ(read->study, "one");
    EXPECT_EQ(read->key, KeyIdOf(notice.closing->key));
    return *read;
  };
  EXPECT_EQ(closing(), std::nullopt);
  const std::string offered = studies_->MakeOffer("one", 1)->manifest->bytes;
  EXPECT_EQ(studies_->GetNotice("one")->manifest->bytes, offered);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_EQ(closing()->reason, ClosingReason::kSealed);
  EXPECT_EQ(studies_->GetNotice("one")->manifest->bytes, offered);
  ASSERT_OK(studies_->Delete("one"));
  EXPECT_EQ(closing()->reason, ClosingReason::kDeleted);
  EXPECT_EQ(studies_->GetNotice("one")->manifest, nullptr);
  EXPECT_THAT(studies_->GetNotice("two"), StatusIs(StatusCode::kNotFound, HasSubstr("two")));
}

TEST_F(StudiesTest, ManifestsAndTheProofNameTheSameDirectKey) {
  ASSERT_OK(studies_->Create(Spec("one")));
  const Manifest manifest = *ReadManifest(studies_->MakeOffer("one", 1)->manifest->bytes);
  ASSERT_TRUE(manifest.direct.has_value());
  const std::string challenge(kChallengeBytes, 'c');
  ASSERT_OK_AND_ASSIGN(const auto proof, studies_->ProveKeys(challenge));
  EXPECT_EQ(proof.direct, manifest.direct->key);
  EXPECT_TRUE(IsSignedBy(studies_->SigningKeysInUse().key, kCuratorDomain,
                         ProvenBytes(challenge, proof.direct), *proof.signature));
  EXPECT_FALSE(studies_->ProveKeys("")->signature.has_value());
  Reopen();
  EXPECT_EQ(studies_->ProveKeys("")->direct, proof.direct);
}

TEST_F(StudiesTest, DeletedIdAndItsRequestAreNeverUsedAgain) {
  ASSERT_OK(studies_->Create(Spec("one")));
  ASSERT_OK(studies_->Delete("one"));
  Reopen();
  EXPECT_THAT(studies_->Delete("one"), StatusIs(StatusCode::kNotFound, HasSubstr("one")));
  EXPECT_THAT(studies_->Create(Spec("one")),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("was deleted")));
  StudySpec other = Spec("one");
  other.request_id = "other";
  EXPECT_THAT(studies_->Create(other),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("never used again")));
}

// A device with many tickets can discard those it does not like: 4 columns, a quarter each.
TEST_F(StudiesTest, ChoosingAmongTicketsRaisesAnAlarm) {
  StudySpec spec = Spec("one");
  spec.mechanism = MechanismKind::kSignedHadamard;
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(spec));
  EXPECT_TRUE(studies_->Get("one")->alarms.empty());

  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 300)));
  ASSERT_OK_AND_ASSIGN(const StudyInfo honest, studies_->Get("one"));
  ASSERT_EQ(honest.alarms.size(), 2u);  // there is only one tree
  EXPECT_EQ(honest.alarms[0].name, "column");
  EXPECT_EQ(honest.alarms[1].name, "margin");
  EXPECT_FALSE(honest.alarms[0].raised);

  std::vector<SubmittedReport> ground;
  for (SubmittedReport& report : HonestReports(*studies_, one, 600)) {
    if (DrawOf(*Ticket::FromBytes(report.ticket)).Column(4) == 2) ground.push_back(report);
  }
  EXPECT_OK(SendAndWait(*studies_, one, ground));
  ASSERT_OK_AND_ASSIGN(const StudyInfo cheated, studies_->Get("one"));
  EXPECT_TRUE(cheated.alarms[0].raised);
  EXPECT_THAT(cheated.alarms[0].text, HasSubstr("column 2 of 4 has "));
  EXPECT_TRUE(studies_->List({})[0].alarms.empty());
}

TEST_F(StudiesTest, SweepsLookForAlarmsAsReportsGrowAndOnceMoreAtTheEnd) {
  StudySpec spec = Spec("one");
  spec.mechanism = MechanismKind::kSignedHadamard;
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(spec));
  const auto look = [&] {
    EXPECT_OK(studies_->Sweep());
    return studies_->List({})[0].alarms_at_last_look;
  };
  EXPECT_EQ(look(), nullptr);
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 10)));
  const auto first = look();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->size(), 2u);
  EXPECT_FALSE(studies_->List({})[0].last_look_was_final);
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 5)));
  EXPECT_EQ(look(), first);
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 1)));
  const auto second = look();
  EXPECT_NE(second, first);
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 1)));
  ASSERT_OK(studies_->Seal("one"));
  const auto last = look();
  EXPECT_NE(last, second);
  EXPECT_TRUE(studies_->List({})[0].last_look_was_final);
  EXPECT_EQ(look(), last);
}

// Alarms would tell the mean label of fewer devices than a model may rest on.
TEST_F(StudiesTest, NoAlarmsBelowTheMinimumOfReports) {
  StudySpec spec = Spec("one");
  spec.settings.min_reports = 3;
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(spec));
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 2)));
  EXPECT_TRUE(studies_->Get("one")->alarms.empty());
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 1)));
  EXPECT_FALSE(studies_->Get("one")->alarms.empty());
}

TEST_F(StudiesTest, CountsBreakDownWhatTheReportsOfATreeSay) {
  StudySpec spec = Spec("one");
  spec.settings.min_reports = 3;
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(spec));
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 2)));
  EXPECT_THAT(studies_->GetCounts("one", {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("has 2 accepted reports, and gives no counts below 3")));
  EXPECT_OK(SendAndWait(*studies_, one, HonestReports(*studies_, one, 1)));
  ASSERT_OK_AND_ASSIGN(const StudyCounts counts, studies_->GetCounts("one", {}));
  EXPECT_EQ(counts.reports, 3u);
  EXPECT_EQ(counts.tree_reports, 3u);
  ASSERT_EQ(counts.break_down.nodes.size(), (*one.forest)[0].nodes().size());
  EXPECT_EQ(counts.break_down.nodes[0].public_rows, 64u);
  EXPECT_EQ(counts.break_down.nodes[0].rows->estimate, 3);
  EXPECT_EQ(counts.break_down.nodes[0].classes.size(), 2u);
  EXPECT_THAT(studies_->GetCounts("one", {.tree = 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("its trees are 0 to 0")));
  EXPECT_THAT(studies_->GetCounts("two", {}), StatusIs(StatusCode::kNotFound, _));
}

TEST_F(StudiesTest, OfferHasTheTermsAndAsManyTickets) {
  ASSERT_OK_AND_ASSIGN(const StudyInfo one, studies_->Create(Spec("one")));
  ASSERT_OK_AND_ASSIGN(const Studies::Offer offered, studies_->MakeOffer("one", 7));
  EXPECT_EQ(offered.tickets.size(), 7u);
  EXPECT_EQ(offered.fingerprint, one.fingerprint);
  EXPECT_EQ(FingerprintOf(*offered.terms_bytes), one.fingerprint);
  ASSERT_OK_AND_ASSIGN(const Forest forest, OpenForest(*one.terms, *offered.forest));
  EXPECT_EQ(forest, *one.forest);
  // All devices get the same bytes, which are made once.
  EXPECT_EQ(studies_->MakeOffer("one", 1)->forest, offered.forest);
  EXPECT_THAT(studies_->MakeOffer("one", 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
  EXPECT_THAT(studies_->MakeOffer("one", 1001),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1000")));
  EXPECT_THAT(studies_->MakeOffer("two", 1), StatusIs(StatusCode::kNotFound, HasSubstr("two")));
}

class TokenStudyTest : public StudiesTest {
 protected:
  void SetUp() override {
    StudiesTest::SetUp();
    StudySpec spec = Spec("one", /*trees=*/8);
    spec.settings.require_submission_token = true;
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(spec));
  }

  // The report of a device with this ticket, randomized anew each time.
  SubmittedReport ReportOf(const Ticket& ticket) const {
    const auto mechanisms = *MakeMechanisms(*study_.terms, *study_.forest);
    OpenSslRandom random;
    return {.ticket = ticket.ToBytes(),
            .payload = *mechanisms[DrawOf(ticket).Tree(8)]->Randomize({.leaf = 0, .label = 1},
                                                                      /*column=*/0, random)};
  }
  Status OfferError(uint32_t count, const std::vector<std::string>& tokens) const {
    return studies_->MakeOffer("one", count, tokens).status();
  }

  StudyInfo study_;
};

TEST_F(TokenStudyTest, OneTokenIsCountedOnceHoweverOftenItIsShown) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> tokens, studies_->IssueSubmissionTokens(1));
  ASSERT_OK_AND_ASSIGN(const auto first, studies_->MakeOffer("one", 1, tokens));
  EXPECT_THAT(*SendAndWait(*studies_, study_, {ReportOf(first.tickets[0])}),
              ElementsAre(ReportOutcome::kAccepted));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const auto again, studies_->MakeOffer("one", 1, tokens));
  EXPECT_EQ(again.tickets, first.tickets);
  EXPECT_THAT(*SendAndWait(*studies_, study_, {ReportOf(again.tickets[0])}),
              ElementsAre(ReportOutcome::kDuplicate));
  EXPECT_EQ(CountOf(*studies_->Get("one"), ReportOutcome::kAccepted), 1u);
}

TEST_F(TokenStudyTest, WantsOneTokenATicket) {
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> tokens, studies_->IssueSubmissionTokens(2));
  EXPECT_OK(OfferError(2, tokens));
  EXPECT_THAT(OfferError(1, {}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("asks for one a ticket, so for 1; there are 0")));
  EXPECT_THAT(OfferError(1, tokens),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there are 2")));
  EXPECT_THAT(OfferError(3, tokens),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("so for 3; there are 2")));
  EXPECT_THAT(OfferError(1, {std::string(32, 'x')}),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("not issued")));
  EXPECT_THAT(OfferError(2, {tokens[0], tokens[0]}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("came before")));
}

TEST_F(TokenStudyTest, ATicketFromBeforeDoesNotHelp) {
  ASSERT_OK(studies_->Create(Spec("two", 8)));
  ASSERT_OK_AND_ASSIGN(const auto offer, studies_->MakeOffer("two", 1));
  EXPECT_THAT(*SendAndWait(*studies_, study_, {ReportOf(offer.tickets[0])}),
              ElementsAre(ReportOutcome::kBadTicket));
}

TEST_F(TokenStudyTest, KnowsAfterReopeningThatItAsksForTokens) {
  Reopen();
  EXPECT_TRUE(studies_->Get("one")->settings.require_submission_token);
  EXPECT_FALSE(OfferError(1, {}).ok());
}

TEST_F(TokenStudyTest, TheSameRequestWithoutTheRuleIsAnotherRequest) {
  EXPECT_THAT(studies_->Create(Spec("one", 8)),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("")));
}

TEST_F(StudiesTest, AStudyThatAsksForNoTokensTakesNone) {
  ASSERT_OK(studies_->Create(Spec("one")));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> tokens, studies_->IssueSubmissionTokens(1));
  EXPECT_THAT(studies_->MakeOffer("one", 1, tokens),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("asks for none")));
}

TEST_F(StudiesTest, TokensAreIssuedTenThousandAtATime) {
  EXPECT_EQ(studies_->IssueSubmissionTokens(10'000)->size(), 10'000u);
  for (const uint32_t count : {0u, 10'001u}) {
    EXPECT_THAT(studies_->IssueSubmissionTokens(count),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 10000")));
  }
}

}  // namespace
}  // namespace coppice::curator
