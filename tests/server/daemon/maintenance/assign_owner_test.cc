#include "common/base/status.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/store/models/endpoints.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::FakeTrainer;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::OpenCentral;
using ::coppice::testing::OpenStudies;
using ::coppice::testing::Spec;
using ::coppice::testing::SpecOf;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

owners::Patterns Only(const std::string& pattern) { return *owners::Patterns::Parse({pattern}); }
owners::Patterns Everything() { return Only("*"); }

TEST(AssignOwnerTest, GivesAwayThoseWithoutAnOwnerAndNoOthers) {
  MemoryStore store;
  FakeTrainer trainer;
  {
    ASSERT_OK_AND_ASSIGN(const auto central, OpenCentral(store, {&trainer}));
    ASSERT_OK(central.datasets->Create(SpecOf("old")));
    central::DatasetSpec owned = SpecOf("owned");
    owned.owner = "ward";
    ASSERT_OK(central.datasets->Create(owned));
  }
  EXPECT_THAT(*AssignOwner(store, "lab", Everything()), ElementsAre("datasets/old"));
  EXPECT_THAT(*AssignOwner(store, "other", Everything()), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto central, OpenCentral(store, {&trainer}));
  EXPECT_EQ(central.datasets->Get("old")->owner, "lab");
  EXPECT_EQ(central.datasets->Get("owned")->owner, "ward");
}

TEST(AssignOwnerTest, GivesAwayStudiesAndEndpointsAsFarAsTheirNamesMatch) {
  MemoryStore store;
  std::optional<models::Models> models;
  {
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
    for (const char* id : {"a-1", "b-1"}) ASSERT_OK(studies->Create(Spec(id)).status());
    ASSERT_OK(studies->BuildModel("a-1", "m", {.kind = curator::EstimatorKind::kPrune}).status());
    ASSERT_OK_AND_ASSIGN(const auto endpoints,
                         models::Endpoints::Open(store, *models, [] { return int64_t{5}; }));
    ASSERT_OK(endpoints->Set("a-live", "m", {}).status());
  }
  EXPECT_THAT(*AssignOwner(store, "team-a", Only("*/a-*")),
              ElementsAre("studies/a-1", "endpoints/a-live"));
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  EXPECT_THAT(studies->OwnerOf("a-1"), Optional(std::string("team-a")));
  EXPECT_THAT(studies->OwnerOf("b-1"), Optional(std::string("")));
  ASSERT_OK_AND_ASSIGN(const auto endpoints,
                       models::Endpoints::Open(store, *models, [] { return int64_t{5}; }));
  EXPECT_THAT(endpoints->OwnerOf("a-live"), Optional(std::string("team-a")));
  // The request that made the study is now its owner's, so repeating it makes no other study.
  curator::StudySpec again = Spec("a-1");
  again.owner = "team-a";
  EXPECT_EQ(studies->Create(again)->id, "a-1");
}

TEST(AssignOwnerTest, NeedsANameAndChangesNothingIfARecordIsDamaged) {
  MemoryStore store;
  EXPECT_THAT(AssignOwner(store, "", Everything()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--owner")));
  storage::StoreBatch batch;
  batch.Put("dataset/x/", "\xff");
  ASSERT_OK(store.Apply(batch));
  EXPECT_THAT(AssignOwner(store, "lab", Everything()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("dataset/x/")));
}

}  // namespace
}  // namespace coppice::maintenance
