// Checking, repairing and restoring a store that has some of everything.

#include "server/daemon/maintenance/maintenance.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/coins/coins.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/check_records.h"
#include "server/daemon/maintenance/restore.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/checkpoints.h"
#include "server/datasets/job_record.h"
#include "server/datasets/ledger/ledger_record.h"
#include "server/store/audit_log/audit_log.h"
#include "server/store/models/endpoints.h"
#include "server/store/models/model_record.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/store_format.h"
#include "server/store/store_location.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::maintenance {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixtures'.
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

const ProgressCallback kSilent = [](const std::string&) {};
constexpr int64_t kNow = 5000;

void Put(storage::Store& store, const std::string& key, const std::string& value) {
  storage::StoreBatch batch;
  batch.Put(key, value);
  ASSERT_OK(store.Apply(batch));
}
void Remove(storage::Store& store, const std::string& key) {
  storage::StoreBatch batch;
  batch.Delete(key);
  ASSERT_OK(store.Apply(batch));
}

// Two studies with reports, one with a model; a deleted one; a dataset whose job is done.
void Fill(storage::Store& store) {
  {
    std::optional<models::Models> models;
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
    for (const char* id : {"one", "two", "gone"}) {
      ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Create(Spec(id, /*trees=*/2)));
      ASSERT_OK(SendAndWait(*studies, study, HonestReports(*studies, study, 30)));
    }
    ASSERT_OK(studies->BuildModel("one", "model", {}));
    ASSERT_OK_AND_ASSIGN(const auto endpoints,
                         models::Endpoints::Open(store, *models, [] { return kNow; }));
    ASSERT_OK(endpoints->Set("live", "model", {}));
    ASSERT_OK(studies->Delete("gone"));
  }
  FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
  ASSERT_OK(MakeDataset(*central.datasets, SpecOf("d")));
  central::DatasetSpec with_public_rows = SpecOf("e");
  with_public_rows.public_rows = std::make_shared<const v1::RowBlock>(Block(20));
  ASSERT_OK(MakeDataset(*central.datasets, with_public_rows));
  ASSERT_OK(central.jobs->Submit(RequestOf("j")));
  ASSERT_EQ(AwaitEnd(*central.jobs, "j").state, central::JobState::kDone);
}

// Starts as the daemon does.
Status Start(storage::Store& store) {
  std::optional<models::Models> models;
  const auto studies = OpenStudies(store, models);
  if (!studies.ok()) return studies.status();
  COPPICE_RETURN_IF_ERROR(models::Endpoints::Open(store, *models, [] { return kNow; }).status());
  FakeTrainer trainer;
  return OpenCentral(store, {&trainer}).status();
}

Findings Checked(const storage::Store& store) {
  Findings findings;
  CheckRecords(store, kSilent, findings);
  return findings;
}

std::map<std::string, std::string> All(const storage::Store& store) {
  std::map<std::string, std::string> pairs;
  EXPECT_OK(store.Scan("", [&](std::string_view key, std::string_view value) {
    pairs[std::string(key)] = std::string(value);
    return OkStatus();
  }));
  return pairs;
}

uint64_t LeftOfDataset(storage::Store& store, const std::string& dataset) {
  const auto ledger = ledger::Ledger::Open(store, [] { return kNow; });
  EXPECT_OK(ledger);
  if (!ledger.ok()) return UINT64_MAX;
  const auto account = (*ledger)->Get(dataset);
  if (!account.ok() || account->hold.reason != ledger::HoldReason::kNone) return 0;
  return account->left.epsilon_nanos;
}

TEST(CheckTest, ASoundStoreHasNoProblem) {
  MemoryStore store;
  Fill(store);
  const Findings findings = Checked(store);
  for (const Problem& problem : findings.problems) ADD_FAILURE() << problem.key << problem.what;
  EXPECT_EQ(findings.counts.at("study"), 2u);
  EXPECT_EQ(findings.counts.at("dataset"), 2u);
  EXPECT_EQ(findings.counts.at("job"), 1u);
  EXPECT_EQ(findings.counts.at("model"), 2u);
}

TEST(CheckTest, EveryProblemIsToldNotOnlyTheFirst) {
  MemoryStore store;
  Fill(store);
  const std::vector<std::string> keys = {curator::StudyKey("one"),
                                         curator::SumsKey("two", 0),
                                         models::ModelKey("studies/one", "model"),
                                         curator::TombstoneKey("gone"),
                                         ledger::LedgerKey("e", 0),
                                         central::DatasetKey("d"),
                                         central::JobKey("j")};
  for (const std::string& key : keys) {
    ASSERT_TRUE(store.Get(key)->has_value()) << key;
    Put(store, key, "\xff\xff");
  }
  const Findings findings = Checked(store);
  for (const std::string& key : keys) {
    bool told = false;
    for (const Problem& problem : findings.problems) {
      told |= problem.key == key || problem.what.find(key) != std::string::npos;
    }
    EXPECT_TRUE(told) << key;
  }
}

// The check finds whatever keeps the daemon from starting. A damage that it starts on is either
// found, or reads as it was written.
TEST(CheckTest, EveryRecordThatIsLostOrDamagedIsFoundIfItMatters) {
  MemoryStore sound;
  Fill(sound);
  const std::map<std::string, std::string> records = All(sound);
  for (const auto& [key, value] : records) {
    if (key == curator::kTicketKeyKey) continue;  // any 32 bytes are a key
    for (const std::string& damage :
         {std::string("lost"), std::string("cut"), std::string("junk")}) {
      MemoryStore store;
      storage::StoreBatch batch;
      for (const auto& [other, bytes] : records) batch.Put(other, bytes);
      if (damage == "cut") batch.Put(key, value.substr(0, value.size() / 2));
      if (damage == "junk") batch.Put(key, "\xff\xff\xff");
      ASSERT_OK(store.Apply(batch));
      if (damage == "lost") Remove(store, key);
      const bool found = !Checked(store).problems.empty();
      const bool starts = Start(store).ok();
      EXPECT_TRUE(found || starts) << key << " " << damage;
      const bool may_be_lost = key.rfind("gone/", 0) == 0 || key.rfind("model/", 0) == 0 ||
                               key.rfind("trained/", 0) == 0 || key.rfind("endpoint/", 0) == 0 ||
                               key == curator::kManifestKeyKey ||
                               key.rfind(curator::kDirectKeyPrefix, 0) == 0;
      EXPECT_TRUE(found || (damage == "lost" && may_be_lost)) << key << " " << damage;
    }
  }
}

TEST(RepairTest, AfterAnyDamageTheDaemonStartsAndNoBudgetIsGained) {
  MemoryStore sound;
  Fill(sound);
  const std::map<std::string, std::string> records = All(sound);
  const uint64_t left_before = LeftOfDataset(sound, "d");
  for (const auto& [key, value] : records) {
    if (key == storage::kFormatKey) continue;  // without a format nothing is known of a store
    for (const bool lost : {false, true}) {
      SCOPED_TRACE(StrCat(key, lost ? " lost" : " damaged"));
      MemoryStore store;
      storage::StoreBatch batch;
      for (const auto& [other, bytes] : records) batch.Put(other, bytes);
      if (!lost) batch.Put(key, "\xff\xff\xff");
      ASSERT_OK(store.Apply(batch));
      if (lost) Remove(store, key);
      std::vector<RepairStep> done;
      ASSERT_OK(RepairRecords(store, Checked(store), kNow, done));
      // Some of the rest cannot be mended, but no problem asks for another repair.
      for (const Problem& problem : Checked(store).problems) {
        EXPECT_EQ(problem.remedy, Remedy::kNone) << problem.key << " " << problem.what;
      }
      EXPECT_OK(Start(store));
      EXPECT_LE(LeftOfDataset(store, "d"), left_before);
      if (!lost) {
        bool kept = false;  // nothing is thrown away
        for (const auto& [there, bytes] : All(store)) kept |= bytes == "\xff\xff\xff";
        EXPECT_TRUE(kept);
      }
    }
  }
}

// For a model that is damaged, or larger than the memory that there is.
TEST(DropModelTest, AModelIsDeletedUnreadWithTheEndpointsThatServeIt) {
  MemoryStore store;
  Fill(store);
  const std::string key = models::ModelKey("studies/one", "model");
  Put(store, key, "\xff\xff");
  EXPECT_THAT(DropModel(store, "none", kNow),
              StatusIs(StatusCode::kNotFound, HasSubstr("no model none")));
  ASSERT_OK_AND_ASSIGN(const std::vector<RepairStep> done, DropModel(store, "model", kNow));
  ASSERT_THAT(done, SizeIs(2));
  EXPECT_EQ(done[0].key, key);
  EXPECT_EQ(done[1].key, "endpoint/live/");
  EXPECT_FALSE(store.Get(key)->has_value());
  EXPECT_FALSE(store.Get(models::SummaryKey(key))->has_value());
  EXPECT_TRUE(store.Get("quarantine/endpoint/live/")->has_value());
  EXPECT_OK(Start(store));
  for (const Problem& problem : Checked(store).problems) {
    ADD_FAILURE() << problem.key << " " << problem.what;
  }
  ASSERT_OK_AND_ASSIGN(const auto log, audit::AuditLog::Open(
                                           store, [] { return kNow; }, audit::kDaemonActor));
  ASSERT_OK_AND_ASSIGN(const auto page, log->Read(0, 0));
  EXPECT_EQ(page.entries().rbegin()->action(), "store/drop-model");
  EXPECT_EQ(page.entries().rbegin()->resource(), "models/model");
  EXPECT_EQ(page.entries().rbegin()->actor(), audit::kOfflineActor);
}

TEST(DropModelTest, AJobsModelIsDroppedAndOthersStay) {
  MemoryStore store;
  Fill(store);
  ASSERT_OK(DropModel(store, "j", kNow));
  EXPECT_FALSE(store.Get(models::ModelKey("jobs/j", "j"))->has_value());
  EXPECT_TRUE(store.Get("endpoint/live/")->has_value());
  EXPECT_OK(Start(store));
}

TEST(RepairTest, AStudyThatDoesNotAddUpIsPutAsideAndItsIdStaysTaken) {
  MemoryStore store;
  Fill(store);
  v1::CountsRecord counts;
  ASSERT_TRUE(counts.ParseFromString(**store.Get(curator::CountsKey("one"))));
  counts.set_accepted(counts.accepted() + 1);
  Put(store, curator::CountsKey("one"), counts.SerializeAsString());
  const Findings findings = Checked(store);
  ASSERT_THAT(findings.problems, SizeIs(1));
  EXPECT_THAT(findings.problems[0].what, HasSubstr("does not add up"));
  std::vector<RepairStep> done;
  ASSERT_OK(RepairRecords(store, findings, kNow, done));
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  EXPECT_THAT(studies->Create(Spec("one")), StatusIs(StatusCode::kAlreadyExists, ::testing::_));
  curator::StudySpec same_request = Spec("other");
  same_request.request_id = "request of one";
  EXPECT_FALSE(studies->Create(same_request).ok());
  EXPECT_OK(studies->Get("two"));
  EXPECT_OK(models->Get("model")) << "a model that was made stays";
  EXPECT_TRUE(store.Get("quarantine/" + curator::CountsKey("one"))->has_value());
}

// Makes the model of "one", which has 30 reports, rest on `reports`, as if a repair had lost some.
void SayThatTheModelRestsOn(storage::Store& store, uint64_t reports) {
  const std::string key = models::ModelKey("studies/one", "model");
  v1::Model model;
  ASSERT_TRUE(model.ParseFromString(**store.Get(key)));
  model.mutable_certificate()->set_reports(reports);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo info,
                       models::DecodeModel(key, model.SerializeAsString()));
  storage::StoreBatch batch;
  models::PutModel(info, batch);
  ASSERT_OK(store.Apply(batch));
}

Status Reconciled(storage::Store& store) {
  std::optional<models::Models> models;
  COPPICE_ASSIGN_OR_RETURN(const auto studies, OpenStudies(store, models));
  return studies->Reconcile();
}

TEST(RepairTest, AModelOfReportsThatItsStudyLostIsNotedAndAnyOtherMismatchStays) {
  MemoryStore store;
  Fill(store);
  SayThatTheModelRestsOn(store, 60);
  EXPECT_THAT(Reconciled(store), StatusIs(StatusCode::kInternal, HasSubstr("model 60")));
  const Findings findings = Checked(store);
  ASSERT_THAT(findings.problems, SizeIs(1));
  EXPECT_THAT(findings.problems[0].what, HasSubstr("rests on 60 reports, and its study has 30"));
  EXPECT_THAT(PlanRepair(findings)[0].what, HasSubstr("noted"));
  std::vector<RepairStep> done;
  ASSERT_OK(RepairRecords(store, findings, kNow, done));
  const Findings left = Checked(store);
  EXPECT_THAT(left.problems, IsEmpty());
  ASSERT_THAT(left.notes, SizeIs(1));
  EXPECT_EQ(left.notes[0].key, "outlived/one/model");
  EXPECT_OK(Reconciled(store));
  SayThatTheModelRestsOn(store, 61);
  EXPECT_THAT(Checked(store).problems, SizeIs(1));
  EXPECT_FALSE(Reconciled(store).ok());
  // A note that cannot be read keeps the daemon from starting, and is put aside.
  Put(store, "outlived/one/model", "\xff");
  EXPECT_THAT(Start(store), StatusIs(StatusCode::kDataLoss, HasSubstr("outlived/one/model")));
  ASSERT_OK(RepairRecords(store, Checked(store), kNow, done));
  EXPECT_OK(Start(store));
  EXPECT_THAT(Checked(store).problems, IsEmpty());
  EXPECT_OK(Reconciled(store)) << "the model is noted anew";
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store, models));
  ASSERT_OK(studies->Delete("one"));
  EXPECT_EQ(*store.Get("outlived/one/model"), std::nullopt);
}

TEST(RepairTest, AFinalModelThatLacksReportsIsToldAndNotExcused) {
  MemoryStore store;
  Fill(store);
  v1::StudyRecord study;
  ASSERT_TRUE(study.ParseFromString(**store.Get(curator::StudyKey("one"))));
  study.set_state(v1::STUDY_STATE_BUILT);
  study.set_final_model("model");
  Put(store, curator::StudyKey("one"), study.SerializeAsString());
  EXPECT_THAT(Checked(store).problems, IsEmpty());
  SayThatTheModelRestsOn(store, 29);
  const Findings findings = Checked(store);
  ASSERT_THAT(findings.problems, SizeIs(1));
  EXPECT_EQ(findings.problems[0].remedy, Remedy::kNone);
  std::vector<RepairStep> done;
  ASSERT_OK(RepairRecords(store, findings, kNow, done));
  EXPECT_FALSE(Reconciled(store).ok());
}

TEST(RepairTest, ADatasetWithADamagedLedgerIsClosedAndCanBeDeleted) {
  MemoryStore store;
  Fill(store);
  const std::string key = ledger::LedgerKey("d", 1);
  std::string entry = **store.Get(key);
  entry.back() ^= 1;
  Put(store, key, entry);
  std::vector<RepairStep> done;
  ASSERT_OK(RepairRecords(store, Checked(store), kNow, done));
  FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, {&trainer}));
  EXPECT_THAT(central.jobs->Submit(RequestOf("k")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("closed for good")));
  EXPECT_OK(central.jobs->Submit(RequestOf("l", kEpsilon, "e"))) << "others go on";
  AwaitEnd(*central.jobs, "l");
  EXPECT_OK(central.datasets->Delete("d"));
  EXPECT_THAT(central.datasets->Create(SpecOf("d")),
              StatusIs(StatusCode::kAlreadyExists, ::testing::_));
}

TEST(RepairTest, ALedgerThatLostItsEndIsSeenByItsJobsAndClosed) {
  for (const uint64_t lost_from : {1, 2}) {
    MemoryStore store;
    Fill(store);
    ASSERT_EQ(*store.Get(ledger::LedgerKey("d", 3)), std::nullopt);
    for (uint64_t entry = lost_from; entry < 3; ++entry)
      Remove(store, ledger::LedgerKey("d", entry));
    ASSERT_OK(Start(store)) << "the chain alone does not tell";
    const Findings findings = Checked(store);
    ASSERT_THAT(findings.problems, SizeIs(1));
    EXPECT_THAT(findings.problems[0].what, HasSubstr("lacks its last entries"));
    std::vector<RepairStep> done;
    ASSERT_OK(RepairRecords(store, findings, kNow, done));
    EXPECT_EQ(LeftOfDataset(store, "d"), 0u);
    EXPECT_OK(Start(store));
  }
}

TEST(RepairTest, AnInterruptedRepairIsResumed) {
  MemoryStore sound;
  Fill(sound);
  storage::StoreBatch damage;
  for (const auto& [key, value] : All(sound)) damage.Put(key, value);
  for (const std::string& key :
       {curator::StudyKey("one"), ledger::LedgerKey("d", 1), central::JobKey("j")}) {
    damage.Put(key, "\xff\xff\xff");
  }
  for (size_t write = 0; write < 4; ++write) {
    for (const bool kept : {false, true}) {
      MemoryStore disk;
      ASSERT_OK(disk.Apply(damage));
      CrashingStore store(disk, {.write = write, .kept = kept, .fatal = true});
      std::vector<RepairStep> done;
      RepairRecords(store, Checked(disk), kNow, done).IgnoreError();
      ASSERT_OK(RepairRecords(disk, Checked(disk), kNow, done));
      EXPECT_OK(Start(disk));
      EXPECT_EQ(LeftOfDataset(disk, "d"), 0u);
      EXPECT_TRUE(disk.Get("quarantine/" + curator::StudyKey("one"))->has_value());
    }
  }
}

class UpkeepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    Fill(*store);
    head_ = (*ledger::Ledger::Open(*store, [] { return kNow; }))->Get("d")->head;
    ASSERT_OK(store->Backup({.folder = backups_}));
  }

  Status StartOn(const std::string& data_dir) {
    COPPICE_ASSIGN_OR_RETURN(const auto store, storage::OpenRocksDbStore(data_dir));
    return Start(*store);
  }
  Findings CheckedIn(const std::string& data_dir) {
    const auto findings = CheckStore(data_dir, kSilent);
    EXPECT_OK(findings);
    return *findings;
  }
  // The database's tables; the last has the largest number.
  std::vector<fs::path> Tables() {
    std::vector<fs::path> tables;
    for (const auto& entry : fs::directory_iterator(data_dir_ + "/rocksdb")) {
      if (entry.path().extension() == ".sst") tables.push_back(entry.path());
    }
    std::sort(tables.begin(), tables.end());
    return tables;
  }
  static void Damage(const fs::path& table) {
    std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.write("damage", 6);
  }

  const TempDir dir_;
  const std::string data_dir_ = dir_.path() + "/data";
  const std::string backups_ = dir_.path() + "/backups";
  Sha256Digest head_{};
};

TEST_F(UpkeepTest, ChecksARealStoreAndRefusesOneInUse) {
  EXPECT_THAT(CheckedIn(data_dir_).problems, IsEmpty());
  EXPECT_THAT(CheckStore(dir_.path() + "/none", kSilent),
              StatusIs(StatusCode::kNotFound, ::testing::_));
  const auto store = storage::OpenRocksDbStore(data_dir_);
  EXPECT_THAT(CheckStore(data_dir_, kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another process uses")));
}

TEST_F(UpkeepTest, NewerDataIsRefusedByAll) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    Put(*store, "meta/format", "99");
    ASSERT_OK(store->Backup({.folder = backups_}));
  }
  const std::string restored = dir_.path() + "/restored";
  for (const Status& status :
       {CheckStore(data_dir_, kSilent).status(),
        RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent).status(),
        RestoreStore(backups_, 0, restored, kNow, kSilent).status(), StartOn(data_dir_)}) {
    EXPECT_THAT(status,
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("made by a newer version")));
  }
  EXPECT_FALSE(fs::exists(restored + "/rocksdb"));
  EXPECT_FALSE(fs::exists(dir_.path() + "/kept"));
}

TEST_F(UpkeepTest, ARestoredStoreHasWhatTheBackupHadAndItsLedgersWait) {
  const std::string restored = dir_.path() + "/restored";
  ASSERT_OK_AND_ASSIGN(const RestoreResult result,
                       RestoreStore(backups_, 0, restored, kNow, kSilent));
  EXPECT_THAT(result.on_hold, ::testing::ElementsAre("d", "e"));
  EXPECT_THAT(result.findings.problems, IsEmpty());
  EXPECT_THAT(CheckedIn(restored).problems, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(restored));
  ASSERT_OK_AND_ASSIGN(const auto from, ReadRestoreRecord(*store));
  EXPECT_EQ(from->backup_id, result.backup.id);
  EXPECT_EQ(from->unix_seconds, kNow);
  std::optional<models::Models> models;
  EXPECT_EQ(
      CountOf(*OpenStudies(*store, models).value()->Get("one"), curator::ReportOutcome::kAccepted),
      30u);
  FakeTrainer trainer;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(*store, {&trainer}));
  EXPECT_THAT(central.jobs->Submit(RequestOf("k")),
              StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
  ASSERT_OK(central.datasets->ConfirmLedger("d", head_));
  EXPECT_OK(central.jobs->Submit(RequestOf("k")));
  EXPECT_EQ(AwaitEnd(*central.jobs, "k").state, central::JobState::kDone);
}

TEST_F(UpkeepTest, AFolderThatHoldsAStoreIsNotRestoredInto) {
  EXPECT_THAT(RestoreStore(backups_, 0, data_dir_, kNow, kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("holds a store already")));
  EXPECT_THAT(RestoreStore(backups_, 9, dir_.path() + "/new", kNow, kSilent),
              StatusIs(StatusCode::kNotFound, HasSubstr("no backup 9")));
}

TEST_F(UpkeepTest, AnInterruptedRestoreLeavesNoStoreAndIsReplaced) {
  const std::string restored = dir_.path() + "/restored";
  fs::create_directories(restored + "/restoring/rocksdb");
  std::ofstream(restored + "/restoring/rocksdb/CURRENT") << "half";
  ASSERT_OK(RestoreStore(backups_, 0, restored, kNow, kSilent));
  EXPECT_FALSE(fs::exists(restored + "/restoring"));
  EXPECT_OK(StartOn(restored));
}

TEST_F(UpkeepTest, DamagedFilesAreMendedInACopyAndEveryLedgerWaits) {
  fs::remove(data_dir_ + "/rocksdb/CURRENT");
  EXPECT_FALSE(StartOn(data_dir_).ok());
  ASSERT_THAT(CheckedIn(data_dir_).problems, SizeIs(1));
  const std::string kept = dir_.path() + "/kept";
  ASSERT_OK_AND_ASSIGN(const RepairResult result, RepairStore(data_dir_, kept, kNow, kSilent));
  EXPECT_THAT(result.left.problems, IsEmpty());
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_FALSE(fs::exists(data_dir_ + "/repairing"));
  EXPECT_OK(StartOn(data_dir_));
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
  EXPECT_EQ(LeftOfDataset(*store, "d"), 0u) << "on hold";
  ASSERT_OK((*ledger::Ledger::Open(*store, [] { return kNow; }))->Confirm("d", head_));
  EXPECT_GT(LeftOfDataset(*store, "d"), 0u);
}

TEST_F(UpkeepTest, WhatALostTableHeldIsMissedByTheOwnerWhoNotedTheHead) {
  Sha256Digest noted;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    FakeTrainer trainer;
    ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(*store, {&trainer}));
    ASSERT_OK(central.jobs->Submit(RequestOf("k")));
    ASSERT_EQ(AwaitEnd(*central.jobs, "k").state, central::JobState::kDone);
    noted = central.ledger->Get("d")->head;
    ASSERT_OK(store->Backup({.folder = backups_}));  // writes a table
  }
  ASSERT_THAT(Tables(), SizeIs(2));
  Damage(Tables()[1]);
  EXPECT_THAT(CheckedIn(data_dir_).problems, ::testing::Not(IsEmpty()));
  ASSERT_OK_AND_ASSIGN(const RepairResult result,
                       RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent));
  EXPECT_THAT(result.left.problems, IsEmpty());
  EXPECT_OK(StartOn(data_dir_));
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
  ASSERT_OK_AND_ASSIGN(const auto ledger, ledger::Ledger::Open(*store, [] { return kNow; }));
  EXPECT_EQ(ledger->Get("d")->spent.epsilon_nanos, kEpsilon) << "one charge is lost";
  EXPECT_EQ(LeftOfDataset(*store, "d"), 0u) << "and nothing can be spent";
  EXPECT_THAT(ledger->Confirm("d", noted),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("entries are lost")));
}

TEST_F(UpkeepTest, AStudyThatLostItsLastReportsKeepsItsModelsAndReconciles) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    std::optional<models::Models> models;
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(*store, models));
    ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Get("one"));
    ASSERT_OK(SendAndWait(*studies, study, HonestReports(*studies, study, 25)));
    ASSERT_OK(store->Backup({.folder = backups_}));  // writes a table of the reports
    ASSERT_OK(studies->BuildModel("one", "late", {}));
    ASSERT_OK(store->Backup({.folder = backups_}));  // writes one of the model
  }
  ASSERT_THAT(Tables(), SizeIs(3));
  Damage(Tables()[1]);
  ASSERT_OK_AND_ASSIGN(const RepairResult result,
                       RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent));
  EXPECT_THAT(result.left.problems, IsEmpty());
  const auto told = [](const RepairStep& step) {
    return step.what.find("rests on 55 reports, and its study has 30") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(result.done.begin(), result.done.end(), told), 1);
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
  std::optional<models::Models> models;
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(*store, models));
  EXPECT_OK(studies->Reconcile());
  EXPECT_OK(models->Get("late"));
  // New reports are counted, and give a final model that reconciles too.
  ASSERT_OK_AND_ASSIGN(const curator::StudyInfo study, studies->Get("one"));
  ASSERT_OK(SendAndWait(*studies, study, HonestReports(*studies, study, 3)));
  ASSERT_OK(studies->Seal("one"));
  ASSERT_OK(studies->BuildModel("one", "last", {}));
  EXPECT_OK(studies->Reconcile());
}

TEST_F(UpkeepTest, NothingIsChangedIfNothingCanBeRecovered) {
  ASSERT_THAT(Tables(), SizeIs(1));
  Damage(Tables()[0]);
  EXPECT_THAT(RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent),
              StatusIs(StatusCode::kDataLoss, HasSubstr("restore a backup")));
  EXPECT_FALSE(fs::exists(data_dir_ + "/repairing"));
  EXPECT_THAT(Tables(), SizeIs(1));
  EXPECT_THAT(RestoreStore(backups_, 0, dir_.path() + "/new", kNow, kSilent), IsOk());
}

// A job that runs, with its checkpoints; it would be finished twice, for one charge.
class RunningJobTest : public UpkeepTest {
 protected:
  void SetUp() override {
    UpkeepTest::SetUp();
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    ASSERT_OK(storage::OpenFormat(*store));
    storage::StoreBatch batch;
    central::JobEntry entry{.info = {.id = "running",
                                     .spec = {.dataset = "d", .algorithm = "spe"},
                                     .model = "running"}};
    entry.info.state = central::JobState::kRunning;
    entry.resume = central::PutStart("d", "running", {.seed = *CoinSeed::Draw()}, batch);
    entry.resume = central::PutCheckpoint("d", "running", *entry.resume, {}, batch);
    batch.Put(central::JobKey("running"), central::EncodeJob(entry));
    ASSERT_OK(store->Apply(batch));
    ASSERT_EQ(CheckpointsIn(*store), 2);
  }

  static int CheckpointsIn(const storage::Store& store) {
    int checkpoints = 0;
    EXPECT_OK(store.Scan("chunk/", [&checkpoints](std::string_view key, std::string_view) {
      checkpoints += central::IsCheckpointKey(key);
      return OkStatus();
    }));
    return checkpoints;
  }
};

TEST_F(RunningJobTest, ACopyHasNoCheckpoints) {
  const std::string copy = dir_.path() + "/copy";
  ASSERT_OK_AND_ASSIGN(const CopyResult copied,
                       CopyStore(storage::StoreLocation::DataDir(data_dir_),
                                 storage::StoreLocation::DataDir(copy), kSilent));
  ASSERT_OK_AND_ASSIGN(const auto source, storage::OpenRocksDbStore(data_dir_));
  ASSERT_OK_AND_ASSIGN(const auto target, storage::OpenRocksDbStore(copy));
  EXPECT_EQ(CheckpointsIn(*source), 2);
  EXPECT_EQ(CheckpointsIn(*target), 0);
  const size_t all = All(*source).size();
  EXPECT_EQ(All(*target).size(), all - 2);
  EXPECT_EQ(copied.records, all - 2);
}

TEST_F(RunningJobTest, ARepairedStoreHasNoCheckpoints) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
    Put(*store, central::JobKey("other"), "damaged");
  }
  ASSERT_OK_AND_ASSIGN(const RepairResult result,
                       RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent));
  EXPECT_EQ(std::count_if(result.done.begin(), result.done.end(),
                          [](const RepairStep& step) {
                            return step.key == central::CheckpointsPrefix("d") &&
                                   step.what.find("does not go on") != std::string::npos;
                          }),
            1);
  ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(data_dir_));
  EXPECT_EQ(CheckpointsIn(*store), 0);
}

TEST_F(UpkeepTest, ASoundStoreIsNotTouchedByARepair) {
  ASSERT_OK_AND_ASSIGN(const RepairResult result,
                       RepairStore(data_dir_, dir_.path() + "/kept", kNow, kSilent));
  EXPECT_THAT(result.done, IsEmpty());
  EXPECT_FALSE(fs::exists(dir_.path() + "/kept"));
}

}  // namespace
}  // namespace coppice::maintenance
