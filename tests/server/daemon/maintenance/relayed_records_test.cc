// The check and the repair of a study with a relay.

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/check_records.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::MemoryStore;

void FillRelayed(storage::Store& store) {
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, testing::OpenStudies(store, models));
  curator::StudySpec spec = testing::Spec("one");
  spec.mechanism = MechanismKind::kSignedHadamard;
  spec.settings.relay = curator::RelaySettings{
      .relay_key = {1}, .min_batch = 1000, .delta_atto = curator::kDefaultRelayDeltaAtto};
  ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Create(spec));
  ASSERT_OK(studies->RotateSealingKey("one", *study.relay->sealing_key));
}

Findings FindingsOf(const storage::Store& store) {
  Findings findings;
  CheckRecords(
      store, [](const std::string&) {}, findings);
  return findings;
}

TEST(RelayedRecordsTest, ASoundStoreHasNoProblemAndNoUnknownRecord) {
  MemoryStore store;
  FillRelayed(store);
  const Findings findings = FindingsOf(store);
  for (const Problem& problem : findings.problems) ADD_FAILURE() << problem.key << problem.what;
  for (const Note& note : findings.notes) EXPECT_NE(note.key, "sealing/") << note.what;
}

TEST(RelayedRecordsTest, WithADamagedKeyTheStudyCannotBeLoaded) {
  MemoryStore store;
  FillRelayed(store);
  std::string key;
  ASSERT_OK(store.Scan(curator::SealingPrefix("one"), [&](std::string_view at, std::string_view) {
    key = std::string(at);
    return OkStatus();
  }));
  storage::StoreBatch batch;
  batch.Put(key, "damaged");
  ASSERT_OK(store.Apply(batch));
  const Findings findings = FindingsOf(store);
  ASSERT_EQ(findings.problems.size(), 1u);
  EXPECT_EQ(findings.problems[0].remedy, Remedy::kQuarantineStudy);
  EXPECT_TRUE(StrContains(findings.problems[0].what, "sealing/one/")) << findings.problems[0].what;
}

TEST(RelayedRecordsTest, KeysOfALostStudyAreFound) {
  MemoryStore store;
  FillRelayed(store);
  storage::StoreBatch batch;
  for (const std::string& prefix :
       {curator::StudyKey("one"), curator::CountsKey("one"), curator::RowsKey("one")}) {
    batch.DeletePrefix(prefix);
  }
  ASSERT_OK(store.Apply(batch));
  const Findings findings = FindingsOf(store);
  ASSERT_EQ(findings.problems.size(), 1u);
  EXPECT_TRUE(StrContains(findings.problems[0].key, "sealing/one/"));
}

}  // namespace
}  // namespace coppice::maintenance
