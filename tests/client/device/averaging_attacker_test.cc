// The averaging attacker is a curator that asks a device the same question a thousand times, to
// average the noise away. He must learn no more than one report tells.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/device/run_session.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/client/device/served_carrier.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::ServedCarrier;
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

  // A SealedReports message, as he opened it.
  void See(const std::string& message) {
    v1::SealedReports reports;
    ASSERT_TRUE(reports.ParseFromString(message));
    for (const v1::Report& report : reports.reports()) See(report.ticket(), report.payload());
  }
  void See(const std::string& ticket, const std::string& payload) {
    // The same report again tells nothing new.
    if (seen_.insert(ticket + payload).second) payloads_.push_back(payload);
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

class AveragingAttackerTest : public ::testing::Test {
 protected:
  std::string JournalPath() const { return dir_.path() + "/journal"; }

  // Restarts the device, which knows only what is in its journal.
  void Restart() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, JournalStore::Open(JournalPath()));
  }

  // Lures the device to a study with these terms, with a ticket of its own, and acknowledges
  // nothing that it sends.
  Status Ask(const Terms& terms, const Ticket& ticket, Attacker& attacker) {
    curator_.reports.failures = 1'000'000;
    curator_.studies.tamper = [&](v1::GetOfferResponse& response) {
      response.set_terms(SerializeTerms(terms));
      response.set_tickets(0, ticket.ToBytes());
      const uint32_t tree = TreeOfTicket(ticket, terms.trees);
      const PackedForest& packed = curator_.studies.packed;
      response.set_tree(MakeEnvelope(packed.trees[tree], testing::kFakeTreeBytes));
      response.set_tree_path(MakeEnvelope(packed.merkle.paths[tree], testing::kFakePathBytes));
      *response.mutable_manifest() = ToProto(Sign(FakeKey(), FakeManifest(terms)));
    };
    DeviceSession session(
        {.policy = policy_, .offers = offers_, .journal = journal_->journal(), .random = random_},
        {.server = "curator:1", .subjects = {"me"}, .study = terms.study});
    curator_.reports.requests.clear();
    COPPICE_RETURN_IF_ERROR(RunSession(session, {.journal = *journal_, .carrier = carrier_},
                                       [this](size_t, const Terms&) { return row_; }));
    for (const std::string& message : curator_.reports.requests) attacker.See(message);
    return session.outcome().answer;
  }

  static Terms TermsOf(const std::string& study, double epsilon) {
    Terms terms = FakeTerms();
    terms.study = study;
    terms.epsilon = *Budget::FromEpsilon(epsilon);
    return terms;
  }

  TempDir dir_;
  LabelledRow row_ = {{3}, 1};
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  const OfferPolicy offers_{.curator_key = FakeKey().public_key()};
  ScriptedServices curator_;
  ServedCarrier<ScriptedServices> carrier_{curator_};
  std::unique_ptr<JournalStore> journal_;
  OpenSslRandom random_;
  const Terms terms_ = TermsOf("sample", kEpsilon);
  const std::unique_ptr<LocalMechanism> mechanism_ = *MakeLocalMechanism(
      MechanismKind::kSymmetricUnary, *Budget::FromEpsilon(kEpsilon), {.leaves = 2, .classes = 2});
};

TEST_F(AveragingAttackerTest, LearnsOneReportsWorthThroughRestartsAndRetries) {
  Restart();
  Attacker attacker;
  for (int i = 0; i < kQuestions; ++i) {
    if (i % 10 == 9) Restart();
    if (i % 100 == 50) {
      // The device dies while it appends, and leaves half a record.
      journal_.reset();
      std::ofstream(JournalPath(), std::ios::binary | std::ios::app) << '\x40';
      Restart();
    }
    ASSERT_OK(Ask(terms_, attacker.FreshTicket(), attacker));
  }
  EXPECT_EQ(attacker.different_reports(), 1u);
  EXPECT_LE(attacker.Loss(*mechanism_), kEpsilon);
}

// A row that fits no study is answered once like any other: drawing its class again does not draw
// another answer.
TEST_F(AveragingAttackerTest, LearnsNoMoreOfARowThatDoesNotFit) {
  for (const LabelledRow& unfit :
       {LabelledRow{{3}, kUnlabelled}, LabelledRow{{777}, 1}, LabelledRow{{}, 55}}) {
    row_ = unfit;
    journal_.reset();
    std::remove(JournalPath().c_str());
    Restart();
    Attacker attacker;
    for (int i = 0; i < kQuestions; ++i) {
      ASSERT_OK(Ask(terms_, attacker.FreshTicket(), attacker));
    }
    EXPECT_EQ(attacker.different_reports(), 1u);
    EXPECT_LE(attacker.Loss(*mechanism_), kEpsilon);
  }
}

TEST_F(AveragingAttackerTest, GetsNoOtherAnswerForOtherTermsOfTheStudy) {
  Restart();
  Attacker attacker;
  ASSERT_OK(Ask(terms_, attacker.FreshTicket(), attacker));
  for (int i = 2; i < 50; ++i) {
    ASSERT_OK(Ask(TermsOf("sample", kEpsilon / i), attacker.FreshTicket(), attacker));
  }
  EXPECT_EQ(attacker.different_reports(), 1u);
}

TEST_F(AveragingAttackerTest, StudiesUnderOtherNamesEndAtTheTotalThatTheDeviceAgreedTo) {
  policy_.max_total_epsilon = *Budget::FromEpsilon(2);
  Restart();
  Attacker attacker;
  int answered = 0;
  for (int i = 0; i < kQuestions; ++i) {
    if (i % 100 == 99) Restart();
    const Terms again = TermsOf("sample-" + std::to_string(i), kEpsilon);
    answered += Ask(again, attacker.FreshTicket(), attacker).ok() ? 1 : 0;
  }
  EXPECT_EQ(answered, 4);  // 4 * 0.5
}

// Shows that the attack works on a device that randomizes anew each time: the tests would see it.
TEST_F(AveragingAttackerTest, WouldSucceedWithoutTheJournal) {
  Attacker attacker;
  const Privatizer privatizer = testing::SamplePrivatizer("sample", kEpsilon);
  for (int i = 0; i < kQuestions; ++i) {
    ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                         privatizer.Privatize({{3}, 1}, attacker.FreshTicket(), random_));
    attacker.See(report.ticket.ToBytes(), report.payload);
  }
  EXPECT_EQ(attacker.different_reports(), static_cast<size_t>(kQuestions));
  EXPECT_GT(attacker.Loss(*mechanism_), 20 * kEpsilon);
}

}  // namespace
}  // namespace coppice
