// Counts that agree, and planted ones that do not.

#include "server/curator/reconcile.h"

#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: the fixture is all of this file's vocabulary.
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ReconcileTest, EqualCountsAreFine) {
  EXPECT_OK(ReconcileTotals(
      {.study = "one", .accepted = 7, .in_sums = 7, .open = true, .spent_tickets = 7}));
  EXPECT_OK(ReconcileTotals(
      {.study = "one", .accepted = 7, .in_sums = 7, .open = false, .spent_tickets = 0}));
}

TEST(ReconcileTest, OneOffIsFoundAndNamesTheStudyAndBothNumbers) {
  EXPECT_THAT(
      ReconcileTotals({.study = "one", .accepted = 7, .in_sums = 8, .open = false}),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("study one"), HasSubstr("accepted 7"), HasSubstr("in the sums 8"))));
  EXPECT_THAT(ReconcileTotals(
                  {.study = "one", .accepted = 7, .in_sums = 7, .open = true, .spent_tickets = 6}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("spent tickets 6")));
}

TEST(ReconcileTest, CuratorReconcilesAfterEveryKindOfReport) {
  MemoryStore store;
  std::optional<Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  EXPECT_OK(studies->Reconcile());
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(Spec("one", /*trees=*/3)));
  auto reports = HonestReports(*studies, study, 20);
  reports[3].payload.clear();
  reports[4].ticket.clear();
  for (int i = 0; i < 2; ++i) ASSERT_OK(SendAndWait(*studies, study, reports));
  EXPECT_OK(studies->Reconcile());
  ASSERT_OK(studies->Seal("one"));
  ASSERT_OK(SendAndWait(*studies, study, reports));
  EXPECT_OK(studies->Reconcile());
}

}  // namespace
}  // namespace coppice
