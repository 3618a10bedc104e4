// A device whose row fits no study, as a neighbour of devices whose rows fit: a curator that
// chooses classes and types tells nobody apart by more than epsilon. Silence is an output here.
//
// A mechanism joins by being in KindsForClasses().

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "server/lab/measure_epsilon/audit.h"
#include "tests/privacy/privacy_loss.h"
#include "tests/support/local_reports.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::IsLaplace;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::Law;
using ::coppice::testing::Numeric;
using ::coppice::testing::ProvenLoss;
using ::coppice::testing::Walk;
using ::coppice::testing::WalkAllBranches;

constexpr char kSilence[] = "silence";

// x < 5 is leaf 0; the rest and missing values are leaf 1. There are two classes.
Privatizer MakeDevice(MechanismKind kind, const char* epsilon) {
  auto schema =
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 10)}, "y", {"hiv", "zzz"}));
  const Node root{.kind = SplitKind::kNumeric, .threshold = 5, .left = 1, .right = 2};
  const Tree tree = *Tree::Create({root, Node{}, Node{}}, *schema);
  const Terms terms{
      .study = "s", .schema = schema, .epsilon = *Budget::Parse(epsilon), .mechanism = kind};
  return *Privatizer::Create(terms, {}, AllTrees({tree}));
}

std::vector<LabelledRow> FittingRows() { return {{{3}, 0}, {{3}, 1}, {{8}, 0}, {{8}, 1}}; }

// Rows as EncodeTotally() makes them, and as programs that do not use it may make them.
std::vector<LabelledRow> UnfitRows() {
  return {{{3}, kUnlabelled}, {{8}, 2}, {{kMissingValue}, kUnlabelled}, {{777}, 0}, {{}, 55}};
}

// A refused row is silence. Other errors are those of the draws, as where a walk is cut off.
StatusOr<std::string> WhatIsSeen(const Privatizer& device, const LabelledRow& row,
                                 const Ticket& ticket, PrivateRandom& random) {
  const auto report = device.Privatize(row, ticket, random);
  if (report.ok()) return report->payload;
  if (IsInvalidArgument(report.status())) return std::string(kSilence);
  return report.status();
}

// Laplace payloads are many; their first byte already tells silence from an answer.
StatusOr<std::string> FirstByteSeen(const Privatizer& device, const LabelledRow& row,
                                    PrivateRandom& random) {
  StatusOr<std::string> seen = WhatIsSeen(device, row, Ticket(), random);
  if (seen.ok()) seen->resize(1);
  return seen;
}

class UnfitRowTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  // Laplace noise has a tail on every entry; a large epsilon keeps it short enough to walk.
  const char* Epsilon() const { return IsLaplace(GetParam()) ? "9" : "1"; }
  Walk HowToWalk() const {
    return IsLaplace(GetParam()) ? Walk{.cut_off = 1e-5} : Walk{.lump_from = 4};
  }

  Law<std::string> LawOf(const Privatizer& device, const LabelledRow& row,
                         const Ticket& ticket) const {
    return WalkAllBranches<std::string>(HowToWalk(),
                                        [&](PrivateRandom& random) -> StatusOr<std::string> {
                                          return WhatIsSeen(device, row, ticket, random);
                                        });
  }
};

INSTANTIATE_TEST_SUITE_P(All, UnfitRowTest, ::testing::ValuesIn(KindsForClasses()),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(UnfitRowTest, IsToldFromNoOtherByMoreThanEpsilon) {
  const Privatizer device = MakeDevice(GetParam(), Epsilon());
  std::vector<LabelledRow> rows = FittingRows();
  for (const LabelledRow& unfit : UnfitRows()) rows.push_back(unfit);
  const uint8_t tickets = IsLaplace(GetParam()) ? 1 : 4;  // only others draw a column by ticket
  for (uint8_t number = 0; number < tickets; ++number) {
    Ticket ticket;
    ticket.id.fill(number);
    std::vector<Law<std::string>> laws;
    for (const LabelledRow& row : rows) laws.push_back(LawOf(device, row, ticket));
    double worst = 0;
    for (const Law<std::string>& one : laws) {
      EXPECT_NEAR(one.total() + one.cut, 1, 1e-9);
      // A loss is proven against all that was cut off, so a cut hides losses. Only Laplace tails
      // are cut, and a tenth still leaves most losses visible.
      EXPECT_LE(one.cut, 0.1);
      for (const Law<std::string>& other : laws) worst = std::max(worst, ProvenLoss(one, other));
    }
    EXPECT_LE(worst, device.terms().epsilon.epsilon() + 1e-9);
    // The rows do differ in the walk; local_enumeration_test checks by how much.
    EXPECT_GT(worst, 0.1);
  }
}

// An unknown class is replaced by each class equally often, so its law is the mean of their laws.
TEST_P(UnfitRowTest, WithAnUnknownClassIsTheMeanOfAllClasses) {
  const Privatizer device = MakeDevice(GetParam(), Epsilon());
  const Ticket ticket;
  const auto unknown = LawOf(device, {{3}, kUnlabelled}, ticket);
  const auto zero = LawOf(device, {{3}, 0}, ticket);
  const auto one = LawOf(device, {{3}, 1}, ticket);
  const double cut = unknown.cut + zero.cut + one.cut;
  for (const auto& [payload, p] : zero.probability) {
    EXPECT_NEAR(unknown.at(payload), (p + one.at(payload)) / 2, cut + 1e-9);
  }
}

// Runs the black-box audit on every pair of rows, on real randomness.
TEST_P(UnfitRowTest, IsNotFoundOutByTheAudit) {
  const Privatizer device = MakeDevice(GetParam(), "1");
  std::vector<LabelledRow> rows = {{{3}, 0}, {{8}, 1}};
  for (const LabelledRow& unfit : UnfitRows()) rows.push_back(unfit);
  const lab::AuditSubject subject = {
      .name = "device",
      .inputs = static_cast<uint32_t>(rows.size()),
      .run = [&](uint32_t input, PrivateRandom& random) -> StatusOr<std::string> {
        return FirstByteSeen(device, rows[input], random);
      }};
  ASSERT_OK_AND_ASSIGN(const lab::AuditResult result, lab::RunAudit(subject, {.trials = 200'000}));
  EXPECT_LE(result.epsilon_lower_bound, 1);
}

// Planted: the device falls silent if it does not know the class.
TEST_P(UnfitRowTest, ThatFallsSilentIsFoundOut) {
  const Privatizer device = MakeDevice(GetParam(), "1");
  const lab::AuditSubject subject = {
      .name = "silent device",
      .inputs = 2,
      .run = [&](uint32_t input, PrivateRandom& random) -> StatusOr<std::string> {
        if (input == 1) return std::string(kSilence);
        return FirstByteSeen(device, {{3}, 0}, random);
      }};
  ASSERT_OK_AND_ASSIGN(const lab::AuditResult result, lab::RunAudit(subject, {.trials = 20'000}));
  EXPECT_GT(result.epsilon_lower_bound, 3);
}

}  // namespace
}  // namespace coppice
