#include "client/device/privatizer.h"

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/sample_study.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::SamplePrivatizer;
using ::coppice::testing::SampleTerms;
using ::coppice::testing::SampleTicket;
using ::coppice::testing::SampleTree;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Fingerprint kFingerprint{1, 2, 3};

// A source that always fails.
class FailingRandom final : public PrivateRandom {
 public:
  StatusOr<uint64_t> UniformBelow(uint64_t) override { return Down(); }
  StatusOr<bool> Bernoulli(uint64_t, uint64_t) override { return Down(); }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override { return Down(); }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override { return Down(); }

 private:
  static Status Down() { return UnavailableError("the random source is down"); }
};

TEST(PrivatizerTest, CreateRefusesTermsThatDoNotValidate) {
  Terms terms = SampleTerms();
  terms.trees = 0;
  EXPECT_THAT(Privatizer::Create(terms, kFingerprint, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tree")));
}

TEST(PrivatizerTest, CreateRefusesATreeThatTheStudyDoesNotHave) {
  TreesByIndex trees;
  trees.emplace(1, SampleTree());
  EXPECT_THAT(Privatizer::Create(SampleTerms(), kFingerprint, trees),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("none of the study's 1")));
}

TEST(PrivatizerTest, CreateRefusesATreeThatDoesNotFitTheSchema) {
  Terms terms = SampleTerms();
  terms.schema = std::make_shared<const Schema>(
      *Schema::Create({Categorical("x", {"a", "b"})}, "y", {"no", "yes"}));
  EXPECT_THAT(Privatizer::Create(terms, kFingerprint, AllTrees({SampleTree()})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not numeric")));
}

TEST(PrivatizerTest, ReportCarriesStudyFingerprintAndTicket) {
  const Privatizer privatizer = SamplePrivatizer("sample", 2, kFingerprint);
  OpenSslRandom random;
  ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                       privatizer.Privatize({{3}, 1}, SampleTicket(7), random));
  EXPECT_EQ(report.study, "sample");
  EXPECT_EQ(report.fingerprint, kFingerprint);
  EXPECT_EQ(report.ticket, SampleTicket(7));
  EXPECT_FALSE(report.payload.empty());
}

// At epsilon 20 the report is the true cell with odds of about 5000 to 1; 20 cells in 30 leave a
// false alarm below 1e-30.
TEST(PrivatizerTest, ReportIsAboutTheRowsLeafAndLabel) {
  const Privatizer privatizer = SamplePrivatizer("sample", 20);
  ASSERT_OK_AND_ASSIGN(const auto mechanisms, MakeMechanisms(privatizer.terms(), {SampleTree()}));
  OpenSslRandom random;
  int as_expected = 0;
  for (int i = 0; i < 30; ++i) {
    ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                         privatizer.Privatize({{8}, 1}, SampleTicket(1), random));
    ASSERT_OK_AND_ASSIGN(const double here, mechanisms[0]->LogOutputProbability(
                                                {.leaf = 1, .label = 1}, 0, report.payload));
    ASSERT_OK_AND_ASSIGN(const double there, mechanisms[0]->LogOutputProbability(
                                                 {.leaf = 0, .label = 1}, 0, report.payload));
    if (here > there) ++as_expected;
  }
  EXPECT_GE(as_expected, 20);
}

TEST(PrivatizerTest, TicketFixesTheTree) {
  Terms terms = SampleTerms("sample", 20);
  terms.trees = 2;
  const Forest forest = {Tree::SingleLeaf(), SampleTree()};
  ASSERT_OK_AND_ASSIGN(const Privatizer privatizer,
                       Privatizer::Create(terms, kFingerprint, AllTrees(forest)));
  ASSERT_OK_AND_ASSIGN(const auto mechanisms, MakeMechanisms(terms, forest));
  OpenSslRandom random;
  for (uint8_t number = 0; number < 16; ++number) {
    const Ticket ticket = SampleTicket(number);
    ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                         privatizer.Privatize({{8}, 1}, ticket, random));
    std::vector<int64_t> sums(mechanisms[TreeOfTicket(ticket, 2)]->sum_size());
    EXPECT_OK(mechanisms[TreeOfTicket(ticket, 2)]->Add(report.payload, 0, absl::MakeSpan(sums)));
  }
}

// At epsilon 20 the report is its column's symbol except with odds of 1 in 10^8.
TEST(PrivatizerTest, TicketFixesTheColumn) {
  for (const MechanismKind kind : {MechanismKind::kHadamardResponse, MechanismKind::kLocalHashing,
                                   MechanismKind::kSignedHadamard}) {
    Terms terms = SampleTerms("sample", 20);
    terms.mechanism = kind;
    ASSERT_OK_AND_ASSIGN(const Privatizer privatizer,
                         Privatizer::Create(terms, kFingerprint, AllTrees({SampleTree()})));
    ASSERT_OK_AND_ASSIGN(const auto mechanisms, MakeMechanisms(terms, {SampleTree()}));
    OpenSslRandom random;
    for (uint8_t number = 0; number < 32; ++number) {
      const Ticket ticket = SampleTicket(number);
      ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                           privatizer.Privatize({{8}, 1}, ticket, random));
      const uint32_t column = DrawOf(ticket).Column(mechanisms[0]->columns());
      ASSERT_OK_AND_ASSIGN(const double p, mechanisms[0]->OutputProbability(
                                               {.leaf = 1, .label = 1}, column, report.payload));
      EXPECT_GT(p, 0.9) << MechanismName(kind) << " " << int{number};
    }
  }
}

// A missing tree is refused for any row, before the row is read and before anything is drawn (a
// failing source would show it).
TEST(PrivatizerTest, ATicketForATreeThatIsNotHereIsRefused) {
  Terms terms = SampleTerms();
  terms.trees = 2;
  TreesByIndex trees;
  trees.emplace(1, SampleTree());
  ASSERT_OK_AND_ASSIGN(const Privatizer privatizer, Privatizer::Create(terms, kFingerprint, trees));
  OpenSslRandom random;
  FailingRandom down;
  int refused = 0;
  for (uint8_t number = 0; number < 16; ++number) {
    const Ticket ticket = SampleTicket(number);
    if (TreeOfTicket(ticket, 2) == 1) {
      EXPECT_OK(privatizer.Privatize({{8}, 1}, ticket, random));
      continue;
    }
    ++refused;
    for (const Row& row : {Row{8}, Row{777}, Row{}}) {
      EXPECT_THAT(privatizer.Privatize({row, 1}, ticket, down),
                  StatusIs(StatusCode::kFailedPrecondition,
                           HasSubstr("tree 0 of study sample, which is not here")));
    }
  }
  EXPECT_GT(refused, 0);
}

// A report of x = 777 has the law of a missing x, and one of an unknown class the law of a class
// drawn at random: tested by the draws, as tests/privacy/local_enumeration_test.cc tests the laws.
TEST(PrivatizerTest, AnswersForEveryRowThereIs) {
  const Privatizer privatizer = SamplePrivatizer("sample", 2, kFingerprint);
  OpenSslRandom random;
  for (const Row& row : {Row{777}, Row{}, Row{3, 4}, Row{kMissingValue}}) {
    for (const uint32_t label : {0u, 1u, 2u, 55u, kUnlabelled}) {
      ASSERT_OK_AND_ASSIGN(const PrivateReport report,
                           privatizer.Privatize({row, label}, SampleTicket(1), random));
      EXPECT_EQ(report.payload.size(),
                privatizer.Privatize({{3}, 1}, SampleTicket(1), random)->payload.size());
    }
  }
}

TEST(PrivatizerTest, ReleasesNothingWithoutRandomness) {
  const Privatizer privatizer = SamplePrivatizer("sample", 2, kFingerprint);
  FailingRandom random;
  EXPECT_THAT(privatizer.Privatize({{3}, 1}, SampleTicket(1), random),
              StatusIs(StatusCode::kUnavailable, HasSubstr("random source")));
}

}  // namespace
}  // namespace coppice
