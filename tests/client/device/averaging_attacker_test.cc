// The averaging attacker asks a device the same question a thousand times to average the noise
// away. He must learn no more than one report tells.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/device/responder.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::SamplePrivatizer;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

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

class AveragingAttackerTest : public ::testing::Test {
 protected:
  std::string JournalPath() const { return dir_.path() + "/journal"; }

  // Restarts the device, which knows only what is in its journal.
  void Restart() {
    journal_.reset();
    ASSERT_OK_AND_ASSIGN(journal_, Journal::Open(JournalPath()));
  }

  StatusOr<std::vector<PrivateReport>> Ask(const Privatizer& privatizer, const Ticket& ticket) {
    return Responder(policy_, *journal_)
        .Respond(
            privatizer, {{"me", ticket}}, [this](size_t) { return row_; }, random_);
  }

  TempDir dir_;
  LabelledRow row_ = {{3}, 1};
  Policy policy_{.max_epsilon = *Budget::FromEpsilon(2), .max_total_epsilon = {}};
  std::unique_ptr<Journal> journal_;
  OpenSslRandom random_;
  const Privatizer privatizer_ = SamplePrivatizer("sample", kEpsilon);
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
    ASSERT_OK_AND_ASSIGN(const auto reports, Ask(privatizer_, attacker.FreshTicket()));
    ASSERT_EQ(reports.size(), 1u);
    attacker.See(reports[0]);
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
      ASSERT_OK_AND_ASSIGN(const auto reports, Ask(privatizer_, attacker.FreshTicket()));
      attacker.See(reports.at(0));
    }
    EXPECT_EQ(attacker.different_reports(), 1u);
    EXPECT_LE(attacker.Loss(*mechanism_), kEpsilon);
  }
}

TEST_F(AveragingAttackerTest, OtherTermsForTheSameStudyGetNoAnswer) {
  Restart();
  Attacker attacker;
  ASSERT_OK(Ask(privatizer_, attacker.FreshTicket()));
  for (uint8_t i = 2; i < 50; ++i) {
    const Privatizer other = SamplePrivatizer("sample", kEpsilon / i, {i});
    EXPECT_THAT(Ask(other, attacker.FreshTicket()),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other terms")));
  }
}

TEST_F(AveragingAttackerTest, StudiesUnderOtherNamesEndAtTheTotalThatTheDeviceAgreedTo) {
  policy_.max_total_epsilon = *Budget::FromEpsilon(2);
  Restart();
  Attacker attacker;
  int answered = 0;
  for (int i = 0; i < kQuestions; ++i) {
    if (i % 100 == 99) Restart();
    const Privatizer again = SamplePrivatizer("sample-" + std::to_string(i), kEpsilon);
    answered += Ask(again, attacker.FreshTicket()).ok() ? 1 : 0;
  }
  EXPECT_EQ(answered, 4);  // 4 * 0.5
}

// Shows that the attack works on a device that randomizes anew each time: the tests would see it.
TEST_F(AveragingAttackerTest, WouldSucceedWithoutTheJournal) {
  Attacker attacker;
  for (int i = 0; i < kQuestions; ++i) {
    ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                         privatizer_.Privatize({{3}, 1}, attacker.FreshTicket(), random_));
    attacker.See(report);
  }
  EXPECT_EQ(attacker.different_reports(), static_cast<size_t>(kQuestions));
  EXPECT_GT(attacker.Loss(*mechanism_), 20 * kEpsilon);
}

}  // namespace
}  // namespace coppice
