// All of a device's work, against a scripted curator: the order of its steps, and that none of them
// depends on what its row holds.

#include "client/device/device.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::SampleManifest;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SampleTree;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records what is asked of it.
class ScriptedCurator final : public CuratorLink {
 public:
  explicit ScriptedCurator(std::vector<std::string>& events) : events_(events) {}

  StatusOr<Offer> FetchOffer(std::string_view, std::string_view) const override {
    events_.push_back("fetch");
    return Offer{terms, {1}, {SampleTicket(7)}, AllTrees({SampleTree()})};
  }
  StatusOr<std::vector<DeliveryResult>> Deliver(
      absl::Span<const PrivateReport> reports) const override {
    events_.push_back("deliver");
    taken.insert(taken.end(), reports.begin(), reports.end());
    return std::vector<DeliveryResult>(reports.size(), result);
  }
  Status CheckIs(const PublicKey& root) const override {
    return root == FakeKey(1).public_key() ? OkStatus() : FailedPreconditionError("no");
  }

  Terms terms = SampleTerms();
  DeliveryResult result = {Delivery::kAccepted, ""};
  mutable std::vector<PrivateReport> taken;

 private:
  std::vector<std::string>& events_;
};

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(dir_.path() + "/journal"));
    Meet(1);
  }

  // Does what Trust does when it admits the curator's offer.
  void Meet(uint8_t key) {
    SeenManifest seen{.curator = "curator:1", .manifest = SampleManifest()};
    seen.key = seen.root = FakeKey(key).public_key();
    seen.manifest.key = KeyIdOf(seen.key);
    ASSERT_OK(journal_->Remember(seen));
  }

  // Becomes another device, with a journal of its own.
  void SetUpAnew() {
    journal_.reset();
    events_.clear();
    std::remove((dir_.path() + "/journal").c_str());
    SetUp();
  }

  Status Answer(const TextRow& row) {
    const auto read = [&] {
      events_.push_back("read");
      return row;
    };
    return Device("me", policy_, *journal_, curator_).Answer("sample", read, random_);
  }
  StatusOr<Device::Deliveries> Deliver() {
    return Device("me", policy_, *journal_, curator_).Deliver();
  }
  bool HasAnswered() const { return journal_->Find("me", "sample").value().has_value(); }

  TempDir dir_;
  std::vector<std::string> events_;
  ScriptedCurator curator_{events_};
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2)};
  std::unique_ptr<Journal> journal_;
  OpenSslRandom random_;
};

TEST_F(DeviceTest, FetchesThenReadsThenAnswersOnce) {
  ASSERT_OK(Answer({{"x", "3"}, {"y", "yes"}}));
  EXPECT_THAT(events_, ElementsAre("fetch", "read"));
  ASSERT_OK_AND_ASSIGN(const Device::Deliveries deliveries, Deliver());
  EXPECT_EQ(deliveries.delivered, 1);
  EXPECT_EQ(curator_.taken[0], journal_->Find("me", "sample").value()->report);

  // Asked again, it neither fetches nor reads, and has nothing to deliver.
  events_.clear();
  ASSERT_OK(Answer({{"x", "8"}, {"y", "no"}}));
  ASSERT_OK(Deliver());
  EXPECT_TRUE(events_.empty());
}

// The attack: a curator chooses classes and types so that some rows cannot be read, and watches who
// falls silent. Every device answers, after the same steps.
TEST_F(DeviceTest, NoRowMakesItFallSilent) {
  curator_.terms.schema = std::make_shared<const Schema>(
      *Schema::Create({testing::Numeric("x", 0, 10)}, "y", {"hiv", "zzz"}));
  const TextRow rows[] = {{{"x", "3"}, {"y", "hiv"}},
                          {{"x", "3"}, {"y", "healthy"}},
                          {{"x", "a text"}, {"y", "hiv"}},
                          {{"x", "1e999"}, {"y", ""}},
                          {{"x", std::string("\0\xFF", 2)}},
                          {{"other", "columns"}},
                          {}};
  for (const TextRow& row : rows) {
    SetUpAnew();
    ASSERT_OK(Answer(row));
    EXPECT_THAT(events_, ElementsAre("fetch", "read"));
    ASSERT_TRUE(HasAnswered());
  }
}

TEST_F(DeviceTest, ShowsItsIdWhereAStudyIsJoinedByItAndAnswersNotWithoutOne) {
  curator_.terms.schema = std::make_shared<const Schema>(curator_.terms.schema->WithAllPublic());
  curator_.terms.joined_by = "customer";
  const TextRow anna = {{"customer", "anna"}, {"x", "3"}, {"y", "yes"}};
  EXPECT_THAT(Answer(anna), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\"customer\"")));
  EXPECT_THAT(events_, ElementsAre("fetch"));
  policy_.join_ids = {"customer"};
  for (const TextRow& row : {TextRow{{"x", "3"}, {"y", "yes"}}, TextRow{{"customer", ""}},
                             TextRow{{"customer", std::string(65, 'a')}, {"y", "no"}}}) {
    EXPECT_THAT(Answer(row), StatusIs(StatusCode::kInvalidArgument, HasSubstr("the id")));
    EXPECT_FALSE(HasAnswered());
  }
  ASSERT_OK(Answer(anna));
  ASSERT_OK(Deliver());
  ASSERT_EQ(curator_.taken.size(), 1u);
  EXPECT_EQ(curator_.taken[0].public_values, "anna");
}

TEST_F(DeviceTest, OptingOutComesBeforeTheFetch) {
  policy_.opted_out = true;
  EXPECT_THAT(Answer({}), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  EXPECT_TRUE(events_.empty());
}

TEST_F(DeviceTest, AFullQueueComesBeforeTheFetch) {
  ASSERT_OK(Answer({}));
  policy_.max_waiting = 1;
  events_.clear();
  EXPECT_THAT(Device("me", policy_, *journal_, curator_)
                  .Answer(
                      "another", [] { return TextRow(); }, random_),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("waiting")));
  EXPECT_TRUE(events_.empty());
}

TEST_F(DeviceTest, APolicyThatDeclinesTheTermsComesBeforeTheRow) {
  curator_.terms.epsilon = *Budget::FromEpsilon(4);
  EXPECT_THAT(Answer({}), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("at most 2")));
  EXPECT_THAT(events_, ElementsAre("fetch"));
  EXPECT_FALSE(HasAnswered());
}

TEST_F(DeviceTest, AnswersWaitForTheirOwnCurator) {
  Meet(2);  // another curator has the study now
  ASSERT_OK(Answer({}));
  events_.clear();
  ASSERT_OK_AND_ASSIGN(const Device::Deliveries deliveries, Deliver());
  EXPECT_EQ(deliveries.of_other_curators, 1);
  EXPECT_TRUE(events_.empty());
}

TEST_F(DeviceTest, GivingUpDrainsTheQueue) {
  policy_.max_waiting = 1;
  ASSERT_OK(Answer({}));
  curator_.result = {Delivery::kUnknownStudy, "unknown study"};
  ASSERT_OK(Deliver());
  const Device device("me", policy_, *journal_, curator_);
  EXPECT_EQ(journal_->CountUndelivered().value(), 1u);
  ASSERT_OK(device.GiveUp("sample"));
  EXPECT_EQ(journal_->CountUndelivered().value(), 0u);
  EXPECT_THAT(device.GiveUp("never"), StatusIs(StatusCode::kNotFound, HasSubstr("never")));
}

TEST_F(DeviceTest, NothingIsSentForAnOwnerWhoOptedOut) {
  ASSERT_OK(journal_->SetOptedOut(true));
  ASSERT_OK(Deliver());  // nothing waits
  ASSERT_OK(journal_->SetOptedOut(false));
  ASSERT_OK(Answer({}));
  events_.clear();
  ASSERT_OK(journal_->SetOptedOut(true));
  EXPECT_THAT(Deliver().status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  ASSERT_OK(journal_->SetOptedOut(false));
  policy_.opted_out = true;
  EXPECT_THAT(Deliver().status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("opted out")));
  EXPECT_TRUE(events_.empty());
  policy_.opted_out = false;
  ASSERT_OK(Deliver());
  EXPECT_THAT(events_, ElementsAre("deliver"));
}

TEST_F(DeviceTest, ACuratorThatNobodyVouchesForGetsNoAnswer) {
  journal_.reset();
  std::remove((dir_.path() + "/journal").c_str());
  ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(dir_.path() + "/journal"));
  EXPECT_THAT(Answer({}), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("vouches")));
  EXPECT_THAT(events_, ElementsAre("fetch"));
}

TEST_F(DeviceTest, AnUnknownStudyIsNoEndAndARefusalIs) {
  ASSERT_OK(Answer({}));
  curator_.result = {Delivery::kUnknownStudy, "unknown study"};
  EXPECT_THAT(Deliver()->unknown, ElementsAre("sample"));
  curator_.result = {Delivery::kRefused, "study sealed"};
  EXPECT_THAT(Deliver()->refused, ElementsAre("study sealed"));
  EXPECT_TRUE(journal_->Undelivered().value().empty());
}

}  // namespace
}  // namespace coppice
