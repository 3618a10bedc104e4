// A study that is joined by an id: the device shows its id, hides its label, and sends nothing else
// of its row.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "client/device/journal_format.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_values.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kClasses = 3;

Terms CustomerTerms(MechanismKind mechanism = MechanismKind::kDirect) {
  const Schema schema = *Schema::Create(
      {Numeric("income", 0, 10), Numeric("debt", 0, 10)}, "default",
      mechanism == MechanismKind::kSignedHadamard ? std::vector<std::string>{"no", "yes"}
                                                  : std::vector<std::string>{"no", "late", "yes"});
  return {.study = "s",
          .schema = std::make_shared<const Schema>(schema.WithAllPublic()),
          .trees = 1,
          .epsilon = *Budget::FromEpsilon(1),
          .mechanism = mechanism,
          .joined_by = "customer"};
}

Tree IncomeTree(const Schema& schema) {
  return *Tree::Create(
      {{.kind = SplitKind::kNumeric, .threshold = 5, .left = 1, .right = 2}, {}, {}}, schema);
}

Privatizer MakePrivatizer(const Terms& terms) {
  return *Privatizer::Create(terms, {}, AllTrees({IncomeTree(*terms.schema)}));
}

LabelledRow CustomerRow(std::string id, uint32_t label, Row row = {}) {
  return {.row = std::move(row), .label = label, .id = std::move(id)};
}

std::vector<std::string> SampleIds() {
  return {"1", "anna", std::string(kMaxJoinIdBytes, 'x'), std::string("\0\xff/", 3)};
}

class JoinedLawTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  // The law of all that a device sends except its ticket, which is drawn before.
  Law<std::string> LawOf(const LabelledRow& row, const Ticket& ticket) const {
    return WalkAllBranches<std::string>({}, [&](PrivateRandom& random) -> StatusOr<std::string> {
      const auto report = privatizer_.Privatize(row, ticket, random);
      if (!report.ok()) return report.status();
      EXPECT_EQ(report->public_values, row.id);
      return report->payload;
    });
  }

  const Terms terms_ = CustomerTerms(GetParam());
  const Privatizer privatizer_ = MakePrivatizer(terms_);
};

// For every id, label and ticket, by all branches of the code, the report is the id and a payload
// with the law of the mechanism for one leaf; the row's features do not affect it.
TEST_P(JoinedLawTest, TheReportIsTheRandomizedLabelOfTheIdAlone) {
  const auto mechanism = *MakeMechanism(terms_, 1);
  for (uint8_t number = 0; number < 4; ++number) {
    Ticket ticket;
    ticket.id.fill(number);
    const uint32_t column = DrawOf(ticket).Column(mechanism->columns());
    for (uint32_t label = 0; label < terms_.schema->num_classes(); ++label) {
      const Law<std::string> reference = LawOf(CustomerRow("1", label), ticket);
      EXPECT_NEAR(reference.total(), 1, 1e-9);
      for (const auto& [payload, p] : reference.probability) {
        EXPECT_NEAR(p, *mechanism->OutputProbability({0, label}, column, payload), 1e-9);
      }
      for (const std::string& id : SampleIds()) {
        for (const Row& row : {Row{}, Row{1, 2}, Row{9, kMissingValue}}) {
          EXPECT_EQ(LawOf(CustomerRow(id, label, row), ticket).probability, reference.probability);
        }
      }
    }
  }
}

// The guarantee: neighbours differ in the label, which may be none of the classes.
TEST_P(JoinedLawTest, LabelsOfOneIdDifferByAtMostEpsilon) {
  std::vector<Law<std::string>> laws;
  for (const uint32_t label : {0u, 1u, 2u, kUnlabelled}) {
    laws.push_back(LawOf(CustomerRow("anna", label), Ticket()));
  }
  for (const Law<std::string>& one : laws) {
    for (const Law<std::string>& other : laws) {
      for (const auto& [payload, p] : one.probability) {
        EXPECT_LE(p, other.at(payload) * std::exp(1.0) * (1 + 1e-9));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, JoinedLawTest,
                         ::testing::Values(MechanismKind::kDirect, MechanismKind::kSignedHadamard,
                                           MechanismKind::kSubsetSelection,
                                           MechanismKind::kLocalHashing),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST(JoinedStudyTest, ARowWithoutAnIdHasNoAnswerWhateverItsLabel) {
  const Privatizer privatizer = MakePrivatizer(CustomerTerms());
  OpenSslRandom random;
  for (uint32_t label = 0; label <= kClasses; ++label) {
    for (const std::string& id : {std::string(), std::string(kMaxJoinIdBytes + 1, 'x')}) {
      EXPECT_THAT(privatizer.Privatize(CustomerRow(id, label), Ticket(), random),
                  StatusIs(StatusCode::kInvalidArgument,
                           AllOf(HasSubstr("\"customer\""), HasSubstr("nothing is sent"),
                                 Not(HasSubstr("xxx")))));
    }
  }
}

TEST(JoinedStudyTest, TheJournalKeepsIdsOfAnyBytes) {
  for (const std::string& id : SampleIds()) {
    JournalEntry entry{.subject = "a", .epsilon = *Budget::FromEpsilon(1), .report = {}};
    entry.report.public_values = id;
    const auto read = *DecodeRecord(EncodeRecord(std::vector<JournalEntry>{entry}));
    EXPECT_EQ(std::get<std::vector<JournalEntry>>(read)[0].report, entry.report);
  }
}

// Features are not sent, so agreeing to show them is neither needed nor enough.
TEST(JoinedStudyTest, ADeviceDeclinesAnIdThatItDoesNotShow) {
  const Terms terms = CustomerTerms();
  Policy policy{.max_epsilon = terms.epsilon, .allowed_in_clear = {"income", "debt"}};
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the id \"customer\" sent")));
  policy.join_ids = {"customer"};
  policy.allowed_in_clear.clear();
  EXPECT_OK(policy.Allows(terms, {}));
  Terms open = terms;
  open.joined_by.clear();
  EXPECT_THAT(policy.Allows(open, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("feature \"income\"")));
}

TEST(JoinedStudyTest, ADevicesOwnSchemaNeedAgreeInTheLabelAlone) {
  const Terms terms = CustomerTerms();
  Policy policy{.max_epsilon = terms.epsilon, .join_ids = {"customer"}};
  const auto own = [](const char* label, std::vector<std::string> classes) {
    return std::make_shared<const Schema>(
        *Schema::Create({Numeric("anything", 0, 1)}, label, std::move(classes)));
  };
  policy.own_schema = own("default", {"no", "late", "yes"});
  EXPECT_OK(policy.Allows(terms, {}));
  for (const auto& other : {own("churn", {"no", "late", "yes"}), own("default", {"no", "yes"})}) {
    policy.own_schema = other;
    EXPECT_THAT(policy.Allows(terms, {}),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("own schema")));
  }
  policy.own_schema = std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("anything", 0, 1)}, "default", {.min = 0, .max = 1}));
  EXPECT_THAT(policy.Allows(terms, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("own schema")));
}

}  // namespace
}  // namespace coppice
