#include "server/maintenance/maintenance.h"
#include "tests/server/central/central_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::FakeTrainer;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::OpenCentral;
using ::coppice::testing::SpecOf;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AssignDatasetsTest, GivesAwayThoseWithoutAnOwnerAndNoOthers) {
  MemoryStore store;
  FakeTrainer trainer;
  {
    ASSERT_OK_AND_ASSIGN(const auto central, OpenCentral(store, {&trainer}));
    ASSERT_OK(central.datasets->Create(SpecOf("old")));
    central::DatasetSpec owned = SpecOf("owned");
    owned.owner = "ward";
    ASSERT_OK(central.datasets->Create(owned));
  }
  EXPECT_THAT(*AssignDatasets(store, "lab"), ElementsAre("old"));
  EXPECT_THAT(*AssignDatasets(store, "other"), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto central, OpenCentral(store, {&trainer}));
  EXPECT_EQ(central.datasets->Get("old")->owner, "lab");
  EXPECT_EQ(central.datasets->Get("owned")->owner, "ward");
}

TEST(AssignDatasetsTest, WantsANameAndChangesNothingWhereARecordIsDamaged) {
  MemoryStore store;
  EXPECT_THAT(AssignDatasets(store, ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--owner")));
  storage::StoreBatch batch;
  batch.Put("dataset/x/", "\xff");
  ASSERT_OK(store.Apply(batch));
  EXPECT_THAT(AssignDatasets(store, "lab"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("dataset/x/")));
}

}  // namespace
}  // namespace coppice::maintenance
