// The averaging attacker asks a device the same question a thousand times to average the noise
// away. He must learn no more than one report tells.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/device/run_session.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/envelope.h"
#include "tests/client/device/fake_curator.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::kFakePathBytes;
using ::coppice::testing::kFakeTreeBytes;
using ::coppice::testing::SamplePrivatizer;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTree;
using ::coppice::testing::Sign;
using ::coppice::testing::TempDir;

constexpr int kQuestions = 1000;
constexpr double kEpsilon = 0.5;

// What the attacker has seen, report by report.
class Attacker {
 public:
  // A ticket that no device has seen.
  Ticket FreshTicket() {
    Ticket ticket;
    ++tickets_;
    for (size_t i = 0; i < sizeof(tickets_); ++i) {
      ticket.id[i] = static_cast<uint8_t>(tickets_ >> (8 * i));
    }
    return ticket;
  }

  void See(const PrivateReport& report) {
    // The same report again tells nothing new.
    if (seen_.insert(report.ticket.ToBytes() + report.payload).second) {
      payloads_.push_back(report.payload);
    }
  }

  size_t different_reports() const { return seen_.size(); }

  // The most that his belief moves between any two cells of the row: the log ratio of the
  // probabilities of all the different reports that he saw.
  double Loss(const LocalMechanism& mechanism) const {
    double worst = 0;
    for (uint32_t a = 0; a < 4; ++a) {
      for (uint32_t b = 0; b < 4; ++b) {
        double loss = 0;
        for (const std::string& payload : payloads_) {
          loss += *mechanism.LogOutputProbability({a / 2, a % 2}, 0, payload) -
                  *mechanism.LogOutputProbability({b / 2, b % 2}, 0, payload);
        }
        worst = std::max(worst, loss);
      }
    }
    return worst;
  }

 private:
  uint64_t tickets_ = 0;
  std::set<std::string> seen_;
  std::vector<std::string> payloads_;
};

// A curator that offers every study that it is asked for, each time with a fresh ticket.
class AskingCurator final : public Carrier {
 public:
  explicit AskingCurator(Attacker& attacker) : attacker_(attacker) {}

  StatusOr<std::string> Carry(const DeviceCall& call) override {
    v1::GetOfferRequest request;
    if (!request.ParseFromString(call.request))
      return InvalidArgumentError("no offer is asked for");
    ++offers;
    Terms terms = SampleTerms(request.name().substr(request.name().rfind('/') + 1), epsilon);
    terms.forest_root = packed_.merkle.root;
    v1::GetOfferResponse response;
    response.set_terms(SerializeTerms(terms));
    const Fingerprint fingerprint = FingerprintOf(response.terms());
    response.set_fingerprint(std::string(fingerprint.begin(), fingerprint.end()));
    response.add_tickets(attacker_.FreshTicket().ToBytes());
    response.set_tree(MakeEnvelope(packed_.trees[0], kFakeTreeBytes));
    response.set_tree_path(MakeEnvelope(packed_.merkle.paths[0], kFakePathBytes));
    *response.mutable_manifest() = ToProto(Sign(FakeKey(), FakeManifest(terms)));
    return response.SerializeAsString();
  }

  double epsilon = kEpsilon;
  int offers = 0;

 private:
  Attacker& attacker_;
  const PackedForest packed_ = PackForest({SampleTree()});
};

class AveragingAttackerTest : public ::testing::Test {
 protected:
  std::string JournalPath() const { return dir_.path() + "/journal"; }

  // Restarts the device, which knows only what is in its journal.
  void Restart() {
    store_.reset();
    ASSERT_OK_AND_ASSIGN(store_, JournalStore::Open(JournalPath()));
  }

  // Has the device asked once more, and shows the attacker what it keeps to be sent.
  Status Ask(const std::string& study = "sample") {
    DeviceSession session(
        {.policy = policy_, .offers = offers_, .journal = store_->journal(), .random = random_},
        {.server = "curator:1",
         .subjects = {"me"},
         .study = study,
         .deliver = SessionPlan::Deliver::kNothing});
    const Status run = RunSession(session, {.journal = *store_, .carrier = curator_},
                                  [this](size_t, const Terms&) { return row_; });
    const std::optional<JournalEntry> answer = store_->journal().Find("me", study);
    if (answer.has_value()) attacker_.See(answer->report);
    return run.ok() ? session.outcome().answer : run;
  }

  TempDir dir_;
  LabelledRow row_ = {{3}, 1};
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  const OfferPolicy offers_{};
  std::unique_ptr<JournalStore> store_;
  OpenSslRandom random_;
  Attacker attacker_;
  AskingCurator curator_{attacker_};
  const Privatizer privatizer_ = SamplePrivatizer("sample", kEpsilon);
  const std::unique_ptr<LocalMechanism> mechanism_ = *MakeLocalMechanism(
      MechanismKind::kSymmetricUnary, *Budget::FromEpsilon(kEpsilon), {.leaves = 2, .classes = 2});
};

TEST_F(AveragingAttackerTest, LearnsOneReportsWorthThroughRestartsAndRetries) {
  Restart();
  for (int i = 0; i < kQuestions; ++i) {
    if (i % 10 == 9) Restart();
    if (i % 100 == 50) {
      // The device dies while it appends, and leaves half a record.
      store_.reset();
      std::ofstream(JournalPath(), std::ios::binary | std::ios::app) << '\x40';
      Restart();
    }
    ASSERT_OK(Ask());
  }
  EXPECT_EQ(curator_.offers, 1);
  EXPECT_EQ(attacker_.different_reports(), 1u);
  EXPECT_LE(attacker_.Loss(*mechanism_), kEpsilon);
}

// A row that fits no study is answered once like any other: drawing its class again does not draw
// another answer.
TEST_F(AveragingAttackerTest, LearnsNoMoreOfARowThatDoesNotFit) {
  for (const LabelledRow& unfit :
       {LabelledRow{{3}, kUnlabelled}, LabelledRow{{777}, 1}, LabelledRow{{}, 55}}) {
    row_ = unfit;
    attacker_ = Attacker();
    store_.reset();
    std::remove(JournalPath().c_str());
    Restart();
    for (int i = 0; i < kQuestions; ++i) ASSERT_OK(Ask());
    EXPECT_EQ(attacker_.different_reports(), 1u);
    EXPECT_LE(attacker_.Loss(*mechanism_), kEpsilon);
  }
}

// A study that was answered is not even asked for again, whatever its curator would say of it now.
TEST_F(AveragingAttackerTest, OtherTermsForTheSameStudyGetNoOtherAnswer) {
  Restart();
  ASSERT_OK(Ask());
  for (int i = 2; i < 50; ++i) {
    curator_.epsilon = kEpsilon / i;
    ASSERT_OK(Ask());
  }
  EXPECT_EQ(curator_.offers, 1);
  EXPECT_EQ(attacker_.different_reports(), 1u);
}

TEST_F(AveragingAttackerTest, StudiesUnderOtherNamesEndAtTheTotalThatTheDeviceAgreedTo) {
  policy_.max_total_epsilon = *Budget::FromEpsilon(2);
  Restart();
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    if (i % 10 == 9) Restart();
    answered += Ask("sample-" + std::to_string(i)).ok() ? 1 : 0;
  }
  EXPECT_EQ(answered, 4);  // 4 * 0.5
  EXPECT_EQ(attacker_.different_reports(), 4u);
}

// Shows that the attack works on a device that randomizes anew each time: the tests would see it.
TEST_F(AveragingAttackerTest, WouldSucceedWithoutTheJournal) {
  for (int i = 0; i < kQuestions; ++i) {
    ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                         privatizer_.Privatize({{3}, 1}, attacker_.FreshTicket(), random_));
    attacker_.See(report);
  }
  EXPECT_EQ(attacker_.different_reports(), static_cast<size_t>(kQuestions));
  EXPECT_GT(attacker_.Loss(*mechanism_), 20 * kEpsilon);
}

}  // namespace
}  // namespace coppice
