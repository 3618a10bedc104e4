#include "common/terms/report_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/terms/answer.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Law;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kRounding = 1e-9;  // of the walked laws

Schema VisitSchema(const std::vector<std::string>& public_features) {
  return *Schema::Create({Numeric("age", 0, 100), Categorical("region", {"north", "south"})},
                         "sick", {"no", "yes"})
              ->WithPublicFeatures(public_features);
}

Terms VisitTerms(MechanismKind mechanism, const std::vector<std::string>& public_features,
                 const std::string& id = "") {
  return {.study = "s",
          .schema = std::make_shared<const Schema>(VisitSchema(public_features)),
          .trees = 1,
          .epsilon = *Budget::FromNanos(1'000'000'000),
          .mechanism = mechanism,
          .joined_by = id};
}

// region == north ? (age < 50 ? leaf 0 : leaf 1) : leaf 2
Tree VisitTree(const Schema& schema) {
  return *Tree::Create(
      {{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 4},
       {.kind = SplitKind::kNumeric, .feature = 0, .threshold = 50, .left = 2, .right = 3},
       {},
       {},
       {}},
      schema);
}

// What whoever sees a report sees, by all branches of the code that makes it.
using Seen = std::pair<std::string, std::string>;  // in the clear, payload
Law<Seen> LawOf(const Terms& terms, const LabelledRow& row, const Ticket& ticket) {
  const ReportForm& form = ReportForm::Of(terms);
  const Tree tree = VisitTree(*terms.schema);
  const TicketDraw draw = DrawOf(ticket);
  const auto mechanism = *MakeMechanism(terms, form.PayloadLeaves(tree));
  return WalkAllBranches<Seen>({}, [&](PrivateRandom& random) -> StatusOr<Seen> {
    Seen seen;
    const Status filled =
        form.Fill({.terms = terms, .tree = tree, .draw = draw, .mechanism = *mechanism}, row,
                  random, {.payload = seen.second, .in_clear = seen.first});
    if (!filled.ok()) return filled;
    return seen;
  });
}

// Fails unless whatever is seen is at most exp(epsilon) times as likely for one row as for another.
void ExpectPrivate(const Terms& terms, const std::vector<LabelledRow>& neighbours) {
  const double most = std::exp(terms.epsilon.epsilon());
  for (uint8_t number = 0; number < 4; ++number) {
    Ticket ticket;
    ticket.id.fill(number);
    std::vector<Law<Seen>> laws;
    for (const LabelledRow& row : neighbours) {
      laws.push_back(LawOf(terms, row, ticket));
      EXPECT_NEAR(laws.back().total(), 1, kRounding);
    }
    for (const Law<Seen>& one : laws) {
      for (const Law<Seen>& other : laws) {
        for (const auto& [seen, p] : one.probability) {
          EXPECT_LE(p, most * other.at(seen) + kRounding);
        }
      }
    }
  }
}

class ReportFormLawTest : public ::testing::TestWithParam<MechanismKind> {};

// Their draws have few branches; tests/common/ldp walks those of the other mechanisms.
INSTANTIATE_TEST_SUITE_P(Mechanisms, ReportFormLawTest,
                         ::testing::Values(MechanismKind::kDirect, MechanismKind::kSignedHadamard),
                         [](const auto& mechanism) {
                           return std::string(MechanismName(mechanism.param));
                         });

const LabelledRow kOddRow = {{kMissingValue, 0.5}, 7};  // fits neither features nor classes

TEST_P(ReportFormLawTest, LeafAndLabelHidesTheWholeRow) {
  ExpectPrivate(VisitTerms(GetParam(), {}),
                {{{10, 0}, 0}, {{90, 0}, 1}, {{10, 1}, 1}, {{10, 1}, 0}, kOddRow});
}

TEST_P(ReportFormLawTest, PublicFeaturesHideTheRest) {
  const Terms terms = VisitTerms(GetParam(), {"region"});
  ExpectPrivate(terms, {{{10, 0}, 0}, {{90, 0}, 1}, {{kMissingValue, 0}, 7}});
  ExpectPrivate(terms, {{{10, 1}, 0}, {{90, 1}, 1}, {{-5, 1}, 1}});
}

TEST_P(ReportFormLawTest, LabelAloneHidesTheLabel) {
  ExpectPrivate(VisitTerms(GetParam(), {"age", "region"}),
                {{{10, 0}, 0}, {{10, 0}, 1}, {{10, 0}, 7}});
}

TEST_P(ReportFormLawTest, AnIdHidesTheLabelAndAllFeatures) {
  LabelledRow no = {{10, 0}, 0}, yes = {{90, 1}, 1}, odd = kOddRow;
  no.id = yes.id = odd.id = "customer 7";
  ExpectPrivate(VisitTerms(GetParam(), {"age", "region"}, "customer"), {no, yes, odd});
}

TEST(ReportFormTest, FollowsFromTheTerms) {
  const auto form_of = [](const std::vector<std::string>& features, const std::string& id = "") {
    return &ReportForm::Of(VisitTerms(MechanismKind::kDirect, features, id));
  };
  EXPECT_EQ(form_of({}), &ReportForm::LeafAndLabel());
  EXPECT_EQ(form_of({"age"}), &ReportForm::PublicFeatures());
  EXPECT_EQ(form_of({"age", "region"}), &ReportForm::LabelAlone());
  EXPECT_EQ(form_of({"age", "region"}, "customer"), &ReportForm::JoinedById());
}

TEST(ReportFormTest, NamesWhatIsInTheClear) {
  const auto names = [](const Terms& terms) { return ReportForm::Of(terms).NamesInClear(terms); };
  EXPECT_THAT(names(VisitTerms(MechanismKind::kDirect, {})), IsEmpty());
  EXPECT_THAT(names(VisitTerms(MechanismKind::kDirect, {"region"})), ElementsAre("region"));
  EXPECT_THAT(names(VisitTerms(MechanismKind::kDirect, {"age", "region"}, "customer")),
              ElementsAre("customer"));
}

TEST(ReportFormTest, ShowsNoMoreBytesThanItSays) {
  LabelledRow row = {{10, 0}, 0};
  row.id = std::string(64, 'x');
  for (const Terms& terms :
       {VisitTerms(MechanismKind::kDirect, {}), VisitTerms(MechanismKind::kDirect, {"region"}),
        VisitTerms(MechanismKind::kDirect, {"age", "region"}),
        VisitTerms(MechanismKind::kDirect, {"age", "region"}, "customer")}) {
    for (const auto& [seen, p] : LawOf(terms, row, Ticket()).probability) {
      EXPECT_LE(seen.first.size(), ReportForm::Of(terms).MaxBytesInClear(terms));
    }
  }
}

TEST(ReportFormTest, AnIdDeclinesARowWithoutOneBeforeTheLabelIsRead) {
  const Terms terms = VisitTerms(MechanismKind::kDirect, {"age", "region"}, "customer");
  const Tree tree = VisitTree(*terms.schema);
  const auto mechanism = *MakeMechanism(terms, 1);
  testing::WalkingRandom random({});
  for (const uint32_t label : {0u, 1u}) {
    std::string payload, in_clear;
    EXPECT_THAT(ReportForm::JoinedById().Fill(
                    {.terms = terms, .tree = tree, .draw = TicketDraw(), .mechanism = *mechanism},
                    {{10, 0}, label}, random, {.payload = payload, .in_clear = in_clear}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("asks for the id \"customer\"")));
    EXPECT_THAT(payload, IsEmpty());
    EXPECT_EQ(random.probability(), 1);  // nothing was drawn
  }
}

TEST(ReportFormTest, AnIdTakesOfATextTheIdAndTheLabelAlone) {
  const Terms terms = VisitTerms(MechanismKind::kDirect, {"age", "region"}, "customer");
  const LabelledRow row = ReportForm::Of(terms).Encode(
      terms, {{"customer", "c-7"}, {"age", "41"}, {"region", "north"}, {"sick", "yes"}});
  EXPECT_EQ(row.id, "c-7");
  EXPECT_EQ(row.label, 1u);
  EXPECT_TRUE(IsMissing(row.row[0]));
  EXPECT_TRUE(IsMissing(row.row[1]));
}

TEST(ReportFormTest, AnIdNeedsOfADevicesOwnSchemaTheLabelAlone) {
  const Schema study = VisitSchema({"age", "region"});
  const Schema own = *Schema::Create({Numeric("height", 0, 3)}, "sick", {"no", "yes"});
  const Schema other = *Schema::Create({Numeric("age", 0, 100)}, "sick", {"no", "maybe"});
  EXPECT_OK(ReportForm::JoinedById().CheckAgrees(study, own));
  EXPECT_THAT(ReportForm::JoinedById().CheckAgrees(study, other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\"sick\"")));
  EXPECT_THAT(ReportForm::LabelAlone().CheckAgrees(study, own),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("age")));
}

TEST(ReportFormTest, LaplaceNoiseServesOnlyWhatShowsNothing) {
  const Budget epsilon = *Budget::FromNanos(1'000'000'000);
  const Schema schema = VisitSchema({});
  EXPECT_OK(
      ReportForm::LeafAndLabel().CheckMechanism(MechanismKind::kLaplaceJoint, epsilon, schema));
  EXPECT_OK(ReportForm::PublicFeatures().CheckMechanism(MechanismKind::kDirect, epsilon, schema));
  for (const ReportForm* form :
       {&ReportForm::PublicFeatures(), &ReportForm::LabelAlone(), &ReportForm::JoinedById()}) {
    EXPECT_THAT(form->CheckMechanism(MechanismKind::kLaplaceJoint, epsilon, schema),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("without public features")));
  }
}

// Ages are public, costs are hidden.
Terms CostTerms(MechanismKind mechanism) {
  const Schema schema =
      *Schema::CreateRegression({Numeric("age", 0, 100)}, "cost", {.min = 0, .max = 100});
  Terms terms = VisitTerms(mechanism, {});
  terms.schema = std::make_shared<const Schema>(schema.WithAllPublic());
  terms.rounding = NumberRange{.low = 20, .high = 60};
  return terms;
}

TEST(ReportFormTest, AWindowServesOnlyNumbersAlone) {
  const Budget epsilon = *Budget::FromNanos(1'000'000'000);
  const auto check = [&](const ReportForm& form, const Schema& schema) {
    return form.CheckMechanism(MechanismKind::kWindowResponse, epsilon, schema);
  };
  const Schema numbers = *CostTerms(MechanismKind::kDirect).schema;
  EXPECT_OK(check(ReportForm::LabelAlone(), numbers));
  EXPECT_OK(check(ReportForm::JoinedById(), numbers));
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("numbers whose features are all public"));
  EXPECT_THAT(check(ReportForm::LeafAndLabel(), numbers), refused);
  EXPECT_THAT(check(ReportForm::PublicFeatures(), numbers), refused);
  EXPECT_THAT(check(ReportForm::LabelAlone(), VisitSchema({"age", "region"})), refused);
}

TEST(ReportFormTest, TermsStateTheWindowOfTheirMechanism) {
  Terms terms = CostTerms(MechanismKind::kWindowResponse);
  EXPECT_THAT(ValidateTerms(terms), StatusIs(StatusCode::kInvalidArgument,
                                             HasSubstr("window: must be set for the mechanism")));
  terms.window = Window{.reach = 5, .half_width = 2};
  EXPECT_OK(ValidateTerms(terms));
  EXPECT_EQ((*MakeMechanism(terms, 1))->window(), terms.window);
  for (const Window window : {Window{0, 0}, Window{64, 1}, Window{5, 5}}) {
    terms.window = window;
    EXPECT_THAT(ValidateTerms(terms),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("window: reach must be")));
  }
  terms = CostTerms(MechanismKind::kDirect);
  terms.window = Window{.reach = 5, .half_width = 2};
  EXPECT_THAT(ValidateTerms(terms), StatusIs(StatusCode::kInvalidArgument,
                                             HasSubstr("window: is not for the mechanism direct")));
}

class AnswerTest : public ::testing::TestWithParam<MechanismKind> {
 protected:
  AnswerTest() {
    if (GetParam() == MechanismKind::kWindowResponse) terms_.window = Window{5, 2};
    mechanism_ = *MakeMechanism(terms_, 1);
  }

  Law<std::string> LawOf(double number) const {
    return WalkAllBranches<std::string>({}, [&](PrivateRandom& random) -> StatusOr<std::string> {
      std::string payload;
      const Status status = RandomizeAnswer(terms_, {.tree = tree_, .mechanism = *mechanism_},
                                            {{10}, 0, number}, random, payload);
      if (!status.ok()) return status;
      return payload;
    });
  }

  double MeanOf(double number) const {
    double mean = 0;
    for (const auto& [payload, p] : LawOf(number).probability) {
      std::vector<int64_t> sums(mechanism_->sum_size());
      EXPECT_OK(mechanism_->Add(payload, 0, absl::MakeSpan(sums)));
      mean += p * mechanism_->Estimate(sums, 1).at(0, 1);
    }
    return 20 + 40 * mean;
  }

  const Tree tree_ = Tree::SingleLeaf();
  Terms terms_ = CostTerms(GetParam());
  std::unique_ptr<LocalMechanism> mechanism_;
};

INSTANTIATE_TEST_SUITE_P(All, AnswerTest,
                         ::testing::Values(MechanismKind::kDirect, MechanismKind::kSignedHadamard,
                                           MechanismKind::kWindowResponse),
                         [](const auto& test) { return std::string(MechanismName(test.param)); });

TEST_P(AnswerTest, HasTheNumberAsItsMean) {
  const double margins_only = mechanism_->margins_only() ? 20 : 0;  // labels are halves of a margin
  EXPECT_NEAR(MeanOf(30) + margins_only, 30, 1e-6);
  EXPECT_NEAR(MeanOf(59) + margins_only, 59, 1e-6);
  EXPECT_NEAR(MeanOf(-7) + margins_only, 20, 1e-6);
  EXPECT_NEAR(MeanOf(500) + margins_only, 60, 1e-6);
  EXPECT_NEAR(MeanOf(kMissingValue) + margins_only, 40, 1e-6);
  EXPECT_NEAR(MeanOf(HUGE_VAL) + margins_only, 40, 1e-6) << "no number";
}

// Neighbours are any two numbers, and none.
TEST_P(AnswerTest, NoTwoNumbersAreToldApartByMoreThanEpsilon) {
  std::vector<Law<std::string>> laws;
  for (const double number : {-1e9, 20.0, 33.3, 40.0, 52.0, 60.0, 1e9, kMissingValue}) {
    laws.push_back(LawOf(number));
  }
  double worst = 0;
  for (const Law<std::string>& one : laws) {
    EXPECT_NEAR(one.total(), 1, 1e-9);
    for (const Law<std::string>& other : laws) {
      for (const auto& [payload, p] : one.probability) {
        worst = std::max(worst, std::log(p / other.at(payload)));
      }
    }
  }
  EXPECT_LE(worst, 1 + kRounding);
  EXPECT_GE(worst, 0.99);
}

}  // namespace
}  // namespace coppice
