// What the curator sees depends only on which ticket has which report, and on no arrival, time,
// repeat, device or crash.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "common/base/status.h"
#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

constexpr uint64_t kTickets = 2600;

// How a deal goes.
struct Course {
  const char* name;
  uint32_t order;              // of devices and their actions
  absl::Duration between;      // between some of the reports
  bool crashes_while_dealing;  // which skips tickets
  bool crashes_while_collecting = false;
  int lost_answers = 0;  // by the curator
  bool crashes_while_sending = false;
};

using Tickets = std::set<std::string>;
// The curator's requests, each once.
using View = std::set<std::string>;

class ViewTest : public RelayTest {
 protected:
  ViewTest() { options_.tickets = kTickets; }

  std::vector<Offered> TakeIn(const Course& course) {
    std::vector<Offered> taken;
    while (true) {
      if (course.crashes_while_dealing && taken.size() == 700) Open();
      const StatusOr<Offered> offered = Take();
      if (!offered.ok()) return taken;
      taken.push_back(*offered);
    }
  }

  // Adds repeats, other bytes, and reports without a claim between the reports.
  void Meddle(std::mt19937& engine, const Offered& offered) {
    switch (engine() % 3) {
      case 0:
        EXPECT_EQ(Submit(offered), SubmitOutcome::kStored);
        break;
      case 1:
        EXPECT_EQ(Submit(offered.epoch, ReportFor(offered.offer, "another")),
                  SubmitOutcome::kConflict);
        break;
      default:
        SealedReport unclaimed = ReportFor(offered.offer, "stuffed");
        unclaimed.claim.assign(16, 'x');
        EXPECT_EQ(Submit(offered.epoch, unclaimed), SubmitOutcome::kUnknown);
    }
  }

  void SendIn(const Course& course, std::mt19937& engine, const std::vector<Offered>& offers) {
    constexpr size_t kTogether = 40;
    for (size_t first = 0; first < offers.size(); first += kTogether) {
      const size_t end = std::min(offers.size(), first + kTogether);
      SubmitAll({offers.begin() + first, offers.begin() + end});
      Meddle(engine, offers[first]);
      Advance(course.between);
      relay_->Step();
      if (course.crashes_while_collecting) Open();
    }
  }

  void DeliverIn(const Course& course) {
    curator_.batches.lose_answers = course.lost_answers;
    for (int round = 0; round < 6 && course.crashes_while_sending; ++round) {
      relay_->Step();
      Open();
    }
    for (int round = 0; round < 4; ++round) {
      Work();
      Advance(absl::Minutes(11));
    }
  }

  // Returns what the curator is sent when the tickets in `answered` are answered. If `answered` is
  // empty, it is filled with what devices take in this course, except tickets whose first byte is a
  // multiple of four.
  View Play(const Course& course, Tickets& answered) {
    std::mt19937 engine(course.order);
    std::filesystem::remove_all(dir_.path() + "/studies");
    curator_.batches.batches.clear();
    curator_.batches.requests.clear();
    curator_.offers.next_ticket = 0;
    curator_.offers.failure = grpc::Status::OK;
    epochs_ = 0;
    now_ = absl::FromUnixSeconds(kStart);
    OpenDeal();
    curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "not now"};
    std::vector<Offered> all = TakeIn(course);
    const bool chooses = answered.empty();
    std::shuffle(all.begin(), all.end(), engine);
    std::vector<Offered> sent;
    for (const Offered& offered : all) {
      const std::string& ticket = offered.offer.ticket();
      if (chooses && ticket[0] % 4 != 0) answered.insert(ticket);
      if (answered.count(ticket) > 0) sent.push_back(offered);
    }
    SendIn(course, engine, sent);
    now_ = absl::FromUnixSeconds(kStart) + absl::Hours(24);
    DeliverIn(course);
    EXPECT_EQ(OnlyBatch().size(), answered.size()) << course.name;
    return {curator_.batches.requests.begin(), curator_.batches.requests.end()};
  }
};

TEST_F(ViewTest, TheCuratorSeesWhichTicketHasWhichReportAndNothingElse) {
  // Crashes while dealing skip tickets, so this course decides which are answered in all courses.
  Tickets answered;
  const View first = Play({.name = "crashes while dealing",
                           .order = 1,
                           .between = absl::ZeroDuration(),
                           .crashes_while_dealing = true},
                          answered);
  EXPECT_GT(answered.size(), 1000u);
  ASSERT_EQ(first.size(), 3u);  // one that asks, and two parts
  for (const Course& course : std::vector<Course>{
           {.name = "another order", .order = 2, .between = {}, .crashes_while_dealing = false},
           {.name = "slowly",
           .order = 3,
           .between = absl::Minutes(5),
           .crashes_while_dealing = false},
           {.name = "crashes while collecting",
           .order = 4,
           .between = absl::Seconds(1),
           .crashes_while_dealing = false,
           .crashes_while_collecting = true},
           {.name = "crashes while sending",
           .order = 5,
           .between = absl::Seconds(2),
           .crashes_while_dealing = false,
           .lost_answers = 2,
           .crashes_while_sending = true},
       }) {
    EXPECT_TRUE(Play(course, answered) == first) << course.name;
  }
}

// The comparison above can fail: another map is another view.
TEST_F(ViewTest, ADifferentSetOfTicketsIsADifferentView) {
  const Course course = {.name = "", .order = 1, .between = {}, .crashes_while_dealing = false};
  Tickets answered;
  const View first = Play(course, answered);
  answered.erase(answered.begin());
  EXPECT_FALSE(Play(course, answered) == first);
}

}  // namespace
}  // namespace coppice::relay::testing
