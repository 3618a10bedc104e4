// The device's story, once, over every door: what is answered, declined, resumed, opted out of,
// retried, and survives that the process ends between the journal and the call.

#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "coppice/v1/report.pb.h"
#include "tests/client/device/kept_answers.h"
#include "tests/client/device/story/door.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Door;
using ::coppice::testing::DoorKind;
using ::coppice::testing::DoorOptions;
using ::coppice::testing::KeptAnswers;
using ::coppice::testing::TempDir;
using ::coppice::testing::Told;
using ::coppice::testing::World;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const TextRow& PlainRow() {
  static const TextRow& row = *new TextRow{{"x", "3"}, {"y", "yes"}};
  return row;
}

class DeviceStory : public ::testing::TestWithParam<std::tuple<DoorKind, DeliveryRoute>> {
 protected:
  void Open() {
    door_.reset();
    door_ = std::get<DoorKind>(GetParam()).open(world_, options_);
  }
  // The process ends; nobody has the journal open.
  void Close() { door_.reset(); }
  std::vector<JournalEntry> Kept() {
    Close();
    return KeptAnswers(options_.journal());
  }
  uint64_t Waiting() {
    Close();
    const auto store = JournalStore::Open(options_.journal());
    return store.ok() ? (*store)->journal().CountUndelivered() : 0;
  }
  void SetOptedOut(bool opted_out) {
    Close();
    const auto store = JournalStore::Open(options_.journal());
    ASSERT_OK(store.status());
    ASSERT_OK((*store)->Change([&](Journal& journal) { return journal.SetOptedOut(opted_out); }));
  }

  TempDir dir_;
  World world_{std::get<DeliveryRoute>(GetParam())};
  DoorOptions options_{.folder = dir_.path()};
  std::unique_ptr<Door> door_;
};

TEST_P(DeviceStory, AnswersOnceHoweverOftenItIsAsked) {
  Open();
  const Told first = door_->Visit(PlainRow());
  EXPECT_TRUE(first.answered);
  EXPECT_EQ(first.delivered, 1u);
  Open();
  const Told second = door_->Visit(PlainRow());
  EXPECT_TRUE(second.answered);
  EXPECT_EQ(second.delivered, 0u);
  EXPECT_THAT(world_.Arrived(), SizeIs(1));
  EXPECT_THAT(Kept(), SizeIs(1));
}

TEST_P(DeviceStory, SendsTheSameReportUntilItArrives) {
  world_.LoseAnswers(2);
  Open();
  EXPECT_EQ(door_->Visit(PlainRow()).delivered, 0u);
  EXPECT_EQ(Waiting(), 1u);
  Open();  // the process ended meanwhile
  EXPECT_EQ(door_->Deliver().delivered, 0u);
  EXPECT_EQ(door_->Deliver().delivered, 1u);
  const std::vector<std::string> arrived = world_.Arrived();
  ASSERT_THAT(arrived, SizeIs(3));
  EXPECT_EQ(arrived[0], arrived[1]);
  EXPECT_EQ(arrived[0], arrived[2]);
  EXPECT_EQ(Waiting(), 0u);
}

TEST_P(DeviceStory, ForgetsTheTicketOfWhatIsDelivered) {
  Open();
  door_->Visit(PlainRow());
  const std::vector<JournalEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_TRUE(kept[0].delivered);
  EXPECT_EQ(kept[0].report.ticket, Ticket());
  EXPECT_THAT(kept[0].report.payload, IsEmpty());
}

TEST_P(DeviceStory, DeclinesBeforeAnythingIsTaken) {
  options_.max_epsilon = 1;  // the study asks for 2
  Open();
  EXPECT_FALSE(door_->Visit(PlainRow()).answered);
  EXPECT_THAT(world_.relay.calls.size() + world_.Arrived().size(),
              ::testing::Le(1u));  // no ticket, no report
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_P(DeviceStory, AsksForNothingOnceTheOwnerOptedOut) {
  SetOptedOut(true);
  Open();
  EXPECT_FALSE(door_->Visit(PlainRow()).answered);
  EXPECT_THAT(world_.Arrived(), IsEmpty());
  EXPECT_THAT(world_.curator.studies.tokens, IsEmpty());
  EXPECT_EQ(world_.relay.relay.asked, "");
  EXPECT_THAT(Kept(), IsEmpty());
}

// Every door: at the terminal, too, which resumes what waits before it simulates.
TEST_P(DeviceStory, SendsNothingThatWaitsOnceTheOwnerOptedOut) {
  world_.LoseAnswers(1);
  Open();
  door_->Visit(PlainRow());
  SetOptedOut(true);
  Open();
  EXPECT_EQ(door_->Deliver().delivered, 0u);
  EXPECT_EQ(door_->Visit(PlainRow()).delivered, 0u);
  EXPECT_THAT(world_.Arrived(), SizeIs(1));  // the one from before
  EXPECT_EQ(Waiting(), 1u);
  SetOptedOut(false);
  Open();
  EXPECT_EQ(door_->Deliver().delivered, 1u);
}

TEST_P(DeviceStory, DoesNotSendAgainWhatIsRefusedForGood) {
  world_.Refuse();
  Open();
  EXPECT_EQ(door_->Visit(PlainRow()).refused, 1u);
  Open();
  EXPECT_EQ(door_->Deliver().refused, 0u);
  EXPECT_THAT(world_.Arrived(), SizeIs(1));
  const std::vector<JournalEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));  // what it cost stays spent
  EXPECT_EQ(kept[0].epsilon, *Budget::FromEpsilon(2));
}

TEST_P(DeviceStory, AnswersWhateverTheRowIs) {
  for (const TextRow& row : std::vector<TextRow>{{},
                                                 {{"x", "not a number"}, {"y", "yes"}},
                                                 {{"x", "1e300"}, {"y", "neither"}},
                                                 {{"x", "-4"}}}) {
    TempDir dir;
    options_.folder = dir.path();
    Open();
    EXPECT_TRUE(door_->Visit(row).answered);
    Close();
  }
  EXPECT_THAT(world_.Arrived(), SizeIs(4));
}

TEST_P(DeviceStory, KeepsAnAnswerForItsOwnCurator) {
  world_.LoseAnswers(1);
  Open();
  door_->Visit(PlainRow());
  if (world_.is_relayed()) return;  // a relay is known by its certificate
  world_.curator.studies.claimed = testing::FakeKey(3).public_key();
  world_.curator.studies.key = testing::FakeKey(3);
  Open();
  EXPECT_EQ(door_->Deliver().delivered, 0u);
  EXPECT_THAT(world_.Arrived(), SizeIs(1));
  EXPECT_EQ(Waiting(), 1u);
  // Somebody claims to have the right key.
  world_.curator.studies.claimed = testing::FakeKey().public_key();
  Open();
  EXPECT_EQ(door_->Deliver().delivered, 0u);
  EXPECT_EQ(Waiting(), 1u);
}

Terms NumberTerms() {
  Terms terms = testing::FakeTerms();
  const Schema schema =
      *Schema::CreateRegression({testing::Numeric("x", 0, 10)}, "y", {.min = 0, .max = 100});
  terms.schema = std::make_shared<const Schema>(schema.WithAllPublic());
  terms.mechanism = MechanismKind::kWindowResponse;
  terms.rounding = NumberRange{.low = 20, .high = 60};
  terms.window = Window{.reach = 12, .half_width = 4};
  return terms;
}

// The fake forest with these centres in every tree.
Forest ForestWithCentres(double left, double right) {
  Forest forest;
  for (const Tree& tree : testing::FakeForest()) {
    forest.push_back(*tree.WithCentres({.of_leaf = {left, right}, .half_range = 10}));
  }
  return forest;
}

// Reports that show a feature go to the curator itself, never through a relay.
TEST_P(DeviceStory, HidesANumberAroundItsLeafsCentreInOneByte) {
  if (world_.is_relayed()) return;
  world_.curator.studies.Offer(NumberTerms(), ForestWithCentres(30, 55));
  options_.shows_x = true;
  for (const TextRow& row : std::vector<TextRow>{{{"x", "3"}, {"y", "42.5"}}, {{"x", "9"}}, {}}) {
    TempDir dir;
    options_.folder = dir.path();
    Open();
    const Told told = door_->Visit(row);
    EXPECT_TRUE(told.answered);
    EXPECT_EQ(told.delivered, 1u);
    Close();
  }
  const std::vector<std::string> arrived = world_.Arrived();
  ASSERT_THAT(arrived, SizeIs(3));
  for (const std::string& bytes : arrived) {
    v1::SealedReports reports;
    ASSERT_TRUE(reports.ParseFromString(bytes));
    ASSERT_EQ(reports.reports_size(), 1);
    ASSERT_THAT(reports.reports(0).payload(), SizeIs(1));
    EXPECT_LE(reports.reports(0).payload()[0], 24);
    EXPECT_THAT(reports.reports(0).public_values(), SizeIs(8));
  }
}

// The centre of one leaf is out of bounds: devices of the other leaf decline, too.
TEST_P(DeviceStory, DeclinesBadCentresWhateverTheRowIs) {
  if (world_.is_relayed()) return;
  world_.curator.studies.Offer(NumberTerms(), ForestWithCentres(30, 555));
  options_.shows_x = true;
  for (const TextRow& row :
       std::vector<TextRow>{{{"x", "0"}, {"y", "42.5"}}, {{"x", "10"}, {"y", "42.5"}}}) {
    Open();
    EXPECT_FALSE(door_->Visit(row).answered);
  }
  EXPECT_THAT(world_.Arrived(), IsEmpty());
  EXPECT_THAT(Kept(), IsEmpty());
}

std::vector<DoorKind> AllDoors() {
  if (std::getenv("COPPICE_STORY_PYTHON") != nullptr) return {testing::PythonDoor()};
  return {testing::SessionDoor(), testing::GrpcDoor(), testing::CDoor(), testing::TerminalDoor()};
}

INSTANTIATE_TEST_SUITE_P(
    EveryDoor, DeviceStory,
    ::testing::Combine(::testing::ValuesIn(AllDoors()),
                       ::testing::Values(DeliveryRoute::kDirect, DeliveryRoute::kThroughRelay)),
    [](const ::testing::TestParamInfo<DeviceStory::ParamType>& one) {
      return std::get<DoorKind>(one.param).name +
             (std::get<DeliveryRoute>(one.param) == DeliveryRoute::kDirect ? "Direct" : "Relayed");
    });

}  // namespace
}  // namespace coppice
