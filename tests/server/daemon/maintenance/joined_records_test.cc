// The check and the repair of a study that is joined by ids.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/terms/terms.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/maintenance.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::maintenance {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::OpenStudies;
using ::testing::Each;
using ::testing::IsEmpty;

// Three ids, two of which have answered.
void FillJoined(storage::Store& store) {
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  curator::StudySpec spec = testing::Spec("one");
  const auto rows = testing::PublicRows();
  spec.public_rows = std::make_shared<const Table>(
      rows->WithSchema(std::make_shared<const Schema>(rows->schema().WithAllPublic())));
  spec.mechanism = MechanismKind::kDirect;
  spec.joined_by = "customer";
  ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Create(spec));
  ASSERT_OK(studies->AddJoinRows("one", {{.id = "a", .row = {0.1, 0.2}},
                                         {.id = "b", .row = {0.3, 0.4}},
                                         {.id = "c", .row = {0.5, kMissingValue}}}));
  curator::ReportBatch batch;
  const auto offer = *studies->MakeOffer("one", 2);
  batch.Add(offer.tickets[0].ToBytes(), std::string(1, '\0'), "a");
  batch.Add(offer.tickets[1].ToBytes(), std::string(1, '\1'), "b");
  std::promise<testing::Answer> answer;
  studies->Submit("one", testing::Bytes(study.fingerprint), std::move(batch),
                  [&](testing::Answer outcomes) { answer.set_value(std::move(outcomes)); });
  EXPECT_THAT(*answer.get_future().get(), Each(curator::ReportOutcome::kAccepted));
}

Findings CheckedRecords(const storage::Store& store) {
  Findings findings;
  CheckRecords(
      store, [](const std::string&) {}, findings);
  return findings;
}

std::map<std::string, std::string> RecordsOf(const storage::Store& store,
                                             const std::string& prefix) {
  std::map<std::string, std::string> pairs;
  EXPECT_OK(store.Scan(prefix, [&](std::string_view key, std::string_view value) {
    pairs[std::string(key)] = std::string(value);
    return OkStatus();
  }));
  return pairs;
}

TEST(JoinedRecordsTest, ASoundStoreHasNoProblem) {
  MemoryStore store;
  FillJoined(store);
  const Findings findings = CheckedRecords(store);
  for (const Problem& problem : findings.problems) ADD_FAILURE() << problem.key << problem.what;
  for (const Note& note : findings.notes) EXPECT_NE(note.key, "join/") << note.what;
}

TEST(JoinedRecordsTest, EachThatIsLostOrDamagedIsFoundAndRepairedWithItsStudy) {
  MemoryStore sound;
  FillJoined(sound);
  const auto records = RecordsOf(sound, "");
  for (const std::string& prefix : {curator::JoinPrefix("one"), curator::LabelsPrefix("one")}) {
    for (const auto& [key, value] : RecordsOf(sound, prefix)) {
      for (const std::string& damage : {std::string("lost"), std::string("junk")}) {
        SCOPED_TRACE(key + " " + damage);
        MemoryStore store;
        storage::StoreBatch batch;
        for (const auto& [other, bytes] : records) {
          if (other != key) batch.Put(other, bytes);
        }
        if (damage == "junk") batch.Put(key, "\xff\xff\xff");
        ASSERT_OK(store.Apply(batch));
        const Findings findings = CheckedRecords(store);
        ASSERT_FALSE(findings.problems.empty());
        std::vector<RepairStep> done;
        ASSERT_OK(RepairRecords(store, findings, /*now=*/5000, done));
        EXPECT_THAT(RecordsOf(store, prefix), IsEmpty());
        EXPECT_FALSE(RecordsOf(store, "quarantine/").empty());
        std::optional<models::Models> models;
        EXPECT_OK(OpenStudies(store, models));
        EXPECT_THAT(CheckedRecords(store).problems, IsEmpty());
      }
    }
  }
}

}  // namespace
}  // namespace coppice::maintenance
