// The C interface as a program uses it, and as one misuses it.

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "client/device/c/handles.h"
#include "common/base/text.h"
#include "tests/client/device/c/c_device_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::CDeviceFixture;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::MemoryTakenBy;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::Sign;
using ::coppice::testing::Sized;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;

constexpr uint64_t kNanos = 1'000'000'000;

class CDeviceTest : public CDeviceFixture {
 protected:
  CDeviceTest() { visit_options_.curator = "curator:1"; }

  coppice_error Visit() { return VisitAt(curator_); }

  ScriptedServices curator_;
};

TEST_F(CDeviceTest, FetchesReviewsReadsAnswersProvesAndDelivers) {
  ASSERT_EQ(Open(), COPPICE_OK) << error_.text;
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_THAT(curator_.calls, ElementsAre("GetOffer", "GetCuratorKeys", "SubmitReports"));
  EXPECT_THAT(*asked_, ElementsAre("review", "read"));
  EXPECT_EQ(reviewed_, "sample");
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK);
  EXPECT_EQ(outcome_.answered_now, 1);
  EXPECT_EQ(outcome_.delivered, 1u);
  EXPECT_EQ(State().spent_epsilon_nanos, 2 * kNanos);
  EXPECT_EQ(State().left_epsilon_nanos, 6 * kNanos);
  EXPECT_EQ(State().waiting, 0u);

  // Again: it neither fetches nor sends.
  curator_.calls.clear();
  Visit();
  EXPECT_THAT(curator_.calls, IsEmpty());
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK);
  EXPECT_EQ(outcome_.answered_now, 0);
}

TEST_F(CDeviceTest, DecliningComesBeforeTheRow) {
  options_.max_epsilon_nanos = kNanos;
  ASSERT_EQ(Open(), COPPICE_OK);
  EXPECT_EQ(Visit().code, COPPICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("at most 1"));
  EXPECT_THAT(*asked_, IsEmpty());

  options_.max_epsilon_nanos = 4 * kNanos;
  ASSERT_EQ(Open(), COPPICE_OK);
  agrees_ = 0;
  EXPECT_EQ(Visit().code, COPPICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("own review"));
  EXPECT_THAT(*asked_, ElementsAre("review"));
  EXPECT_EQ(State().answers, 0u);
}

TEST_F(CDeviceTest, NoRowMakesItFallSilent) {
  const std::vector<std::function<void(coppice_row*)>> fillings = {
      [](coppice_row*) {},
      [](coppice_row* row) { coppice_row_set_text(row, "x", "a text", 6); },
      [](coppice_row* row) { coppice_row_set_text(row, "y", "\0\xff", 2); },
      [](coppice_row* row) { coppice_row_set_number(row, "y", 1); },
      [](coppice_row* row) {
        coppice_row_set_number(row, "x", std::numeric_limits<double>::quiet_NaN());
      },
      [](coppice_row* row) {
        coppice_row_set_number(row, "x", std::numeric_limits<double>::infinity());
      },
      [](coppice_row* row) { coppice_row_set_text(row, "none of the columns", "1", 1); },
      [](coppice_row* row) { coppice_row_set_text(row, nullptr, nullptr, 7); }};
  for (const auto& filling : fillings) {
    Close();
    std::remove(path_.c_str());
    ASSERT_EQ(Open(), COPPICE_OK);
    fill_ = [&](const coppice_terms*, coppice_row* row) {
      EXPECT_EQ(MemoryTakenBy([&] { filling(row); }), 0u);
    };
    EXPECT_EQ(Visit().code, COPPICE_OK);
    EXPECT_EQ(outcome_.delivered, 1u);
  }
}

TEST_F(CDeviceTest, WhereAStudyIsJoinedOnlyTheIdAndTheLabelAreAskedFor) {
  const Schema joined = FakeTerms().schema->WithAllPublic();
  const coppice_schema schema{.schema = &joined, .joined_by = "customer"};
  ASSERT_EQ(coppice_schema_num_columns(&schema), 2u);
  coppice_column column{};
  ASSERT_EQ(coppice_schema_column(&schema, 0, &column), COPPICE_OK);
  EXPECT_THAT(column.name, StrEq("customer"));
  EXPECT_EQ(column.kind, COPPICE_COLUMN_ID);
  EXPECT_EQ(coppice_schema_value(&schema, 0, 0), nullptr);
  ASSERT_EQ(coppice_schema_column(&schema, 1, &column), COPPICE_OK);
  EXPECT_THAT(column.name, StrEq(joined.label()));
  EXPECT_THAT(coppice_schema_value(&schema, 1, 0), StrEq(joined.classes()[0]));
}

TEST_F(CDeviceTest, ShowsTheColumnsThatAreAskedFor) {
  fill_ = [](const coppice_terms* terms, coppice_row*) {
    const coppice_schema* schema = coppice_terms_schema(terms);
    ASSERT_EQ(coppice_schema_num_columns(schema), 2u);
    coppice_column column{};
    ASSERT_EQ(coppice_schema_column(schema, 0, &column), COPPICE_OK);
    EXPECT_THAT(column.name, StrEq("x"));
    EXPECT_EQ(column.kind, COPPICE_COLUMN_NUMBER);
    EXPECT_EQ(column.max, 10);
    ASSERT_EQ(coppice_schema_column(schema, 1, &column), COPPICE_OK);
    EXPECT_THAT(column.name, StrEq("y"));
    EXPECT_EQ(column.kind, COPPICE_COLUMN_CLASS);
    EXPECT_EQ(column.num_values, 2u);
    EXPECT_THAT(coppice_schema_value(schema, 1, 1), StrEq("yes"));
    EXPECT_EQ(coppice_schema_value(schema, 1, 2), nullptr);
    EXPECT_EQ(coppice_schema_column(schema, 2, &column), COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(coppice_terms_mechanism(terms), StrEq("symmetric_unary"));
    EXPECT_EQ(coppice_terms_epsilon_nanos(terms), 2 * kNanos);
  };
  ASSERT_EQ(Open(), COPPICE_OK);
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_THAT(*asked_, ElementsAre("review", "read"));
}

// Whatever bytes come, there is no crash, no answer that was not asked for, and the journal holds.
TEST_F(CDeviceTest, MangledResponsesAreRefusedAndNothingIsLost) {
  ASSERT_EQ(Open(), COPPICE_OK);
  size_t cut = 0;
  curator_.mangle = [&cut](std::string& response) { response.resize(response.size() - cut); };
  for (cut = 1; cut < 60; ++cut) {
    EXPECT_NE(Visit().code, COPPICE_OK) << cut;
    EXPECT_THAT(*asked_, IsEmpty()) << cut;
  }
  size_t at = 0;
  curator_.mangle = [&at](std::string& response) { response[at % response.size()] ^= 0x41; };
  for (at = 0; at < 700; at += 3) (void)Visit();
  EXPECT_LE(State().answers, 1u);
  curator_.mangle = [](std::string&) {};
  ASSERT_EQ(Open(), COPPICE_OK);
  Visit();
  EXPECT_EQ(State().answers, 1u);
}

TEST_F(CDeviceTest, AClockThatWasNeverSetIsSaidAndNotBelieved) {
  now_ = 0;
  Manifest manifest = FakeManifest(FakeTerms());
  manifest.issued_unix_seconds = 1'700'000'000;
  manifest.expires_unix_seconds = 1'800'000'000;
  curator_.studies.manifest = Sign(FakeKey(), manifest);
  ASSERT_EQ(Open(), COPPICE_OK);
  EXPECT_EQ(Visit().code, COPPICE_OK);
  EXPECT_EQ(outcome_.clock_behind_seconds, 1'700'000'000);
}

TEST_F(CDeviceTest, AStudyThatEndedBeforeItWasSignedIsRefusedWhateverTheClockSays) {
  now_ = 0;
  Manifest manifest = FakeManifest(FakeTerms());
  manifest.issued_unix_seconds = 1'700'000'000;
  manifest.expires_unix_seconds = 1'600'000'000;
  curator_.studies.manifest = Sign(FakeKey(), manifest);
  ASSERT_EQ(Open(), COPPICE_OK);
  EXPECT_EQ(Visit().code, COPPICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("expired"));
}

TEST_F(CDeviceTest, AClockAheadOfTheEndOfAStudyIsNamedAsTheCause) {
  now_ = 5'000'000'000;
  ASSERT_EQ(Open(), COPPICE_OK);
  EXPECT_EQ(Visit().code, COPPICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome_.answer.text, HasSubstr("check this device's clock"));
}

TEST_F(CDeviceTest, TellsHowManyAnswersWaitForOtherCurators) {
  ASSERT_EQ(Open(), COPPICE_OK);
  curator_.reports.failures = 1;
  Visit();
  curator_.studies.key = FakeKey(2);
  curator_.studies.claimed = FakeKey(2).public_key();
  visit_options_.study = nullptr;
  Visit();
  EXPECT_EQ(outcome_.of_other_curators, 1u);
  EXPECT_EQ(State().waiting, 1u);
}

TEST_F(CDeviceTest, HistoryTellsTheOwnerWhatWasSpentOnWhat) {
  ASSERT_EQ(Open(), COPPICE_OK);
  curator_.reports.failures = 1;
  Visit();
  std::vector<std::string> seen;
  ASSERT_EQ(coppice_device_history(
                device_,
                [](void* to, const coppice_answer* answer) {
                  static_cast<std::vector<std::string>*>(to)->push_back(
                      StrCat(answer->study, " ", answer->epsilon_nanos, " ", answer->delivered, " ",
                             answer->payload != nullptr, " ", answer->payload_size));
                },
                &seen, &error_),
            COPPICE_OK);
  EXPECT_THAT(seen, ElementsAre("sample 2000000000 0 1 1"));
  EXPECT_EQ(coppice_device_give_up(device_, "another", &error_), COPPICE_NOT_FOUND);
  EXPECT_EQ(coppice_device_give_up(device_, "sample", &error_), COPPICE_OK);
  EXPECT_EQ(State().waiting, 0u);
  EXPECT_EQ(State().spent_epsilon_nanos, 2 * kNanos);
}

TEST_F(CDeviceTest, HistoryTellsTheOwnerToWhom) {
  ASSERT_EQ(Open(), COPPICE_OK);
  Visit();
  PublicKey curator{};
  ASSERT_EQ(coppice_device_history(
                device_,
                [](void* to, const coppice_answer* answer) {
                  ASSERT_NE(answer->curator_key, nullptr);
                  auto& key = *static_cast<PublicKey*>(to);
                  std::copy_n(answer->curator_key, key.size(), key.begin());
                },
                &curator, &error_),
            COPPICE_OK);
  EXPECT_EQ(curator, key_);
}

TEST_F(CDeviceTest, ASubmissionTokenIsShown) {
  const std::vector<uint8_t> token(32, 7);
  visit_options_.submission_token = token.data();
  ASSERT_EQ(Open(), COPPICE_OK);
  Visit();
  EXPECT_THAT(curator_.studies.tokens, ElementsAre(std::string(32, 7)));
}

TEST_F(CDeviceTest, EveryMistakeIsSaidAndNoneCrashes) {
  EXPECT_EQ(coppice_device_open(nullptr, &device_, &error_), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_device_open(&options_, nullptr, &error_), COPPICE_INVALID_ARGUMENT);
  const auto refused = [&](auto change, const char* why) {
    coppice_device_options options = options_;
    change(options);
    EXPECT_EQ(coppice_device_open(&options, &device_, &error_), COPPICE_INVALID_ARGUMENT);
    EXPECT_THAT(error_.text, HasSubstr(why));
    EXPECT_EQ(device_, nullptr);
  };
  refused([](auto& o) { o.struct_size = 0; }, "struct_size");
  refused([](auto& o) { o.struct_size += 8; }, "struct_size");
  refused([](auto& o) { o.journal_path = nullptr; }, "journal_path");
  refused([](auto& o) { o.journal_path = ""; }, "journal_path");
  refused([](auto& o) { o.subject = nullptr; }, "subject");
  refused([](auto& o) { o.max_epsilon_nanos = 0; }, "max_epsilon_nanos");
  refused([](auto& o) { o.max_total_epsilon_nanos = ~uint64_t{0}; }, "max_total_epsilon_nanos");
  refused([](auto& o) { o.num_shows = 1; }, "shows");
  refused([](auto& o) { o.curator_key = nullptr; }, "curator_key");
  options_.journal_path = "/nowhere/to/be/found";
  EXPECT_EQ(Open(), COPPICE_UNAVAILABLE);
  options_.journal_path = path_.c_str();
  ASSERT_EQ(Open(), COPPICE_OK);
  coppice_device* second = nullptr;
  EXPECT_EQ(coppice_device_open(&options_, &second, nullptr), COPPICE_UNAVAILABLE);

  coppice_visit* visit = nullptr;
  EXPECT_EQ(coppice_visit_open(nullptr, &visit_options_, &visit, &error_),
            COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_visit_open(device_, nullptr, &visit, &error_), COPPICE_INVALID_ARGUMENT);
  visit_options_.study = "Not An Id";
  EXPECT_EQ(coppice_visit_open(device_, &visit_options_, &visit, &error_),
            COPPICE_INVALID_ARGUMENT);
  visit_options_.study = "sample";
  ASSERT_EQ(coppice_visit_open(device_, &visit_options_, &visit, &error_), COPPICE_OK);
  coppice_visit* other = nullptr;
  EXPECT_EQ(coppice_visit_open(device_, &visit_options_, &other, &error_),
            COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_visit_take(visit, nullptr, 0, &error_), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_visit_fail(visit, 14, &error_), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_visit_next(visit, nullptr, &error_), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_visit_take(visit, nullptr, 7, &error_), COPPICE_INVALID_ARGUMENT);
  const uint8_t byte = 0;
  EXPECT_EQ(coppice_visit_take(visit, &byte, size_t{COPPICE_MAX_RESPONSE_BYTES} + 1, &error_),
            COPPICE_INVALID_ARGUMENT);
  coppice_visit_close(visit);
  coppice_visit_close(nullptr);
  coppice_device_close(nullptr);
  coppice_row_close(nullptr);
  coppice_model_close(nullptr);
  EXPECT_EQ(coppice_device_give_up(device_, nullptr, nullptr), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_device_history(device_, nullptr, nullptr, nullptr), COPPICE_INVALID_ARGUMENT);
}

// A program that was built with an earlier version of the header, whose structs are shorter.
TEST_F(CDeviceTest, ShorterStructsOfEarlierVersionsAreTaken) {
  options_.struct_size = offsetof(coppice_device_options, clock);
  ASSERT_EQ(Open(), COPPICE_OK) << error_.text;
  auto state = Sized<coppice_device_state>();
  state.struct_size = offsetof(coppice_device_state, spent_epsilon_nanos);
  state.spent_epsilon_nanos = 77;
  EXPECT_EQ(coppice_device_get_state(device_, &state, &error_), COPPICE_OK);
  EXPECT_EQ(state.spent_epsilon_nanos, 77u);
  EXPECT_EQ(state.struct_size, offsetof(coppice_device_state, spent_epsilon_nanos));
}

TEST(CKeyTest, ReadsWhatPeopleHandAround) {
  const PublicKey key = FakeKey(3).public_key();
  coppice_error error{};
  for (const std::string& text : {ToPin(key), ToPem(key), "\n " + ToPin(key) + "\n"}) {
    PublicKey read{};
    EXPECT_EQ(coppice_key_parse(text.c_str(), read.data(), &error), COPPICE_OK) << error.text;
    EXPECT_EQ(read, key);
  }
  PublicKey read{};
  EXPECT_EQ(coppice_key_parse("no key", read.data(), &error), COPPICE_INVALID_ARGUMENT);
  EXPECT_EQ(coppice_key_parse(nullptr, read.data(), &error), COPPICE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace coppice
