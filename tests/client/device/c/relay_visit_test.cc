// A device in C that visits a relay: what it asks for in which order, what makes it decline, and
// that neither its ticket nor its row shows in what it does.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "client/device/deal.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/c/c_device_fixture.h"
#include "tests/client/device/c/scripted_relay.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::Carry;
using ::coppice::testing::CDeviceFixture;
using ::coppice::testing::FakeDeal;
using ::coppice::testing::FakeDealOffer;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::kDealNow;
using ::coppice::testing::MemoryTakenBy;
using ::coppice::testing::OfferOf;
using ::coppice::testing::PromisedTerms;
using ::coppice::testing::RelayKey;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::ScriptedRelay;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::SealedManifest;
using ::coppice::testing::Sign;
using ::coppice::testing::SignDeal;
using ::coppice::testing::Sized;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kEpsilonOne = 1'000'000'000;

StatusOr<std::string> OpenSealed(const v1::SubmitSealedReportRequest& sent) {
  const Deal deal = FakeDeal();
  auto opener = seal::ReportOpener::Create(
      {.fingerprint = deal.relay.fingerprint, .payload_bytes = deal.sealing.payload_bytes},
      testing::CuratorSealingKey());
  return opener->Open(*Ticket::FromBytes(sent.ticket()), sent.encapsulated(), sent.ciphertext());
}

class RelayVisitTest : public CDeviceFixture {
 protected:
  RelayVisitTest() : CDeviceFixture(kDealNow) {
    options_.relay_key = relay_key_.data();
    visit_options_.relay = "relay:8453";
    asked_ = &relay_.calls;
  }

  // Another device, with a journal of its own.
  void OpenAnew() {
    RemoveJournal();
    relay_.calls.clear();
    relay_.relay.requests.clear();
    ASSERT_EQ(Open(), COPPICE_OK) << error_.text;
  }
  coppice_error Visit() { return VisitAt(relay_); }
  // The calls of a visit with the time to wait before each; the last one is not carried.
  std::vector<std::pair<std::string, coppice_call>> CarryAllButSubmit() {
    std::vector<std::pair<std::string, coppice_call>> asked;
    coppice_visit* visit = nullptr;
    EXPECT_EQ(coppice_visit_open(device_, &visit_options_, &visit, &error_), COPPICE_OK);
    auto call = Sized<coppice_call>();
    while (coppice_visit_next(visit, &call, &error_) == COPPICE_OK && call.method != nullptr) {
      const std::string method = call.method;
      asked.emplace_back(method.substr(method.rfind('/') + 1), call);
      if (asked.back().first == "SubmitSealedReport") break;
      std::string response;
      EXPECT_EQ(
          relay_.Serve(method, {reinterpret_cast<const char*>(call.request), call.request_size},
                       response),
          0);
      EXPECT_EQ(coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(response.data()),
                                   response.size(), &error_),
                COPPICE_OK)
          << error_.text;
    }
    coppice_visit_close(visit);
    return asked;
  }
  coppice_visit* OpenVisit() {
    coppice_visit* visit = nullptr;
    EXPECT_EQ(coppice_visit_open(device_, &visit_options_, &visit, &error_), COPPICE_OK);
    return visit;
  }
  // Carries the calls of a visit until it asks for this one.
  void CarryTo(coppice_visit* visit, const std::string& wanted) {
    while (coppice_visit_next(visit, &call_, &error_) == COPPICE_OK && call_.method != nullptr) {
      const std::string method = call_.method;
      if (method.ends_with(wanted)) return;
      std::string response;
      const std::string request(reinterpret_cast<const char*>(call_.request), call_.request_size);
      ASSERT_EQ(relay_.Serve(method, request, response), 0);
      ASSERT_EQ(coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(response.data()),
                                   response.size(), &error_),
                COPPICE_OK)
          << error_.text;
    }
    ADD_FAILURE() << wanted << " is not asked for";
  }
  void ChangeDeal(const std::function<void(RelayTerms&)>& change) {
    RelayTerms relay = PromisedTerms();
    change(relay);
    relay_.relay.offer = SignDeal(relay, Sign(FakeKey(), SealedManifest()));
  }

  const PublicKey relay_key_ = RelayKey().public_key();
  coppice_call call_ = Sized<coppice_call>();
  ScriptedRelay relay_;
};

TEST_F(RelayVisitTest, AgreesThenTakesATicketThenReadsThenSends) {
  OpenAnew();
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_THAT(relay_.calls,
              ElementsAre("GetRelayTerms", "review", "TakeOffer", "read", "SubmitSealedReport"));
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK) << outcome_.answer.text;
  EXPECT_EQ(outcome_.answered_now, 1);
  EXPECT_EQ(outcome_.stored, 1u);
  EXPECT_EQ(outcome_.delivered, 0u);  // only the curator could say so
  EXPECT_EQ(outcome_.lost, 0u);
  EXPECT_EQ(outcome_.loss.code, COPPICE_OK);
  EXPECT_EQ(State().spent_epsilon_nanos, 2 * kEpsilonOne);
  EXPECT_EQ(State().waiting, 0u);
  ASSERT_EQ(relay_.relay.requests.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const std::string payload, OpenSealed(relay_.relay.requests[0]));
  EXPECT_FALSE(payload.empty());

  // Again: it neither asks nor sends.
  relay_.calls.clear();
  Visit();
  EXPECT_THAT(relay_.calls, IsEmpty());
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK);
  EXPECT_EQ(outcome_.answered_now, 0);
}

// To the relay a device in C is any other one.
TEST_F(RelayVisitTest, ItsRequestsAreThoseOfTheRelayClient) {
  OpenAnew();
  Visit();
  ASSERT_EQ(relay_.requests.size(), 3u);
  v1::GetRelayTermsRequest terms;
  terms.set_study("studies/sample");
  EXPECT_EQ(relay_.requests[0], terms.SerializeAsString());
  v1::TakeOfferRequest take;
  take.set_study("studies/sample");
  const EpochId epoch = PromisedTerms().epoch;
  take.set_epoch(std::string(epoch.begin(), epoch.end()));
  EXPECT_EQ(relay_.requests[1], take.SerializeAsString());
  const v1::SubmitSealedReportRequest& sent = relay_.relay.requests[0];
  EXPECT_EQ(relay_.requests[2], sent.SerializeAsString());
  EXPECT_EQ(sent.epoch(), take.epoch());
  EXPECT_EQ(sent.ticket(), SampleTicket(3).ToBytes());
  EXPECT_EQ(sent.claim(), std::string(16, 'c'));
}

TEST_F(RelayVisitTest, OneCallShowsTheTokenAndOneWaits) {
  OpenAnew();
  const auto asked = CarryAllButSubmit();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].second.takes_ticket, 0);
  EXPECT_EQ(asked[1].first, "TakeOffer");
  EXPECT_EQ(asked[1].second.takes_ticket, 1);
  EXPECT_EQ(asked[2].second.takes_ticket, 0);
  EXPECT_EQ(asked[0].second.wait_milliseconds, 0u);
  EXPECT_EQ(asked[1].second.wait_milliseconds, 0u);
  EXPECT_GT(asked[2].second.wait_milliseconds, 5000u);
  EXPECT_LE(asked[2].second.wait_milliseconds, 60'000u);

  options_.max_send_delay_seconds = 0;
  OpenAnew();
  EXPECT_EQ(CarryAllButSubmit().at(2).second.wait_milliseconds, 0u);
}

// Whatever declines does so without a ticket: whom a ticket silenced would be known by it.
TEST_F(RelayVisitTest, NothingDeclinesOnceThereIsATicket) {
  const auto expect_declined = [&](int32_t code, const std::string& why) {
    OpenAnew();
    Visit();
    EXPECT_EQ(outcome_.answer.code, code) << outcome_.answer.text;
    EXPECT_THAT(outcome_.answer.text, HasSubstr(why));
    for (const std::string& call : relay_.calls) {
      EXPECT_TRUE(call == "GetRelayTerms" || call == "review") << call << ": " << why;
    }
    EXPECT_EQ(State().answers, 0u);
  };
  const coppice_device_options sound = options_;
  const auto expect_declined_by = [&](auto change, int32_t code, const std::string& why) {
    change(options_);
    expect_declined(code, why);
    options_ = sound;
  };
  constexpr int32_t kDeclined = COPPICE_FAILED_PRECONDITION;
  expect_declined_by([](auto& o) { o.max_epsilon_nanos = kEpsilonOne; }, kDeclined, "at most 1");
  expect_declined_by([](auto& o) { o.max_total_epsilon_nanos = kEpsilonOne; }, kDeclined, "in all");
  expect_declined_by([](auto& o) { o.max_journal_bytes = 300; }, COPPICE_RESOURCE_EXHAUSTED,
                     "bytes");
  expect_declined_by([](auto& o) { o.min_batch = 2001; }, kDeclined, "batches of 2000");
  expect_declined_by([](auto& o) { o.max_offer_bytes = 10; }, kDeclined, "room for 10");
  expect_declined_by([](auto& o) { o.max_send_delay_seconds = 100'000; }, kDeclined, "closes in");
  expect_declined_by([](auto& o) { o.min_reports = 101; }, kDeclined, "at least 101");
  const auto unpinned = [](auto& o) {
    o.curator_key = nullptr;
    o.require_pin = 0;
  };
  expect_declined_by(unpinned, kDeclined, "curator's key pinned");
  const PublicKey other = FakeKey(8).public_key();
  expect_declined_by([&](auto& o) { o.curator_key = other.data(); }, kDeclined, "key");
  expect_declined_by([&](auto& o) { o.relay_key = other.data(); }, kDeclined, "has pinned");
  now_ += 3600;
  expect_declined(kDeclined, "no more tickets");
  now_ -= 3600;
  agrees_ = 0;
  expect_declined(kDeclined, "own review");
  agrees_ = 1;
  ChangeDeal([](RelayTerms& terms) { terms.sealing_key[0] ^= 1; });
  expect_declined(kDeclined, "another sealing key");
  ChangeDeal([](RelayTerms& terms) { terms.fingerprint[0] ^= 1; });
  expect_declined(COPPICE_DATA_LOSS, "not those that the relay signed");
  Manifest small = SealedManifest();
  small.sealing->key.fill(0);
  relay_.relay.offer = SignDeal(PromisedTerms(small), Sign(FakeKey(), small));
  expect_declined(kDeclined, "small order");
  relay_.relay.offer = SignDeal(PromisedTerms(), Sign(RelayKey(), SealedManifest()));
  expect_declined(kDeclined, "key");
  relay_.relay.offer = FakeDealOffer();
  OpenAnew();
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_EQ(outcome_.stored, 1u);
}

// While the ticket is on its way nobody can decline for want of memory: it is there.
TEST_F(RelayVisitTest, TooLittleMemoryDeclinesBeforeATicket) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer reserves more than any limit";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers reserve more than any limit";
#endif
#endif
  options_.max_offer_bytes = 16 << 20;
  ChangeDeal([](RelayTerms& terms) { terms.offer_bytes = 16 << 20; });
  OpenAnew();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit small = before;
  small.rlim_cur = rlim_t{1} << 30;  // what the offer would take alone
  ASSERT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  Visit();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(outcome_.answer.code, COPPICE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("bytes of memory"));
  EXPECT_THAT(relay_.calls, ElementsAre("GetRelayTerms", "review"));
}

// The curator made the trees and the manifest, and sees whose ticket stays without a report.
TEST_F(RelayVisitTest, NoTicketMakesItFallSilent) {
  OpenAnew();
  Visit();
  const size_t length = relay_.relay.requests[0].ciphertext().size();
  relay_.relay.dealt.set_tree("none");
  OpenAnew();
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_THAT(relay_.calls,
              ElementsAre("GetRelayTerms", "review", "TakeOffer", "SubmitSealedReport"));
  ASSERT_EQ(relay_.relay.requests.size(), 1u);
  EXPECT_EQ(*OpenSealed(relay_.relay.requests[0]), "");
  EXPECT_EQ(relay_.relay.requests[0].ciphertext().size(), length);
  EXPECT_EQ(State().spent_epsilon_nanos, 2 * kEpsilonOne);
}

// Else whose row makes the program throw would be seen by the ticket that stays empty.
TEST_F(RelayVisitTest, ARowThatThrowsWhileItIsReadIsAnsweredAsFarAsItWasSet) {
  OpenAnew();
  fill_ = [](const coppice_terms*, coppice_row* row) {
    coppice_row_set_number(row, "x", 3);
    throw std::bad_alloc();
  };
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK) << outcome_.answer.text;
  EXPECT_EQ(outcome_.stored, 1u);
  ASSERT_EQ(relay_.relay.requests.size(), 1u);
  ASSERT_OK_AND_ASSIGN(const std::string payload, OpenSealed(relay_.relay.requests[0]));
  EXPECT_FALSE(payload.empty());
}

TEST_F(RelayVisitTest, ItsOutcomeIsNoAnswerUntilTheJournalHasOne) {
  OpenAnew();
  coppice_visit* visit = OpenVisit();
  EXPECT_EQ(OutcomeOf(visit).answer.code, COPPICE_UNAVAILABLE);
  for (const char* method : {"GetRelayTerms", "TakeOffer"}) {
    CarryTo(visit, method);
    EXPECT_EQ(OutcomeOf(visit).answer.code, COPPICE_UNAVAILABLE) << method;
    EXPECT_THAT(OutcomeOf(visit).answer.text, HasSubstr("not answered yet"));
  }
  CarryTo(visit, "SubmitSealedReport");
  EXPECT_EQ(OutcomeOf(visit).answer.code, COPPICE_OK);
  coppice_visit_close(visit);
}

TEST_F(RelayVisitTest, OptingOutEndsAVisitThatIsOpen) {
  for (const char* method : {"GetRelayTerms", "TakeOffer", "SubmitSealedReport"}) {
    OpenAnew();
    coppice_visit* visit = OpenVisit();
    CarryTo(visit, method);
    ASSERT_EQ(coppice_device_opt_out(device_, 1, &error_), COPPICE_OK);
    EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_FAILED_PRECONDITION) << method;
    EXPECT_THAT(error_.text, HasSubstr("opted out"));
    EXPECT_EQ(coppice_visit_take(visit, nullptr, 0, &error_), COPPICE_INVALID_ARGUMENT) << method;
    EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_OK);
    EXPECT_EQ(call_.method, nullptr);
    coppice_visit_close(visit);
    EXPECT_THAT(relay_.relay.requests, IsEmpty());
  }
  EXPECT_EQ(State().waiting, 1u);
  EXPECT_EQ(State().opted_out, 1);
  ASSERT_EQ(coppice_device_opt_out(device_, 0, &error_), COPPICE_OK);
  EXPECT_EQ(State().opted_out, 0);
  Visit();
  EXPECT_EQ(outcome_.stored, 1u);
}

TEST_F(RelayVisitTest, WhatIsGivenUpDuringTheWaitIsNotSent) {
  OpenAnew();
  coppice_visit* visit = OpenVisit();
  CarryTo(visit, "SubmitSealedReport");
  ASSERT_EQ(coppice_device_give_up(device_, "sample", &error_), COPPICE_OK);
  EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_OK) << error_.text;
  EXPECT_EQ(call_.method, nullptr);
  EXPECT_EQ(coppice_visit_take(visit, nullptr, 0, &error_), COPPICE_INVALID_ARGUMENT);
  coppice_visit_close(visit);
}

// The child would send the parent's answer a second time, at a time of its own.
TEST_F(RelayVisitTest, AChildAfterForkCarriesNothing) {
  OpenAnew();
  coppice_visit* visit = OpenVisit();
  CarryTo(visit, "SubmitSealedReport");
  const pid_t child = fork();
  if (child == 0) {
    _exit(coppice_visit_next(visit, &call_, &error_) == COPPICE_FAILED_PRECONDITION ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_OK) << error_.text;
  EXPECT_NE(call_.method, nullptr);
  coppice_visit_close(visit);
}

// A program that was built before there were relays would neither wait nor know which call shows
// the token.
TEST_F(RelayVisitTest, ACallWithoutRoomForTheWaitIsRefused) {
  OpenAnew();
  coppice_visit* visit = OpenVisit();
  for (const size_t size :
       {offsetof(coppice_call, wait_milliseconds), offsetof(coppice_call, takes_ticket)}) {
    call_.struct_size = size;
    EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_INVALID_ARGUMENT) << size;
    EXPECT_THAT(error_.text, HasSubstr("takes_ticket"));
  }
  call_.struct_size = sizeof(call_);
  EXPECT_EQ(coppice_visit_next(visit, &call_, &error_), COPPICE_OK);
  EXPECT_NE(call_.method, nullptr);
  coppice_visit_close(visit);
}

TEST_F(RelayVisitTest, ACallbackCanNeitherUseNorCloseItsVisit) {
  OpenAnew();
  coppice_visit* visit = OpenVisit();
  bool asked = false;
  fill_ = [&](const coppice_terms*, coppice_row* row) {
    asked = true;
    coppice_error error;
    auto call = Sized<coppice_call>();
    EXPECT_EQ(coppice_visit_next(visit, &call, &error), COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(error.text, HasSubstr("from one of its callbacks"));
    EXPECT_EQ(coppice_visit_take(visit, nullptr, 0, &error), COPPICE_INVALID_ARGUMENT);
    EXPECT_EQ(coppice_visit_fail(visit, 14, &error), COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(error.text, HasSubstr("from one of its callbacks"));
    coppice_visit_close(visit);
    coppice_device_close(device_);
    coppice_row_set_number(row, "x", 3);
  };
  Carry(visit, relay_);
  EXPECT_TRUE(asked);
  EXPECT_EQ(OutcomeOf(visit).stored, 1u);
  coppice_visit_close(visit);
  EXPECT_EQ(State().waiting, 0u);
}

TEST_F(RelayVisitTest, AnEnvelopeWithoutATicketIsTheRelaysFault) {
  OpenAnew();
  relay_.relay.dealt.clear_claim();
  Visit();
  EXPECT_EQ(outcome_.answer.code, COPPICE_DATA_LOSS);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("no ticket"));
  EXPECT_EQ(outcome_.answered_now, 0);
  EXPECT_EQ(State().answers, 0u);
  EXPECT_EQ(State().spent_epsilon_nanos, 0u);
}

TEST_F(RelayVisitTest, ATicketThatDoesNotComeIsAskedForAnotherTime) {
  OpenAnew();
  relay_.relay.take = {grpc::StatusCode::RESOURCE_EXHAUSTED, "no ticket is left"};
  Visit();
  EXPECT_EQ(outcome_.answer.code, COPPICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(State().answers, 0u);
  relay_.relay.take = grpc::Status::OK;
  Visit();
  EXPECT_EQ(outcome_.stored, 1u);
}

TEST_F(RelayVisitTest, EveryOtherOutcomeIsALossThatEndsTheWaitingAndStaysSpent) {
  for (const auto& [outcome, words] : {std::pair{v1::SUBMIT_OUTCOME_CONFLICT, "another report"},
                                       std::pair{v1::SUBMIT_OUTCOME_CLOSED, "closed"},
                                       std::pair{v1::SUBMIT_OUTCOME_UNKNOWN, "does not know"},
                                       std::pair{v1::SUBMIT_OUTCOME_BAD_LENGTH, "length"}}) {
    relay_.relay.outcome = outcome;
    OpenAnew();
    Visit();
    EXPECT_EQ(outcome_.stored, 0u);
    EXPECT_EQ(outcome_.lost, 1u);
    EXPECT_EQ(outcome_.loss.code, COPPICE_FAILED_PRECONDITION);
    EXPECT_THAT(outcome_.loss.text, HasSubstr(words));
    EXPECT_EQ(outcome_.refused, 0u);
    EXPECT_EQ(State().waiting, 0u);
    EXPECT_EQ(State().spent_epsilon_nanos, 2 * kEpsilonOne);
  }
  // What this version does not know loses nothing.
  relay_.relay.outcome = static_cast<v1::SubmitOutcome>(77);
  OpenAnew();
  Visit();
  EXPECT_EQ(outcome_.lost, 0u);
  EXPECT_EQ(State().waiting, 1u);
}

// A ticket that went to the curator would tell it who had it.
TEST_F(RelayVisitTest, WhatIsARelaysGoesNowhereElse) {
  OpenAnew();
  relay_.relay.failures = 1;
  Visit();
  ScriptedServices curator;
  visit_options_.relay = nullptr;
  visit_options_.curator = "curator:1";
  VisitAt(curator);
  EXPECT_THAT(curator.calls, IsEmpty());
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK);  // it has answered
  // Nor to another relay.
  const PublicKey other = FakeKey(8).public_key();
  options_.relay_key = other.data();
  ASSERT_EQ(Open(), COPPICE_OK);
  visit_options_.curator = nullptr;
  visit_options_.relay = "relay:8453";
  relay_.calls.clear();
  Visit();
  EXPECT_THAT(relay_.calls, IsEmpty());
  EXPECT_EQ(outcome_.of_others, 1u);
  EXPECT_EQ(State().waiting, 1u);
  EXPECT_EQ(coppice_device_give_up(device_, "sample", &error_), COPPICE_OK);
  EXPECT_EQ(State().waiting, 0u);
}

TEST_F(RelayVisitTest, WhatIsACuratorsWaitsForIt) {
  OpenAnew();
  ScriptedServices curator;
  curator.reports.failures = 1;
  visit_options_.relay = nullptr;
  visit_options_.curator = "curator:1";
  VisitAt(curator);
  visit_options_.relay = "relay:8453";
  visit_options_.curator = nullptr;
  relay_.calls.clear();
  Visit();
  EXPECT_THAT(relay_.calls, IsEmpty());
  EXPECT_EQ(outcome_.of_others, 1u);
  EXPECT_EQ(State().waiting, 1u);
}

TEST_F(RelayVisitTest, MoreEpsilonMayGoThroughARelayThanToTheCurator) {
  options_.max_epsilon_direct_nanos = kEpsilonOne;
  OpenAnew();
  ScriptedServices curator;
  visit_options_.relay = nullptr;
  visit_options_.curator = "curator:1";
  EXPECT_EQ(VisitAt(curator).code, COPPICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("only through a relay"));
  visit_options_.relay = "relay:8453";
  visit_options_.curator = nullptr;
  OpenAnew();
  EXPECT_EQ(Visit().code, COPPICE_OK) << outcome_.answer.text;
}

// Whatever bytes come, there is no crash, no answer that was not asked for, and the journal holds.
TEST_F(RelayVisitTest, MangledResponsesAreRefusedAndNothingIsLost) {
  OpenAnew();
  size_t cut = 0;
  relay_.mangle = [&cut](std::string& response) {
    response.resize(response.size() - std::min(cut, response.size()));
  };
  for (cut = 1; cut < 300; ++cut) Visit();
  EXPECT_EQ(State().answers, 0u);
  size_t at = 0;
  relay_.mangle = [&at](std::string& response) { response[at % response.size()] ^= 0x41; };
  for (at = 0; at < 900; at += 3) Visit();
  EXPECT_LE(State().answers, 1u);
  relay_.mangle = [](std::string&) {};
  ASSERT_EQ(Open(), COPPICE_OK);
  Visit();
  EXPECT_EQ(State().answers, 1u);
}

TEST_F(RelayVisitTest, EveryMistakeIsSaid) {
  const auto refused = [&](auto change, const char* why) {
    coppice_device_options options = options_;
    change(options);
    EXPECT_EQ(coppice_device_open(&options, &device_, &error_), COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(error_.text, HasSubstr(why));
  };
  refused([&](auto& o) { o.relay_key = key_.data(); }, "another party");
  refused([](auto& o) { o.max_offer_bytes = (16 << 20) + 1; }, "16 MiB");
  refused([](auto& o) { o.max_epsilon_direct_nanos = ~uint64_t{0}; }, "max_epsilon_direct");
  OpenAnew();
  const auto no_visit = [&](const char* why) {
    coppice_visit* visit = nullptr;
    EXPECT_EQ(coppice_visit_open(device_, &visit_options_, &visit, &error_),
              COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(error_.text, HasSubstr(why));
  };
  visit_options_.curator = "curator:1";
  no_visit("the curator or to the relay");
  visit_options_.curator = nullptr;
  const std::vector<uint8_t> token(32, 7);
  visit_options_.submission_token = token.data();
  no_visit("submission_token");
  visit_options_.submission_token = nullptr;
  visit_options_.relay = nullptr;
  no_visit("curator or relay");
  visit_options_.relay = "relay:8453";
  options_.relay_key = nullptr;
  OpenAnew();
  no_visit("relay_key");
}

// A program that was built before there were relays calls the functions behind the macros, and has
// shorter structs.
TEST_F(RelayVisitTest, ProgramsFromBeforeRelaysAreNotWrittenPast) {
  coppice_device_options options;
  std::memset(static_cast<void*>(&options), 0x5A, sizeof(options));
  (coppice_device_options_init)(&options);
  EXPECT_EQ(options.struct_size, offsetof(coppice_device_options, relay_key));
  EXPECT_EQ(options.max_waiting, 100u);
  EXPECT_EQ(options.max_offer_bytes, 0x5A5A5A5Au);
  coppice_visit_options visit;
  std::memset(static_cast<void*>(&visit), 0x5A, sizeof(visit));
  (coppice_visit_options_init)(&visit);
  EXPECT_EQ(visit.struct_size, offsetof(coppice_visit_options, relay));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(visit.relay) & 0xFF, 0x5Au);

  options.journal_path = path_.c_str();
  options.curator_key = key_.data();
  ASSERT_EQ(coppice_device_open(&options, &device_, &error_), COPPICE_OK) << error_.text;
  visit.curator = "curator:1";
  coppice_visit* opened = nullptr;
  ASSERT_EQ(coppice_visit_open(device_, &visit, &opened, &error_), COPPICE_OK) << error_.text;
  coppice_outcome outcome;
  std::memset(static_cast<void*>(&outcome), 0x5A, sizeof(outcome));
  outcome.struct_size = offsetof(coppice_outcome, stored);
  EXPECT_EQ(coppice_visit_get_outcome(opened, &outcome), COPPICE_OK);
  EXPECT_EQ(outcome.stored, 0x5A5A5A5A5A5A5A5Au);
  coppice_visit_close(opened);
}

}  // namespace
}  // namespace coppice
